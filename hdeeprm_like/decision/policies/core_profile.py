"""Expected ends of the running jobs, and the availability profile: how many cores are free in each slice of time.

The first slice begins now, each ends where the next one begins, and the last one never ends. Conservative backfilling
and guaranteed starts have such a profile in their memories.
"""

import numpy as np

from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.engine.bundles import Bundle, copy_entries
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dates import REPORTED_LATE
from hdeeprm_like.engine.job_lists import copy_column, copy_jobs, job_at
from hdeeprm_like.engine.numbers import FIRST_PREDICTED
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Ints, Records

OVERDUE = 1.0  # s, expected remaining time of a job that has outrun its request
NEVER = -np.inf  # s, when there is no such date
NONE_RESERVED = -1.0  # s, instead of the planned start of a job without a reservation
SLICE = np.dtype([("time", "f8"), ("free", "i8")], align=True)  # s, when it begins; cores that are free in it


class Profile(Bundle):
    """The availability profile of a baseline with capacity for P slices of time.

    Attributes:
        count: (1,) number of slices. slices: (P,) SLICE; behind the last one stands one that never begins.
    """

    count: Ints
    slices: Records


def new_profile(jobs: int, wanted: bool = True) -> Profile:
    """Return a profile without slices, with capacity for the reservations of some jobs if it is *wanted*."""
    return Profile(np.zeros(1, np.int64), np.zeros(2 * jobs + 4 if wanted else 0, SLICE))


@inlined
def begin_profile(profile: Profile, now: float, cores: int) -> None:
    """Make a profile in which as many cores as now are free forever."""
    profile.count[0], profile.slices[1].time = 1, np.inf
    profile.slices[0].time, profile.slices[0].free = now, cores


@inlined
def first_from(profile: Profile, time: float) -> int:
    """Return the profile's first slice that begins at a time or later, the number of slices if there is none."""
    low, high = 0, profile.count[0]
    while low < high:
        middle = (low + high) // 2
        if profile.slices[middle].time < time:
            low = middle + 1
        else:
            high = middle
    return int(low)


@inlined
def move_slices(profile: Profile, first: int, by: int) -> None:
    """Move the slices from one on *by* so many places, over those before it if that is negative."""
    copy_entries(profile.slices, first + by, profile.slices, first, profile.count[0] + 1 - first)
    profile.count[0] += by


@inlined
def insert_slice(profile: Profile, i: int, time: float, free: int) -> None:
    """Insert a slice into the profile."""
    move_slices(profile, i, 1)
    profile.slices[i].time, profile.slices[i].free = time, free


@compiled
def slice_from(profile: Profile, time: float) -> int:
    """Return the profile's slice that begins at a time after the first one's, begun there if there is none."""
    i = first_from(profile, time)
    if profile.slices[i].time > time:
        insert_slice(profile, i, time, profile.slices[i - 1].free)
    return int(i)


@inlined
def join_slices(profile: Profile, i: int) -> None:
    """Join a slice of the profile to the one before it if as many cores are free in both."""
    if 0 < i < profile.count[0] and profile.slices[i].free == profile.slices[i - 1].free:
        move_slices(profile, i + 1, -1)


@compiled
def occupy(profile: Profile, begin: float, end: float, cores: int) -> None:
    """Take cores from the profile for a span of time, or return them if negative; nothing where all of it is past."""
    if end <= max(begin, profile.slices[0].time):
        return
    first = slice_from(profile, begin) if begin > profile.slices[0].time else 0
    i = first
    while profile.slices[i].time < end:
        profile.slices[i].free -= cores
        i += 1
    if profile.slices[i].time > end:
        insert_slice(profile, i, end, profile.slices[i - 1].free + cores)
    else:
        join_slices(profile, i)
    join_slices(profile, first)


@compiled
def earliest(profile: Profile, cores: int, time: float, date: float) -> float:
    """Return the earliest date from one on, which is not past, at which cores are free for *time* s; else infinite."""
    begin = date
    for i in range(profile.count[0]):
        end = profile.slices[i + 1].time
        if profile.slices[i].free < cores:
            begin = max(date, end)
        elif end >= begin + time and end > date:
            return float(begin)
    return np.inf


@compiled
def fits_before(profile: Profile, cores: int, time: float, begin: float) -> bool:
    """Return whether cores that are taken for *time* s from a date on could be so from an earlier date on."""
    start = profile.slices[0].time
    for i in range(profile.count[0]):
        date, end = profile.slices[i].time, profile.slices[i + 1].time
        if profile.slices[i].free + (cores if begin <= date < begin + time else 0) < cores:
            start = end
        if start >= begin or end >= start + time:
            break
    return bool(start < begin)


@compiled
def latest(profile: Profile, cores: int, time: float, limit: float) -> float:
    """Return the last date, no later than *limit*, from which on *cores* cores are free for *time* s; else NEVER."""
    end = limit + time
    for i in range(first_from(profile, end) - 1, -1, -1):  # from the slice before the end on
        begins = profile.slices[i].time
        if profile.slices[i].free < cores:
            end = begins
        else:
            begin = begin_of(time, end, limit)
            if begins <= begin:
                return float(begin)
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
    i = 0
    while i == 0 or profile.slices[i].time < end:
        if profile.slices[i].free < cores:
            return False
        i += 1
    return True


@compiled
def forget_past(tables: Tables, profile: Profile) -> None:
    """Make the profile begin now."""
    past = 0
    while profile.slices[past + 1].time <= tables.clock[0].now:
        past += 1
    if past > 0:
        move_slices(profile, past, -past)
    profile.slices[0].time = tables.clock[0].now


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
        copy_column(tables.running, plan.ends, tables.running.keys, plans.release_ends)
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
