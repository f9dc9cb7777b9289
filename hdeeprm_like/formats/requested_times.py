"""Requested times of traces without field 9: their CPU times if these are requests, else their run times.

Some logs (Theta's and Mira's) hold the requested time in field 6, which is defined as the average CPU time used. A CPU
time is at most as long as the run; a request is at least as long, and users request round numbers. So field 6 counts
as requests if no job has field 9 and

- field 6 is known for all jobs and never below the run time, or
- it is known and at least the run time for a share `LEAST_COVERED` of the jobs, with few different values (a share
  `MOST_DIFFERENT`).
"""

import logging
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.types import Floats

log = logging.getLogger(__name__)

UNKNOWN_RUN = 10.0  # s, RLScheduler's value for unknown run times
LEAST_COVERED = 0.95  # share of jobs whose CPU times must be at least their run times; some jobs outlive their requests
MOST_DIFFERENT = 0.05  # largest number of different CPU times, as a share of the jobs
MOST_VALUES = 100_000  # different CPU times; from here on they are not few


def run_times(trace: Trace) -> Floats:
    """Return (J,) run times of a trace in s, with RLScheduler's value for unknown ones."""
    return np.where(trace.run < 0.0, UNKNOWN_RUN, trace.run)


@dataclass
class CpuTimes:
    """Decides whether field 6 of a trace holds requests; the jobs may come in parts.

    Attributes:
        jobs: number that ran. requested: number with a requested time. long: number with a CPU time not below the run.
        values: the different CPU times of these.
    """

    jobs: int = 0
    requested: int = 0
    long: int = 0
    values: set[float] = field(default_factory=set)

    def add(self, trace: Trace) -> None:
        """Count some jobs; jobs that did not run are skipped."""
        ran = run_times(trace) > 0.0
        self.jobs += int(ran.sum())
        self.requested += int((ran & (trace.requested_time > 0.0)).sum())
        if self.requested:  # field 6 no longer matters
            return
        long = ran & (trace.cpu_time > 0.0) & (trace.cpu_time >= run_times(trace))
        self.long += int(long.sum())
        if len(self.values) <= MOST_VALUES:
            self.values.update(np.unique(trace.cpu_time[long]).tolist())

    @property
    def all_long(self) -> bool:
        """Whether every CPU time is known and at least the run time."""
        return self.jobs > 0 and self.long == self.jobs

    @property
    def are_requests(self) -> bool:
        """Whether they count as requests."""
        few = len(self.values) <= min(MOST_DIFFERENT * self.jobs, MOST_VALUES)
        return (
            self.jobs > 0 and not self.requested and (self.all_long or (few and self.long >= LEAST_COVERED * self.jobs))
        )


def with_requests_of_field_6(trace: Trace) -> Trace:
    """Return a trace with its CPU times as requested times if they count as requests; this logs one warning."""
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
    log.warning("%s: has no requested times (field 9); taken from field 6, %s", trace.path, why)
    return replace(trace, requested_time=trace.cpu_time)


def with_requested_times(trace: Trace) -> Trace:
    """Return a trace with a requested time for every job; one warning names the replacement of missing values.

    The replacement is the CPU time (field 6) if it counts as a request, else the run time.
    """
    found = with_requests_of_field_6(trace)
    missing = ~(found.requested_time > 0.0)
    if not missing.any():
        return found
    if found is trace:
        warn_of_perfect_estimates(trace.path, int(missing.sum()), len(trace))
    return replace(trace, requested_time=np.where(missing, run_times(trace), found.requested_time))


def warn_of_perfect_estimates(path: Path, missing: int, jobs: int) -> None:
    """Log that run times replace the requested times of *missing* of the jobs of a trace."""
    of_jobs = "" if missing == jobs else f" for {missing} of {jobs} jobs"
    log.warning(
        "%s: has no requested times (field 9)%s; the run times replace them, which makes these estimates perfect",
        path,
        of_jobs,
    )
