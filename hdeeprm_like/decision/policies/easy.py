"""How an order is applied: strictly, greedily, committed, or with backfilling.

A job never starts where it does not fit, by cores, memory and GPUs. EASY reserves cores for the head of the queue. If
the head asks for memory or GPUs, the reservation waits for these too, and a job that would outlive it may take cores
left over only if it takes none of the same.
"""

import functools
from collections.abc import Callable

import numpy as np

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.decision.names import (
    COMMIT,
    COMMIT_BACKFILL,
    CONSERVATIVE,
    EASY,
    EASY_FCFS,
    EASY_SJF,
    GREEDY,
    MODES,
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
def open_decision(tables: Tables, plans: Plans, k: int) -> bool:
    """Bring baseline *k* to the present instant; False if nothing waits."""
    plan, clock = plans.plans[k], tables.clock[0]
    clock.blocked = NOTHING
    if plan.order == MULTIFACTOR:
        share_out(tables, plans, k)
    read_changes(tables, plans, k, False)
    if clock.waiting > 0 and plan.order >= FIRST_CHANGING:
        sort_again(tables, plans, k)
    return bool(clock.waiting > 0)


@compiled
def close_decision(tables: Tables, plans: Plans, k: int) -> None:
    """Let baseline *k* take note of what it has started, and tell what the head of the queue lacks."""
    read_changes(tables, plans, k, True)
    if tables.clock[0].waiting > 0:
        note_blocked(tables, plans, k)


@functools.cache
def decide_by(modes: tuple[str, ...]) -> Callable[[Tables, Plans, int], None]:
    """Return a compiled function that starts what a baseline of one of some modes starts now, and knows no others."""
    start = STARTS[MODES[modes[-1]]]
    for mode in reversed(modes[:-1]):
        start = either(MODES[mode], STARTS[MODES[mode]], start)

    def decide(tables, plans, k):  # type: ignore[no-untyped-def]
        if open_decision(tables, plans, k):
            start(tables, plans, k)
            close_decision(tables, plans, k)

    decide.__qualname__ = f"decide_by_{'_'.join(modes)}"  # machine code is kept by this name
    return compiled(decide)


def either(mode: int, start: Callable[..., None], otherwise: Callable[..., None]) -> Callable[..., None]:
    """Return a compiled function that starts jobs by one mode, or by others."""

    def start_by_mode(tables, plans, k):  # type: ignore[no-untyped-def]
        if plans.plans[k].mode == mode:
            start(tables, plans, k)
        else:
            otherwise(tables, plans, k)

    return compiled(start_by_mode)


@compiled
def note_blocked(tables: Tables, plans: Plans, k: int) -> None:
    """Tell what the head of the queue lacks."""
    clock = tables.clock[0]
    j = plans.plans[k].held if plans.plans[k].held >= 0 else job_at(tables.waiting, plans.plans[k].list, 0, 0)
    clock.blocked_job = j
    size = tables.jobs[j].size
    clock.blocked = CORES if size > clock.free_cores else lacking_beside_cores(tables, j, size)


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
def start_best_pairs(tables: Tables, plans: Plans, k: int) -> None:
    """Start the job that goes best with a node, again and again until none fits; of equals the first in order.

    Source: BFBP of Hutchison et al., "Scheduling for high performance computing with reinforcement learning", II.A;
    the packing of Grandl et al., "Multi-resource packing for cluster schedulers", 2014.
    """
    plan = plans.plans[k]
    while True:
        best, best_score = -1, -np.inf
        count = copy_jobs(tables.waiting, plan.list, plans.queue)
        for i in range(count):
            j = plans.queue[i]
            if not fits(tables, j):
                continue
            _, found = best_node(tables, plan.core_policy, j, tables.jobs[j].size)
            if found > best_score + ALIKE:
                best, best_score = j, found
        if best < 0 or start_if_fits(tables, plans, k, best) != NOTHING:
            break


@compiled
def backfill(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs behind the head of the queue that do not delay its reservation (EASY).

    What lacked cores the last time does so again if there are no more of them, nor more time. Then only a job that has
    come since can start.

    Source: Lifka, "The ANL/IBM SP scheduling system", 1995; Tsafrir et al., 2007, for other orders of the candidates.
    """
    plan, clock, head = plans.plans[k], tables.clock[0], job_at(tables.waiting, plans.plans[k].list, 0, 0)
    shadow, spare = reservation(tables, plans, k, head)
    tried = 0
    if clock.free_cores <= plan.tried_cores and spare <= plan.tried_spare and shadow <= plan.tried_shadow:
        tried = plan.tried
    if tried == clock.submitted:
        return
    plan.tried_cores = (
        1 if tables.jobs[head].size > clock.free_cores else -1
    )  # only cores may lack, for all that is tried
    if plan.mode == EASY_FCFS or plan.mode == EASY_SJF:
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
    in_time = tables.clock[0].now + planned_time(tables, plan.actual, j) <= shadow
    if not in_time and other.size > spare:
        return 0
    rivals = (job.memory > 0.0 and other.memory > 0.0) or (job.gpus > 0.0 and other.gpus > 0.0)
    if (not in_time and rivals) or start_if_fits(tables, plans, k, j) != NOTHING:
        plan.tried_cores = -1
        return 0
    return 0 if in_time else int(other.size)


@compiled
def expected_end(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return when a running job is expected to end; an overdue one in a second."""
    end, now = expected_finish(tables, plans.plans[k].actual, j), tables.clock[0].now
    return float(end if end > now else now + OVERDUE)


@compiled
def sort_releases(tables: Tables, plans: Plans, k: int) -> int:
    """Write the running jobs by expected end, the smallest first of those that end together; return how many."""
    v = plans.plans[k].ends
    count = copy_jobs(tables.running, v, plans.releases)
    if count == 0 or expected_finish(tables, plans.plans[k].actual, plans.releases[0]) > tables.clock[0].now:
        return count
    for i in range(count):  # overdue jobs come among others
        j = plans.releases[i]
        end, place = expected_end(tables, plans, k, j), i
        while place > 0:
            other = plans.releases[place - 1]
            other_end = expected_end(tables, plans, k, other)
            if other_end < end or (other_end == end and tables.jobs[other].size <= tables.jobs[j].size):
                break
            plans.releases[place] = other
            place -= 1
        plans.releases[place] = j
    return count


@compiled
def reservation(tables: Tables, plans: Plans, k: int, j: int) -> tuple[float, int]:
    """Return when a job that does not fit is expected to, and how many cores are left over then.

    Cores that are released at that very time, but not needed for it, are not left over.
    """
    count = sort_releases(tables, plans, k)
    if tables.jobs[j].memory > 0.0 or tables.jobs[j].gpus > 0.0:
        return reservation_on_nodes(tables, plans, k, j, count)
    size, free = tables.jobs[j].size, tables.clock[0].free_cores
    for i in range(count):
        other = plans.releases[i]
        free += tables.jobs[other].size
        if free >= size:
            return expected_end(tables, plans, k, other), int(free - size)
    return np.inf, 0


@compiled
def reservation_on_nodes(tables: Tables, plans: Plans, k: int, j: int, count: int) -> tuple[float, int]:
    """Return the same for a job that asks for memory or GPUs, of which its nodes must have enough besides cores.

    Args:
        count: running jobs in ``Plans.releases``.
    """
    job, cores, memory, gpus = tables.jobs[j], plans.node_cores, plans.node_memory, plans.node_gpus
    for n in range(len(tables.nodes)):
        node, left = tables.nodes[n], tables.node_loads[n]
        cores[n] = 0
        memory[n] = left.free_memory + node.memory * ROUNDING
        gpus[n] = left.free_gpus + node.gpus * ROUNDING
    for processor in range(len(tables.processors)):
        cores[tables.processors[processor].node] += tables.loads[processor].free
    for i in range(count):
        other = tables.jobs[plans.releases[i]]
        for place in range(other.first, other.first + other.size):
            core = tables.allocation[place]
            n = tables.processors[tables.core_processor[core]].node
            cores[n] += tables.core_available[core]
            memory[n] += other.memory
            gpus[n] += other.gpus
        found, free = 0.0, 0
        for n in range(len(tables.nodes)):
            found += places(float(cores[n]), memory[n], gpus[n], job.memory, job.gpus)
            free += cores[n]
        if found >= job.size:
            return expected_end(tables, plans, k, plans.releases[i]), int(free - job.size)
    return np.inf, 0


@compiled
def start_committed(tables: Tables, plans: Plans, k: int) -> None:
    """Start the picked job, then pick the next, until one blocks; meanwhile backfill if the mode does.

    Source: the simulator of RLScheduler (Zhang et al., 2020), as `golden/windows` describes it.
    """
    plan, clock = plans.plans[k], tables.clock[0]
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
            if enough and j != plan.held and clock.now + planned_time(tables, plan.actual, j) < plan.shadow:
                start_if_fits(tables, plans, k, j)


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
                alike = alike and planned_time(tables, plan.actual, other) == planned_time(tables, plan.actual, j)
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
    free = tables.clock[0].free_cores
    for n in range(tables.running.lists[v].jobs):
        if free >= tables.jobs[j].size:
            break
        other = nth_job(tables.running, v, n)
        free += tables.jobs[other].size
        time = expected_finish(tables, plans.plans[k].actual, other)
    return float(time)


STARTS: dict[int, Callable[[Tables, Plans, int], None]] = {
    STRICT: start_in_order,
    GREEDY: start_all_that_fit,
    COMMIT: start_committed,
    COMMIT_BACKFILL: start_committed,
    EASY: start_with_backfilling,
    EASY_FCFS: start_with_backfilling,
    EASY_SJF: start_with_backfilling,
    CONSERVATIVE: start_conservative,
    PACKING: start_best_pairs,
}
"""How each mode starts jobs; a new mode is such a function, a place here and a name in `names.MODES`."""
