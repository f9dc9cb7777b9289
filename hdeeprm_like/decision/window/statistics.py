"""A window's sums over the queue and the running jobs, updated from the changes of the cluster."""

import numpy as np

from hdeeprm_like.cluster.metrics import BOUNDED_SLOWDOWN_THRESHOLD
from hdeeprm_like.decision.window.arrays import BACKLOG, FREE, QUEUE, REMAINING, WORK, Window
from hdeeprm_like.engine.bundles import copy_entries
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.tables import ENDED, KIND_BITS, KIND_MASK, SUBMITTED, Tables


@inlined
def pace_of(time: float) -> float:
    """Return 1 / *time* in 1/s; a time of 0 counts as 1 s."""
    return 1.0 / time if time > 0.0 else 1.0


@inlined
def execution_time(tables: Tables, j: int) -> float:
    """Return the run time of a job on a mean core in s; the requested time if unknown, as with Batsim."""
    time = tables.jobs[j].run_time
    return float(time if not np.isnan(time) else tables.jobs[j].requested_time)


@inlined
def bounded_slowdown_at(tables: Tables, j: int, start: float) -> float:
    """Return the bounded slowdown of a job that starts at some time, in s (`cluster.metrics.bounded_slowdown`)."""
    time = execution_time(tables, j)
    return float(max((start - tables.jobs[j].submit + time) / max(time, BOUNDED_SLOWDOWN_THRESHOLD), 1.0))


@compiled
def remaining_work(tables: Tables, window: Window) -> float:
    """Return the remaining work of the running jobs in core x s, by their requested times."""
    now, total, v = tables.clock[0].now, 0.0, window.params[0].ends
    for place in range(tables.running.lists[v].blocks - 1, -1, -1):
        begin = tables.running.blocks[v, place].begin
        for i in range(begin + tables.running.blocks[v, place].size - 1, begin - 1, -1):
            if tables.running.keys[i] <= now:
                return total
            total += tables.running.cores[i] * (tables.running.keys[i] - now)
    return total


@compiled
def copy_ends(tables: Tables, window: Window, until: float) -> int:
    """Write the running jobs by requested end, the ends and the cores; return how many end by *until* (s)."""
    v, count = window.params[0].ends, 0
    jobs, keys, cores = tables.running.jobs, tables.running.keys, tables.running.cores
    for place in range(tables.running.lists[v].blocks):
        first, held = tables.running.blocks[v, place].begin, tables.running.blocks[v, place].size
        size = held
        while size > 0 and keys[first + size - 1] > until:
            size -= 1
        copy_entries(window.running, count, jobs, first, size)
        copy_entries(window.ends, count, keys, first, size)
        copy_entries(window.widths, count, cores, first, size)
        count += size
        if size < held:
            break
    return count


@inlined
def note_submission(tables: Tables, window: Window, j: int) -> None:
    """Record an arriving job, and what it finds."""
    params, job = window.params[0], tables.jobs[j]
    if params.finds:
        window.found[j, QUEUE], window.found[j, WORK], window.found[j, FREE] = (
            params.queue,
            params.queued_work,
            tables.clock[0].free_cores,
        )
        window.found[j, REMAINING] = remaining_work(tables, window)
        window.found[j, BACKLOG] = max(params.queue - params.head - params.tail, 0)
    window.paces[j] = pace_of(job.requested_time)
    if params.executes:
        params.execution_urgency += pace_of(execution_time(tables, j))
    params.queue += 1
    params.urgency += window.paces[j]
    params.queued_work += job.size * job.requested_time
    params.sum_of_submissions += job.submit


@inlined
def note_start(tables: Tables, window: Window, j: int) -> None:
    """Record a started job."""
    params, job = window.params[0], tables.jobs[j]
    params.queue -= 1
    params.queued_work -= job.size * job.requested_time
    params.sum_of_submissions -= job.submit
    if params.queue == 0:  # an empty queue clears rounding errors
        params.queued_work = params.sum_of_submissions = 0.0
    params.started += 1
    params.waited += job.start - job.submit
    if params.executes:
        params.slowdowns += bounded_slowdown_at(tables, j, job.start)
    params.running += 1


@inlined
def read_changes(tables: Tables, window: Window) -> None:
    """Process what has happened to jobs since the last call."""
    params, clock = window.params[0], tables.clock[0]
    while params.cursor < clock.changes:
        change = tables.changes[params.cursor]
        kind, j = change & KIND_MASK, change >> KIND_BITS
        params.cursor += 1
        params.stale = 1
        if kind == SUBMITTED:
            note_submission(tables, window, j)
        elif kind == ENDED:
            params.running -= 1
            params.urgency = params.urgency - window.paces[j] if params.running + params.queue > 0 else 0.0
            if params.executes:
                left = params.execution_urgency - pace_of(execution_time(tables, j))
                params.execution_urgency = left if params.running + params.queue > 0 else 0.0
        else:
            note_start(tables, window, j)


@inlined
def arrive(tables: Tables, window: Window) -> None:
    """Bring a window to a new instant."""
    params, clock = window.params[0], tables.clock[0]
    read_changes(tables, window)
    params.stale = 1
    params.submitted = clock.submitted
    params.longest_queue = max(params.longest_queue, params.queue)
    params.longest_wait = max(params.longest_wait, params.queue * clock.now - params.sum_of_submissions)
