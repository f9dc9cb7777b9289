"""Modes that apply an order: strict, greedy, with cores kept for short jobs, packing, or with backfilling.

Only `starting.start_if_fits` decides whether a job may start now. EASY reserves for the head of the queue everything
that it requests, see `skyline`; a job that would outlive the reservation may start only if it leaves that
capacity to the head.

``commit`` picks the first job of the order and waits until it fits, even if others come before it meanwhile, as the
simulator of RLScheduler (Zhang et al., 2020) does; `golden/windows` describes it.
"""

from typing import Annotated

import numpy as np

from hdeeprm_like.decision.modes import BY_ARRIVAL, IN_ORDER, SHORTEST_FIRST, Mode, Option
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.node_plans import (
    open_pass,
    start_around_heads,
    start_around_picked,
    start_heads,
    start_without_reservations,
)
from hdeeprm_like.decision.policies.plans import NO_JOB, Plans, pass_changes, planned_time
from hdeeprm_like.decision.policies.reserved_nodes import has_cores
from hdeeprm_like.decision.policies.skyline import find_shadow, reserve
from hdeeprm_like.decision.policies.starting import sort_ties, sort_ties_now, start_if_fits
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import callback, compiled, inlined
from hdeeprm_like.engine.fitting import fits
from hdeeprm_like.engine.job_lists import copy_jobs, job_at, next_fitting
from hdeeprm_like.engine.numbers import FIRST_PREDICTED, TETRIS_SRTF
from hdeeprm_like.engine.packing import ALIKE, WHOLE, best_node, is_whole
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import KIND_MASK, NOTHING, STARTED, WAITING, Tables
from hdeeprm_like.types import Floats, Ints, Records

KEPT_SHARE, A_SHARE = 1.0 / 8.0, -1  # of the cores are kept if no number is given, which is written so

TRY = np.dtype(
    [
        ("jobs", "i8"),  # number of jobs submitted at the last backfilling,
        ("cores", "i8"),  # free cores after it, -1 if jobs may lack something else,
        ("spare", "i8"),  # spare cores after it,
        ("shadow", "f8"),  # s, and the shadow time then
    ],
    align=True,
)


class Tries(Bundle):
    """What a baseline with backfilling remembers: its last try.

    Attributes:
        last: (1,) TRY.
    """

    last: Records


class Kept(Bundle):
    """What is kept.

    Attributes:
        cores: (1,) kept cores. short: (1,) s, for jobs up to this assumed run time.
    """

    cores: Ints
    short: Floats


class Pick(Bundle):
    """What a baseline remembers of the time at which it picked the job that it waits for (``PLAN.held``); J jobs.

    Attributes:
        submitted: (1,) number of jobs submitted by then. keys: (J,) of each job in the order.
    """

    submitted: Ints
    keys: Floats


@callback
def start_in_order(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs until one does not fit."""
    while tables.clock[0].waiting > 0:
        if start_if_fits(tables, plans, k, job_at(tables.waiting, plans.plans[k].list, 0, 0)) != NOTHING:
            return


@callback
def start_with_backfilling(tables: Tables, plans: Plans, memory: Tries, k: int) -> None:
    """Start jobs until one does not fit, then those that do not delay it (EASY)."""
    start_in_order(tables, plans, k)
    if tables.clock[0].waiting > 1 and tables.clock[0].free_cores > 0:
        backfill(tables, plans, memory, k)


@callback
def start_all_that_fit(tables: Tables, plans: Plans, k: int) -> None:
    """Start every job that fits, in order."""
    start_fitting(tables, plans, k, 0, 0.0)


@inlined
def start_fitting(tables: Tables, plans: Plans, k: int, kept: int, short: float) -> None:
    """Start every job that fits, in order, beside *kept* cores for those of up to *short* s."""
    clock, v = tables.clock[0], plans.plans[k].list
    place, i = 0, 0
    while clock.free_cores > 0:
        place, i = next_fitting(tables.waiting, v, place, i, clock.free_cores)
        if place >= tables.waiting.lists[v].blocks:
            break
        j = job_at(tables.waiting, v, place, i)
        if not leaves_kept(tables, plans, k, j, kept, short) or start_if_fits(tables, plans, k, j) != NOTHING:
            i += 1


@inlined
def leaves_kept(tables: Tables, plans: Plans, k: int, j: int, kept: int, short: float) -> bool:
    """Return whether a job leaves *kept* cores free, is no longer than *short* s, or finds the machine idle."""
    clock = tables.clock[0]
    if kept == 0 or clock.running == 0 or clock.free_cores - tables.jobs[j].size >= kept:
        return True
    return bool(planned_time(tables, plans, k, j) <= short)


@callback
def start_beside_reserve(tables: Tables, plans: Plans, memory: Kept, k: int) -> None:
    """Start every job that fits, in order; only short ones use the cores kept for them, unless nothing runs."""
    start_fitting(tables, plans, k, memory.cores[0], memory.short[0])


@callback
def start_beside_kept(tables: Tables, plans: Plans, memory: Kept, k: int) -> None:
    """Do the same with partitions."""
    for i in range(open_pass(tables, plans, k, len(plans.queue), False)):
        j = plans.queue[i]
        leaves = leaves_kept(tables, plans, k, j, memory.cores[0], memory.short[0])
        if leaves and has_cores(tables, plans, j):
            start_if_fits(tables, plans, k, j)


@callback
def start_best_pairs(tables: Tables, plans: Plans, k: int) -> None:
    """Start the job with the best packing score, again and again until none fits; ties go to the first in order.

    Source: BFBP of Hutchison et al., "Scheduling for high performance computing with reinforcement learning", II.A;
    the packing of Grandl et al., "Multi-resource packing for cluster schedulers", 2014.
    """
    plan = plans.plans[k]
    while True:
        best, best_score = -1, -np.inf
        count = copy_jobs(tables.waiting, plan.list, plans.queue)
        price = price_of_work(tables, plans, k, count) if plan.core_policy == TETRIS_SRTF else 0.0
        for i in range(count):
            j = plans.queue[i]
            if not fits(tables, j):
                continue
            _, found = best_node(tables, plan.core_policy, j, tables.jobs[j].size)
            if tables.clock[0].whole and not is_whole(found):
                continue
            if price > 0.0:
                found -= price * work(tables, plans, k, j)
            if found > best_score + ALIKE:
                best, best_score = j, found
        if best < 0 or start_if_fits(tables, plans, k, best) != NOTHING:
            break


@compiled
def work(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return the assumed core seconds of a job."""
    return float(tables.jobs[j].size * planned_time(tables, plans, k, j))


@compiled
def price_of_work(tables: Tables, plans: Plans, k: int, count: int) -> float:
    """Return the weight of a core second against the packing score, so that both count the same.

    It is the mean score over the mean work of the jobs that fit now.

    Args:
        count: number of waiting jobs in ``plans.queue``.

    Source: Grandl et al., "Multi-resource packing for cluster schedulers", 2014, section 3.3, with m = 1.
    """
    scores, works = 0.0, 0.0
    for i in range(count):
        j = plans.queue[i]
        if fits(tables, j):
            _, found = best_node(tables, plans.plans[k].core_policy, j, tables.jobs[j].size)
            if tables.clock[0].whole and not is_whole(found):
                continue
            scores += found - WHOLE if is_whole(found) else found
            works += work(tables, plans, k, j)
    return scores / works if works > 0.0 else 0.0


@compiled
def backfill(tables: Tables, plans: Plans, memory: Tries, k: int) -> None:
    """Start jobs behind the head of the queue that do not delay its reservation (EASY).

    A job that lacked cores at the last try lacks them again if there are no more free cores and no more time. Then only
    newly arrived jobs can start.

    Source: Lifka, "The ANL/IBM SP scheduling system", 1995; Tsafrir et al., 2007, for other orders of the candidates.
    """
    plan, clock, last = plans.plans[k], tables.clock[0], memory.last[0]
    head = job_at(tables.waiting, plan.list, 0, 0)
    reserve(tables, plans, k, head, tables.jobs[head].size)
    shadow, spare = plan.shadow, plan.spare
    tried = 0
    no_more = clock.free_cores <= last.cores and spare <= last.spare and shadow <= last.shadow
    if no_more and plan.times < FIRST_PREDICTED:  # a job whose prediction has become shorter may start
        tried = last.jobs
    if tried == clock.submitted:
        plan.reserved = NO_JOB
        return
    # 1 if only cores may be lacking for all candidates
    last.cores = 1 if tables.jobs[head].size > clock.free_cores else -1
    if clock.submitted == tried + 1:
        if tables.jobs[tried].status == WAITING and tables.jobs[tried].size <= clock.free_cores:
            backfill_one(tables, plans, memory, k, tried)
    elif plan.candidates_by != IN_ORDER:
        count = copy_jobs(tables.waiting, plan.candidates, plans.queue)
        sort_ties_now(tables, plans, k, count)
        for i in range(count):
            if clock.free_cores == 0:
                break
            j = plans.queue[i]
            if j >= tried and tables.jobs[j].size <= clock.free_cores:
                backfill_one(tables, plans, memory, k, j)
    else:
        v, place, i = plan.list, 0, 1
        while clock.free_cores > 0:
            place, i = next_fitting(tables.waiting, v, place, i, clock.free_cores)
            if place >= tables.waiting.lists[v].blocks:
                break
            j, before = job_at(tables.waiting, v, place, i), clock.waiting
            if j >= tried:
                backfill_one(tables, plans, memory, k, j)
            i += before == clock.waiting
    last.jobs, last.shadow, last.spare, plan.reserved = clock.submitted, shadow, plan.spare, NO_JOB
    last.cores = clock.free_cores if last.cores >= 0 else -1


@compiled
def backfill_one(tables: Tables, plans: Plans, memory: Tries, k: int, j: int) -> None:
    """Start a job for which there are enough cores unless it delays the head."""
    if start_if_fits(tables, plans, k, j) > NOTHING:
        memory.last[0].cores = -1


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


class Strict(Mode):
    """Starts jobs in order until one does not fit."""

    name, streams, looks_at_ends = "strict", True, False
    starts, starts_on_nodes = start_in_order, start_heads


class Greedy(Mode):
    """Starts every job that fits, in order."""

    name, streams, looks_at_ends = "greedy", True, False
    starts, starts_on_nodes = start_all_that_fit, start_without_reservations


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


class Packing(Mode):
    """Starts the pair of job and node with the best score until none fits."""

    name, source, looks_at_ends = "packing", "Grandl et al. 2014", False
    starts, starts_on_nodes = start_best_pairs, start_without_reservations


class Easy(Mode):
    """Reserves cores for the head of the queue and backfills, in order, what does not delay it."""

    name, source, streams = "easy", "Lifka 1995", True
    starts, starts_on_nodes = start_with_backfilling, start_around_heads

    def new_memory(self, state: State, baseline: Baseline, jobs: int) -> Tries:
        """Return the memory of its last try."""
        return Tries(np.zeros(1, TRY))


class EasyFcfs(Easy):
    """As easy, but backfills in order of arrival."""

    name, source, candidates = "easyfcfs", "", BY_ARRIVAL


class EasySjf(Easy):
    """As easy, but backfills the shortest requests first."""

    name, source, candidates = "easysjf", "", SHORTEST_FIRST


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
