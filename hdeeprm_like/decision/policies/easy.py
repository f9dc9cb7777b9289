"""Modes that apply an order: strict, greedy, with a reserve of cores, committed, or with backfilling.

Only `starting.start_if_fits` decides whether a job may start now. EASY reserves for the head of the queue everything
that it requests, see `reservations`; a job that would outlive the reservation may start only if it leaves that
capacity to the head.
"""

import numpy as np

from hdeeprm_like.decision.mode_specs import COMMIT_BACKFILL, EASY_FCFS, EASY_SJF
from hdeeprm_like.decision.policies.plans import NO_JOB, Plans, pass_changes, planned_time, read_changes
from hdeeprm_like.decision.policies.releases import expected_finish, sort_releases
from hdeeprm_like.decision.policies.reservations import find_room, looks_at_nodes, release_at_shadow, reserve
from hdeeprm_like.decision.policies.starting import start_if_fits
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.fitting import fits
from hdeeprm_like.engine.job_lists import copy_jobs, job_at, next_fitting, nth_job
from hdeeprm_like.engine.numbers import FIRST_PREDICTED, TETRIS_SRTF
from hdeeprm_like.engine.packing import ALIKE, WHOLE, best_node, is_whole
from hdeeprm_like.engine.tables import NOTHING, WAITING, Tables


@compiled
def start_in_order(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs until one does not fit."""
    while tables.clock[0].waiting > 0:
        if start_if_fits(tables, plans, k, job_at(tables.waiting, plans.plans[k].list, 0, 0)) != NOTHING:
            return


@compiled
def start_with_backfilling(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs until one does not fit, then those that do not delay it (EASY)."""
    start_in_order(tables, plans, k)
    if tables.clock[0].waiting > 1 and tables.clock[0].free_cores > 0:
        backfill(tables, plans, k)


@compiled
def start_all_that_fit(tables: Tables, plans: Plans, k: int) -> None:
    """Start every job that fits, in order."""
    clock, v = tables.clock[0], plans.plans[k].list
    place, i = 0, 0
    while clock.free_cores > 0:
        place, i = next_fitting(tables.waiting, v, place, i, clock.free_cores)
        if place >= tables.waiting.lists[v].blocks:
            break
        if start_if_fits(tables, plans, k, job_at(tables.waiting, v, place, i)) != NOTHING:
            i += 1


@compiled
def start_beside_reserve(tables: Tables, plans: Plans, k: int) -> None:
    """Start every job that fits, in order; only short ones use the cores kept for them, unless nothing runs."""
    plan, clock, v = plans.plans[k], tables.clock[0], plans.plans[k].list
    place, i = 0, 0
    while clock.free_cores > 0:
        place, i = next_fitting(tables.waiting, v, place, i, clock.free_cores)
        if place >= tables.waiting.lists[v].blocks:
            break
        j = job_at(tables.waiting, v, place, i)
        may = clock.running == 0 or clock.free_cores - tables.jobs[j].size >= plan.kept
        may = may or planned_time(tables, plans, k, j) <= plan.short
        if not may or start_if_fits(tables, plans, k, j) != NOTHING:
            i += 1


@compiled
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
def backfill(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs behind the head of the queue that do not delay its reservation (EASY).

    A job that lacked cores at the last try lacks them again if there are no more free cores and no more time. Then only
    newly arrived jobs can start.

    Source: Lifka, "The ANL/IBM SP scheduling system", 1995; Tsafrir et al., 2007, for other orders of the candidates.
    """
    plan, clock, head = plans.plans[k], tables.clock[0], job_at(tables.waiting, plans.plans[k].list, 0, 0)
    reserve(tables, plans, k, head, tables.jobs[head].size)
    shadow, spare = plan.shadow, plan.spare
    tried = 0
    no_more = clock.free_cores <= plan.tried_cores and spare <= plan.tried_spare and shadow <= plan.tried_shadow
    if no_more and plan.times < FIRST_PREDICTED:  # a job whose prediction has become shorter may start
        tried = plan.tried
    if tried == clock.submitted:
        plan.reserved = NO_JOB
        return
    # 1 if only cores may be lacking for all candidates
    plan.tried_cores = 1 if tables.jobs[head].size > clock.free_cores else -1
    if clock.submitted == tried + 1:
        if tables.jobs[tried].status == WAITING and tables.jobs[tried].size <= clock.free_cores:
            backfill_one(tables, plans, k, tried)
    elif plan.mode == EASY_FCFS or plan.mode == EASY_SJF:
        count = copy_jobs(tables.waiting, plan.candidates, plans.queue)
        sort_ties(tables, plans, k, count)
        for i in range(count):
            if clock.free_cores == 0:
                break
            j = plans.queue[i]
            if j >= tried and tables.jobs[j].size <= clock.free_cores:
                backfill_one(tables, plans, k, j)
    else:
        v, place, i = plan.list, 0, 1
        while clock.free_cores > 0:
            place, i = next_fitting(tables.waiting, v, place, i, clock.free_cores)
            if place >= tables.waiting.lists[v].blocks:
                break
            j, before = job_at(tables.waiting, v, place, i), clock.waiting
            if j >= tried:
                backfill_one(tables, plans, k, j)
            i += before == clock.waiting
    plan.tried, plan.tried_shadow, plan.tried_spare, plan.reserved = clock.submitted, shadow, plan.spare, NO_JOB
    plan.tried_cores = clock.free_cores if plan.tried_cores >= 0 else -1


@compiled
def backfill_one(tables: Tables, plans: Plans, k: int, j: int) -> None:
    """Start a job for which there are enough cores unless it delays the head."""
    if start_if_fits(tables, plans, k, j) > NOTHING:
        plans.plans[k].tried_cores = -1


@compiled
def start_committed(tables: Tables, plans: Plans, k: int) -> None:
    """Start the picked job, then pick the next, until one blocks; meanwhile backfill if the mode does.

    Source: the simulator of RLScheduler (Zhang et al., 2020), as `golden/windows` describes it.
    """
    plan, clock = plans.plans[k], tables.clock[0]
    read_changes(tables, plans, k)
    if plan.held >= 0 and tables.jobs[plan.held].status != WAITING:
        plan.held = -1
    while clock.waiting > 0:
        j = plan.held if plan.held >= 0 else job_at(tables.waiting, plan.list, 0, 0)
        if start_if_fits(tables, plans, k, j) != NOTHING:
            if plan.held < 0:
                plan.held, plan.held_at, plan.shadow = j, clock.submitted, expected_start(tables, plans, k, j)
                for n in range(clock.waiting):
                    other = tables.members[n]
                    plans.tie_key[k, other] = tables.waiting.key_of[plan.list, other]
            break
        plan.held = -1
    if clock.waiting > 0 and plan.mode == COMMIT_BACKFILL:
        count = copy_jobs(tables.waiting, plan.candidates, plans.queue)
        sort_ties(tables, plans, k, count)
        for i in range(count):
            j = plans.queue[i]
            enough = tables.jobs[j].size <= clock.free_cores
            if enough and j != plan.held and clock.now + planned_time(tables, plans, k, j) < plan.shadow:
                start_if_fits(tables, plans, k, j)
    pass_changes(tables, plans, k)


@compiled
def tie_breaker(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return the sort key of equal candidates: the key of the order; with commit, the key at the time of picking."""
    if plans.plans[k].mode == COMMIT_BACKFILL:
        return float(plans.tie_key[k, j])
    return float(tables.waiting.key_of[plans.plans[k].list, j])


@compiled
def sort_ties(tables: Tables, plans: Plans, k: int, count: int) -> None:
    """Order candidates with equal sort keys as in the queue.

    Args:
        count: candidates in ``Plans.queue``. Those that arrived after commit picked its job keep their order.
    """
    plan = plans.plans[k]
    for i in range(1, count):
        j, place = plans.queue[i], i
        if plan.mode == COMMIT_BACKFILL and j >= plan.held_at:
            continue
        while place > 0:
            other = plans.queue[place - 1]
            alike = tables.jobs[other].submit == tables.jobs[j].submit
            if plan.mode == EASY_SJF:
                alike = alike and planned_time(tables, plans, k, other) == planned_time(tables, plans, k, j)
            key, own = tie_breaker(tables, plans, k, other), tie_breaker(tables, plans, k, j)
            if not alike or key < own or (key == own and other < j):
                break
            plans.queue[place] = other
            place -= 1
        plans.queue[place] = j


@compiled
def expected_start(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return when a job is expected to fit, by the requested ends even if these are past."""
    plan, time, size = plans.plans[k], tables.clock[0].now, tables.jobs[j].size
    predicted, on_nodes = plan.times >= FIRST_PREDICTED, looks_at_nodes(tables, j)
    plan.spare = tables.clock[0].free_cores - size
    if on_nodes:
        find_room(tables, plans, k, j)
    if predicted:  # the list is in the order of the requested ends
        sort_releases(tables, plans, k)
    for n in range(tables.running.lists[plan.ends].jobs):
        if plan.spare >= 0 and (not on_nodes or plan.room >= size):
            break
        other = plans.releases[n] if predicted else nth_job(tables.running, plan.ends, n)
        if on_nodes:
            release_at_shadow(tables, plans, k, tables.jobs[other].first, other, j)
        else:
            plan.spare += tables.jobs[other].size
        time = expected_finish(tables, plans, k, other)
    return float(time)
