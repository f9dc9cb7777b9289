"""How an order is applied: strictly, greedily, committed, or with backfilling.

A job never starts where it does not fit, by cores, memory and GPUs. EASY reserves cores for the head of the queue. If
the head asks for memory or GPUs, the reservation waits for these too, and a job that would outlive it may take cores
left over only if it takes none of the same.
"""

import numpy as np

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.decision.names import (
    COMMIT,
    COMMIT_BACKFILL,
    CONSERVATIVE,
    EASY_FCFS,
    EASY_SJF,
    GREEDY,
    PACKING,
    STRICT,
)
from hdeeprm_like.decision.policies.conservative import start_conservative
from hdeeprm_like.decision.policies.plans import Plans, expected_finish, read_changes
from hdeeprm_like.decision.policies.priorities import share_out, sort_again
from hdeeprm_like.decision.policies.starting import OVERDUE, start_if_fits
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.fitting import fits
from hdeeprm_like.engine.job_keys import planned_time
from hdeeprm_like.engine.job_lists import copy_jobs, job_at, next_fitting, nth_job
from hdeeprm_like.engine.lifecycle import lacking_beside_cores, places
from hdeeprm_like.engine.numbers import FIRST_CHANGING, MULTIFACTOR
from hdeeprm_like.engine.packing import ALIKE, best_node
from hdeeprm_like.engine.tables import CORES, NOTHING, WAITING, Tables


@compiled
def decide(t: Tables, p: Plans, k: int) -> None:
    """Start what baseline *k* starts now."""
    plan, clock = p.plans[k], t.clock[0]
    clock.blocked = NOTHING
    if plan.order == MULTIFACTOR:
        share_out(t, p, k)
    read_changes(t, p, k, False)
    if clock.waiting == 0:
        return
    if plan.order >= FIRST_CHANGING:
        sort_again(t, p, k)
    if plan.mode == GREEDY:
        start_all_that_fit(t, p, k)
    elif plan.mode == CONSERVATIVE:
        start_conservative(t, p, k)
    elif plan.mode == PACKING:
        start_best_pairs(t, p, k)
    elif plan.mode == COMMIT or plan.mode == COMMIT_BACKFILL:
        start_committed(t, p, k)
    else:
        start_in_order(t, p, k)
        if plan.mode != STRICT and clock.waiting > 1 and clock.free_cores > 0:
            backfill(t, p, k)
    read_changes(t, p, k, True)
    if clock.waiting > 0:
        note_blocked(t, p, k)


@compiled
def note_blocked(t: Tables, p: Plans, k: int) -> None:
    """Tell what the head of the queue lacks."""
    clock = t.clock[0]
    j = p.plans[k].held if p.plans[k].held >= 0 else job_at(t.waiting, p.plans[k].list, 0, 0)
    clock.blocked_job = j
    size = t.jobs[j].size
    clock.blocked = CORES if size > clock.free_cores else lacking_beside_cores(t, j, size)


@compiled
def start_in_order(t: Tables, p: Plans, k: int) -> None:
    """Start jobs until one does not fit."""
    while t.clock[0].waiting > 0:
        if start_if_fits(t, p, k, job_at(t.waiting, p.plans[k].list, 0, 0)) != NOTHING:
            return


@compiled
def start_all_that_fit(t: Tables, p: Plans, k: int) -> None:
    """Start every job that fits, in order."""
    clock, v = t.clock[0], p.plans[k].list
    place, i = 0, 0
    while clock.free_cores > 0:
        place, i = next_fitting(t.waiting, v, place, i, clock.free_cores)
        if place >= t.waiting.lists[v].blocks:
            break
        if start_if_fits(t, p, k, job_at(t.waiting, v, place, i)) != NOTHING:
            i += 1


@compiled
def start_best_pairs(t: Tables, p: Plans, k: int) -> None:
    """Start the job that goes best with a node, again and again until none fits; of equals the first in order.

    Source: BFBP of Hutchison et al., "Scheduling for high performance computing with reinforcement learning", II.A;
    the packing of Grandl et al., "Multi-resource packing for cluster schedulers", 2014.
    """
    plan = p.plans[k]
    while True:
        best, best_score = -1, -np.inf
        count = copy_jobs(t.waiting, plan.list, p.queue)
        for i in range(count):
            j = p.queue[i]
            if not fits(t, j):
                continue
            _, found = best_node(t, plan.core_policy, j, t.jobs[j].size)
            if found > best_score + ALIKE:
                best, best_score = j, found
        if best < 0 or start_if_fits(t, p, k, best) != NOTHING:
            break


@compiled
def backfill(t: Tables, p: Plans, k: int) -> None:
    """Start jobs behind the head of the queue that do not delay its reservation (EASY).

    What lacked cores the last time does so again if there are no more of them, nor more time. Then only a job that has
    come since can start.

    Source: Lifka, "The ANL/IBM SP scheduling system", 1995; Tsafrir et al., 2007, for other orders of the candidates.
    """
    plan, clock, head = p.plans[k], t.clock[0], job_at(t.waiting, p.plans[k].list, 0, 0)
    shadow, spare = reservation(t, p, k, head)
    tried = 0
    if clock.free_cores <= plan.tried_cores and spare <= plan.tried_spare and shadow <= plan.tried_shadow:
        tried = plan.tried
    if tried == clock.submitted:
        return
    plan.tried_cores = 1 if t.jobs[head].size > clock.free_cores else -1  # only cores may lack, for all that is tried
    if plan.mode == EASY_FCFS or plan.mode == EASY_SJF:
        count = copy_jobs(t.waiting, plan.candidates, p.queue)
        sort_ties(t, p, k, count)
        for i in range(count):
            if clock.free_cores == 0:
                break
            j = p.queue[i]
            if j >= tried and t.jobs[j].size <= clock.free_cores:
                spare -= backfill_one(t, p, k, j, head, shadow, spare)
    else:
        v, place, i = plan.list, 0, 1
        while clock.free_cores > 0:
            place, i = next_fitting(t.waiting, v, place, i, clock.free_cores)
            if place >= t.waiting.lists[v].blocks:
                break
            j, before = job_at(t.waiting, v, place, i), clock.waiting
            if j >= tried:
                spare -= backfill_one(t, p, k, j, head, shadow, spare)
            i += before == clock.waiting
    plan.tried, plan.tried_shadow, plan.tried_spare = clock.submitted, shadow, spare
    plan.tried_cores = clock.free_cores if plan.tried_cores >= 0 else -1


@compiled
def backfill_one(t: Tables, p: Plans, k: int, j: int, head: int, shadow: float, spare: int) -> int:
    """Start a job for which there are enough cores unless it delays the head; return how many spare cores it takes."""
    plan, job, other = p.plans[k], t.jobs[head], t.jobs[j]
    if j == head:
        return 0
    in_time = t.clock[0].now + planned_time(t, plan.actual, j) <= shadow
    if not in_time and other.size > spare:
        return 0
    rivals = (job.memory > 0.0 and other.memory > 0.0) or (job.gpus > 0.0 and other.gpus > 0.0)
    if (not in_time and rivals) or start_if_fits(t, p, k, j) != NOTHING:
        plan.tried_cores = -1
        return 0
    return 0 if in_time else int(other.size)


@compiled
def expected_end(t: Tables, p: Plans, k: int, j: int) -> float:
    """Return when a running job is expected to end; an overdue one in a second."""
    end, now = expected_finish(t, p.plans[k].actual, j), t.clock[0].now
    return float(end if end > now else now + OVERDUE)


@compiled
def sort_releases(t: Tables, p: Plans, k: int) -> int:
    """Write the running jobs by expected end, the smallest first of those that end together; return how many."""
    v = p.plans[k].ends
    count = copy_jobs(t.running, v, p.releases)
    if count == 0 or expected_finish(t, p.plans[k].actual, p.releases[0]) > t.clock[0].now:
        return count
    for i in range(count):  # overdue jobs come among others
        j = p.releases[i]
        end, place = expected_end(t, p, k, j), i
        while place > 0:
            other = p.releases[place - 1]
            other_end = expected_end(t, p, k, other)
            if other_end < end or (other_end == end and t.jobs[other].size <= t.jobs[j].size):
                break
            p.releases[place] = other
            place -= 1
        p.releases[place] = j
    return count


@compiled
def reservation(t: Tables, p: Plans, k: int, j: int) -> tuple[float, int]:
    """Return when a job that does not fit is expected to, and how many cores are left over then.

    Cores that are released at that very time, but not needed for it, are not left over.
    """
    count = sort_releases(t, p, k)
    if t.jobs[j].memory > 0.0 or t.jobs[j].gpus > 0.0:
        return reservation_on_nodes(t, p, k, j, count)
    size, free = t.jobs[j].size, t.clock[0].free_cores
    for i in range(count):
        other = p.releases[i]
        free += t.jobs[other].size
        if free >= size:
            return expected_end(t, p, k, other), int(free - size)
    return np.inf, 0


@compiled
def reservation_on_nodes(t: Tables, p: Plans, k: int, j: int, count: int) -> tuple[float, int]:
    """Return the same for a job that asks for memory or GPUs, of which its nodes must have enough besides cores.

    Args:
        count: running jobs in ``Plans.releases``.
    """
    job, cores, memory, gpus = t.jobs[j], p.node_cores, p.node_memory, p.node_gpus
    for n in range(len(t.nodes)):
        node, left = t.nodes[n], t.rooms[n]
        cores[n] = 0
        memory[n] = left.free_memory + node.memory * ROUNDING
        gpus[n] = left.free_gpus + node.gpus * ROUNDING
    for processor in range(len(t.processors)):
        cores[t.processors[processor].node] += t.loads[processor].free
    for i in range(count):
        other = t.jobs[p.releases[i]]
        for place in range(other.first, other.first + other.size):
            core = t.allocation[place]
            n = t.processors[t.core_processor[core]].node
            cores[n] += t.core_available[core]
            memory[n] += other.memory
            gpus[n] += other.gpus
        found, free = 0.0, 0
        for n in range(len(t.nodes)):
            found += places(float(cores[n]), memory[n], gpus[n], job.memory, job.gpus)
            free += cores[n]
        if found >= job.size:
            return expected_end(t, p, k, p.releases[i]), int(free - job.size)
    return np.inf, 0


@compiled
def start_committed(t: Tables, p: Plans, k: int) -> None:
    """Start the picked job, then pick the next, until one blocks; meanwhile backfill if the mode does.

    Source: the simulator of RLScheduler (Zhang et al., 2020), as `golden/windows` describes it.
    """
    plan, clock = p.plans[k], t.clock[0]
    if plan.held >= 0 and t.jobs[plan.held].status != WAITING:
        plan.held = -1
    while clock.waiting > 0:
        j = plan.held if plan.held >= 0 else job_at(t.waiting, plan.list, 0, 0)
        if start_if_fits(t, p, k, j) != NOTHING:
            if plan.held < 0:
                plan.held, plan.held_at, plan.shadow = j, clock.submitted, expected_start(t, p, k, j)
                for n in range(clock.waiting):
                    other = t.members[n]
                    p.tie_key[k, other] = t.waiting.key_of[plan.list, other]
            break
        plan.held = -1
    if clock.waiting > 0 and plan.mode == COMMIT_BACKFILL:
        count = copy_jobs(t.waiting, plan.candidates, p.queue)
        sort_ties(t, p, k, count)
        for i in range(count):
            j = p.queue[i]
            enough = t.jobs[j].size <= clock.free_cores
            if enough and j != plan.held and clock.now + planned_time(t, plan.actual, j) < plan.shadow:
                start_if_fits(t, p, k, j)


@compiled
def tie_breaker(t: Tables, p: Plans, k: int, j: int) -> float:
    """Return what candidates are sorted by that are alike otherwise: the key of the order, for commit as it picked."""
    if p.plans[k].mode == COMMIT_BACKFILL:
        return float(p.tie_key[k, j])
    return float(t.waiting.key_of[p.plans[k].list, j])


@compiled
def sort_ties(t: Tables, p: Plans, k: int, count: int) -> None:
    """Let candidates that are alike in what they are sorted by come in the order of the queue.

    Args:
        count: candidates in ``Plans.queue``. Those that came after commit picked its job stay as they came.
    """
    plan = p.plans[k]
    for i in range(1, count):
        j, place = p.queue[i], i
        if plan.mode == COMMIT_BACKFILL and j >= plan.held_at:
            continue
        while place > 0:
            other = p.queue[place - 1]
            alike = t.jobs[other].submit == t.jobs[j].submit
            if plan.mode == EASY_SJF:
                alike = alike and planned_time(t, plan.actual, other) == planned_time(t, plan.actual, j)
            key, own = tie_breaker(t, p, k, other), tie_breaker(t, p, k, j)
            if not alike or key < own or (key == own and other < j):
                break
            p.queue[place] = other
            place -= 1
        p.queue[place] = j


@compiled
def expected_start(t: Tables, p: Plans, k: int, j: int) -> float:
    """Return when the cores of a job are expected to be free, by the requested ends even where these are over."""
    v, time = p.plans[k].ends, t.clock[0].now
    free = t.clock[0].free_cores
    for n in range(t.running.lists[v].jobs):
        if free >= t.jobs[j].size:
            break
        other = nth_job(t.running, v, n)
        free += t.jobs[other].size
        time = expected_finish(t, p.plans[k].actual, other)
    return float(time)
