"""Requested times of a trace that tells none in field 9: its CPU times where these are requests, else its run times.

Some logs (Theta's and Mira's) hold the requested time in field 6, which is meant for the average CPU time used. A CPU
time is at most as long as the run; a request is at least as long, and users request round numbers. So field 6 is read
as requests if no job tells one in field 9 and

- field 6 is known for all jobs and nowhere below the run time, or
- it is known and no less than the run time for `MOST` of the jobs, and holds few different values (`FEW` of the jobs).
"""

import logging
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.types import Floats

log = logging.getLogger(__name__)

UNKNOWN_RUN = 10.0  # s, what RLScheduler takes for a run time that the trace does not have
MOST = 0.95  # share of the jobs whose CPU times must be no less than their run times; some outlive their request
FEW = 0.05  # different CPU times, as a share of the jobs
MOST_VALUES = 100_000  # different CPU times; so many are no longer few


def run_times(trace: Trace) -> Floats:
    """Return (J,) s that the jobs of a trace run, those it does not know made up as RLScheduler does."""
    return np.where(trace.run < 0.0, UNKNOWN_RUN, trace.run)


@dataclass
class CpuTimes:
    """Whether field 6 of a trace holds requests; the jobs may come in parts.

    Attributes:
        jobs: that ran. requested: of them that tell a requested time. long: whose CPU time is no less than the run.
        values: the different CPU times of these.
    """

    jobs: int = 0
    requested: int = 0
    long: int = 0
    values: set[float] = field(default_factory=set)

    def add(self, trace: Trace) -> None:
        """Count some jobs; those that did not run do not matter."""
        ran = run_times(trace) > 0.0
        self.jobs += int(ran.sum())
        self.requested += int((ran & (trace.requested_time > 0.0)).sum())
        if self.requested:  # what field 6 holds does not matter any more
            return
        long = ran & (trace.cpu_time > 0.0) & (trace.cpu_time >= run_times(trace))
        self.long += int(long.sum())
        if len(self.values) <= MOST_VALUES:
            self.values.update(np.unique(trace.cpu_time[long]).tolist())

    @property
    def all_long(self) -> bool:
        """Whether no CPU time is unknown or below the run time."""
        return self.jobs > 0 and self.long == self.jobs

    @property
    def are_requests(self) -> bool:
        """Whether they are read as requests."""
        few = len(self.values) <= min(FEW * self.jobs, MOST_VALUES)
        return self.jobs > 0 and not self.requested and (self.all_long or (few and self.long >= MOST * self.jobs))


def with_requests_of_field_6(trace: Trace) -> Trace:
    """Return a trace whose CPU times are its requested times where they are read as such, which one warning says."""
    if (trace.requested_time > 0.0).any():
        return trace
    found = CpuTimes()
    found.add(trace)
    if not found.are_requests:
        return trace
    why = "which is nowhere below the run time"
    if not found.all_long:
        why = (
            f"which holds {len(found.values)} different times and is below the run time or unknown for "
            f"{found.jobs - found.long} of {found.jobs} jobs"
        )
    log.warning("%s: tells no requested times (field 9); taken from field 6, %s", trace.path, why)
    return replace(trace, requested_time=trace.cpu_time)


def with_requested_times(trace: Trace) -> Trace:
    """Return a trace in which every job has a requested time; one warning says what stands in where field 9 has none.

    That is the CPU time (field 6) where it is read as a request, else the run time.
    """
    found = with_requests_of_field_6(trace)
    missing = ~(found.requested_time > 0.0)
    if not missing.any():
        return found
    if found is trace:
        warn_of_perfect_estimates(trace.path, int(missing.sum()), len(trace))
    return replace(trace, requested_time=np.where(missing, run_times(trace), found.requested_time))


def warn_of_perfect_estimates(path: Path, missing: int, jobs: int) -> None:
    """Say that run times stand in for the requested times of so many of the jobs of a trace."""
    of_jobs = "" if missing == jobs else f" of {missing} of {jobs} jobs"
    log.warning(
        "%s: tells no requested times (field 9)%s; the run times stand in, which makes these estimates perfect",
        path,
        of_jobs,
    )
