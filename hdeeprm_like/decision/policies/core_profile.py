"""Availability profile: the number of free cores as a step function of time.

For baseline k ``point_free[k, i]`` cores are free from ``point_time[k, i]`` on, up to the next point; the first point
is now. Conservative backfilling and guaranteed starts reserve on it.
"""

import numpy as np

from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.tables import Tables

NEVER = -np.inf  # s, when there is no such date


@inlined
def first_from(plans: Plans, k: int, time: float) -> int:
    """Return the profile's first point from a time on, the number of points if there is none."""
    low, high = 0, plans.plans[k].points
    while low < high:
        middle = (low + high) // 2
        if plans.point_time[k, middle] < time:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def point_at(plans: Plans, k: int, time: float) -> int:
    """Return the profile's point at a time after its first, inserted if there is none."""
    plan, low = plans.plans[k], first_from(plans, k, time)
    if low == plan.points or plans.point_time[k, low] > time:
        for i in range(plan.points, low, -1):
            plans.point_time[k, i] = plans.point_time[k, i - 1]
            plans.point_free[k, i] = plans.point_free[k, i - 1]
        plans.point_time[k, low] = time
        plans.point_free[k, low] = plans.point_free[k, low - 1]
        plan.points += 1
    return int(low)


@compiled
def drop_point(plans: Plans, k: int, i: int) -> None:
    """Remove a point from the profile if nothing changes there."""
    plan = plans.plans[k]
    if i == 0 or plans.point_free[k, i] != plans.point_free[k, i - 1]:
        return
    plan.points -= 1
    for n in range(i, plan.points):
        plans.point_time[k, n] = plans.point_time[k, n + 1]
        plans.point_free[k, n] = plans.point_free[k, n + 1]


@compiled
def occupy(plans: Plans, k: int, begin: float, end: float, cores: int) -> None:
    """Take cores from the profile for a span of time, or return them if negative."""
    if end <= begin:
        return
    first = point_at(plans, k, begin)
    last = point_at(plans, k, end)
    for i in range(first, last):
        plans.point_free[k, i] -= cores
    drop_point(plans, k, last)
    drop_point(plans, k, first)


@inlined
def earliest(plans: Plans, k: int, cores: int, time: float) -> float:
    """Return the earliest date at which *cores* cores are free for *time* s; infinite for never."""
    return float(earliest_behind(plans, k, cores, time, 0, plans.point_time[k, 0]))


@inlined
def earliest_from(plans: Plans, k: int, cores: int, time: float, date: float) -> float:
    """Return the same, no earlier than *date*, which is not before the first point."""
    i = 0
    while i + 1 < plans.plans[k].points and plans.point_time[k, i + 1] <= date:
        i += 1
    return float(earliest_behind(plans, k, cores, time, i, date))


@compiled
def earliest_behind(plans: Plans, k: int, cores: int, time: float, i: int, date: float) -> float:
    """Return the same, no earlier than a date between point *i* and the next one."""
    points, begin = plans.plans[k].points, date
    while i < points:
        if plans.point_free[k, i] < cores:
            i += 1
            begin = plans.point_time[k, i] if i < points else np.inf
            continue
        end = begin + time
        n = i + 1
        while n < points and plans.point_time[k, n] < end and plans.point_free[k, n] >= cores:
            n += 1
        if n == points or plans.point_time[k, n] >= end:
            return float(begin)
        i = n + 1
        begin = plans.point_time[k, i] if i < points else np.inf
    return np.inf


@compiled
def latest(plans: Plans, k: int, cores: int, time: float, limit: float) -> float:
    """Return the last date, no later than *limit*, from which on *cores* cores are free for *time* s; else NEVER."""
    end = limit + time
    i = first_from(plans, k, end) - 1  # the point before the end
    while i >= 0:
        if plans.point_free[k, i] < cores:
            end = plans.point_time[k, i]
        else:
            begin = begin_of(time, end, limit)
            if plans.point_time[k, i] <= begin:
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
def is_free_until(plans: Plans, k: int, cores: int, end: float) -> bool:
    """Return whether *cores* cores are free from now until a date."""
    if plans.point_free[k, 0] < cores:
        return False
    points, i = plans.plans[k].points, 1
    while i < points and plans.point_time[k, i] < end:
        if plans.point_free[k, i] < cores:
            return False
        i += 1
    return True


@inlined
def is_free_now(plans: Plans, k: int, cores: int, time: float) -> bool:
    """Return whether *cores* cores are free from now on for *time* s."""
    return bool(is_free_until(plans, k, cores, plans.point_time[k, 0] + time))


@compiled
def forget_past(tables: Tables, plans: Plans, k: int) -> None:
    """Make the profile begin now."""
    plan, now = plans.plans[k], tables.clock[0].now
    past = 0
    while past + 1 < plan.points and plans.point_time[k, past + 1] <= now:
        past += 1
    if past > 0:
        plan.points -= past
        for i in range(plan.points):
            plans.point_time[k, i] = plans.point_time[k, i + past]
            plans.point_free[k, i] = plans.point_free[k, i + past]
    plans.point_time[k, 0] = now
