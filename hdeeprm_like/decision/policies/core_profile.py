"""Expected ends of the running jobs, and the availability profile: the number of free cores as a step function of time.

``free[i]`` cores are free from ``time[i]`` on, up to the next point; the first point is now. Conservative backfilling
and guaranteed starts have such a profile in their memories.
"""

import numpy as np

from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dates import REPORTED_LATE
from hdeeprm_like.engine.job_lists import copy_column, copy_jobs, job_at
from hdeeprm_like.engine.numbers import FIRST_PREDICTED
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats, Ints

OVERDUE = 1.0  # s, expected remaining time of a job that has outrun its request
NEVER = -np.inf  # s, when there is no such date
NONE_RESERVED = -1.0  # s, instead of the planned start of a job without a reservation


class Profile(Bundle):
    """The availability profile of a baseline with capacity for P points.

    Attributes:
        points: (1,) number of points. time: (P,) s, their dates. free: (P,) free cores from each date on.
    """

    points: Ints
    time: Floats
    free: Ints


def new_profile(jobs: int, wanted: bool = True) -> Profile:
    """Return a profile without points, with capacity for the reservations of some jobs if it is *wanted*."""
    most = 2 * jobs + 3 if wanted else 0
    return Profile(np.zeros(1, np.int64), np.zeros(most), np.zeros(most, np.int64))


@inlined
def first_from(profile: Profile, time: float) -> int:
    """Return the profile's first point from a time on, the number of points if there is none."""
    low, high = 0, profile.points[0]
    while low < high:
        middle = (low + high) // 2
        if profile.time[middle] < time:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def point_at(profile: Profile, time: float) -> int:
    """Return the profile's point at a time after its first, inserted if there is none."""
    low = first_from(profile, time)
    if low == profile.points[0] or profile.time[low] > time:
        for i in range(profile.points[0], low, -1):
            profile.time[i] = profile.time[i - 1]
            profile.free[i] = profile.free[i - 1]
        profile.time[low] = time
        profile.free[low] = profile.free[low - 1]
        profile.points[0] += 1
    return int(low)


@compiled
def drop_point(profile: Profile, i: int) -> None:
    """Remove a point from the profile if nothing changes there."""
    if i == 0 or profile.free[i] != profile.free[i - 1]:
        return
    profile.points[0] -= 1
    for n in range(i, profile.points[0]):
        profile.time[n] = profile.time[n + 1]
        profile.free[n] = profile.free[n + 1]


@compiled
def occupy(profile: Profile, begin: float, end: float, cores: int) -> None:
    """Take cores from the profile for a span of time, or return them if negative."""
    if end <= begin:
        return
    first = point_at(profile, begin)
    last = point_at(profile, end)
    for i in range(first, last):
        profile.free[i] -= cores
    drop_point(profile, last)
    drop_point(profile, first)


@compiled
def earliest(profile: Profile, cores: int, time: float, date: float) -> float:
    """Return the earliest date from one on, which is not past, at which cores are free for *time* s; else infinite."""
    points, begin, i = profile.points[0], date, 0
    while i + 1 < points and profile.time[i + 1] <= date:
        i += 1
    while i < points:
        if profile.free[i] >= cores:
            end = begin + time
            i += 1
            while i < points and profile.time[i] < end and profile.free[i] >= cores:
                i += 1
            if i == points or profile.time[i] >= end:
                return float(begin)
        i += 1
        begin = profile.time[i] if i < points else np.inf
    return np.inf


@compiled
def latest(profile: Profile, cores: int, time: float, limit: float) -> float:
    """Return the last date, no later than *limit*, from which on *cores* cores are free for *time* s; else NEVER."""
    end = limit + time
    i = first_from(profile, end) - 1  # the point before the end
    while i >= 0:
        if profile.free[i] < cores:
            end = profile.time[i]
        else:
            begin = begin_of(time, end, limit)
            if profile.time[i] <= begin:
                return float(begin)
        i -= 1
    return NEVER


@inlined
def begin_of(time: float, end: float, limit: float) -> float:
    """Return the start of a span of *time* s that ends at *end*, so that their sum is not beyond *end* by rounding."""
    begin = min(limit, end - time)
    while begin + time > end:
        begin = np.nextafter(begin, NEVER)
    return float(begin)


@compiled
def is_free_until(profile: Profile, cores: int, end: float) -> bool:
    """Return whether *cores* cores are free from now until a date."""
    if profile.free[0] < cores:
        return False
    points, i = profile.points[0], 1
    while i < points and profile.time[i] < end:
        if profile.free[i] < cores:
            return False
        i += 1
    return True


@compiled
def forget_past(tables: Tables, profile: Profile) -> None:
    """Make the profile begin now."""
    now = tables.clock[0].now
    past = 0
    while past + 1 < profile.points[0] and profile.time[past + 1] <= now:
        past += 1
    if past > 0:
        profile.points[0] -= past
        for i in range(profile.points[0]):
            profile.time[i] = profile.time[i + past]
            profile.free[i] = profile.free[i + past]
    profile.time[0] = now


# --- when running jobs are expected to end


@inlined
def expected_finish(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return the expected end of a running job in s; it may be past."""
    return float(tables.jobs[j].start + planned_time(tables, plans, k, j))


@compiled
def expected_end(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return the expected end of a running job in s, later than now."""
    return float(later_than_now(expected_finish(tables, plans, k, j), tables.clock[0].now))


@inlined
def later_than_now(end: float, now: float) -> float:
    """Return the end of a job that still runs: at once if it should have ended just now, an overdue one in a second.

    Otherwise a job of less than a second could start on cores that the head of the queue is about to get, and delay it.
    """
    if end > now:
        return end
    return float(np.nextafter(now, np.inf) if end > now - REPORTED_LATE else now + OVERDUE)


@compiled
def is_overdue(tables: Tables, plans: Plans, k: int) -> bool:
    """Return whether a running job has reached its expected end."""
    v = plans.plans[k].ends
    if tables.running.lists[v].jobs == 0:
        return False
    return bool(expected_finish(tables, plans, k, job_at(tables.running, v, 0, 0)) <= tables.clock[0].now)


@inlined
def are_sorted(tables: Tables, plans: Plans, k: int, moved: bool) -> bool:
    """Return whether the list of running jobs is sorted by expected end; *moved* overdue jobs are out of place."""
    return plans.plans[k].times < FIRST_PREDICTED and not (moved and is_overdue(tables, plans, k))


@compiled
def sort_releases(tables: Tables, plans: Plans, k: int, moved: bool) -> int:
    """Write the running jobs by expected end, and these ends; return their number.

    Of jobs that end together the one with the fewest cores comes first.

    Args:
        moved: whether an overdue job is expected to end in a second; else its end is past.
    """
    plan = plans.plans[k]
    count = copy_jobs(tables.running, plan.ends, plans.releases)
    if are_sorted(tables, plans, k, moved):
        copy_column(tables.running, plan.ends, tables.running.keys[plan.ends], plans.release_ends)
        return count
    for i in range(count):
        j, place = plans.releases[i], i
        end = expected_end(tables, plans, k, j) if moved else expected_finish(tables, plans, k, j)
        while place > 0:
            other = plans.releases[place - 1]
            other_end = plans.release_ends[place - 1]
            if other_end < end or (other_end == end and tables.jobs[other].size <= tables.jobs[j].size):
                break
            plans.releases[place], plans.release_ends[place] = other, other_end
            place -= 1
        plans.releases[place], plans.release_ends[place] = j, end
    return count
