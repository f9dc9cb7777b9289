"""How an order is applied: strictly, greedily, committed, or with backfilling.

All are functions of ``Tables`` and of a baseline's own ``Plan``. A job never starts where it does not fit, by cores,
memory and GPUs. EASY reserves cores for the head of the queue. If the head asks for memory or GPUs, the reservation
waits for these too, and a job that would outlive it may take cores left over only if it takes none of the same.
"""

import numpy as np

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.decision.names import (
    COMMIT,
    COMMIT_BACKFILL,
    CONSERVATIVE,
    EASY,
    EASY_SJF,
    FIRST_WITH_OTHERS,
    GREEDY,
    PACKING,
    STRICT,
)
from hdeeprm_like.decision.policies.conservative import OVERDUE, drop_started, start_conservative, start_planned
from hdeeprm_like.decision.policies.priorities import Plan, bring_up_to_date, keep_waiting
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.fitting import fits
from hdeeprm_like.engine.lifecycle import lacking_beside_cores, places
from hdeeprm_like.engine.packing import ALIKE, best_node
from hdeeprm_like.engine.tables import CORES, NOTHING, WAITING, Tables
from hdeeprm_like.types import Ints


@compiled
def decide(t: Tables, plan: Plan) -> None:
    """Start what a baseline starts now."""
    rule, clock = plan.rule[0], t.clock[0]
    clock.blocked = NOTHING
    bring_up_to_date(t, plan)
    if rule.waiting == 0:
        return
    if rule.mode == GREEDY:
        start_all_that_fit(t, plan)
        drop_started(t, plan, rule.front)
    elif rule.mode == CONSERVATIVE:
        start_conservative(t, plan)
    elif rule.mode == PACKING:
        start_best_pairs(t, plan)
        drop_started(t, plan, rule.front)
    elif rule.mode == COMMIT or rule.mode == COMMIT_BACKFILL:
        start_committed(t, plan)
    else:
        head = start_in_order(t, plan)
        first, end = head, rule.front + rule.waiting
        if rule.mode != STRICT and end > head + 1 and clock.free_cores > 0:
            first = backfill(t, plan, head)
        drop_started(t, plan, first)
    if rule.waiting > 0:
        note_blocked(t, plan)


@compiled
def note_blocked(t: Tables, plan: Plan) -> None:
    """Tell what the head of the queue lacks."""
    clock = t.clock[0]
    j = plan.rule[0].held if plan.rule[0].held >= 0 else plan.queue[plan.rule[0].front]
    clock.blocked_job = j
    size = t.jobs[j].size
    clock.blocked = CORES if size > clock.free_cores else lacking_beside_cores(t, j, size)


@compiled
def start_in_order(t: Tables, plan: Plan) -> int:
    """Start jobs until one does not fit; return its place in the queue."""
    rule = plan.rule[0]
    end = rule.front + rule.waiting
    for i in range(rule.front, end):
        if start_planned(t, plan, plan.queue[i]) != NOTHING:
            return i
    return int(end)


@compiled
def start_all_that_fit(t: Tables, plan: Plan) -> None:
    """Start every job that fits, in order."""
    rule, clock = plan.rule[0], t.clock[0]
    for i in range(rule.front, rule.front + rule.waiting):
        if clock.free_cores == 0:
            break
        if t.jobs[plan.queue[i]].size <= clock.free_cores:
            start_planned(t, plan, plan.queue[i])


@compiled
def start_best_pairs(t: Tables, plan: Plan) -> None:
    """Start the job that goes best with a node, again and again until none fits; of equals the first in order.

    Source: BFBP of Hutchison et al., "Scheduling for high performance computing with reinforcement learning", II.A;
    the packing of Grandl et al., "Multi-resource packing for cluster schedulers", 2014.
    """
    rule = plan.rule[0]
    while True:
        best, best_score = -1, -np.inf
        for i in range(rule.front, rule.front + rule.waiting):
            j = plan.queue[i]
            if t.jobs[j].status != WAITING or not fits(t, j):
                continue
            _, found = best_node(t, rule.core_policy, j, t.jobs[j].size)
            if found > best_score + ALIKE:
                best, best_score = j, found
        if best < 0 or start_planned(t, plan, best) != NOTHING:
            break


@compiled
def backfill(t: Tables, plan: Plan, head: int) -> int:
    """Start jobs behind the head of the queue that do not delay its reservation (EASY).

    What lacked cores the last time does so again if there are no more of them, nor more time. Then only a job that has
    come since can start.

    Returns:
        A place in the queue before which no job was backfilled.

    Source: Lifka, "The ANL/IBM SP scheduling system", 1995; Tsafrir et al., 2007, for other orders of the candidates.
    """
    rule, clock = plan.rule[0], t.clock[0]
    job = t.jobs[plan.queue[head]]
    shadow, spare = reservation(t, plan, plan.queue[head])
    rows, first, used = plan.queue, head + 1, rule.front + rule.waiting
    if rule.mode >= FIRST_WITH_OTHERS:
        rule.others = keep_waiting(t, plan.others, 0, rule.others)
        sort_ties(t, plan)
        rows, first, used = plan.others, 0, rule.others
    tried = 0
    if clock.free_cores <= rule.tried_cores and spare <= rule.tried_spare and shadow <= rule.tried_shadow:
        tried = rule.tried
    if tried == rule.seen:
        return head
    lowest, only_cores = used, bool(job.size > clock.free_cores)
    for i in range(first, used):
        j = rows[i]
        if j < tried:
            continue
        other = t.jobs[j]
        if other.size > clock.free_cores or j == plan.queue[head]:
            continue
        in_time = clock.now + plan.time[j] <= shadow
        if not in_time and other.size > spare:
            continue
        rivals = (job.memory > 0.0 and other.memory > 0.0) or (job.gpus > 0.0 and other.gpus > 0.0)
        if not in_time and rivals:
            only_cores = False
            continue
        if start_planned(t, plan, j) != NOTHING:
            only_cores = False
            continue
        lowest = min(lowest, i)
        if not in_time:
            spare -= other.size
        if clock.free_cores == 0:
            break
    rule.tried, rule.tried_shadow, rule.tried_spare = rule.seen, shadow, spare
    rule.tried_cores = clock.free_cores if only_cores else -1
    return int(lowest if rule.mode == EASY else head)


@compiled
def expected_end(t: Tables, plan: Plan, j: int) -> float:
    """Return when a running job is expected to end; an overdue one in a second."""
    end, now = plan.end[j], t.clock[0].now
    return float(end if end > now else now + OVERDUE)


@compiled
def sort_releases(t: Tables, plan: Plan) -> None:
    """Sort the running jobs by expected end; of those that end together the smallest come first."""
    for k in range(plan.rule[0].running):
        j = plan.running[k]
        end, seat = expected_end(t, plan, j), k
        while seat > 0:
            other = plan.releases[seat - 1]
            other_end = expected_end(t, plan, other)
            if other_end < end or (other_end == end and t.jobs[other].size <= t.jobs[j].size):
                break
            plan.releases[seat] = other
            seat -= 1
        plan.releases[seat] = j


@compiled
def reservation(t: Tables, plan: Plan, j: int) -> tuple[float, int]:
    """Return when a job that does not fit is expected to, and how many cores are left over then.

    Cores that are released at that very time, but not needed for it, are not left over.
    """
    rule, rows = plan.rule[0], plan.running
    if rule.running > 0 and plan.end[plan.running[0]] <= t.clock[0].now:
        sort_releases(t, plan)
        rows = plan.releases
    if t.jobs[j].memory > 0.0 or t.jobs[j].gpus > 0.0:
        return reservation_on_nodes(t, plan, j, rows)
    size, free = t.jobs[j].size, t.clock[0].free_cores
    for k in range(rule.running):
        other = rows[k]
        free += t.jobs[other].size
        if free >= size:
            return expected_end(t, plan, other), int(free - size)
    return np.inf, 0


@compiled
def reservation_on_nodes(t: Tables, plan: Plan, j: int, releases: Ints) -> tuple[float, int]:
    """Return the same for a job that asks for memory or GPUs, of which its nodes must have enough besides cores."""
    job, cores, memory, gpus = t.jobs[j], plan.node_cores, plan.node_memory, plan.node_gpus
    cores[:] = 0
    for p in range(len(t.processors)):
        cores[t.processors[p].node] += t.loads[p].free
    for n in range(len(t.nodes)):
        node, left = t.nodes[n], t.rooms[n]
        memory[n] = left.free_memory + node.memory * ROUNDING
        gpus[n] = left.free_gpus + node.gpus * ROUNDING
    for k in range(plan.rule[0].running):
        other = t.jobs[releases[k]]
        for i in range(other.first, other.first + other.size):
            core = t.allocation[i]
            n = t.processors[t.core_processor[core]].node
            cores[n] += t.core_available[core]
            memory[n] += other.memory
            gpus[n] += other.gpus
        room = 0.0
        for n in range(len(t.nodes)):
            room += places(float(cores[n]), memory[n], gpus[n], job.memory, job.gpus)
        if room >= job.size:
            return expected_end(t, plan, releases[k]), int(np.sum(cores) - job.size)
    return np.inf, 0


@compiled
def start_committed(t: Tables, plan: Plan) -> None:
    """Start the picked job, then pick the next, until one blocks; meanwhile backfill if the mode does.

    Source: the simulator of RLScheduler (Zhang et al., 2020), as `golden/windows` describes it.
    """
    rule = plan.rule[0]
    if rule.held >= 0 and t.jobs[rule.held].status != WAITING:
        rule.held = -1
    while rule.waiting > 0:
        j = rule.held if rule.held >= 0 else plan.queue[rule.front]
        if start_planned(t, plan, j) != NOTHING:
            if rule.held < 0:
                rule.held, rule.shadow = j, expected_start(t, plan, j)
                sort_ties(t, plan)
            break
        rule.held = -1
        drop_started(t, plan, rule.front)
    if rule.waiting > 0 and rule.mode == COMMIT_BACKFILL:
        rule.others = keep_waiting(t, plan.others, 0, rule.others)
        for i in range(rule.others):
            j = plan.others[i]
            fits = t.jobs[j].size <= t.clock[0].free_cores
            if fits and j != rule.held and t.clock[0].now + plan.time[j] < rule.shadow:
                start_planned(t, plan, j)
        drop_started(t, plan, rule.front)


@compiled
def sort_ties(t: Tables, plan: Plan) -> None:
    """Let candidates that are alike in what they are sorted by come in the order of the queue."""
    rule = plan.rule[0]
    for i in range(1, rule.others):
        j, seat = plan.others[i], i
        while seat > 0:
            other = plan.others[seat - 1]
            alike = t.jobs[other].submit == t.jobs[j].submit
            if rule.mode == EASY_SJF:
                alike = alike and plan.time[other] == plan.time[j]
            key, own = plan.key[other], plan.key[j]
            if not alike or key < own or (key == own and other < j):
                break
            plan.others[seat] = other
            seat -= 1
        plan.others[seat] = j


@compiled
def expected_start(t: Tables, plan: Plan, j: int) -> float:
    """Return when the cores of a job are expected to be free, by the requested ends even where these are over."""
    rule, time = plan.rule[0], t.clock[0].now
    free = t.clock[0].free_cores
    for i in range(rule.running):
        if free >= t.jobs[j].size:
            break
        free += t.jobs[plan.running[i]].size
        time = plan.end[plan.running[i]]
    return float(time)
