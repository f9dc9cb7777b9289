"""What is appended to an observation: waiting times of the jobs in the slots, the clock, the hour, rates of energy.

With the option ``wait``, of M slots; an agent that sees neither cannot treat jobs by their age:

| index from the end of the observation on | what | limit, see ``arrays`` | unit if raw |
|---|---|---|---|
| i | slot i: waiting time until now | log span | s |
| M | time since the beginning of the run | log span | s |

An empty slot is 0. Observations that already show waiting times (``backfilling`` and ``machines``) get only the clock.

With the option ``rates``; there are K objectives with a file of rates, such as ``cost:tariff.csv``; each has two
features by its own name:

| index from there on | what | limit | unit if raw |
|---|---|---|---|
| 0 | hour of the day, by the clock of the simulation | day | h |
| 1 | time until some rate changes, 0 if none will | log span, see ``arrays`` | s |
| 2 + 2 k | rate k now | the largest of its file | per kWh |
| 3 + 2 k | rate k after the next change | the same | per kWh |

Images get none of these.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hdeeprm_like.decision.layout import JOB, Block
from hdeeprm_like.decision.observations.arrays import Observation, Sizes, ViewArrays, log_share
from hdeeprm_like.decision.rates import Rates
from hdeeprm_like.decision.window.arrays import NONE, Window
from hdeeprm_like.decision.window.window import fill_slots
from hdeeprm_like.engine.bundles import part
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats

CLOCK, WAITING_TIME = "clock", "waiting time"
HOUR, DAY = 3600.0, 86400.0  # s


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


@compiled
def write_hours(tables: Tables, view: ViewArrays, out: Floats, at: int) -> None:
    """Write the features from *at* on."""
    params, times, rates, now = view.params[0], view.rate_times, view.rates, tables.clock[0].now
    row, end = 0, len(times)
    while row + 1 < end:  # times[row] <= now, and times[end] > now
        middle = (row + end) // 2
        if times[middle] <= now:
            row = middle
        else:
            end = middle
    later = min(row + 1, len(times) - 1)
    hour = (now % DAY) / HOUR
    out[at] = hour if params.raw else hour / 24.0
    out[at + 1] = log_share(params.raw, max(times[later] - now, 0.0), params.per_log_span)
    for k in range(len(rates[0])):
        out[at + 2 + 2 * k], out[at + 3 + 2 * k] = rates[row, k], rates[later, k]


def rates_over_time(listed: Sequence[Rates], raw: bool) -> tuple[Floats, Floats]:
    """Return (T,) s and (T, K) the rates from then on, as shares of the largest of each file unless *raw*."""
    times = np.unique([time for one in listed for time in one.times])
    rates = np.zeros((len(times), len(listed)))
    for k, one in enumerate(listed):
        values = np.array(one.values)
        most = 1.0 if raw else float(np.abs(values).max()) or 1.0
        rates[:, k] = values[np.searchsorted(one.times, times, side="right") - 1] / most
    return times, rates


def block_of_rates(names: Sequence[str]) -> Block:
    """Return the block of columns behind an observation: ``"hour"`` to ``"cost:tariff.csv then"``."""
    return Block(
        "", 1, ("hour", "time until a rate changes", *(f"{name}{when}" for name in names for when in ("", " then")))
    )
