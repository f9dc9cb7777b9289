"""Requested times of traces without field 9: their CPU times if these are requests.

Some logs (Theta's and Mira's) hold the requested time in field 6, which is defined as the average CPU time used. A CPU
time is at most as long as the run; a request is at least as long, and users request round numbers. So field 6 counts
as requests if no job has field 9 and

- field 6 is known for all jobs and never below the run time, or
- it is known and at least the run time for a share `LEAST_COVERED` of the jobs, with few different values (a share
  `MOST_DIFFERENT`).
"""

from dataclasses import dataclass, field

import numpy as np

from hdeeprm_like.formats.swf import Trace

LEAST_COVERED = 0.95  # share of jobs whose CPU times must be at least their run times; some jobs outlive their requests
MOST_DIFFERENT = 0.05  # largest number of different CPU times, as a share of the jobs
MOST_VALUES = 100_000  # different CPU times; from here on they are not few


@dataclass
class CpuTimes:
    """Decides whether field 6 of jobs holds requests; they may come in parts.

    Attributes:
        jobs: their number. requested: number with a requested time. long: number with a CPU time not below the run.
        values: the different CPU times of these.
    """

    jobs: int = 0
    requested: int = 0
    long: int = 0
    values: set[float] = field(default_factory=set)

    def add(self, trace: Trace) -> None:
        """Count some jobs."""
        self.jobs += len(trace)
        self.requested += int((trace.requested_time > 0.0).sum())
        if self.requested:  # field 6 no longer matters
            return
        long = (trace.cpu_time > 0.0) & (trace.cpu_time >= trace.run)
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

    @property
    def why(self) -> str:
        """Why they do, in words."""
        if self.all_long:
            return "it is nowhere below the run time"
        return (
            f"it holds {len(self.values)} different times and is below the run time or unknown for "
            f"{self.jobs - self.long} of {self.jobs} jobs"
        )
