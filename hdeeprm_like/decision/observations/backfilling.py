"""The observation of Deep Back-Filling: release time of each core, and jobs of the split window (001, section III.A).

C cores, M slots.

| index | what | limit, see ``arrays`` | unit if raw |
|---|---|---|---|
| c | core c: time until its job ends by its request, 0 if it is idle | time | s |
| C + 3 i | slot i: cores | cores | |
| C + 3 i + 1 | slot i: requested time | time | s |
| C + 3 i + 2 | slot i: waiting time until now | the longest wait | s |

Times are linear and divided by the longest request (001, section III.A), waiting times by the longest wait of any job
of the run until now. Jobs past their requested times are expected to end within the next time step. An empty slot is
all 0. (The formula in 001 gives the time since a job's start; its text, and the agent's need, the time left.)
"""

import numpy as np

from hdeeprm_like.decision.layout import JOB, Block
from hdeeprm_like.decision.observations.arrays import Observation, Sizes, ViewArrays, share
from hdeeprm_like.decision.window.arrays import EARLY, NONE, Window
from hdeeprm_like.decision.window.statistics import copy_ends
from hdeeprm_like.decision.window.window import fill_slots
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.job_lists import job_at
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats

OF_JOB = ("cores", "requested time", "waiting time")


@compiled
def longest_wait(tables: Tables, window: Window, view: ViewArrays) -> float:
    """Return the longest wait in s of any job until now; in the queue that is the first job's."""
    v = window.params[0].line
    if window.params[0].queue > 0:
        first = job_at(tables.waiting, v, 0, 0)
        view.memory[0] = max(view.memory[0], tables.clock[0].now - tables.jobs[first].submit)
    return float(view.memory[0])


@compiled
def write_backfilling(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write the features; O(cores + slots)."""
    fill_slots(tables, window)
    params, now, cores = view.params[0], tables.clock[0].now, len(tables.owners)
    for core in range(cores):
        out[core] = 0.0
    for i in range(copy_ends(tables, window, np.inf)):
        job = tables.jobs[window.running[i]]
        left = window.ends[i] - now
        left = share(params.raw, left if left > EARLY else params.step, params.per_time)
        for place in range(job.first, job.first + job.stretches):
            stretch = tables.allocation[place]
            for core in range(stretch.first, stretch.first + stretch.cores):
                out[core] = left
    longest = longest_wait(tables, window, view)
    per_wait = 1.0 / longest if longest > 0.0 else 0.0
    at = cores
    for i in range(len(window.slots)):
        j = window.slots[i]
        if j == NONE:
            out[at], out[at + 1], out[at + 2] = 0.0, 0.0, 0.0
        else:
            job = tables.jobs[j]
            out[at] = share(params.raw, job.size, params.per_core)
            out[at + 1] = share(params.raw, job.requested_time, params.per_time)
            out[at + 2] = share(params.raw, now - job.submit, per_wait)
        at += 3


def blocks(sizes: Sizes) -> tuple[Block, ...]:
    """Return the column blocks, ``"core 0 left"`` to ``"job 9 waiting time"``."""
    return Block("core", sizes.platform.cores, ("left",)), Block(JOB, sizes.slots, OF_JOB)


BACKFILLING = Observation(
    name="backfilling",
    blocks=blocks,
    write=write_backfilling,
    memory=(0.0,),  # s, the longest wait until now
    shows_waits=True,
)
