"""State changes: jobs arrive, start and end; processors share bandwidth; cores draw power (thesis 3.1.1, 3.1.2).

Compiled functions on ``Tables``, called by ``State`` for one cluster and by the vector environment for many.
"""

import numpy as np

from hdeeprm_like.cluster.pstates import P0, P1, P2, P3
from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.engine.called_on_nodes import call_lacking, call_release
from hdeeprm_like.engine.compiled import compiled, entry, inlined, lowest_bit
from hdeeprm_like.engine.cores import cores_of, forget_touched, release, touch_all
from hdeeprm_like.engine.joined_words import repeats
from hdeeprm_like.engine.processor_keys import counts_cores, outdate, places, raise_keys
from hdeeprm_like.engine.running_jobs import add_running, remove_running
from hdeeprm_like.engine.tables import (
    COMPLETED,
    CORES,
    ENDED,
    GPUS,
    IDLE_CORE,
    KIND_BITS,
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
from hdeeprm_like.engine.words import without_lowest
from hdeeprm_like.types import Ints

OVER = 1.0 + 1e-12  # tolerance: rounding errors of the sum of requests are no oversubscription


@inlined
def write_log(tables: Tables, time: float, kind: int, row: int, value: int) -> None:
    """Append an entry to the log, if there is one."""
    if len(tables.log) == 0:
        return
    clock = tables.clock[0]
    entry = tables.log[clock.logged]
    clock.logged += 1
    entry.time, entry.kind, entry.row, entry.value, entry.cores = time, kind, row, value, 0


@inlined
def power_of(tables: Tables, p: int) -> float:
    """Return the power in W of a processor's cores."""
    processor, load = tables.processors[p], tables.loads[p]
    idle = P2 if load.busy > 0 else P3
    serving = P1 if load.oversubscribed else P0
    idle_cores = processor.cores - load.busy
    return float(load.busy * processor.watts[serving] + idle_cores * processor.watts[idle])


@inlined
def book_work(tables: Tables, j: int) -> None:
    """Add the work that a running job has done until now."""
    job, now = tables.jobs[j], tables.clock[0].now
    job.done += job.speed * (now - job.as_of)
    job.as_of = now


@inlined
def speed_on(tables: Tables, p: int) -> float:
    """Return the flop/s of the busy cores of a processor."""
    return float(tables.processors[p].flops[P1 if tables.loads[p].oversubscribed else P0])


@inlined
def slowest(tables: Tables, j: int, speed: float, least: float) -> float:
    """Return the flop/s of the slowest core of a job.

    Args:
        speed: of some core of it, infinite if none is known. least: flop/s that all others have at least.
    """
    for p, _, _ in cores_of(tables, tables.jobs[j].first, j):
        if speed <= least:
            break
        speed = min(speed, speed_on(tables, p))
    return speed


@inlined
def update_bandwidth(tables: Tables, p: int) -> None:
    """Update whether a processor is oversubscribed, and the speeds of its jobs if that changed."""
    load = tables.loads[p]
    if load.busy == 0:
        load.used_bandwidth = 0.0  # no rounding error survives an idle processor
    oversubscribed = 1 if load.used_bandwidth > tables.processors[p].bandwidth * OVER else 0
    if oversubscribed == load.oversubscribed:
        return
    load.oversubscribed = oversubscribed
    change_speeds(tables, p)


@inlined
def change_speeds(tables: Tables, p: int) -> None:
    """Update the speeds of the jobs of a processor that has become oversubscribed, or no longer is."""
    processor, oversubscribed = tables.processors[p], tables.loads[p].oversubscribed
    write_log(tables, tables.clock[0].now, LOG_OVERSUBSCRIBED, p, oversubscribed)
    last = IDLE_CORE
    no_other_slower = oversubscribed and processor.flops[P1] <= processor.flops[P0]
    for w in range(processor.first_word, processor.first_word + processor.words):
        begins = 0 if repeats(tables, w) else tables.words[w].begins
        while begins != 0:
            j = tables.owners[tables.words[w].first + lowest_bit(begins)]
            begins = without_lowest(begins)
            if j == last:
                continue
            last = j
            if no_other_slower:
                book_work(tables, j)
                tables.jobs[j].speed = min(tables.jobs[j].speed, processor.flops[P1])
            else:
                book_work(tables, j)
                tables.jobs[j].speed = slowest(tables, j, speed_on(tables, p), tables.jobs[j].speed)


@inlined
def change_busy(tables: Tables, p: int, cores: int) -> None:
    """Change the number of a processor's busy cores by *cores*; the bandwidth must be booked before."""
    clock, load = tables.clock[0], tables.loads[p]
    idle, oversubscribed, watts = load.busy == 0, load.oversubscribed, load.watts
    load.busy += cores
    tables.node_loads[tables.processors[p].node].busy += cores
    if not counts_cores(tables):
        update_bandwidth(tables, p)
    load.watts = power_of(tables, p)
    clock.watts = clock.watts - watts + load.watts
    if not counts_cores(tables) and (idle != (load.busy == 0) or oversubscribed != load.oversubscribed):
        touch_all(tables, p)


@inlined
def note_change(tables: Tables, kind: int, j: int) -> None:
    """Append an entry to the list of changes."""
    clock = tables.clock[0]
    tables.changes[clock.changes] = (j << KIND_BITS) + kind
    clock.changes += 1


@inlined
def started_job(tables: Tables, i: int) -> int:
    """Return job number *i* of those started in this instant."""
    return int(tables.changes[tables.clock[0].first_start + i] >> KIND_BITS)


@inlined
def forget_starts(tables: Tables) -> None:
    """Clear the started jobs: those started from now on belong to this instant."""
    clock = tables.clock[0]
    clock.first_start, clock.started_now = clock.changes, 0


@entry
@inlined
def start_job(tables: Tables, j: int) -> None:
    """Start a waiting job on ``allocation[placed : placed + stretches]``, which must be booked and marked for it."""
    clock = tables.clock[0]
    dequeue(tables, j)
    job = tables.jobs[j]
    job.status, job.first, job.start = RUNNING, clock.placed, clock.now
    job.done, job.speed, job.as_of = 0.0, 0.0, clock.now
    clock.running += 1
    clock.free_cores -= job.size
    if counts_cores(tables):
        clock.placed += 1
        job.speed = tables.processors[0].flops[P0]
        change_busy(tables, 0, job.size)
    else:
        clock.placed += job.stretches
        last, cores = -1, 0
        for p, _, count in cores_of(tables, job.first, j):
            if p != last and cores > 0:
                change_busy(tables, last, cores)
                cores = 0
            last, cores = p, cores + count
        if last >= 0:  # a job that only borrows cores has none of its own
            change_busy(tables, last, cores)
            job.speed = slowest(tables, j, np.inf, 0.0)
    add_running(tables, j)
    note_change(tables, STARTED, j)
    clock.started_now += 1


@inlined
def end_job(tables: Tables, j: int) -> None:
    """Release everything that a running job holds."""
    clock = tables.clock[0]
    job = tables.jobs[j]
    book_work(tables, j)
    remove_running(tables, j)
    note_change(tables, ENDED, j)
    job.status, job.finish, job.speed = COMPLETED, clock.now, 0.0
    clock.running -= 1
    clock.completed += 1
    if counts_cores(tables):
        tables.loads[0].free += job.size
        outdate(tables, 0)
        clock.free_cores += job.size
        change_busy(tables, 0, -job.size)
        return
    last, cores, available = -1, 0, 0
    for p, first, count in cores_of(tables, job.first, j):
        if p != last and cores > 0:
            free_processor(tables, j, last, cores, available)
            cores = available = 0
        available += release(tables, first, count)
        last, cores = p, cores + count
    if last >= 0:
        free_processor(tables, j, last, cores, available)
    if tables.clock[0].partitioned:
        call_release(tables, j)


@compiled
def free_processor(tables: Tables, j: int, p: int, cores: int, available: int) -> None:
    """Release what a job holds on a processor.

    Args:
        available: how many of the released cores are available.
    """
    job, load = tables.jobs[j], tables.loads[p]
    load.free += available
    tables.clock[0].free_cores += available
    load.used_bandwidth -= cores * job.bandwidth
    node, room = tables.nodes[tables.processors[p].node], tables.node_loads[tables.processors[p].node]
    room.free_memory += cores * job.memory
    if job.gpus > 0.0:
        room.free_gpus += cores * job.gpus
    change_busy(tables, p, -cores)
    if room.busy == 0:
        room.free_memory, room.free_gpus = node.memory, node.gpus
    raise_keys(tables, p)


@compiled
def holds_when_idle(tables: Tables, size: int, memory: float, gpus: float) -> bool:
    """Return whether the empty platform has capacity for *size* cores with this memory (MB) and GPUs each."""
    if memory <= 0.0 and gpus <= 0.0:
        return True
    fitting = 0.0
    for n in range(len(tables.nodes)):
        node = tables.nodes[n]
        if gpus <= 0.0 and node.cores >= size and node.memory >= size * memory:  # most jobs, without a division
            return True
        fitting += places(float(node.cores), node.memory * (1.0 + ROUNDING), node.gpus * (1.0 + ROUNDING), memory, gpus)
        if fitting >= size:
            return True
    return False


@compiled
def lacking_on_one_node(tables: Tables, j: int) -> int:
    """Return what a job would lack if one idle node must take all of its cores."""
    job, lacks = tables.jobs[j], CORES
    for n in range(len(tables.nodes)):
        node = tables.nodes[n]
        if node.cores < job.size:
            continue
        if node.memory * (1.0 + ROUNDING) < job.size * job.memory:
            lacks = max(lacks, MEMORY)
        elif node.gpus * (1.0 + ROUNDING) < job.size * job.gpus:
            lacks = GPUS
        else:
            return NOTHING
    return lacks


@inlined
def lacking_when_idle(tables: Tables, j: int) -> int:
    """Return what a job would lack on the empty platform: NOTHING, CORES, MEMORY, or GPUS if only these."""
    if tables.jobs[j].size > tables.clock[0].most_cores:
        return CORES
    if tables.clock[0].partitioned:
        return call_lacking(tables, j)
    job, node = tables.jobs[j], tables.nodes[0]
    if job.gpus <= 0.0 and job.size <= node.cores and job.size * job.memory <= node.memory:  # most jobs
        return NOTHING
    return lacking_anywhere(tables, j)


@compiled
def lacking_anywhere(tables: Tables, j: int) -> int:
    """Return what a job would lack on the empty platform if it may run on all nodes."""
    job = tables.jobs[j]
    if tables.clock[0].whole:
        return lacking_on_one_node(tables, j)
    if not holds_when_idle(tables, job.size, job.memory, 0.0):
        return MEMORY
    if job.gpus <= 0.0 or holds_when_idle(tables, job.size, job.memory, job.gpus):
        return NOTHING
    return GPUS


@inlined
def lacking_beside_cores(tables: Tables, j: int, cores: int) -> int:
    """Return why *cores* more cores of a job do not fit now: MEMORY, or GPUS if there is memory for the free cores."""
    return MEMORY if tables.jobs[j].gpus <= 0.0 else lacking_memory_or_gpus(tables, j, cores)


@compiled
def lacking_memory_or_gpus(tables: Tables, j: int, cores: int) -> int:
    """Return why *cores* more cores of a job that requests GPUs do not fit now: MEMORY or GPUS."""
    job = tables.jobs[j]
    n, left, wanted = -1, 0.0, float(cores)
    for p in range(len(tables.processors)):
        if tables.processors[p].node != n:
            n = tables.processors[p].node
            node = tables.nodes[n]
            memory = tables.node_loads[n].free_memory + node.memory * ROUNDING
            left = places(float(node.cores), memory, 0.0, job.memory, 0.0)
        taken = min(float(tables.loads[p].free), left)
        left -= taken
        wanted -= taken
    return GPUS if wanted <= 0.0 else MEMORY


@inlined
def submit_job(tables: Tables, j: int) -> None:
    """Append a job to the queue, or reject it if even the empty platform cannot hold it."""
    clock = tables.clock[0]
    clock.submitted += 1
    lacks = lacking_when_idle(tables, j)
    if lacks == NOTHING:
        enqueue(tables, j)
        note_change(tables, SUBMITTED, j)
        return
    tables.jobs[j].status, tables.jobs[j].lacks = REJECTED, lacks
    tables.rejected_now[clock.rejected_now] = j
    clock.rejected_now += 1
    clock.rejected += 1
    write_log(tables, clock.now, LOG_REJECT, j, lacks)


@inlined
def receive(tables: Tables, now: float, completed: Ints, count: int, submitted: int, arrivals_over: bool) -> None:
    """Move the cluster to the next instant: clear the last one's decisions, release completed jobs, submit new ones.

    Args:
        now: s. completed: job rows, valid up to *count*. submitted: number of newly submitted jobs.
    """
    clock = tables.clock[0]
    clock.joules += clock.watts * (now - clock.now)
    clock.now = now
    clock.wake_at = np.inf
    clock.rejected_now = 0
    forget_touched(tables)
    clock.arrivals_over = arrivals_over
    for i in range(count):
        end_job(tables, completed[i])
    for _ in range(submitted):
        submit_job(tables, clock.submitted)
    forget_starts(tables)
    if clock.waiting == 0:
        clock.blocked = NOTHING


@entry
@inlined
def log_blocked(tables: Tables) -> None:
    """Log what the selected job lacks at the end of an instant, if that changed."""
    clock = tables.clock[0]
    if clock.waiting == 0:
        clock.blocked = NOTHING
    if clock.blocked != clock.blocked_before:
        write_log(tables, clock.now, LOG_BLOCKED, clock.blocked_job, clock.blocked)
        clock.blocked_before = clock.blocked


@entry
def has_room(tables: Tables) -> bool:
    """Return whether the log and the allocation have capacity for any next instant."""
    clock = tables.clock[0]
    if len(tables.allocation) < min(clock.places, clock.placed + len(tables.owners)):
        return False
    rejections = len(tables.jobs) - clock.submitted
    entries = 4 * len(tables.owners) + 2 * len(tables.processors) + 16 + rejections  # upper bound for one instant
    return len(tables.log) == 0 or clock.logged + entries <= len(tables.log)
