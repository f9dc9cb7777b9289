"""Jobs of a trace as simulated in the literature: each takes whole processors for the run time of the trace.

On a pool of identical cores (`cluster.pool`) a job requests only these; on another machine also its memory.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.log_words import demands_of_trace
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.trace_jobs import memory_of
from hdeeprm_like.types import Bools, Floats

JobsBy: TypeAlias = Literal["file", "id"]  # order of jobs that are submitted at one time


@dataclass(frozen=True, eq=False)
class Window:
    """Consecutive jobs of a trace as a workload whose clock begins with the first of them.

    Attributes:
        workload: the jobs. epoch: s on the trace's clock at the workload's time 0.
        wait: (J,) s, wait of each job in the trace, negative if unknown; None for no trace.
    """

    workload: Workload
    epoch: float
    wait: Floats | None = None

    @property
    def recorded(self) -> Bools | None:
        """(J,) whether the trace has the start of a job; None for no trace."""
        return None if self.wait is None else self.wait >= 0.0


def window(
    trace: Trace,
    cores: int,
    platform: Platform | None = None,
    jobs_by: JobsBy = "file",
    epoch: float | None = None,
    named: bool = True,
) -> Window:
    """Return jobs of a trace, as `job_reading.read_jobs` returns them, as a window in the order of submission.

    Args:
        platform: the machine, if no pool: jobs then take the run times of the trace on its mean core, and request
        their memory in the trace and, with partitions, the node requests in the log.
        jobs_by: order of jobs submitted at one time: that of the file, or of their numbers in it.
        epoch: s on the trace's clock at the window's time 0; None for the first submission.
        named: whether the jobs get names.

    Raises:
        WorkloadError: there is no job.
    """
    jobs = len(trace)
    if jobs == 0:
        raise WorkloadError(f"{trace.path}: no job of it is left")
    ties = trace.job if jobs_by == "id" else np.arange(jobs)
    order = np.lexsort((ties, trace.submit))
    times = trace.submit, trace.run, trace.requested_time
    submit, run, requested = (column[order].astype(np.float64) for column in times)
    speed = 1e9 if platform is None else platform.reference_flops
    digits, epoch = len(str(jobs)), float(submit[0]) if epoch is None else epoch
    workload = Workload(
        ids=tuple(f"w0!{number:0{digits}}" for number in range(jobs)) if named else ("",) * jobs,
        profiles=("window",) * jobs,
        submit=submit - epoch,
        size=trace.processors[order].astype(np.int64),
        requested_time=requested,
        requested_ops=requested * speed,
        ops=np.zeros(jobs) if platform is None else run * speed,
        delay=run if platform is None else np.full(jobs, -1.0),
        memory=np.zeros(jobs) if platform is None else memory_of(trace, missing=0.0)[order],
        capacity=cores,
        user=np.maximum(trace.user[order], -1),
        program=np.maximum(trace.executable[order], -1),
        demands=None if platform is None or platform.partitions is None else demands_of_trace(take(trace, order)),
        account=trace.account,
    )
    return Window(workload, epoch, trace.wait[order])
