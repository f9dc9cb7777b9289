"""The base MDP's image of cluster, job slots and backlog (000, section 4.4; 003, section 4.1; DeepRM).

H rows, one per time step from now on; C cores, M slots, U memory units (0 shows no memory), backlog of B jobs. Cells
are 0 or 1, raw or not.

| columns | what | a cell is 1 where |
|---|---|---|
| C | cores of the cluster | that many cores, counted from the left, are in use in that step if no job starts |
| M x C | each slot: cores | the job requests that many cores for that many steps |
| U | memory of the cluster | running jobs hold that many units in that step, the last one in part |
| M x U | each slot: memory | the job requests that many units |
| ceil(B / H) | backlog | that many jobs wait outside the window, column by column from the top |

A unit of memory is a share 1 / U of all nodes' memory. Running jobs are expected to end by their requested times,
overdue ones within the next step. The width grows with C and M as published: use another view for large clusters. (The
network of 000, section 5.1.1 has one column more, which the text does not describe: that of ``deeprm``.)

The kind ``deeprm`` is DeepRM's version: a colour per running job, and one column more, the time since the last arrival.

| columns | what | a cell is |
|---|---|---|
| C | cores of the cluster | the colour of the job that has the core in that step; the last to end is leftmost |
| last | time steps since the last arrival | their number over `LONG_AGO`, at most 1, the same in each row |

A colour is one of `COLOURS` numbers from 1 / `COLOURS` to 1, assigned to jobs in turn on arrival. The network of 000,
section 5.1.1 has as many inputs as this image has cells; so have those of section 5.2.

Source of ``deeprm``: Mao et al., "Resource Management with Deep Reinforcement Learning", HotNets 2016, and its
published code.
"""

from dataclasses import replace

import numpy as np

from hdeeprm_like.decision.layout import Block
from hdeeprm_like.decision.observations.arrays import Observation, Sizes, ViewArrays
from hdeeprm_like.decision.observations.features import backlog_now
from hdeeprm_like.decision.window.arrays import NONE, Window
from hdeeprm_like.decision.window.statistics import copy_ends
from hdeeprm_like.decision.window.window import fill_slots
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats

COLOURS, LONG_AGO = 40, 10  # jobs, time steps
SLACK = 1e-3  # of a time step or memory unit; less than that is rounding


@compiled
def units_of(view: ViewArrays, memory: float) -> int:
    """Return how many memory units *memory* MB take."""
    params = view.params[0]
    if params.memory <= 0.0:
        return 0
    return int(min(max(np.ceil(memory / params.memory * params.memory_units - SLACK), 0.0), params.memory_units))


@compiled
def steps_of(view: ViewArrays, seconds: float) -> int:
    """Return how many time steps of the image a job lasts, at least 1."""
    params = view.params[0]
    return int(min(max(np.ceil(seconds / params.step - SLACK), 1.0), params.horizon))


@compiled
def fill(out: Floats, across: int, column: int, columns: int, top: int, bottom: int) -> None:
    """Set a rectangle of an image with *across* columns to 1."""
    for row in range(top, bottom):
        begin = row * across + column
        for cell in range(begin, begin + columns):
            out[cell] = 1.0


@compiled
def write_cluster(
    tables: Tables, window: Window, view: ViewArrays, out: Floats, across: int, memory_column: int
) -> None:
    """Write cores and memory in use in each step, from the latest end to the earliest."""
    now, cores, memory = tables.clock[0].now, 0, 0.0
    columns, units = len(tables.owners), view.params[0].memory_units
    for i in range(copy_ends(tables, window, np.inf) - 1, -1, -1):
        cores += window.widths[i]
        job = tables.jobs[window.running[i]]
        memory += job.size * job.memory
        bottom = steps_of(view, window.ends[i] - now)
        top = steps_of(view, window.ends[i - 1] - now) if i > 0 else 0
        fill(out, across, 0, min(cores, columns), top, bottom)
        if units > 0:
            fill(out, across, memory_column, units_of(view, memory), top, bottom)


@compiled
def write_image(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write the image, row by row."""
    fill_slots(tables, window)
    params, cores, slots = view.params[0], len(tables.owners), len(window.slots)
    horizon, units = params.horizon, params.memory_units
    across, memory_column = len(out) // horizon, cores * (slots + 1)
    for cell in range(len(out)):
        out[cell] = 0.0
    write_cluster(tables, window, view, out, across, memory_column)
    for i in range(slots):
        if window.slots[i] == NONE:
            continue
        job = tables.jobs[window.slots[i]]
        steps = steps_of(view, job.requested_time)
        fill(out, across, cores * (i + 1), min(job.size, cores), 0, steps)
        if units > 0:
            fill(out, across, memory_column + units * (i + 1), units_of(view, job.size * job.memory), 0, steps)
    column = memory_column + units * (slots + 1)
    for k in range(min(backlog_now(window.params), params.backlog)):
        out[(k % horizon) * across + column + k // horizon] = 1.0


def blocks(sizes: Sizes) -> tuple[Block, ...]:
    """Return the meaning of the cells, ``"step 0 cluster core 0"`` to ``"step 19 backlog 2"``."""
    columns: list[str] = []
    for what, count in (("core", sizes.platform.cores), ("memory", sizes.options.memory_units)):
        for where in ("cluster", *(f"job {i}" for i in range(sizes.slots))):
            columns += [f"{where} {what} {c}" for c in range(count)]
    columns += [f"backlog {c}" for c in range(-(-sizes.options.backlog // sizes.options.horizon))]
    return (Block("step", sizes.options.horizon, tuple(columns)),)


IMAGE = Observation(name="image", blocks=blocks, write=write_image, is_image=True)


# --- DeepRM's version


@compiled
def write_colours(tables: Tables, window: Window, view: ViewArrays, out: Floats, across: int) -> None:
    """Write the colour of each running job over the cores that it holds."""
    now, column, cores = tables.clock[0].now, 0, len(tables.owners)
    for i in range(copy_ends(tables, window, np.inf) - 1, -1, -1):
        end = min(column + window.widths[i], cores)
        colour = (window.running[i] % COLOURS + 1) / COLOURS
        for row in range(steps_of(view, window.ends[i] - now)):
            for cell in range(row * across + column, row * across + end):
                out[cell] = colour
        column = end


@compiled
def write_deeprm(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write the image, row by row."""
    write_image(tables, window, view, out)
    params, submitted = view.params[0], window.params[0].submitted
    across, ago = len(out) // params.horizon, 0.0
    write_colours(tables, window, view, out, across)
    if submitted > 0:
        steps = (tables.clock[0].now - tables.jobs[submitted - 1].submit) / params.step
        ago = min(max(steps, 0.0) / LONG_AGO, 1.0)
    for row in range(params.horizon):
        out[row * across + across - 1] = ago


def blocks_of_deeprm(sizes: Sizes) -> tuple[Block, ...]:
    """Return the meaning of the cells, ``"step 0 cluster core 0"`` to ``"step 19 last arrival"``."""
    (steps,) = blocks(sizes)
    return (replace(steps, features=(*steps.features, "last arrival")),)


DEEPRM = replace(IMAGE, name="deeprm", blocks=blocks_of_deeprm, write=write_deeprm)
