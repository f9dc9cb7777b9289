"""Logs whose users ask for more or less time, or under other time limits of partitions."""

import re
from dataclasses import dataclass, replace

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.studies.whatif.inputs import Log, default_times
from hdeeprm_like.types import Bools, Floats

REQUESTS = re.compile(r"(?:([+-])(\d+(?:\.\d+)?)%|x(\d+(?:\.\d+)?))", re.ASCII)
LARGEST_FACTOR = 1000.0  # times as much


@dataclass(frozen=True)
class Requests:
    """How much time users ask for: *factor* times what they did, or times the run time where it is *of_run*."""

    factor: float
    of_run: bool

    def of(self, log: Log) -> Log:
        """Return a log whose jobs ask for so much, at least for their run times: they ran that long."""
        jobs = log.jobs
        base = jobs.delay if self.of_run else jobs.requested_time
        return with_requested(log, np.maximum(base * self.factor, jobs.delay))


def requests_meant(text: str, where: str) -> Requests:
    """Return what ``+50%``, ``-20%``, ``exact`` or ``x2`` means for the requested times.

    Raises:
        OptionsError: it is none of these.
    """
    if text == "exact":
        return Requests(1.0, of_run=True)
    match = REQUESTS.fullmatch(text)
    if match is not None:
        sign, percent, times = match.groups()
        factor = float(times) if times else 1.0 + float(percent) / (100.0 if sign == "+" else -100.0)
        if 0.0 < factor <= LARGEST_FACTOR and not (times and factor < 1.0):
            return Requests(factor, of_run=bool(times))
    raise OptionsError(f"{where}: is none of requests=+50%, requests=-20%, requests=exact and requests=x2 (run times)")


def with_requested(log: Log, requested: Floats) -> Log:
    """Return a log whose jobs ask for other times."""
    jobs = log.jobs
    ratio = np.divide(requested, jobs.requested_time, out=np.ones(len(jobs)), where=jobs.requested_time > 0.0)
    return replace(log, jobs=replace(jobs, requested_time=requested, requested_ops=jobs.requested_ops * ratio))


def cut_to_limits(log: Log, machine: Platform | None, name: str, key: str, limit: float, where: str) -> Log:
    """Return a log under another MaxTime or DefaultTime of a partition, or of all (``*``).

    Under a MaxTime jobs ask for that at most, and those that ran longer are killed then. Under a DefaultTime so do the
    jobs that asked for exactly the DefaultTime of now, which is what Slurm's accounting has of jobs without a limit.

    Raises:
        OptionsError: the machine has no partitions, or the DefaultTime of now is not known.
        WorkloadError: it has none of that name.
    """
    jobs = log.jobs
    chosen, present = _of_partition(log, machine, name, where)
    if key == "DefaultTime":
        if np.isnan(present[chosen]).any():
            raise OptionsError(f"{where}: the platform file has no DefaultTime now, so which jobs have it is not known")
        chosen &= np.abs(jobs.requested_time - present) < 0.5
        requested = np.where(chosen, limit, jobs.requested_time)
        if not np.isfinite(limit):
            raise OptionsError(f"{where}: a time is needed, for jobs without any limit cannot be planned")
    else:
        requested = np.where(chosen, np.minimum(jobs.requested_time, limit), jobs.requested_time)
    killed = jobs.delay > requested
    changed = int((requested != jobs.requested_time).sum())
    note = f"{where}: {changed:,} jobs ask for another time; {int(killed.sum()):,} of them are killed by their limit"
    log = with_requested(log, requested)
    return replace(log, jobs=replace(log.jobs, delay=np.minimum(jobs.delay, requested)), notes=(*log.notes, note))


def _of_partition(log: Log, machine: Platform | None, name: str, where: str) -> tuple[Bools, Floats]:
    """Return (J,) which jobs ask for a partition, and the DefaultTime of the partition of each, NaN where unknown."""
    partitions = None if machine is None else machine.partitions
    if partitions is None:
        raise OptionsError(f"{where}: the machine has no partitions; --machine FILE of an import has them")
    names = log.words["Partition"]
    numbers = {word: partitions.number_of(word) for word in set(names)}
    of_job = np.array([numbers[word] for word in names], np.int64)
    chosen = np.ones(len(of_job), np.bool_) if name == "*" else of_job == partitions.number_of(name)
    return chosen, default_times(partitions, names)
