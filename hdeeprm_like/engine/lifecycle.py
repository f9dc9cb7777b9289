"""How a cluster changes: jobs come, start and end; processors share bandwidth; cores draw power (thesis 3.1.1, 3.1.2).

Compiled functions on ``Tables``, called by ``State`` for one cluster and by the vector environment for many.
"""

import numpy as np

from hdeeprm_like.cluster.pstates import P0, P1, P2, P3
from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.processor_index import counts_cores, rank
from hdeeprm_like.engine.running_jobs import add_running, remove_running
from hdeeprm_like.engine.tables import (
    COMPLETED,
    CORES,
    ENDED,
    GPUS,
    IDLE_CORE,
    KINDS_OF_CHANGES,
    LOG_BLOCKED,
    LOG_OVERSUBSCRIBED,
    LOG_REJECT,
    MEMORY,
    NOTHING,
    REJECTED,
    RUNNING,
    STARTED,
    SUBMITTED,
    Tables,
)
from hdeeprm_like.engine.waiting_queue import dequeue, enqueue
from hdeeprm_like.types import Ints

OVER = 1.0 + 1e-12  # sums of bandwidth requests are oversubscribed beyond rounding only


@inlined
def write_log(t: Tables, time: float, kind: int, row: int, value: int) -> None:
    """Append an entry to the log, if one is kept."""
    if len(t.log) == 0:
        return
    clock = t.clock[0]
    entry = t.log[clock.logged]
    clock.logged += 1
    entry.time, entry.kind, entry.row, entry.value = time, kind, row, value


@inlined
def pstate_of(t: Tables, core: int) -> int:
    """Return the P-state that a core is in by what it and its processor serve (thesis 3.1.2)."""
    load = t.loads[t.core_processor[core]]
    if t.core_job[core] != IDLE_CORE:
        return P1 if load.oversubscribed else P0
    return P2 if load.busy > 0 else P3


@inlined
def power_of(t: Tables, p: int) -> float:
    """Return the power in W of a processor's cores."""
    processor, load = t.processors[p], t.loads[p]
    idle = P2 if load.busy > 0 else P3
    serving = P1 if load.oversubscribed else P0
    idle_cores = processor.cores - load.busy
    return float(load.busy * processor.watts[serving] + idle_cores * processor.watts[idle])


@inlined
def touch(t: Tables, p: int) -> None:
    """Remember that the cores of a processor may have changed P-state in this instant."""
    if t.loads[p].touched:
        return
    t.loads[p].touched = 1
    clock = t.clock[0]
    t.touched[clock.touched] = p
    clock.touched += 1


@inlined
def book_work(t: Tables, j: int) -> None:
    """Book what a running job has computed until now."""
    job, now = t.jobs[j], t.clock[0].now
    job.done += job.speed * (now - job.as_of)
    job.as_of = now


@compiled
def update_speed(t: Tables, j: int) -> None:
    """Book what a running job has computed until now and find the speed of its slowest core."""
    book_work(t, j)
    job = t.jobs[j]
    if counts_cores(t):
        job.speed = t.processors[0].flops[P0]
        return
    speed, last = 1e300, -1
    for i in range(job.first, job.first + job.size):
        p = t.core_processor[t.allocation[i]]
        if p != last:
            last = p
            speed = min(speed, t.processors[p].flops[P1 if t.loads[p].oversubscribed else P0])
    job.speed = speed


@compiled
def update_bandwidth(t: Tables, p: int) -> None:
    """Find out whether a processor is oversubscribed and slow down or speed up its jobs if that changed."""
    load = t.loads[p]
    if load.busy == 0:
        load.used_bandwidth = 0.0  # no rounding error survives an idle processor
    oversubscribed = 1 if load.used_bandwidth > t.processors[p].bandwidth * OVER else 0
    if oversubscribed == load.oversubscribed:
        return
    load.oversubscribed = oversubscribed
    change_speeds(t, p)


@compiled
def change_speeds(t: Tables, p: int) -> None:
    """Slow down or speed up the jobs of a processor that is oversubscribed now, or is no more."""
    processor, oversubscribed = t.processors[p], t.loads[p].oversubscribed
    write_log(t, t.clock[0].now, LOG_OVERSUBSCRIBED, p, oversubscribed)
    last = IDLE_CORE
    for core in range(processor.first_core, processor.first_core + processor.cores):
        j = t.core_job[core]
        if j in (IDLE_CORE, last):
            continue
        last = j
        if (
            oversubscribed and processor.flops[P1] <= processor.flops[P0]
        ):  # then no other core can be slower than before
            book_work(t, j)
            t.jobs[j].speed = min(t.jobs[j].speed, processor.flops[P1])
        else:
            update_speed(t, j)


@compiled
def change_busy(t: Tables, p: int, cores: int) -> None:
    """Let *cores* more (or less, if negative) cores of a processor serve jobs; their bandwidth is booked before."""
    clock = t.clock[0]
    clock.watts -= power_of(t, p)
    t.loads[p].busy += cores
    t.rooms[t.processors[p].node].busy += cores
    update_bandwidth(t, p)
    clock.watts += power_of(t, p)
    touch(t, p)


@inlined
def note_change(t: Tables, kind: int, j: int) -> None:
    """Append to the list of changes."""
    clock = t.clock[0]
    t.changes[clock.changes] = KINDS_OF_CHANGES * j + kind
    clock.changes += 1


@inlined
def started_job(t: Tables, i: int) -> int:
    """Return the job of number *i* of those started in this instant."""
    return int(t.changes[t.clock[0].first_start + i] // KINDS_OF_CHANGES)


@inlined
def forget_starts(t: Tables) -> None:
    """Let the jobs started from now on be those of this instant."""
    clock = t.clock[0]
    clock.first_start, clock.started_now = clock.changes, 0


@compiled
def start_job(t: Tables, j: int) -> None:
    """Start a waiting job on ``allocation[placed : placed + size]``, which is booked and marked as its own."""
    clock = t.clock[0]
    dequeue(t, j)
    job = t.jobs[j]
    job.status, job.first, job.start = RUNNING, clock.placed, clock.now
    job.done, job.speed, job.as_of = 0.0, 0.0, clock.now
    clock.placed += job.size
    clock.running += 1
    clock.free_cores -= job.size
    i = job.first
    if counts_cores(t):
        change_busy(t, 0, job.size)
        i = clock.placed
    while i < clock.placed:
        p = t.core_processor[t.allocation[i]]
        begin = i
        while i < clock.placed and t.core_processor[t.allocation[i]] == p:
            i += 1
        change_busy(t, p, i - begin)
    update_speed(t, j)
    add_running(t, j)
    note_change(t, STARTED, j)
    clock.started_now += 1


@compiled
def end_job(t: Tables, j: int) -> None:
    """Release everything that a running job holds."""
    clock = t.clock[0]
    job = t.jobs[j]
    book_work(t, j)
    remove_running(t, j)
    note_change(t, ENDED, j)
    job.status, job.finish, job.speed = COMPLETED, clock.now, 0.0
    clock.running -= 1
    clock.completed += 1
    i, end = job.first, job.first + job.size
    if counts_cores(t):
        t.loads[0].free += job.size
        clock.free_cores += job.size
        change_busy(t, 0, -job.size)
        rank(t, 0)
        i = end
    while i < end:
        p = t.core_processor[t.allocation[i]]
        load = t.loads[p]
        begin = i
        while i < end and t.core_processor[t.allocation[i]] == p:
            core = t.allocation[i]
            t.core_job[core] = IDLE_CORE
            load.free += t.core_available[core]
            clock.free_cores += t.core_available[core]
            i += 1
        load.used_bandwidth -= (i - begin) * job.bandwidth
        node, room = t.nodes[t.processors[p].node], t.rooms[t.processors[p].node]
        room.free_memory += (i - begin) * job.memory
        if job.gpus > 0.0:
            room.free_gpus += (i - begin) * job.gpus
        change_busy(t, p, begin - i)
        if room.busy == 0:
            room.free_memory, room.free_gpus = node.memory, node.gpus
        rank(t, p)


@inlined
def places(cores: float, memory: float, gpus: float, core_memory: float, core_gpus: float) -> float:
    """Return for how many cores of a job there is room on a node.

    Args:
        cores, memory, gpus: what the node has, MB. core_memory, core_gpus: what each core of the job takes.
    """
    if core_memory > 0.0:
        cores = min(cores, max(np.floor(memory / core_memory), 0.0))
    if core_gpus > 0.0:
        cores = min(cores, max(np.floor(gpus / core_gpus), 0.0))
    return cores


@compiled
def holds_when_idle(t: Tables, size: int, memory: float, gpus: float) -> bool:
    """Tell whether the nodes of the empty platform have room for so many cores with so many MB and GPUs each."""
    if memory <= 0.0 and gpus <= 0.0:
        return True
    fitting = 0.0
    for n in range(len(t.nodes)):
        node = t.nodes[n]
        fitting += places(float(node.cores), node.memory * (1.0 + ROUNDING), node.gpus * (1.0 + ROUNDING), memory, gpus)
        if fitting >= size:
            return True
    return False


@compiled
def lacking_on_one_node(t: Tables, j: int) -> int:
    """Return what a job would lack where an idle node must take all of its cores."""
    job, lacks = t.jobs[j], CORES
    for n in range(len(t.nodes)):
        node = t.nodes[n]
        if node.cores < job.size:
            continue
        if node.memory * (1.0 + ROUNDING) < job.size * job.memory:
            lacks = max(lacks, MEMORY)
        elif node.gpus * (1.0 + ROUNDING) < job.size * job.gpus:
            lacks = GPUS
        else:
            return NOTHING
    return lacks


@compiled
def lacking_when_idle(t: Tables, j: int) -> int:
    """Return what a job would lack on the empty platform: NOTHING, CORES, MEMORY or GPUS alone."""
    job = t.jobs[j]
    if job.size > len(t.core_job):
        return CORES
    if t.clock[0].whole:
        return lacking_on_one_node(t, j)
    if not holds_when_idle(t, job.size, job.memory, 0.0):
        return MEMORY
    if job.gpus <= 0.0 or holds_when_idle(t, job.size, job.memory, job.gpus):
        return NOTHING
    return GPUS


@compiled
def lacking_beside_cores(t: Tables, j: int, cores: int) -> int:
    """Return why so many more cores of a job do not fit now: MEMORY, or GPUS where free cores have memory for them."""
    job = t.jobs[j]
    if job.gpus <= 0.0:
        return MEMORY
    n, left, wanted = -1, 0.0, float(cores)
    for p in range(len(t.processors)):
        if t.processors[p].node != n:
            n = t.processors[p].node
            node = t.nodes[n]
            memory = t.rooms[n].free_memory + node.memory * ROUNDING
            left = places(float(node.cores), memory, 0.0, job.memory, 0.0)
        taken = min(float(t.loads[p].free), left)
        left -= taken
        wanted -= taken
    return GPUS if wanted <= 0.0 else MEMORY


@compiled
def submit_job(t: Tables, j: int) -> None:
    """Let a job wait, or reject it if even the empty platform cannot hold it."""
    clock = t.clock[0]
    clock.submitted += 1
    lacks = lacking_when_idle(t, j)
    if lacks == NOTHING:
        enqueue(t, j)
        note_change(t, SUBMITTED, j)
        return
    t.jobs[j].status, t.jobs[j].lacks = REJECTED, lacks
    t.rejected_now[clock.rejected_now] = j
    clock.rejected_now += 1
    clock.rejected += 1
    write_log(t, clock.now, LOG_REJECT, j, lacks)


@compiled
def receive(t: Tables, now: float, completed: Ints, count: int, submitted: int, arrivals_over: bool) -> None:
    """Move the cluster to the next instant: forget what was decided in the last one, release, then submit.

    Args:
        now: s. completed: job rows, the first *count* of them. submitted: how many more rows of jobs came.
    """
    clock = t.clock[0]
    clock.joules += clock.watts * (now - clock.now)
    clock.now = now
    clock.wake_at = np.inf
    clock.rejected_now = 0
    for i in range(clock.touched):
        t.loads[t.touched[i]].touched = 0
    clock.touched = 0
    clock.arrivals_over = arrivals_over
    for i in range(count):
        end_job(t, completed[i])
    for _ in range(submitted):
        submit_job(t, clock.submitted)
    forget_starts(t)
    if clock.waiting == 0:
        clock.blocked = NOTHING


@compiled
def log_blocked(t: Tables) -> None:
    """Log what the selected job lacks at the end of an instant, if that changed."""
    clock = t.clock[0]
    if clock.waiting == 0:
        clock.blocked = NOTHING
    if clock.blocked != clock.blocked_before:
        write_log(t, clock.now, LOG_BLOCKED, clock.blocked_job, clock.blocked)
        clock.blocked_before = clock.blocked


@compiled
def set_available(t: Tables, core: int, available: bool) -> None:
    """Withdraw a core or give it back; a job that runs on it goes on (Batsim's machine events)."""
    if t.core_available[core] == available:
        return
    t.core_available[core] = available
    if t.core_job[core] == IDLE_CORE:
        change = 1 if available else -1
        t.loads[t.core_processor[core]].free += change
        rank(t, t.core_processor[core])
        t.clock[0].free_cores += change


@compiled
def changed_pstates(t: Tables, touched: Ints, cores: Ints, pstates: Ints) -> int:
    """Write the cores that have come into another P-state than asked for last, in ascending order; return how many.

    Args:
        touched: processors to look at, in ascending order. cores, pstates: (C,) to write to.
    """
    found = 0
    for i in range(len(touched)):
        processor = t.processors[touched[i]]
        for core in range(processor.first_core, processor.first_core + processor.cores):
            pstate = pstate_of(t, core)
            if pstate != t.core_pstate[core]:
                cores[found], pstates[found] = core, pstate
                found += 1
    return found


@compiled
def room_for_an_instant(t: Tables) -> int:
    """Return how many log entries one instant can need at most."""
    rejections = len(t.jobs) - int(t.clock[0].submitted)
    return 4 * len(t.core_job) + 2 * len(t.processors) + 16 + rejections
