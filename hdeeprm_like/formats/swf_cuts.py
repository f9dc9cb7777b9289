"""Parts of traces: cuts, windows, scaled load; and traces of generated jobs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.cluster.synthetic.jobs import Jobs, plain_jobs
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.job_rules import STANDARD, Rules
from hdeeprm_like.formats.swf import COLUMNS, FIELDS, KB_PER_MB, WHOLE, Trace
from hdeeprm_like.types import Floats, Ints
from hdeeprm_like.values import EXACT_MOST

COMPLETED = 1  # status
COUNTS = ("MaxJobs", "MaxRecords")  # header lines that change in a part of a trace


def take(trace: Trace, rows: Ints | slice) -> Trace:
    """Return some jobs of a trace in the order given, with updated counts in the header.

    Args:
        rows: of the jobs; a slice copies no column.
    """
    columns: dict[str, Any] = {name: column[rows] for name in COLUMNS if (column := getattr(trace, name)) is not None}
    return replace(trace, header=tuple(_recounted(trace.header, len(columns["job"]))), **columns)


def size_of(trace: Trace, rules: Rules = STANDARD) -> Ints:
    """Return (J,) cores of the jobs of a log by the rules, below 1 where unknown."""
    got, requested = trace.processors, trace.requested_processors
    if rules.size == "larger":
        return np.maximum(got, requested)
    first, second = (got, requested) if rules.size == "got" else (requested, got)
    return np.where(first > 0, first, second)


def cut(
    trace: Trace,
    *,
    first: int | None = None,
    skip: int = 0,
    begin: float | None = None,
    end: float | None = None,
    larger_than: int | None = None,
) -> Trace:
    """Return jobs submitted in [begin, end): skip the first *skip* of them, then keep at most *first*.

    Clock, order and numbers of the jobs are unchanged.

    Args:
        begin, end: s on the trace's clock; None for no bound.
        larger_than: processors; jobs that got more, or requested more if that is unknown, are left out.

    Raises:
        WorkloadError: no job is left, or an argument is invalid.
    """
    if skip < 0 or (first is not None and first < 1):
        raise WorkloadError(f"first: {first}, skip: {skip}: first is at least 1 and skip at least 0")
    inside = np.ones(len(trace), np.bool_)
    if begin is not None:
        inside &= trace.submit >= begin
    if end is not None:
        inside &= trace.submit < end
    if larger_than is not None:
        inside &= size_of(trace) <= larger_than
    rows = np.flatnonzero(inside)[skip:][:first]
    if not len(rows):
        raise WorkloadError(
            f"{trace.path}: none of {len(trace)} jobs is left: {int(inside.sum())} are in that time and of that size"
        )
    return take(trace, rows)


def scale_gaps(trace: Trace, factor: float) -> Trace:
    """Return the trace with all times between submissions times *factor*: below 1 the load rises, above 1 it falls.

    Submit times need not be integers then; waiting times are no longer valid and become unknown.

    Raises:
        WorkloadError: the factor is negative or no number, or gives times that no trace can hold.
    """
    if not (np.isfinite(factor) and factor >= 0):
        raise WorkloadError(f"load: a factor of {factor} is not possible; a number from 0 on is needed")
    begin = trace.submit.min()
    if not float(trace.submit.max() - begin) * factor < EXACT_MOST:
        raise WorkloadError(f"{trace.path}: load: times between submissions times {factor:g} are beyond 2^53 s")
    note = f"Note: times between submissions are those of the original times {factor:g}"
    submit = begin + (trace.submit - begin) * factor
    return replace(trace, header=(*trace.header, note), submit=submit, wait=np.full(len(trace), -1.0))


def windows(trace: Trace, jobs: int, count: int, rng: np.random.Generator) -> Iterator[Trace]:
    """Yield *count* windows of consecutive jobs at places drawn by `window_begins`.

    Raises:
        WorkloadError: the trace is shorter than a window.
    """
    for begin in window_begins(trace, jobs, count, rng):
        yield take(trace, slice(begin, begin + jobs))


def window_begins(trace: Trace, jobs: int, count: int, rng: np.random.Generator) -> list[int]:
    """Return the first job of each of *count* windows, drawn with equal probability; windows may overlap.

    Raises:
        WorkloadError: the trace is shorter than a window.
    """
    if not 1 <= jobs <= len(trace):
        raise WorkloadError(f"{trace.path}: windows of {jobs} jobs do not fit into {len(trace)} jobs")
    begins: list[int] = rng.integers(len(trace) - jobs + 1, size=count).tolist()
    return begins


def disjoint_begins(trace: Trace, jobs: int, count: int) -> list[int]:
    """Return the first job of each of *count* disjoint windows: the middles of as many equal parts of a trace.

    If the trace is too short for that many, there are as many as fit.

    Raises:
        WorkloadError: the trace is shorter than a window.
    """
    if not 1 <= jobs <= len(trace):
        raise WorkloadError(f"{trace.path}: windows of {jobs} jobs do not fit into {len(trace)} jobs")
    count = min(count, len(trace) // jobs)
    return [((2 * number + 1) * len(trace) - count * jobs) // (2 * count) for number in range(count)]


def trace_of_jobs(jobs: Jobs) -> Trace:
    """Return the jobs of a model as a trace; a trace has neither bandwidths nor GPUs."""
    known = {
        "run": jobs.run,
        "submit": jobs.submit,
        "processors": jobs.size,
        "requested_processors": jobs.size,
        "requested_time": jobs.requested_time,
        "requested_memory": _kilobytes(jobs.memory),
        "queue": jobs.queue,
    }
    return _trace(known, jobs.capacity, f"Note: made by hdeeprm-like with {jobs.origin}")


def trace_of_workload(workload: Workload, reference_flops: float, origin: str) -> Trace:
    """Return the jobs of a workload as a trace: partitions and accounts as numbers with their names in the header.

    A trace has no bandwidths, GPUs, profile names or other requests for nodes.

    Args:
        reference_flops: flop/s of the cores that the run times refer to.
        origin: of the jobs, for the header.
    """
    run = np.where(workload.delay >= 0.0, workload.delay, workload.ops / reference_flops)
    known = {
        "run": np.minimum(run, workload.walltime),
        "submit": workload.submit,
        "processors": workload.size,
        "requested_processors": workload.size,
        "requested_time": workload.requested_time,
        "requested_memory": _kilobytes(workload.memory),
        "user": workload.user,
        "executable": workload.program,
    }
    names: list[str] = []
    if workload.demands is not None:
        for column, label, texts in (
            ("partition", "Partition", workload.demands.partition),
            ("group", "Group", workload.demands.account),
        ):
            found = sorted(set(texts) - {""})
            number = {name: at for at, name in enumerate(found, start=1)}
            known[column] = np.array([number.get(text, -1) for text in texts])
            names += [f"{label}: {at} {name}" for name, at in number.items()]
    trace = _trace(known, workload.capacity, f"Note: made by hdeeprm-like of {origin}")
    return replace(trace, header=(*trace.header, *names))


def jobs_of_trace(trace: Trace) -> Jobs:
    """Return the jobs of a trace, as `job_reading.read_jobs` returns them, in the form of a model's jobs."""
    ran = take(trace, np.argsort(trace.submit, kind="stable"))
    capacity = int(ran.processors.max())
    jobs = plain_jobs(ran.submit, ran.run, ran.processors, capacity=capacity, origin=f"the jobs of {trace.path.name}")
    memory = np.where(ran.requested_memory > 0, ran.requested_memory, ran.memory)
    return replace(
        jobs,
        requested_time=ran.requested_time,
        memory=np.maximum(memory, 0.0) / KB_PER_MB,
        queue=ran.queue,
    )


def _kilobytes(memory: Floats) -> Floats:
    """Return (J,) KB per core, unknown for all if no job requests any."""
    return memory * KB_PER_MB if memory.any() else np.full(len(memory), -1.0)


def _trace(known: dict[str, Any], capacity: int, note: str) -> Trace:
    jobs = len(known["submit"])
    columns: dict[str, Any] = {
        name: np.full(jobs, -1, np.int64) if name in WHOLE else np.full(jobs, -1.0) for name in FIELDS
    }
    columns |= {"job": np.arange(1, jobs + 1), "status": np.full(jobs, COMPLETED)} | known
    header = ("Version: 2.2", f"MaxJobs: {jobs}", f"MaxRecords: {jobs}", f"MaxProcs: {capacity}", note)
    return Trace(path=Path("generated.swf"), header=header, **columns)


def _recounted(header: tuple[str, ...], jobs: int) -> Iterator[str]:
    for line in header:
        name = line.partition(":")[0].strip()
        yield f"{name}: {jobs}" if name in COUNTS else line
