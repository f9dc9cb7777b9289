"""Conversion of the jobs of a trace for the simulator: requests, operations and memory (thesis 3.1.3, appendix C.2)."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from hdeeprm_like.cluster.synthetic.estimates import ACCURACY, ACCURACY_STEPS
from hdeeprm_like.cluster.synthetic.jobs import BANDWIDTHS
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.job_reading import Reading, jobs_of
from hdeeprm_like.formats.log_words import demands_of_trace
from hdeeprm_like.formats.swf import KB_PER_MB, Trace
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.limits import LONGEST
from hdeeprm_like.types import Bools, Floats, Ints

GIGA = 1e9


def knows_memory(trace: Trace) -> bool:
    """Return whether any job of a trace has a known memory, used or requested."""
    return bool((trace.memory >= 0).any() or (trace.requested_memory >= 0).any())


@dataclass(frozen=True)
class Limits:
    """Requests beyond which jobs are left out; None for no limit.

    Attributes:
        time: s. cores: of the job. memory: MB per core. bandwidth: GB/s per core.
    """

    time: float | None = None
    cores: int | None = None
    memory: float | None = None
    bandwidth: float | None = None


def convert(
    lines: Trace,
    reading: Reading,
    *,
    reference_flops: float,
    capacity: int,
    rng: np.random.Generator,
    first: int | None = None,
    skip: int = 0,
    limits: Limits = Limits(),
    runtimes: Literal["accuracy", "trace"] = "accuracy",
    partitions: bool = False,
) -> Workload:
    """Read the jobs of a trace, and convert them as HDeepRM's converter does.

    - memory: the requested memory, else the used one, whole MB of 1000 KB, rounded down.
    - bandwidth: drawn from `BANDWIDTHS`.
    - operations: requested time times reference speed times an accuracy drawn for each job from `ACCURACY` (the
      original used one draw for all jobs with equal requests); rounded down to whole operations.
    - jobs are numbered from 0 in the order of the trace; the clock starts with the earliest of them.

    Both draws are made for every line of the trace from separate streams, so a job keeps its draws whatever is left
    out. The account is that of the lines between the first *skip* ones and the last job.

    Args:
        lines: of the trace. reading: which of them are jobs.
        reference_flops: flop/s, the mean core of the platform (`Platform.reference_flops`).
        capacity: cores of the machine, ``nb_res``.
        first: keep that many jobs and stop; None for all.
        skip: leave out that many lines of the trace at the start (thesis 5.1 leaves out the first 4 of Gaia).
        runtimes: ``"trace"`` uses the run times of the trace instead of drawn accuracies.
        partitions: whether the jobs request nodes, as on a platform with partitions.

    Raises:
        WorkloadError: no job is left, or a time is beyond what a workload can hold.

    Source: HDeepRM thesis 3.1.3 and 4.1.2.
    """
    draws = _draws(len(lines), rng)
    numbered = replace(lines, row=np.arange(len(lines)))
    end = len(lines)
    for _ in range(2):  # again with the lines up to the last job, so that the account is that of these
        jobs = jobs_of(take(numbered, slice(skip, end)), reading)
        bandwidth, accuracy = (drawn[jobs.row] for drawn in draws)
        memory = memory_of(jobs, reading.missing_memory or 0.0)
        requests = _Requests(jobs.requested_time, memory, bandwidth, accuracy)
        beyond = _beyond(jobs, requests, limits, runtimes)
        rows = np.flatnonzero(~np.logical_or.reduce([*beyond.values()]))[:first]
        assert jobs.row is not None
        if len(rows) != first or not (lines.requested_time[skip : jobs.row[rows[-1]] + 1] > 0.0).any():
            break
        end = int(jobs.row[rows[-1]]) + 1
    _leave_out(jobs, beyond)
    _check_times(jobs, rows, requests.time, runtimes == "trace")
    chosen = _Requests(*(column[rows] for column in requests))
    return _workload(take(jobs, rows), chosen, reference_flops, capacity, runtimes, partitions)


def _beyond(jobs: Trace, requests: "_Requests", limits: Limits, runtimes: str) -> dict[str, Bools]:
    """Return which jobs are beyond a limit, by reason."""
    return {
        f"that request more than {limits.time} s": _above(requests.time, limits.time),
        f"with more than {limits.cores} cores": _above(jobs.processors, limits.cores),
        f"with more than {limits.memory} MB per core": _above(requests.memory, limits.memory),
        f"with more than {limits.bandwidth} GB/s per core": _above(requests.bandwidth, limits.bandwidth),
        "without a run time, which this conversion needs": (jobs.run < 0.0) & (runtimes == "trace"),
    }


def _check_times(trace: Trace, rows: Ints, requested: Floats, with_run: bool) -> None:
    """Raise for times that a workload cannot hold."""
    times = {"comes": trace.submit - trace.submit[rows].min(), "requests": requested}
    for verb, column in (times | {"runs for": trace.run} if with_run else times).items():
        longest = rows[np.argmax(column[rows])]
        if column[longest] > LONGEST:
            after = " after the first" if verb == "comes" else ""
            excess = f"{verb} {column[longest]:g} s{after}; at most {LONGEST:g} are possible"
            raise WorkloadError(f"{trace.path}: job {trace.job[longest]} {excess}")


def _leave_out(jobs: Trace, beyond: dict[str, Bools]) -> None:
    """Count the jobs that are beyond a limit, each by the first one, and raise if all are."""
    account, good = jobs.account, np.ones(len(jobs), np.bool_)
    assert account is not None
    for reason, refused in beyond.items():
        account.add("left out", reason, good & refused, jobs.line, np.maximum(jobs.run, 0.0) * jobs.processors)
        good &= ~refused
    if not good.any():
        raise WorkloadError(f"{jobs.path}: none of {len(jobs)} jobs is left: {account.why()}")


class _Requests(NamedTuple):
    """What jobs of a trace request, (J,) each."""

    time: Floats
    memory: Floats
    bandwidth: Floats
    accuracy: Floats


def _draws(lines: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return bandwidth and accuracy for each line of a trace."""
    accuracy_rng, bandwidth_rng = rng.spawn(2)
    bandwidth = BANDWIDTHS[bandwidth_rng.integers(len(BANDWIDTHS), size=lines)]
    return bandwidth, ACCURACY_STEPS[accuracy_rng.choice(len(ACCURACY), size=lines, p=ACCURACY)]


def _workload(
    trace: Trace, requests: _Requests, reference_flops: float, capacity: int, runtimes: str, partitions: bool
) -> Workload:
    """Return the jobs of a trace, numbered in that order and then sorted as in a `Workload`."""
    gflops = reference_flops / GIGA  # the original's unit, for bit-identical workloads
    ids = np.array([f"w0!{number}" for number in range(len(trace))])
    order = np.lexsort((ids.astype(np.bytes_), trace.submit))
    ids, trace = ids[order], take(trace, order)
    time, memory, bandwidth, accuracy = (column[order] for column in requests)
    requested_ops = np.floor(time * gflops * GIGA)
    if runtimes == "trace":
        ops = np.floor(trace.run * gflops * GIGA)
        suffix = [f"{run:.17g}s" for run in trace.run.tolist()]
    else:
        ops = np.floor(requested_ops * accuracy)
        suffix = [f"{percent:.0f}" for percent in (100 * accuracy).tolist()]
    named = zip(time.tolist(), memory.tolist(), bandwidth.tolist(), suffix, strict=True)
    return Workload(
        ids=tuple(ids.tolist()),
        profiles=tuple(f"{t:.17g}_{m:.17g}_{b:.0f}_{last}" for t, m, b, last in named),
        submit=trace.submit - trace.submit[0],
        size=trace.processors,
        requested_time=time,
        requested_ops=requested_ops,
        ops=ops,
        memory=memory,
        bandwidth=bandwidth,
        capacity=capacity,
        user=np.maximum(trace.user, -1),
        program=np.maximum(trace.executable, -1),
        demands=demands_of_trace(trace) if partitions else None,
        account=trace.account,
    )


def drawn_bandwidths(jobs: Trace, rng: np.random.Generator) -> Floats:
    """Return (J,) bandwidths of the jobs of a trace, as `convert` draws them."""
    rows = np.arange(len(jobs)) if jobs.row is None else jobs.row
    return _draws(int(rows[-1]) + 1, rng)[0][rows]


def memory_of(trace: Trace, missing: float) -> Floats:
    """Return (J,) MB per core, *missing* if neither the request nor the use is known."""
    used = np.where(trace.memory >= 0, trace.memory, trace.requested_memory)
    kilobytes = np.where(trace.requested_memory > 0, trace.requested_memory, used)
    return np.where(kilobytes >= 0, np.floor(kilobytes / KB_PER_MB), missing)


def _above(column: Floats | Ints, limit: float | None) -> Bools:
    return np.zeros(len(column), dtype=np.bool_) if limit is None else column > limit
