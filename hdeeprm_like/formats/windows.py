"""Jobs of a trace as simulated in the literature: each takes whole processors for the run time of the trace.

On a pool of identical cores (`cluster.pool`) a job requests only these; on another machine also its memory.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.log_words import demands_of_trace
from hdeeprm_like.formats.requested_times import CpuTimes, run_times, warn_of_perfect_estimates
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.trace_jobs import memory_of
from hdeeprm_like.types import Bools, Floats, Ints

JobsBy: TypeAlias = Literal["file", "id"]  # order of jobs that are submitted at one time

NOT_OF_A_POOL = ("memory", "requested_memory", "status", "group", "queue", "partition", "preceding",
                 "think_time")  # fmt: skip
NO_JOB = "no job of it ran for some time on some processors"


@dataclass(frozen=True, eq=False)
class Window:
    """Consecutive jobs of a trace as a workload whose clock begins with the first of them.

    Attributes:
        workload: the jobs. epoch: s on the trace's clock at the workload's time 0.
        wait: (J,) s, wait of each job in the trace, negative if unknown; None for no trace.
        recorded: (J,) whether the trace has wait and run time of a job; None for no trace.
    """

    workload: Workload
    epoch: float
    wait: Floats | None = None
    recorded: Bools | None = None


def sizes(trace: Trace) -> Ints:
    """Return (J,) processors: the allocated or, if more, the requested ones."""
    return np.maximum(trace.processors, trace.requested_processors)


def recorded(trace: Trace) -> Bools:
    """Return (J,) whether a trace has start and end of a job, that is, its wait and run time."""
    return (trace.wait >= 0.0) & (trace.run >= 0.0)


def usable(trace: Trace) -> Trace:
    """Return the jobs of a trace that ran for some time on some processors, in the order of the file.

    Raises:
        WorkloadError: there are none.
    """
    good = (run_times(trace) > 0.0) & (sizes(trace) > 0)
    if not good.any():
        raise WorkloadError(f"{trace.path}: {NO_JOB}")
    return take(trace, slice(None) if good.all() else np.flatnonzero(good))


def for_a_pool(trace: Trace) -> Trace:
    """Return a trace without the requests that do not apply on a pool; these columns are unknown and take no memory."""
    unknown: dict[str, Any] = {
        name: np.broadcast_to(getattr(trace, name).dtype.type(-1), len(trace)) for name in NOT_OF_A_POOL
    }
    return replace(trace, **unknown)


def windows_in_order(parts: Iterable[Trace], cores: int) -> Iterator[Window]:
    """Yield the jobs of a trace that comes in parts of any size, each part as a window on one clock.

    As in `usable`, `requested_times.with_requested_times` and `window` for a pool; the jobs have no names.

    Raises:
        WorkloadError: no job is usable, one requests more than there is, or is submitted before the one above it;
        or no job has a requested time, and whether CPU times can replace them is known only at the end.
    """
    epoch = latest = -np.inf
    jobs, missing, cpu_times = 0, 0, CpuTimes()
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
        cpu_times.add(found)
        jobs, missing, latest = jobs + len(found), missing + int(unknown.sum()), float(found.submit[-1])
        epoch = float(found.submit[0]) if epoch == -np.inf else epoch
        yield window(found, cores, epoch=epoch, named=False)
    if jobs == 0:
        raise WorkloadError(f"{path}: {NO_JOB}")
    if cpu_times.are_requests:
        raise WorkloadError(
            f"{path}: has no requested times (field 9); whether field 6 can replace them is known only after all "
            "jobs are read: use compare --windows all"
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
    """Return all jobs of a trace as a window, in the order of submission.

    Args:
        platform: the machine, if no pool: jobs then take the run times of the trace on its mean core, and request
        their memory in the trace and, with partitions, the node requests in the log.
        jobs_by: order of jobs submitted at one time: that of the file, or of their numbers in it.
        epoch: s on the trace's clock at the window's time 0; None for the first submission.
        named: whether the jobs get names.

    Raises:
        WorkloadError: there is no job, or one requests more than the machine has.
    """
    if len(trace) == 0:
        raise WorkloadError(f"{trace.path}: no job of it ran for some time on some processors")
    ties = trace.job if jobs_by == "id" else np.arange(len(trace))
    order = np.lexsort((ties, trace.submit))
    run, size = run_times(trace)[order], sizes(trace)[order]
    if size.max() > cores:
        job = trace.job[order][np.argmax(size)]
        raise WorkloadError(f"{trace.path}: job {job} requests {size.max()} processors, the machine has {cores}")
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
        program=np.maximum(trace.executable[order], -1),
        demands=None if platform is None or platform.partitions is None else demands_of_trace(take(trace, order)),
    )
    return Window(workload, epoch, trace.wait[order], recorded(trace)[order])
