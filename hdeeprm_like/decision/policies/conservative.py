"""Conservative backfilling: a reservation for every job, on a `skyline` of what will be free.

While jobs end when expected, the reservations of jobs before a newly arrived one keep their place in it; planning them
again would give the same. Otherwise all are planned again, and in either case no further down the queue than a job may
start.

Source: Mu'alem and Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM
SP2 with backfilling", 2001.
"""

import numpy as np

from hdeeprm_like.decision.modes import Mode
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.core_profile import (
    NONE_RESERVED,
    Profile,
    expected_finish,
    forget_past,
    new_profile,
    occupy,
)
from hdeeprm_like.decision.policies.node_plans import start_around_all
from hdeeprm_like.decision.policies.plans import NO_JOB, Plans, pass_changes, planned_time
from hdeeprm_like.decision.policies.skyline import (
    begin_skyline,
    could_start,
    earliest_start,
    stays_valid,
    take,
)
from hdeeprm_like.decision.policies.starting import start_if_fits
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import callback, compiled
from hdeeprm_like.engine.job_lists import copy_jobs
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
def refresh(tables: Tables, plans: Plans, memory: Reservations, k: int) -> None:
    """Update the reservations: the valid ones are those of the first *planned* jobs of the queue."""
    planned, valid = memory.planned[0], stays_valid(tables, plans, k)
    if planned.stale or not valid:
        begin_skyline(tables, plans, memory.profile, k)
        planned.jobs, planned.soonest, planned.stale = 0, np.inf, 0 if valid else 1
        return
    forget_past(tables, memory.profile)
    if planned.jobs == 0 or plans.queue[planned.jobs - 1] == planned.last:
        return
    before_new = 0  # planned jobs before the first one that has arrived since
    while before_new < planned.jobs and memory.start[plans.queue[before_new]] != NONE_RESERVED:
        before_new += 1
    place, seen = before_new, before_new
    while seen < planned.jobs:  # the former planned jobs are still there, after the new ones
        j = plans.queue[place]
        if memory.start[j] != NONE_RESERVED:
            end = memory.start[j] + planned_time(tables, plans, k, j)
            occupy(memory.profile, memory.start[j], end, -tables.jobs[j].size)  # where cores are counted
            seen += 1
        place += 1
    planned.jobs = before_new


@callback
def start_conservative(tables: Tables, plans: Plans, memory: Reservations, k: int) -> None:
    """Start the jobs whose reservation is for now."""
    plan, planned, now = plans.plans[k], memory.planned[0], tables.clock[0].now
    read_changes(tables, plans, memory, k)
    count = copy_jobs(tables.waiting, plan.list, plans.queue)
    refresh(tables, plans, memory, k)
    if planned.soonest <= now:
        start_planned(tables, plans, memory, k)
    i, last = planned.jobs, count - 1  # no job after the last one can start
    while i <= last:
        j = plans.queue[last]
        if not could_start(tables, plans, memory.profile, k, j):
            last -= 1
            continue
        j = plans.queue[i]
        begin = float(earliest_start(tables, plans, memory.profile, k, j))
        if begin == now and start_if_fits(tables, plans, k, j) != NOTHING:
            begin = np.inf  # no cores were found for it although it fits, so nothing is reserved
        elif begin < np.inf:
            take(tables, plans, memory.profile, k, j, begin)
        memory.start[j] = begin
        if begin == np.inf:
            planned.stale = 1
        elif begin > now:
            planned.soonest = min(planned.soonest, begin)
        i += 1
    planned.jobs = i - (count - tables.clock[0].waiting)  # all started jobs are among those examined
    while i > 0 and tables.jobs[plans.queue[i - 1]].status != WAITING:
        i -= 1
    planned.last = plans.queue[i - 1] if i > 0 else -1
    plan.reserved = NO_JOB
    pass_changes(tables, plans, k)


@compiled
def start_planned(tables: Tables, plans: Plans, memory: Reservations, k: int) -> None:
    """Start the jobs whose reservation begins now, and find when the next one begins."""
    planned, now = memory.planned[0], tables.clock[0].now
    planned.soonest = np.inf
    for i in range(planned.jobs):
        begin = memory.start[plans.queue[i]]
        if begin > now:
            planned.soonest = min(planned.soonest, begin)
        elif start_if_fits(tables, plans, k, plans.queue[i]) != NOTHING:
            planned.stale = 1


class Conservative(Mode):
    """Gives each job a reservation and starts what delays none before it."""

    name, source, streams, profiles = "conservative", "Mu'alem and Feitelson 2001", True, True
    starts, starts_on_nodes = start_conservative, start_around_all

    def new_memory(self, state: State, baseline: Baseline, jobs: int) -> Reservations:
        """Return its reservations, all to be planned."""
        planned = np.zeros(1, PLANNED)
        planned["stale"] = 1
        return Reservations(planned, np.full(jobs, NONE_RESERVED), new_profile(jobs))
