"""The base MDP's image in DeepRM's version: a colour per running job, and the time since the last arrival.

It has the columns of ``image`` plus one.

| columns | what | a cell is |
|---|---|---|
| C | cores of the cluster | the colour of the job that has the core in that step; the last to end is leftmost |
| last | time steps since the last arrival | their number over `LONG_AGO`, at most 1, the same in each row |

A colour is one of `COLOURS` numbers from 1 / `COLOURS` to 1, assigned to jobs in turn on arrival. The network of 000,
section 5.1.1 has as many inputs as this image has cells; so have those of section 5.2.

Source: Mao et al., "Resource Management with Deep Reinforcement Learning", HotNets 2016, and its published code.
"""

from dataclasses import replace

import numpy as np

from hdeeprm_like.decision.layout import Block
from hdeeprm_like.decision.observations.arrays import Sizes, ViewArrays
from hdeeprm_like.decision.observations.image import IMAGE, steps_of, write_image
from hdeeprm_like.decision.observations.image import blocks as blocks_of_image
from hdeeprm_like.decision.window.arrays import Window
from hdeeprm_like.decision.window.statistics import copy_ends
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats

COLOURS, LONG_AGO = 40, 10  # jobs, time steps


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


def blocks(sizes: Sizes) -> tuple[Block, ...]:
    """Return the meaning of the cells, ``"step 0 cluster core 0"`` to ``"step 19 last arrival"``."""
    (steps,) = blocks_of_image(sizes)
    return (replace(steps, features=(*steps.features, "last arrival")),)


DEEPRM = replace(IMAGE, name="deeprm", blocks=blocks, write=write_deeprm)
