"""Waiting times of the jobs in the slots, and the clock, appended to an observation (option ``wait``).

M slots. An agent that sees neither cannot treat jobs by their age.

| index from the end of the observation on | what | limit, see ``arrays`` | unit if raw |
|---|---|---|---|
| i | slot i: waiting time until now | log span | s |
| M | time since the beginning of the run | log span | s |

An empty slot is 0. Observations that already show waiting times (``backfilling`` and ``machines``) get only the clock.
Images get neither.
"""

from collections.abc import Callable
from dataclasses import replace

from hdeeprm_like.decision.layout import JOB, Block
from hdeeprm_like.decision.observations.arrays import Observation, Sizes, ViewArrays, log_share
from hdeeprm_like.decision.window.arrays import NONE, Window
from hdeeprm_like.decision.window.window import fill_slots
from hdeeprm_like.engine.bundles import part
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats

CLOCK, WAITING_TIME = "clock", "waiting time"


@compiled
def write_waits(tables: Tables, window: Window, view: ViewArrays, out: Floats, at: int) -> None:
    """Write the waiting times of the jobs in the slots from *at* on; O(slots)."""
    params, now = view.params[0], tables.clock[0].now
    if len(window.slots) > 0:
        fill_slots(tables, window)
    for i in range(len(window.slots)):
        j = window.slots[i]
        waited = now - tables.jobs[j].submit if j != NONE else 0.0
        out[at + i] = log_share(params.raw, waited, params.per_log_span)


def with_waits(shown: Observation) -> Observation:
    """Return an observation that also shows the clock, and waiting times unless it already shows them."""
    return replace(
        shown,
        name=f"{shown.name}_waits",
        blocks=lambda sizes: (*shown.blocks(sizes), *blocks(sizes, shown.shows_waits)),
        write=writer(shown.write, shown.shows_waits),
    )


def blocks(sizes: Sizes, shows_waits: bool) -> tuple[Block, ...]:
    """Return the column blocks behind an observation, ``"job 0 waiting time"`` to ``"clock"``."""
    waits = () if shows_waits or sizes.slots == 0 else (Block(JOB, sizes.slots, (WAITING_TIME,)),)
    return *waits, Block("", 1, (CLOCK,))


def writer(write: Callable[..., None], shows_waits: bool) -> Callable[..., None]:
    """Return a function that writes an observation and then what is appended to it."""

    def write_both(tables, window, view, out):  # type: ignore[no-untyped-def]
        last = len(out) - 1
        end = last if shows_waits else last - len(window.slots)
        write(tables, window, view, part(out, 0, end))
        if not shows_waits:
            write_waits(tables, window, view, out, end)
        params = view.params[0]
        out[last] = log_share(params.raw, tables.clock[0].now, params.per_log_span)

    return compiled(write_both)
