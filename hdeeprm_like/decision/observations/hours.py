"""The hour and the rates of energy, appended to an observation (option ``rates``).

There are K objectives with a file of rates, such as ``cost:tariff.csv``; each has two features by its own name.

| index from the end of the observation on | what | limit | unit if raw |
|---|---|---|---|
| 0 | hour of the day, by the clock of the simulation | day | h |
| 1 | time until some rate changes, 0 if none will | log span, see ``arrays`` | s |
| 2 + 2 k | rate k now | the largest of its file | per kWh |
| 3 + 2 k | rate k after the next change | the same | per kWh |

Images get none of these.
"""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.decision.layout import Block
from hdeeprm_like.decision.observations.arrays import ViewArrays, log_share
from hdeeprm_like.decision.rates import Rates
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats

HOUR, DAY = 3600.0, 86400.0  # s


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


def block(names: Sequence[str]) -> Block:
    """Return the block of columns behind an observation: ``"hour"`` to ``"cost:tariff.csv then"``."""
    return Block(
        "", 1, ("hour", "time until a rate changes", *(f"{name}{when}" for name in names for when in ("", " then")))
    )
