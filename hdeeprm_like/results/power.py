"""The power of a finished run over time, and what its energy costs or emits where that depends on the time."""

from typing import NamedTuple

import numpy as np

from hdeeprm_like.decision.rates import KILOWATT_HOUR, Rates
from hdeeprm_like.results.run_reader import Run
from hdeeprm_like.results.run_values import columns_of
from hdeeprm_like.types import Floats

ENERGY = "out_consumed_energy.csv"


class Consumed(NamedTuple):
    """Energy and power of a run, as ``out_consumed_energy.csv`` has them.

    Attributes:
        times: (T,) s, increasing. joules: (T,) J used until each of them. watts: (T,) W from each of them on.
    """

    times: Floats
    joules: Floats
    watts: Floats

    def energy(self, times: Floats) -> Floats:
        """Return the energy in J used until each time."""
        k = np.searchsorted(self.times, times, side="right") - 1
        return np.asarray(self.joules[k] + self.watts[k] * (times - self.times[k]))


def consumed(run: Run) -> Consumed:
    """Return the energy and the power of a run, the last entry of each time.

    Raises:
        ResultsError: the run has no such file, or it cannot be read.
    """
    times, joules, watts = columns_of(run.path(ENERGY), ("time", "energy", "wattmin"))
    if len(times) and times[0] > 0.0:  # until the first job starts nothing changes
        times, joules, watts = np.append(0.0, times), np.append(0.0, joules), np.append(joules[0] / times[0], watts)
    last = np.append(times[1:] > times[:-1], True)[: len(times)]
    return Consumed(times[last], joules[last], watts[last])


def at_rates(run: Run, rates: Rates) -> float:
    """Return what the energy of a run costs or emits from the first submission to the last end, as `Rates` says."""
    used = consumed(run)
    begin, end = float(run.jobs.submit.min(initial=np.inf)), run.end
    if not len(used.times) or not begin < end:
        return 0.0
    bounds = np.unique(np.clip([*rates.times, begin, end], begin, end))
    joules = np.diff(np.interp(bounds, used.times, used.joules))
    values = np.array(rates.values)[np.searchsorted(rates.times, bounds[:-1], side="right") - 1]
    return float(np.sum(joules * values)) / KILOWATT_HOUR
