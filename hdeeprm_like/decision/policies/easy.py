"""How an order is applied: strictly, greedily, beside a reserve of cores, committed, or with backfilling.

A job never starts where it does not fit, by cores, memory and GPUs. EASY reserves cores for the head of the queue. If
the head asks for memory or GPUs, the reservation waits for these too, and a job that would outlive it may start only
where it leaves enough on the nodes for the head.
"""

import numpy as np

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.decision.names import COMMIT_BACKFILL, EASY_FCFS, EASY_SJF
from hdeeprm_like.decision.policies.plans import Plans, pass_changes, planned_time, read_changes
from hdeeprm_like.decision.policies.releases import are_sorted, expected_finish, sort_releases
from hdeeprm_like.decision.policies.starting import start_if_fits
from hdeeprm_like.engine.allocation import choose_cores, return_cores
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.cores import available_in, begin_stretch, cores_from
from hdeeprm_like.engine.fitting import fits
from hdeeprm_like.engine.job_lists import copy_jobs, job_at, key_at, next_fitting, nth_job, place_with
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.numbers import FIRST_PREDICTED, TETRIS_SRTF
from hdeeprm_like.engine.packing import ALIKE, WHOLE, best_node, is_whole
from hdeeprm_like.engine.processor_index import places
from hdeeprm_like.engine.tables import CORES, NOTHING, WAITING, Tables


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
    """Start every job that fits, in order; but only short ones on the cores kept for them, unless nothing runs."""
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
    """Start the job that goes best with a node, again and again until none fits; of equals the first in order.

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
    """Return the core seconds that a job is taken to need."""
    return float(tables.jobs[j].size * planned_time(tables, plans, k, j))


@compiled
def price_of_work(tables: Tables, plans: Plans, k: int, count: int) -> float:
    """Return what a core second counts against how well a job goes with a node, so that both weigh the same.

    That is the mean score over the mean work of the jobs that fit now.

    Args:
        count: of the waiting jobs, which lie in ``plans.queue``.

    Source: Grandl et al., "Multi-resource packing for cluster schedulers", 2014, section 3.3, with m = 1.
    """
    scores, works = 0.0, 0.0
    for i in range(count):
        j = plans.queue[i]
        if fits(tables, j):
            _, found = best_node(tables, plans.plans[k].core_policy, j, tables.jobs[j].size)
            scores += found - WHOLE if is_whole(found) else found
            works += work(tables, plans, k, j)
    return scores / works if works > 0.0 else 0.0


@compiled
def backfill(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs behind the head of the queue that do not delay its reservation (EASY).

    What lacked cores the last time does so again if there are no more of them, nor more time. Then only a job that has
    come since can start.

    Source: Lifka, "The ANL/IBM SP scheduling system", 1995; Tsafrir et al., 2007, for other orders of the candidates.
    """
    plan, clock, head = plans.plans[k], tables.clock[0], job_at(tables.waiting, plans.plans[k].list, 0, 0)
    shadow, spare = reservation(tables, plans, k, head, tables.jobs[head].size)
    tried = 0
    no_more = clock.free_cores <= plan.tried_cores and spare <= plan.tried_spare and shadow <= plan.tried_shadow
    if no_more and plan.times < FIRST_PREDICTED:  # a job that is predicted to run more briefly now may start
        tried = plan.tried
    if tried == clock.submitted:
        return
    # 1 where only cores may lack, for all that is tried
    plan.tried_cores = 1 if tables.jobs[head].size > clock.free_cores else -1
    if clock.submitted == tried + 1:
        if tables.jobs[tried].status == WAITING and tables.jobs[tried].size <= clock.free_cores:
            spare -= backfill_one(tables, plans, k, tried, head, shadow, spare)
    elif plan.mode == EASY_FCFS or plan.mode == EASY_SJF:
        count = copy_jobs(tables.waiting, plan.candidates, plans.queue)
        sort_ties(tables, plans, k, count)
        for i in range(count):
            if clock.free_cores == 0:
                break
            j = plans.queue[i]
            if j >= tried and tables.jobs[j].size <= clock.free_cores:
                spare -= backfill_one(tables, plans, k, j, head, shadow, spare)
    else:
        v, place, i = plan.list, 0, 1
        while clock.free_cores > 0:
            place, i = next_fitting(tables.waiting, v, place, i, clock.free_cores)
            if place >= tables.waiting.lists[v].blocks:
                break
            j, before = job_at(tables.waiting, v, place, i), clock.waiting
            if j >= tried:
                spare -= backfill_one(tables, plans, k, j, head, shadow, spare)
            i += before == clock.waiting
    plan.tried, plan.tried_shadow, plan.tried_spare = clock.submitted, shadow, spare
    plan.tried_cores = clock.free_cores if plan.tried_cores >= 0 else -1


@compiled
def backfill_one(tables: Tables, plans: Plans, k: int, j: int, head: int, shadow: float, spare: int) -> int:
    """Start a job for which there are enough cores unless it delays the head; return how many spare cores it takes."""
    plan, job, other = plans.plans[k], tables.jobs[head], tables.jobs[j]
    if j == head:
        return 0
    in_time = tables.clock[0].now + planned_time(tables, plans, k, j) <= shadow
    if not in_time and other.size > spare:
        return 0
    if not in_time and (job.memory > 0.0 or job.gpus > 0.0):
        lacks = start_beside(tables, plans, k, j, head)
    else:
        lacks = start_if_fits(tables, plans, k, j)
    if lacks != NOTHING:
        plan.tried_cores = -1
        return 0
    return 0 if in_time else int(other.size)


@compiled
def start_beside(tables: Tables, plans: Plans, k: int, j: int, head: int) -> int:
    """Start a job that outlives the reservation of a head that asks for memory or GPUs, if it leaves these to it.

    Returns:
        NOTHING, or CORES or what else lacks.
    """
    plan, clock, job = plans.plans[k], tables.clock[0], tables.jobs[head]
    clock.decisions += 1
    lacks = choose_cores(tables, plan.core_policy, j)
    if lacks != NOTHING:
        return int(lacks)
    left = plan.room + take_at_shadow(tables, plans, job.memory, job.gpus, j, 1.0)
    if left < job.size:
        take_at_shadow(tables, plans, job.memory, job.gpus, j, -1.0)
        return_cores(tables, j)
        return CORES
    plan.room = left
    start_job(tables, j)
    return NOTHING


@compiled
def take_at_shadow(tables: Tables, plans: Plans, memory: float, gpus: float, j: int, share: float) -> float:
    """Take what a job is about to hold from what its nodes will have when the reservation begins; give back with -1.

    Args:
        memory, gpus: what each core of the head asks for.

    Returns:
        How many more of the head's cores have room then.
    """
    job, begin, change = tables.jobs[j], tables.clock[0].placed, 0.0
    for place in range(begin, begin + job.stretches):
        first, left, p = begin_stretch(tables, place)
        while left > 0:
            n, count = tables.processors[p].node, min(left, cores_from(tables, p, first))
            change -= places(float(plans.node_cores[n]), plans.node_memory[n], plans.node_gpus[n], memory, gpus)
            for _ in range(count):  # one after the other, as they are given back: without a rest
                plans.node_cores[n] -= int(share)
                plans.node_memory[n] -= share * job.memory
                plans.node_gpus[n] -= share * job.gpus
            change += places(float(plans.node_cores[n]), plans.node_memory[n], plans.node_gpus[n], memory, gpus)
            first, left, p = first + count, left - count, p + 1
    return change


@compiled
def reservation(tables: Tables, plans: Plans, k: int, j: int, size: int) -> tuple[float, int]:
    """Return when a job that does not fit is expected to, and how many cores are left over then.

    Cores that are released at that very time, but not needed for it, are not left over.

    Args:
        size: cores that must be free for it.
    """
    free = tables.clock[0].free_cores
    if tables.jobs[j].memory > 0.0 or tables.jobs[j].gpus > 0.0:
        return reservation_on_nodes(tables, plans, k, j, sort_releases(tables, plans, k))
    if are_sorted(tables, plans, k):
        v = plans.plans[k].ends
        place, i, spare = place_with(tables.running, v, size - free)
        return (key_at(tables.running, v, place, i) if place < tables.running.lists[v].blocks else np.inf), spare
    for i in range(sort_releases(tables, plans, k)):
        free += tables.jobs[plans.releases[i]].size
        if free >= size:
            return float(plans.release_ends[i]), int(free - size)
    return np.inf, 0


@compiled
def reservation_on_nodes(tables: Tables, plans: Plans, k: int, j: int, releases: int) -> tuple[float, int]:
    """Return the same for a job that asks for memory or GPUs, of which its nodes must have enough besides cores.

    What the nodes have then stays in ``Plans``, and how many of its cores have room on them in ``Plan.room``.

    Args:
        releases: running jobs in ``Plans.releases``.
    """
    job, cores, memory, gpus = tables.jobs[j], plans.node_cores, plans.node_memory, plans.node_gpus
    for n in range(len(tables.nodes)):
        node, left = tables.nodes[n], tables.node_loads[n]
        cores[n] = 0
        memory[n] = left.free_memory + node.memory * ROUNDING
        gpus[n] = left.free_gpus + node.gpus * ROUNDING
    for processor in range(len(tables.processors)):
        cores[tables.processors[processor].node] += tables.loads[processor].free
    found, free = 0.0, 0
    for n in range(len(tables.nodes)):
        found += places(float(cores[n]), memory[n], gpus[n], job.memory, job.gpus)
        free += cores[n]
    for i in range(releases):
        other = tables.jobs[plans.releases[i]]
        for place in range(other.first, other.first + other.stretches):
            first, left, p = begin_stretch(tables, place)
            while left > 0:
                n, count = tables.processors[p].node, min(left, cores_from(tables, p, first))
                found -= places(float(cores[n]), memory[n], gpus[n], job.memory, job.gpus)
                released = available_in(tables, first, count)
                cores[n] += released
                free += released
                for _ in range(count):
                    memory[n] += other.memory
                    gpus[n] += other.gpus
                found += places(float(cores[n]), memory[n], gpus[n], job.memory, job.gpus)
                first, left, p = first + count, left - count, p + 1
        if found >= job.size:
            plans.plans[k].room = found
            return float(plans.release_ends[i]), int(free - job.size)
    return np.inf, 0


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
    """Return what candidates are sorted by that are alike otherwise: the key of the order, for commit as it picked."""
    if plans.plans[k].mode == COMMIT_BACKFILL:
        return float(plans.tie_key[k, j])
    return float(tables.waiting.key_of[plans.plans[k].list, j])


@compiled
def sort_ties(tables: Tables, plans: Plans, k: int, count: int) -> None:
    """Let candidates that are alike in what they are sorted by come in the order of the queue.

    Args:
        count: candidates in ``Plans.queue``. Those that came after commit picked its job stay as they came.
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
    """Return when the cores of a job are expected to be free, by the requested ends even where these are over."""
    v, time = plans.plans[k].ends, tables.clock[0].now
    free, predicted = tables.clock[0].free_cores, plans.plans[k].times >= FIRST_PREDICTED
    if predicted:  # the list is in the order of the requested ends
        sort_releases(tables, plans, k)
    for n in range(tables.running.lists[v].jobs):
        if free >= tables.jobs[j].size:
            break
        other = plans.releases[n] if predicted else nth_job(tables.running, v, n)
        free += tables.jobs[other].size
        time = expected_finish(tables, plans, k, other)
    return float(time)
