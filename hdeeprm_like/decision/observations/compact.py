"""The compact state: free and used cores over time, and features of each job (000, section 4.6.1; 003, section 4.2).

H time steps from now on, M slots.

| features | what | limit, see ``arrays`` |
|---|---|---|
| 2 H | each step: cores in use, cores free, if no job starts | cores |
| 9 M | each slot: see ``features`` | |
| 1 | jobs outside the window now | log queue |

Running jobs are expected to end by their requested times, overdue ones within the next step.
"""

from hdeeprm_like.decision.layout import JOB, Block
from hdeeprm_like.decision.observations.arrays import Observation, Sizes, ViewArrays, log_share, share
from hdeeprm_like.decision.observations.features import COMPACT_FEATURES, backlog_now, write_slots
from hdeeprm_like.decision.observations.image import SLACK
from hdeeprm_like.decision.window.arrays import Window
from hdeeprm_like.decision.window.statistics import copy_ends
from hdeeprm_like.decision.window.window import fill_slots
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats


@compiled
def write_steps(tables: Tables, window: Window, view: ViewArrays, running: int, out: Floats) -> None:
    """Write the cores in use and free in each time step.

    Args:
        running: number of running jobs, whose ends and cores are written.
    """
    params, ends, widths, ended = view.params[0], window.ends, window.widths, 0
    now, free, cores = tables.clock[0].now, tables.clock[0].free_cores, len(tables.owners)
    used_share, free_share = share(params.raw, cores - free, params.per_core), share(params.raw, free, params.per_core)
    for k in range(params.horizon):
        date = now + (k + SLACK) * params.step
        if k > 0 and ended < running and ends[ended] <= date:
            while ended < running and ends[ended] <= date:
                free += widths[ended]
                ended += 1
            used_share, free_share = (
                share(params.raw, cores - free, params.per_core),
                share(params.raw, free, params.per_core),
            )
        out[2 * k], out[2 * k + 1] = used_share, free_share


@compiled
def write_compact(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write the features; O(size of the observation)."""
    fill_slots(tables, window)
    params = view.params[0]
    running = copy_ends(tables, window, tables.clock[0].now + params.horizon * params.step)
    write_steps(tables, window, view, running, out)
    write_slots(tables, window, view, out, 2 * params.horizon)
    out[len(out) - 1] = log_share(params.raw, backlog_now(window.params), params.per_log_queue)


def blocks(sizes: Sizes) -> tuple[Block, ...]:
    """Return the column blocks, ``"step 0 used"`` to ``"backlog"``."""
    steps = Block("step", sizes.options.horizon, ("used", "free"))
    return steps, Block(JOB, sizes.slots, COMPACT_FEATURES), Block("", 1, ("backlog",))


COMPACT = Observation(
    name="compact",
    blocks=blocks,
    write=write_compact,
    features=COMPACT_FEATURES,
    shows_cores=False,
)
