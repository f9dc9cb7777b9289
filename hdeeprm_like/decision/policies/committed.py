"""Modes that pick the first job of the order and wait until it fits, even if others come before it meanwhile.

Source: the simulator of RLScheduler (Zhang et al., 2020), as `golden/windows` describes it.
"""

import numpy as np

from hdeeprm_like.decision.modes import BY_ARRIVAL, Mode
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.node_plans import start_around_picked, start_heads
from hdeeprm_like.decision.policies.plans import Plans, pass_changes, planned_time
from hdeeprm_like.decision.policies.skyline import find_shadow
from hdeeprm_like.decision.policies.starting import sort_ties, start_if_fits
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import callback, compiled
from hdeeprm_like.engine.job_lists import copy_jobs, job_at
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import KIND_MASK, NOTHING, STARTED, WAITING, Tables
from hdeeprm_like.types import Floats, Ints


class Pick(Bundle):
    """What such a baseline remembers of the time at which it picked the held job (``PLAN.held``); J jobs.

    Attributes:
        submitted: (1,) number of jobs submitted by then. keys: (J,) of each job in the order.
    """

    submitted: Ints
    keys: Floats


@callback
def start_committed(tables: Tables, plans: Plans, memory: Pick, k: int) -> None:
    """Start the picked job, then pick the next, until one blocks."""
    plan, clock = plans.plans[k], tables.clock[0]
    if plan.held >= 0 and (tables.jobs[plan.held].status != WAITING or others_started(tables, plan.cursor)):
        plan.held = -1
    while clock.waiting > 0:
        j = plan.held if plan.held >= 0 else job_at(tables.waiting, plan.list, 0, 0)
        if start_if_fits(tables, plans, k, j) != NOTHING:
            if plan.held < 0:
                plan.held, plan.shadow = j, find_shadow(tables, plans, k, j, tables.jobs[j].size, False)
                memory.submitted[0] = clock.submitted
                for n in range(clock.waiting):
                    other = tables.members[n]
                    memory.keys[other] = tables.waiting.key_of[plan.list, other]
            break
        plan.held = -1
    pass_changes(tables, plans, k)


@callback
def start_committed_and_backfill(tables: Tables, plans: Plans, memory: Pick, k: int) -> None:
    """Do the same, and start jobs that end before the picked one is expected to start."""
    plan, clock = plans.plans[k], tables.clock[0]
    start_committed(tables, plans, memory, k)
    if clock.waiting > 0:
        count = copy_jobs(tables.waiting, plan.candidates, plans.queue)
        sort_ties(tables, plans, k, memory.keys, memory.submitted[0], count)
        for i in range(count):
            j = plans.queue[i]
            enough = tables.jobs[j].size <= clock.free_cores
            if enough and j != plan.held and clock.now + planned_time(tables, plans, k, j) < plan.shadow:
                start_if_fits(tables, plans, k, j)
    pass_changes(tables, plans, k)


@compiled
def others_started(tables: Tables, cursor: int) -> bool:
    """Return whether a job start, of another policy, is among the changes since the last decision."""
    while cursor < tables.clock[0].changes and tables.changes[cursor] & KIND_MASK != STARTED:
        cursor += 1
    return bool(cursor < tables.clock[0].changes)


class Commit(Mode):
    """Picks the first job of the order, and waits until it fits even if others come before it meanwhile."""

    name, source, candidates = "commit", "RLScheduler's code", BY_ARRIVAL
    starts, starts_on_nodes = start_committed, start_heads

    def new_memory(self, state: State, baseline: Baseline, jobs: int) -> Pick:
        """Return the memory of the picked job."""
        return Pick(np.zeros(1, np.int64), np.zeros(jobs))


class CommitBackfill(Commit):
    """As commit, and backfills around the job that it waits for."""

    name, starts, starts_on_nodes = "commitbackfill", start_committed_and_backfill, start_around_picked
