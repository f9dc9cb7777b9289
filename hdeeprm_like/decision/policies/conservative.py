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

from hdeeprm_like.decision.modes import Mode
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.core_profile import (
    NONE_RESERVED,
    Profile,
    earliest,
    forget_past,
    is_free_now,
    new_profile,
    occupy,
)
from hdeeprm_like.decision.policies.node_profile import (
    begin_dates,
    earliest_on_nodes,
    end_dates,
    needs_nodes,
    occupy_picked,
    pick_lowest,
)
from hdeeprm_like.decision.policies.node_starts import start_around_all
from hdeeprm_like.decision.policies.plans import Plans, pass_changes, planned_time
from hdeeprm_like.decision.policies.releases import expected_finish, is_overdue, sort_releases
from hdeeprm_like.decision.policies.starting import start_if_fits
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import callback, compiled
from hdeeprm_like.engine.fitting import fits
from hdeeprm_like.engine.job_lists import copy_jobs
from hdeeprm_like.engine.numbers import FIRST_PREDICTED
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import ENDED, KIND_BITS, KIND_MASK, NOTHING, STARTED, SUBMITTED, WAITING, Tables
from hdeeprm_like.types import Floats, Records

PLANNED = np.dtype(
    [
        ("jobs", "i8"),  # at the front of the queue that have a valid reservation,
        ("last", "i8"),  # the last of these jobs,
        ("soonest", "f8"),  # s, and a date before which none of them starts
        ("stale", "i8"),  # 1 if all reservations must be planned again
    ],
    align=True,
)


class Reservations(Bundle):
    """What a baseline with conservative backfilling remembers; J jobs.

    Attributes:
        planned: (1,) PLANNED. start: (J,) s, planned start of a waiting job. profile: free cores beside reservations.
    """

    planned: Records
    start: Floats
    profile: Profile


@compiled
def read_changes(tables: Tables, plans: Plans, memory: Reservations, k: int) -> None:
    """Read what has happened to jobs since the last decision; job starts found here were made by others."""
    plan, planned = plans.plans[k], memory.planned[0]
    while plan.cursor < tables.clock[0].changes:
        change = tables.changes[plan.cursor]
        kind, j = change & KIND_MASK, change >> KIND_BITS
        plan.cursor += 1
        if kind == SUBMITTED:
            memory.start[j] = NONE_RESERVED
        elif kind == STARTED or (kind == ENDED and tables.jobs[j].finish != expected_finish(tables, plans, k, j)):
            planned.stale = 1


@compiled
def begin_profile(tables: Tables, plans: Plans, profile: Profile, k: int) -> None:
    """Build the profile of the running jobs alone; an overdue one is expected to end in a second."""
    clock = tables.clock[0]
    profile.points[0], profile.time[0], profile.free[0] = 1, clock.now, clock.free_cores
    for i in range(sort_releases(tables, plans, k)):
        time, cores, last = plans.release_ends[i], tables.jobs[plans.releases[i]].size, profile.points[0] - 1
        if time > profile.time[last]:
            last += 1
            profile.time[last], profile.free[last] = time, profile.free[last - 1]
            profile.points[0] += 1
        profile.free[last] += cores


@compiled
def refresh(tables: Tables, plans: Plans, memory: Reservations, k: int) -> None:
    """Update the reservations: the valid ones are those of the first *planned* jobs of the queue."""
    plan, planned, profile = plans.plans[k], memory.planned[0], memory.profile
    overdue = is_overdue(tables, plans, k)
    if planned.stale or plan.changing or plan.times >= FIRST_PREDICTED or overdue:
        begin_profile(tables, plans, profile, k)
        planned.jobs, planned.soonest, planned.stale = 0, np.inf, 1 if overdue else 0
        return
    forget_past(tables, profile)
    if planned.jobs == 0 or plans.queue[planned.jobs - 1] == planned.last:
        return
    before_new = 0  # planned jobs before the first one that has arrived since
    while before_new < planned.jobs and memory.start[plans.queue[before_new]] != NONE_RESERVED:
        before_new += 1
    place, seen = before_new, before_new
    while seen < planned.jobs:  # the former planned jobs are still there, after the new ones
        j = plans.queue[place]
        begin = memory.start[j]
        if begin != NONE_RESERVED:
            occupy(memory.profile, begin, begin + planned_time(tables, plans, k, j), -tables.jobs[j].size)
            memory.start[j] = NONE_RESERVED
            seen += 1
        place += 1
    planned.jobs = before_new


@callback
def start_conservative(tables: Tables, plans: Plans, memory: Reservations, k: int) -> None:
    """Start the jobs whose reservation is for now."""
    plan, planned, now = plans.plans[k], memory.planned[0], tables.clock[0].now
    read_changes(tables, plans, memory, k)
    count = copy_jobs(tables.waiting, plan.list, plans.queue)
    if needs_nodes(tables):
        planned.stale = 1
        start_on_profile(tables, plans, k, count)
        pass_changes(tables, plans, k)
        return
    refresh(tables, plans, memory, k)
    if planned.soonest <= now:
        start_planned(tables, plans, memory, k)
    i, last = planned.jobs, count - 1  # no job after the last one can start
    while True:
        while last >= i and not could_start_now(tables, plans, memory.profile, k, plans.queue[last]):
            last -= 1
        if i > last:
            break
        j = plans.queue[i]
        time, size = planned_time(tables, plans, k, j), tables.jobs[j].size
        begin = earliest(memory.profile, size, time)
        memory.start[j] = begin
        if begin < np.inf:
            occupy(memory.profile, begin, begin + time, size)
        if begin == now:
            start_reserved(tables, plans, memory, k, j)
        else:
            planned.soonest = min(planned.soonest, begin)
        i += 1
    planned.jobs = i - (count - tables.clock[0].waiting)  # all started jobs are among those examined
    while i > 0 and tables.jobs[plans.queue[i - 1]].status != WAITING:
        i -= 1
    planned.last = plans.queue[i - 1] if i > 0 else -1
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
    begin = earliest_on_nodes(tables, plans, k, j, need, time, plans.node_profile.state[0].points)
    if begin == np.inf:
        return begin
    if begin > tables.clock[0].now or start_if_fits(tables, plans, k, j) != NOTHING:
        pick_lowest(tables, plans, j)
    occupy_picked(tables, plans, k, j, begin, begin + time)
    return begin


@compiled
def start_planned(tables: Tables, plans: Plans, memory: Reservations, k: int) -> None:
    """Start the jobs whose reservation begins now, and find when the next one begins."""
    planned, now, soonest = memory.planned[0], tables.clock[0].now, np.inf
    for i in range(planned.jobs):
        begin = memory.start[plans.queue[i]]
        if begin <= now:
            start_reserved(tables, plans, memory, k, plans.queue[i])
        else:
            soonest = min(soonest, begin)
    planned.soonest = soonest


@compiled
def could_start_now(tables: Tables, plans: Plans, profile: Profile, k: int, j: int) -> bool:
    """Return whether a job could start if it were the next in order."""
    return is_free_now(profile, tables.jobs[j].size, planned_time(tables, plans, k, j))


@compiled
def start_reserved(tables: Tables, plans: Plans, memory: Reservations, k: int, j: int) -> None:
    """Start a job at its reservation; without memory or GPUs for it, it keeps waiting."""
    if start_if_fits(tables, plans, k, j) != NOTHING:
        memory.planned[0].stale = 1


class Conservative(Mode):
    """Gives each job a reservation and starts what delays none before it."""

    name, source, streams, profiles = "conservative", "Mu'alem and Feitelson 2001", True, True
    starts, starts_on_nodes = start_conservative, start_around_all

    def new_memory(self, state: State, baseline: Baseline, jobs: int) -> Reservations:
        """Return its reservations, all to be planned."""
        planned = np.zeros(1, PLANNED)
        planned["stale"] = 1
        return Reservations(planned, np.full(jobs, NONE_RESERVED), new_profile(jobs))
