"""The power of a finished run over time, and what its energy costs or emits where that depends on the time."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.csv_rows import read_rows
from hdeeprm_like.results.run_reader import Run
from hdeeprm_like.results.run_values import columns_of
from hdeeprm_like.types import Floats

ENERGY = "out_consumed_energy.csv"
KILOWATT_HOUR = 3.6e6  # J


class Consumed(NamedTuple):
    """What ``out_consumed_energy.csv`` tells of a run.

    Attributes:
        times: (T,) s, increasing. joules: (T,) J used until each of them. watts: (T,) W from each of them on.
    """

    times: Floats
    joules: Floats
    watts: Floats


class Rates(NamedTuple):
    """What a kWh costs, or how much CO2 it emits.

    Attributes:
        times: (T,) s of the simulation, increasing. values: (T,) for each kWh from each of them on.
    """

    times: Floats
    values: Floats


def consumed(run: Run) -> Consumed:
    """Return the energy and the power of a run, the last that the file tells of each time.

    Raises:
        ResultsError: the run has no such file, or it cannot be read.
    """
    times, joules, watts = columns_of(run.path(ENERGY), ("time", "energy", "wattmin"))
    if len(times) and times[0] > 0.0:  # until the first job starts nothing changes
        times, joules, watts = np.append(0.0, times), np.append(0.0, joules), np.append(joules[0] / times[0], watts)
    last = np.append(times[1:] > times[:-1], True)[: len(times)]
    return Consumed(times[last], joules[last], watts[last])


def read_rates(path: Path) -> Rates:
    """Read a tariff or a carbon intensity: a CSV with the columns time (s of the simulation) and value (for each kWh).

    A value holds from its time on until the next one's; the first line must be of time 0.

    Raises:
        ResultsError: the file cannot be read, or its times do not begin with 0 or do not increase.
    """
    rows = read_rows(path, ("time", "value"), ResultsError)
    rates = Rates(np.array([row.number("time") for row in rows]), np.array([row.number("value") for row in rows]))
    if rates.times[0] != 0.0:
        raise ResultsError(f"{rows[0].where}: time: is {rates.times[0]:g}; the first line must be of time 0")
    for row, before, now in zip(rows[1:], rates.times[:-1], rates.times[1:], strict=True):
        if not now > before:
            raise ResultsError(f"{row.where}: time: is {now:g} and not after {before:g}, the time of the line before")
    return rates


def at_rates(run: Run, rates: Rates) -> float:
    """Return what the energy of a run costs or emits from the first submission to the last end, as `Rates` says."""
    used = consumed(run)
    begin, end = float(run.jobs.submit.min(initial=np.inf)), run.end
    if not len(used.times) or not begin < end:
        return 0.0
    bounds = np.unique(np.clip([*rates.times, begin, end], begin, end))
    joules = np.diff(np.interp(bounds, used.times, used.joules))
    values = rates.values[np.searchsorted(rates.times, bounds[:-1], side="right") - 1]
    return float(np.sum(joules * values)) / KILOWATT_HOUR
