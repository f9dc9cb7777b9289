"""Conservative backfilling: a reservation for every job, on a profile of the cores that will be free.

While jobs end when expected, the reservations of jobs before a newly arrived one keep their place in the profile
(`core_profile`); planning them again would give the same. Otherwise all are planned again, and in either case no
further down the queue than a job may start.

If a waiting job requests memory or GPUs, or jobs run on one node each, the profile is of the capacity of each node, and
everything is planned again at each decision, see `node_profile`.
Source: Mu'alem and Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM
SP2 with backfilling", 2001.
"""

import numpy as np

from hdeeprm_like.decision.policies.core_profile import earliest, forget_past, is_free_now, occupy
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
def new_profile(tables: Tables, plans: Plans, k: int) -> None:
    """Build the profile of the running jobs alone; an overdue one is expected to end in a second."""
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
    """Update the reservations: the valid ones are those of the first *planned* jobs of the queue."""
    plan = plans.plans[k]
    if plan.changing or plan.times >= FIRST_PREDICTED or is_overdue(tables, plans, k):
        plan.stale = 1
    if plan.stale:
        new_profile(tables, plans, k)
        return
    forget_past(tables, plans, k)
    if plan.planned == 0 or plans.queue[plan.planned - 1] == plan.last_planned:
        return
    before_new = 0  # planned jobs before the first one that has arrived since
    while before_new < plan.planned and plans.reserved[k, plans.queue[before_new]] != NONE_RESERVED:
        before_new += 1
    place, seen = before_new, before_new
    while seen < plan.planned:  # the former planned jobs are still there, after the new ones
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
    i, last = plan.planned, count - 1  # no job after the last one can start
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
    plan.planned = i - (count - tables.clock[0].waiting)  # all started jobs are among those examined
    while i > 0 and tables.jobs[plans.queue[i - 1]].status != WAITING:
        i -= 1
    plan.last_planned = plans.queue[i - 1] if i > 0 else -1
    pass_changes(tables, plans, k)


@compiled
def start_on_profile(tables: Tables, plans: Plans, k: int, count: int) -> None:
    """Start the jobs whose reservation is for now, by the capacity of nodes.

    Args:
        count: waiting jobs in ``Plans.queue``.
    """
    begin_dates(tables, plans, k)
    i, last = 0, count - 1  # no job after the last one can start
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
    """Start a job if it can start now around all reservations, else reserve for it; return its start time.

    Args:
        need: cores that must be free for it, no fewer than its own. time: s, assumed run time.
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
    """Start the jobs whose reservation begins now, and find when the next one begins."""
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
    """Return whether a job could start if it were the next in order."""
    return is_free_now(plans, k, tables.jobs[j].size, planned_time(tables, plans, k, j))


@compiled
def start_reserved(tables: Tables, plans: Plans, k: int, j: int) -> None:
    """Start a job at its reservation; without memory or GPUs for it, it keeps waiting."""
    if start_if_fits(tables, plans, k, j) != NOTHING:
        plans.plans[k].stale = 1
