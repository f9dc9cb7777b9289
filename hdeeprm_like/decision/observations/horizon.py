"""The event horizon of the semi-MDP: the next expected events, and features of each job (000, section 4.7).

H events, the first of which is now; M slots. An event is an expected end of running jobs, by their requested times.

| index | what | limit, see ``arrays`` | unit if raw |
|---|---|---|---|
| 0 | remaining work of the running jobs | log time | core x s |
| 1 | time until some core is free, 0 if one is | log time | s |
| 2, 3 | cores free and used then | cores | |
| 4 | jobs outside the window | log queue | |
| 5 | waiting jobs | log queue | |
| 6 + 3 k | event k: time until then | log time | s |
| 7 + 3 k, 8 + 3 k | cores free and used then | cores | |
| 6 + 3 H + 7 i | slot i: see ``features`` | | |

After the last event its state is repeated, one time step later each time (figure 4.5). Jobs past their requested times
are expected to end at the next event, at most one time step from now.
"""

import numpy as np

from hdeeprm_like.decision.layout import JOB, Block
from hdeeprm_like.decision.observations.arrays import Observation, Sizes, ViewArrays, log_share, share
from hdeeprm_like.decision.observations.features import HORIZON_FEATURES, backlog_now, write_slots
from hdeeprm_like.decision.window.arrays import EARLY, Window
from hdeeprm_like.decision.window.statistics import copy_ends, remaining_work
from hdeeprm_like.decision.window.window import fill_slots
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats

EVENT = ("offset", "free", "used")
NEXT_FREE, FIRST_EVENT = 1, 6  # first columns of these features


@compiled
def next_end(ends: Floats, running: int, ended: int, now: float, date: float, step: float) -> float:
    """Return when the next running job is expected to end, after the first *ended* ones, which end until *date*."""
    if ended == running:
        return date + step
    if ends[ended] > now + EARLY:
        return float(ends[ended])
    while ended < running and ends[ended] <= now + EARLY:
        ended += 1
    return min(now + step, float(ends[ended])) if ended < running else now + step


@compiled
def write_events(tables: Tables, window: Window, view: ViewArrays, running: int, out: Floats) -> None:
    """Write the events, and the next one at which some core is free.

    Args:
        running: number of running jobs, whose ends and cores are written.
    """
    params, ends, widths, ended = view.params[0], window.ends, window.widths, 0
    now, free, cores = tables.clock[0].now, tables.clock[0].free_cores, len(tables.owners)
    date = now
    raw, per_time, per_core = params.raw, params.per_log_time, params.per_core
    full, offset = free == 0 and running > 0, 0.0
    free_share, used_share = share(raw, free, per_core), share(raw, cores - free, per_core)
    for k in range(max(params.horizon, 2)):
        at = FIRST_EVENT + len(EVENT) * k
        if k > 0:
            date = next_end(ends, running, ended, now, date, params.step)
            offset = log_share(raw, date - now, per_time)
            if ended < running:
                while ended < running and ends[ended] <= date + EARLY:
                    free += widths[ended]
                    ended += 1
                free_share, used_share = share(raw, free, per_core), share(raw, cores - free, per_core)
        if k < params.horizon:
            out[at], out[at + 1], out[at + 2] = offset, free_share, used_share
        if k == 0 or (full and k == 1):
            out[NEXT_FREE], out[NEXT_FREE + 1], out[NEXT_FREE + 2] = offset, free_share, used_share


@compiled
def write_horizon(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write the features; O(size of the observation + running jobs)."""
    fill_slots(tables, window)
    params = view.params[0]
    work = remaining_work(tables, window) * (1.0 if params.raw else params.per_core)
    out[0] = log_share(params.raw, work, params.per_log_time)
    write_events(tables, window, view, copy_ends(tables, window, np.inf), out)
    out[4] = log_share(params.raw, backlog_now(window.params), params.per_log_queue)
    out[5] = log_share(params.raw, window.params[0].queue, params.per_log_queue)
    write_slots(tables, window, view, out, FIRST_EVENT + 3 * params.horizon)


def blocks(sizes: Sizes) -> tuple[Block, ...]:
    """Return the column blocks, ``"remaining work"`` to ``"job 127 can start"``."""
    summary = ("remaining work", *(f"next free {what}" for what in EVENT), "backlog", "queue size")
    return (
        Block("", 1, summary),
        Block("event", sizes.options.horizon, EVENT),
        Block(JOB, sizes.slots, HORIZON_FEATURES),
    )


HORIZON = Observation(
    name="horizon",
    blocks=blocks,
    write=write_horizon,
    features=HORIZON_FEATURES,
    shows_cores=False,
)
