"""The mode that starts every job that fits, but keeps some cores for short jobs."""

from typing import Annotated

import numpy as np

from hdeeprm_like.decision.modes import Mode, Option
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.node_plans import forget_reservations, last_with_cores
from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.decision.policies.reserved_nodes import has_cores
from hdeeprm_like.decision.policies.starting import start_if_fits
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import callback, inlined
from hdeeprm_like.engine.job_lists import copy_jobs, job_at, next_fitting
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import NOTHING, Tables
from hdeeprm_like.types import Floats, Ints

KEPT_SHARE, A_SHARE = 1.0 / 8.0, -1  # of the cores are kept if no number is given, which is written so


class Kept(Bundle):
    """What is kept.

    Attributes:
        cores: (1,) kept cores. short: (1,) s, for jobs up to this assumed run time.
    """

    cores: Ints
    short: Floats


@inlined
def may_start(tables: Tables, plans: Plans, memory: Kept, k: int, j: int) -> bool:
    """Return whether a job leaves the kept cores free, is short, or finds the machine idle."""
    clock = tables.clock[0]
    if clock.running == 0 or clock.free_cores - tables.jobs[j].size >= memory.cores[0]:
        return True
    return bool(planned_time(tables, plans, k, j) <= memory.short[0])


@callback
def start_beside_reserve(tables: Tables, plans: Plans, memory: Kept, k: int) -> None:
    """Start every job that fits, in order; only short ones use the cores kept for them, unless nothing runs."""
    clock, v = tables.clock[0], plans.plans[k].list
    place, i = 0, 0
    while clock.free_cores > 0:
        place, i = next_fitting(tables.waiting, v, place, i, clock.free_cores)
        if place >= tables.waiting.lists[v].blocks:
            break
        j = job_at(tables.waiting, v, place, i)
        if not may_start(tables, plans, memory, k, j) or start_if_fits(tables, plans, k, j) != NOTHING:
            i += 1


@callback
def start_beside_kept(tables: Tables, plans: Plans, memory: Kept, k: int) -> None:
    """Do the same with partitions."""
    forget_reservations(tables, plans)
    count = copy_jobs(tables.waiting, plans.plans[k].list, plans.queue)
    last = last_with_cores(tables, plans, count)
    for i in range(last + 1):
        j = plans.queue[i]
        if may_start(tables, plans, memory, k, j) and has_cores(tables, plans, j):
            start_if_fits(tables, plans, k, j)


class Reserve(Mode):
    """Starts every job that fits, but keeps some cores for short jobs."""

    name, streams, looks_at_ends = "reserve", True, False
    starts, starts_on_nodes = start_beside_reserve, start_beside_kept
    kept: Annotated[int, Option("cores kept, usually an eighth of all", "64")] = A_SHARE
    short: Annotated[float, Option("s, longest assumed run time of jobs that may use them", "600")] = 1000.0

    def kept_of(self, cores: int) -> int:
        """Return how many of *cores* cores it keeps for short jobs."""
        return int(cores * KEPT_SHARE) if self.kept == A_SHARE else self.kept

    def new_memory(self, state: State, baseline: Baseline, jobs: int) -> Kept:
        """Return what it keeps for short jobs."""
        kept = self.kept_of(state.platform.usable_cores)
        return Kept(np.array([kept], np.int64), np.array([self.short], np.float64))
