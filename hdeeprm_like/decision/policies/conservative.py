"""Conservative backfilling: a reservation for every job, on a profile of the cores that will be free.

The profile is a step function: for baseline k ``point_free[k, i]`` cores are free from ``point_time[k, i]`` on, up to
the next point. While jobs end when they are expected to, the reservations before a newly come job stay as they are;
planning them anew would give the same. Otherwise all are planned anew, and in either case no further down the queue
than a job may start.

Where a waiting job asks for memory or GPUs, or jobs run whole on a node, the profile is of what each node has, and all
is planned anew at each decision, see `node_profile`.
Source: Mu'alem and Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM
SP2 with backfilling", 2001.
"""

import numpy as np

from hdeeprm_like.decision.policies.node_profile import (
    begin_dates,
    earliest_on_nodes,
    end_dates,
    needs_nodes,
    occupy_picked,
    pick_lowest,
)
from hdeeprm_like.decision.policies.plans import NONE_RESERVED, Plans, pass_changes, planned_time, read_changes
from hdeeprm_like.decision.policies.releases import is_overdue, sort_releases
from hdeeprm_like.decision.policies.starting import start_if_fits
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.fitting import fits
from hdeeprm_like.engine.job_lists import copy_jobs
from hdeeprm_like.engine.numbers import FIRST_PREDICTED
from hdeeprm_like.engine.tables import NOTHING, WAITING, Tables


@compiled
def point_at(plans: Plans, k: int, time: float) -> int:
    """Return the number of the profile's point at a time after its first, made if there is none."""
    plan = plans.plans[k]
    low, high = 0, plan.points
    while low < high:
        middle = (low + high) // 2
        if plans.point_time[k, middle] < time:
            low = middle + 1
        else:
            high = middle
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
    """Take a point out of the profile if nothing changes there."""
    plan = plans.plans[k]
    if i == 0 or plans.point_free[k, i] != plans.point_free[k, i - 1]:
        return
    plan.points -= 1
    for n in range(i, plan.points):
        plans.point_time[k, n] = plans.point_time[k, n + 1]
        plans.point_free[k, n] = plans.point_free[k, n + 1]


@compiled
def occupy(plans: Plans, k: int, begin: float, end: float, cores: int) -> None:
    """Take cores from the profile for a span of time, or give them back if negative."""
    if end <= begin:
        return
    first = point_at(plans, k, begin)
    last = point_at(plans, k, end)
    for i in range(first, last):
        plans.point_free[k, i] -= cores
    drop_point(plans, k, last)
    drop_point(plans, k, first)


@compiled
def earliest(plans: Plans, k: int, cores: int, time: float) -> float:
    """Return when so many cores are free for so long at the earliest; infinite for never."""
    points = plans.plans[k].points
    i = 0
    while i < points:
        if plans.point_free[k, i] < cores:
            i += 1
            continue
        end = plans.point_time[k, i] + time
        n = i + 1
        while n < points and plans.point_time[k, n] < end and plans.point_free[k, n] >= cores:
            n += 1
        if n == points or plans.point_time[k, n] >= end:
            return float(plans.point_time[k, i])
        i = n + 1
    return np.inf


@compiled
def is_free_now(plans: Plans, k: int, cores: int, time: float) -> bool:
    """Tell whether so many cores are free from now on for so long."""
    if plans.point_free[k, 0] < cores:
        return False
    points, end, i = plans.plans[k].points, plans.point_time[k, 0] + time, 1
    while i < points and plans.point_time[k, i] < end:
        if plans.point_free[k, i] < cores:
            return False
        i += 1
    return True


@compiled
def forget_past(tables: Tables, plans: Plans, k: int) -> None:
    """Let the profile begin now."""
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


@compiled
def new_profile(tables: Tables, plans: Plans, k: int) -> None:
    """Make the profile of the running jobs alone; an overdue one is expected to end in a second."""
    plan, clock = plans.plans[k], tables.clock[0]
    plan.points, plan.planned, plan.soonest = 1, 0, np.inf
    plans.point_time[k, 0] = clock.now
    plans.point_free[k, 0] = clock.free_cores
    count = sort_releases(tables, plans, k)
    plan.stale = 1 if is_overdue(tables, plans, k) else 0
    for i in range(count):
        time, cores = plans.release_ends[i], tables.jobs[plans.releases[i]].size
        if time > plans.point_time[k, plan.points - 1]:
            plans.point_time[k, plan.points] = time
            plans.point_free[k, plan.points] = plans.point_free[k, plan.points - 1]
            plan.points += 1
        plans.point_free[k, plan.points - 1] += cores


@compiled
def refresh(tables: Tables, plans: Plans, k: int) -> None:
    """Bring the reservations up to date: those that still stand are the first *planned* of the queue."""
    plan = plans.plans[k]
    if plan.changing or plan.times >= FIRST_PREDICTED or is_overdue(tables, plans, k):
        plan.stale = 1
    if plan.stale:
        new_profile(tables, plans, k)
        return
    forget_past(tables, plans, k)
    if plan.planned == 0 or plans.queue[plan.planned - 1] == plan.last_planned:
        return
    before_new = 0  # planned jobs before the first one that has come since
    while before_new < plan.planned and plans.reserved[k, plans.queue[before_new]] != NONE_RESERVED:
        before_new += 1
    place, seen = before_new, before_new
    while seen < plan.planned:  # there are as many planned jobs as before, behind the new ones
        j = plans.queue[place]
        begin = plans.reserved[k, j]
        if begin != NONE_RESERVED:
            occupy(plans, k, begin, begin + planned_time(tables, plans, k, j), -tables.jobs[j].size)
            plans.reserved[k, j] = NONE_RESERVED
            seen += 1
        place += 1
    plan.planned = before_new


@compiled
def start_conservative(tables: Tables, plans: Plans, k: int) -> None:
    """Start the jobs whose reservation is for now."""
    plan, now = plans.plans[k], tables.clock[0].now
    read_changes(tables, plans, k)
    count = copy_jobs(tables.waiting, plan.list, plans.queue)
    if needs_nodes(tables):
        start_on_profile(tables, plans, k, count)
        pass_changes(tables, plans, k)
        return
    refresh(tables, plans, k)
    if plan.soonest <= now:
        start_planned(tables, plans, k)
    i, last = plan.planned, count - 1  # no job behind the last one can start
    while True:
        while last >= i and not could_start_now(tables, plans, k, plans.queue[last]):
            last -= 1
        if i > last:
            break
        j = plans.queue[i]
        time, size = planned_time(tables, plans, k, j), tables.jobs[j].size
        begin = earliest(plans, k, size, time)
        plans.reserved[k, j] = begin
        if begin < np.inf:
            occupy(plans, k, begin, begin + time, size)
        if begin == now:
            start_reserved(tables, plans, k, j)
        else:
            plan.soonest = min(plan.soonest, begin)
        i += 1
    plan.planned = i - (count - tables.clock[0].waiting)  # all that have started are among those looked at
    while i > 0 and tables.jobs[plans.queue[i - 1]].status != WAITING:
        i -= 1
    plan.last_planned = plans.queue[i - 1] if i > 0 else -1
    pass_changes(tables, plans, k)


@compiled
def start_on_profile(tables: Tables, plans: Plans, k: int, count: int) -> None:
    """Start the jobs whose reservation is for now, by what nodes have.

    Args:
        count: waiting jobs in ``Plans.queue``.
    """
    begin_dates(tables, plans, k)
    i, last = 0, count - 1  # no job behind the last one can start
    while True:
        while last >= i and not fits(tables, plans.queue[last]):
            last -= 1
        if i > last:
            break
        j = plans.queue[i]
        start_or_reserve(tables, plans, k, j, tables.jobs[j].size, planned_time(tables, plans, k, j))
        i += 1
    end_dates(plans, k)


@compiled
def start_or_reserve(tables: Tables, plans: Plans, k: int, j: int, need: int, time: float) -> float:
    """Start a job if it can start now beside all that is reserved, else reserve for it; return when it starts.

    Args:
        need: cores that must be free for it, no fewer than its own. time: s that it is taken to run.
    """
    begin = earliest_on_nodes(tables, plans, k, j, need, time, plans.plans[k].points)
    if begin == np.inf:
        return begin
    if begin > tables.clock[0].now or start_if_fits(tables, plans, k, j) != NOTHING:
        pick_lowest(tables, plans, j)
    occupy_picked(tables, plans, k, j, begin, begin + time)
    return begin


@compiled
def start_planned(tables: Tables, plans: Plans, k: int) -> None:
    """Start the jobs for whose reservation it is time, and find when the next one is to start."""
    plan, now, soonest = plans.plans[k], tables.clock[0].now, np.inf
    for i in range(plan.planned):
        begin = plans.reserved[k, plans.queue[i]]
        if begin <= now:
            start_reserved(tables, plans, k, plans.queue[i])
        else:
            soonest = min(soonest, begin)
    plan.soonest = soonest


@compiled
def could_start_now(tables: Tables, plans: Plans, k: int, j: int) -> bool:
    """Tell whether a job could start if it were the next in order."""
    return is_free_now(plans, k, tables.jobs[j].size, planned_time(tables, plans, k, j))


@compiled
def start_reserved(tables: Tables, plans: Plans, k: int, j: int) -> None:
    """Start a job at its reservation; without the memory or GPUs for it, it goes on waiting."""
    if start_if_fits(tables, plans, k, j) != NOTHING:
        plans.plans[k].stale = 1
