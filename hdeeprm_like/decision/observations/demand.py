"""What starting a job or holding it turns on: free cores, the demand of late, and each job's cores and times.

M slots. Nothing here depends on the largest requests of a workload, so what is learned holds on other traces.

| index | what | limit, see ``arrays`` | unit if raw |
|---|---|---|---|
| 0 | free cores | cores | |
| 1 | waiting jobs | log queue | |
| 2 | what these request | log span | core x s |
| 3 | cores that short jobs of the last hours would keep busy, had each started on arrival | log cores | |
| 4 | the same for all jobs of the last day | twice the cores | |
| 5 | cores that running jobs release within an hour, by their requests | cores | |
| 6 | time until the next of them does | log span | s |
| 7 + 6 i | slot i: requested time | log span | s |
| 8 + 6 i | slot i: cores | cores | |
| 9 + 6 i | slot i: cores left free if it starts now, 0 if it cannot | cores | |
| 10 + 6 i | slot i: requested cores x s | log span | core x s |
| 11 + 6 i | slot i: waiting time until now | log span | s |
| 12 + 6 i | slot i: ln(1 + wait / requested time), this no less than 10 s | log queue | |

Short jobs request at most 1000 s. Older arrivals count for less by a factor of e in each six hours, in 4 in each day.
"""

import numpy as np

from hdeeprm_like.decision.layout import JOB, Block
from hdeeprm_like.decision.observations.arrays import Observation, Sizes, ViewArrays, log_share, share
from hdeeprm_like.decision.window.arrays import NONE, Window
from hdeeprm_like.decision.window.window import fill_slots
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.job_lists import entries_of
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats

OF_ALL = (
    "free cores",
    "queue size",
    "queued work",
    "short work of late",
    "work of late",
    "cores free in an hour",
    "next end",
)
OF_JOB = ("requested time", "cores", "cores left", "work", "waiting time", "relative wait")
SHORT, HOUR = 1000.0, 3600.0  # s
OF_SHORT, OF_LATE, UNTIL, ROWS = range(4)  # of the memory: core x s of short and of all jobs, until when, rows
MEMORY_OF_SHORT, MEMORY = 21600.0, 86400.0  # s, in which arrivals count for less by a factor of e


@compiled
def note_arrivals(tables: Tables, window: Window, view: ViewArrays) -> None:
    """Add the work of new arrivals to what was requested of late."""
    memory = view.memory
    while memory[ROWS] < window.params[0].submitted:
        job = tables.jobs[int(memory[ROWS])]
        fade(view, job.submit)
        work = job.requested_time * job.size
        memory[OF_LATE] += work
        if job.requested_time <= SHORT:
            memory[OF_SHORT] += work
        memory[ROWS] += 1.0
    fade(view, tables.clock[0].now)


@compiled
def fade(view: ViewArrays, now: float) -> None:
    """Make older arrivals count for less, at *now* s."""
    memory = view.memory
    passed = now - memory[UNTIL]
    if passed > 0.0:
        memory[OF_SHORT] *= np.exp(-passed / MEMORY_OF_SHORT)
        memory[OF_LATE] *= np.exp(-passed / MEMORY)
        memory[UNTIL] = now


@compiled
def write_demand(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write the features; O(slots + running jobs that end within an hour)."""
    fill_slots(tables, window)
    note_arrivals(tables, window, view)
    params, clock = view.params[0], tables.clock[0]
    raw, per_core, per_span, now, free = params.raw, params.per_core, params.per_log_span, clock.now, clock.free_cores
    to_cluster = 1.0 if raw else per_core
    out[0] = share(raw, free, per_core)
    out[1] = log_share(raw, window.params[0].queue, params.per_log_queue)
    out[2] = log_share(raw, window.params[0].queued_work * to_cluster, per_span)
    out[3] = log_share(raw, view.memory[OF_SHORT] / MEMORY_OF_SHORT, 1.0 / np.log(1.0 + clock.most_cores))
    out[4] = share(raw, view.memory[OF_LATE] / MEMORY, 0.5 * per_core)
    write_releases(tables, window, view, out)
    at = len(OF_ALL)
    for i in range(len(window.slots)):
        j = window.slots[i]
        if j == NONE:
            for f in range(len(OF_JOB)):
                out[at + f] = 0.0
        else:
            job = tables.jobs[j]
            wait = now - job.submit
            out[at] = log_share(raw, job.requested_time, per_span)
            out[at + 1] = share(raw, job.size, per_core)
            out[at + 2] = share(raw, free - job.size, per_core)
            out[at + 3] = log_share(raw, job.requested_time * job.size * to_cluster, per_span)
            out[at + 4] = log_share(raw, wait, per_span)
            out[at + 5] = log_share(raw, wait / max(job.requested_time, 10.0), params.per_log_queue)
        at += len(OF_JOB)


@compiled
def write_releases(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write how many cores running jobs release within an hour, and when the next of them does."""
    params, now, v = view.params[0], tables.clock[0].now, window.params[0].ends
    cores, after = 0.0, np.inf
    for i in entries_of(tables.running, v):
        left = tables.running.keys[i] - now
        after = min(after, left)
        if left > HOUR:
            break
        cores += tables.running.cores[i]
    out[5] = share(params.raw, cores, params.per_core)
    out[6] = log_share(params.raw, after if after < np.inf else 0.0, params.per_log_span)


def blocks(sizes: Sizes) -> tuple[Block, ...]:
    """Return the column blocks, ``"free cores"`` to ``"job 31 relative wait"``."""
    return Block("", 1, OF_ALL), Block(JOB, sizes.slots, OF_JOB)


DEMAND = Observation(
    name="demand", blocks=blocks, write=write_demand, memory=(0.0,) * 4, shows_cores=False, shows_waits=True
)
