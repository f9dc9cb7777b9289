"""Jobs of a trace as the literature simulates them: each takes whole processors for as long as the trace says.

On a pool of alike cores (`cluster.pool`) a job asks for nothing else; on another machine it asks for its memory, too.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.log_words import demands_of_trace
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.trace_jobs import memory_of
from hdeeprm_like.types import Floats, Ints

log = logging.getLogger(__name__)

JobsBy: TypeAlias = Literal["file", "id"]  # what orders jobs that are submitted at one time

NOT_OF_A_POOL = ("memory", "requested_memory", "status", "group", "executable", "queue", "partition", "preceding",
                 "think_time")  # fmt: skip
UNKNOWN_RUN = 10.0  # s, what RLScheduler takes for a run time that the trace does not have
NO_JOB = "no job of it ran for some time on some processors"


@dataclass(frozen=True, eq=False)
class Window:
    """Consecutive jobs of a trace as a workload whose clock begins with the first of them.

    Attributes:
        workload: the jobs. epoch: s on the trace's clock when the workload's shows 0.
        wait: (J,) s that each job waited by the trace, negative where that is unknown; None for no trace.
    """

    workload: Workload
    epoch: float
    wait: Floats | None = None


def run_times(trace: Trace) -> Floats:
    """Return (J,) s that the jobs of a trace run, those it does not know made up as RLScheduler does."""
    return np.where(trace.run < 0.0, UNKNOWN_RUN, trace.run)


def sizes(trace: Trace) -> Ints:
    """Return (J,) processors: what was allocated or, if more, requested."""
    return np.maximum(trace.processors, trace.requested_processors)


def usable(trace: Trace) -> Trace:
    """Return the jobs of a trace that ran for some time on some processors, in the order of the file.

    Raises:
        WorkloadError: there is none.
    """
    good = (run_times(trace) > 0.0) & (sizes(trace) > 0)
    if not good.any():
        raise WorkloadError(f"{trace.path}: {NO_JOB}")
    return take(trace, slice(None) if good.all() else np.flatnonzero(good))


def for_a_pool(trace: Trace) -> Trace:
    """Return a trace without what jobs on a pool never ask for; those columns are unknown and take no memory."""
    unknown: dict[str, Any] = {
        name: np.broadcast_to(getattr(trace, name).dtype.type(-1), len(trace)) for name in NOT_OF_A_POOL
    }
    return replace(trace, **unknown)


def with_requested_times(trace: Trace) -> Trace:
    """Return a trace in which every job has a requested time; one warning says what stands in where field 9 has none.

    That is the CPU time (field 6) if no job has a requested time and no CPU time is below the run time, for some traces
    hold the request there; else the run time.
    """
    missing = ~(trace.requested_time > 0.0)
    if not missing.any():
        return trace
    run = run_times(trace)
    if missing.all() and (trace.cpu_time > 0.0).all() and (trace.cpu_time >= run).all():
        log.warning(
            "%s: tells no requested times (field 9); taken from field 6, which is nowhere below the run time",
            trace.path,
        )
        return replace(trace, requested_time=trace.cpu_time)
    warn_of_perfect_estimates(trace.path, int(missing.sum()), len(trace))
    return replace(trace, requested_time=np.where(missing, run, trace.requested_time))


def warn_of_perfect_estimates(path: Path, missing: int, jobs: int) -> None:
    """Say that run times stand in for the requested times of so many of the jobs of a trace."""
    of_jobs = "" if missing == jobs else f" of {missing} of {jobs} jobs"
    log.warning(
        "%s: tells no requested times (field 9)%s; the run times stand in, which makes these estimates perfect",
        path,
        of_jobs,
    )


def windows_in_order(parts: Iterable[Trace], cores: int) -> Iterator[Window]:
    """Yield the jobs of a trace that comes in parts, which can be of any size, each part as a window on one clock.

    As of `usable`, `with_requested_times` and `window` for a pool; the jobs have no names.

    Raises:
        WorkloadError: no job can be used, one asks for more than there is, or is submitted before one above it; or no
            job tells what it requested, and CPU times, which would stand in, do not show that before the end.
    """
    epoch = latest = -np.inf
    jobs, missing, by_cpu = 0, 0, True
    path = Path()
    for part in parts:
        path = part.path
        good = (run_times(part) > 0.0) & (sizes(part) > 0)
        if not good.any():
            continue
        found = part if good.all() else take(part, np.flatnonzero(good))
        before = np.concatenate([[latest], found.submit[:-1]])
        if (found.submit < before).any():
            job = int(np.argmax(found.submit < before))
            raise WorkloadError(
                f"{path}: job {found.job[job]} is submitted at {found.submit[job]:.15g} s, the one above it at "
                f"{before[job]:.15g} s; jobs that are streamed must be in the order of their submission"
            )
        unknown = ~(found.requested_time > 0.0)
        by_cpu = by_cpu and bool(((found.cpu_time > 0.0) & (found.cpu_time >= run_times(found))).all())
        jobs, missing, latest = jobs + len(found), missing + int(unknown.sum()), float(found.submit[-1])
        epoch = float(found.submit[0]) if epoch == -np.inf else epoch
        yield window(found, cores, epoch=epoch, named=False)
    if jobs == 0:
        raise WorkloadError(f"{path}: {NO_JOB}")
    if missing == jobs and by_cpu:
        raise WorkloadError(
            f"{path}: tells no requested times (field 9), for which field 6 may stand in; only who has read all jobs "
            "knows that: use compare --windows all"
        )
    if missing:
        warn_of_perfect_estimates(path, missing, jobs)


def window(
    trace: Trace,
    cores: int,
    platform: Platform | None = None,
    jobs_by: JobsBy = "file",
    epoch: float | None = None,
    named: bool = True,
) -> Window:
    """Return all jobs of a trace as a window, in the order of their submission.

    Args:
        platform: the machine, where it is not just a pool: jobs then last as long as in the trace on its mean core, and
            ask for their memory in the trace and, where it has partitions, for what the log tells of these.
        jobs_by: jobs that are submitted at one time are in the order of the file, or of the numbers that it gives them.
        epoch: s on the trace's clock when the window's shows 0; None for that of the first submission.
        named: whether the jobs get names.

    Raises:
        WorkloadError: there is no job, or one asks for more than there is.
    """
    if len(trace) == 0:
        raise WorkloadError(f"{trace.path}: no job of it ran for some time on some processors")
    ties = trace.job if jobs_by == "id" else np.arange(len(trace))
    order = np.lexsort((ties, trace.submit))
    run, size = run_times(trace)[order], sizes(trace)[order]
    if size.max() > cores:
        job = trace.job[order][np.argmax(size)]
        raise WorkloadError(f"{trace.path}: job {job} asks for {size.max()} processors, the machine has {cores}")
    submit, requested, jobs = trace.submit[order], trace.requested_time[order], len(trace)
    requested = np.where(requested > 0.0, requested, run).astype(np.float64)
    speed = 1e9 if platform is None else platform.reference_flops
    digits, epoch = len(str(jobs)), float(submit[0]) if epoch is None else epoch
    workload = Workload(
        ids=tuple(f"w0!{number:0{digits}}" for number in range(jobs)) if named else ("",) * jobs,
        profiles=("window",) * jobs,
        submit=(submit - epoch).astype(np.float64),
        size=size.astype(np.int64),
        requested_time=requested,
        requested_ops=requested * speed,
        ops=np.zeros(jobs) if platform is None else run * speed,
        delay=run.astype(np.float64) if platform is None else np.full(jobs, -1.0),
        memory=np.zeros(jobs) if platform is None else memory_of(trace, missing=0.0)[order],
        bandwidth=np.zeros(jobs),
        walltime=np.full(jobs, np.inf),
        capacity=cores,
        user=np.maximum(trace.user[order], -1),
        demands=None if platform is None or platform.partitions is None else demands_of_trace(take(trace, order)),
    )
    return Window(workload, epoch, trace.wait[order])
