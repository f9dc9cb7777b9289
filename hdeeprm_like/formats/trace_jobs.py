"""Conversion of a trace for the simulator: jobs with requests, operations and memory (thesis 3.1.3, appendix C.2)."""

from collections import Counter
from typing import Literal, NamedTuple

import numpy as np

from hdeeprm_like.cluster.partitions import Demands
from hdeeprm_like.cluster.synthetic.columns import BANDWIDTHS
from hdeeprm_like.cluster.synthetic.estimates import ACCURACY, ACCURACY_STEPS
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.requested_times import with_requests_of_field_6
from hdeeprm_like.formats.swf import KB_PER_MB, Trace
from hdeeprm_like.limits import LONGEST
from hdeeprm_like.types import Bools, Floats, Ints

GIGA = 1e9


def knows_memory(trace: Trace) -> bool:
    """Return whether any job of a trace has a known memory, used or requested."""
    return bool((trace.memory >= 0).any() or (trace.requested_memory >= 0).any())


def convert(
    trace: Trace,
    *,
    reference_flops: float,
    capacity: int,
    rng: np.random.Generator,
    first: int | None = None,
    skip: int = 0,
    max_time: float | None = None,
    max_cores: int | None = None,
    max_memory: float | None = None,
    max_bandwidth: float | None = None,
    missing_memory: float | None = None,
    runtimes: Literal["accuracy", "trace"] = "accuracy",
    demands: Demands | None = None,
) -> tuple[Workload, Counter[str]]:
    """Convert a trace into a workload, line by line as HDeepRM's converter does.

    - requested time: its field, or field 6 if that holds it (see `requested_times`), else the run time.
    - cores: the requested processors, else the allocated ones.
    - memory: the requested memory, else the used one, whole MB of 1000 KB, rounded down.
    - bandwidth: drawn from `BANDWIDTHS`.
    - operations: requested time times reference speed times an accuracy drawn for each job from `ACCURACY` (the
      original used one draw for all jobs with equal requests); rounded down to whole operations.
    - jobs are numbered from 0 in the order of the trace; the clock starts with the earliest of them.

    Both draws are made for every line of the trace from separate streams, so a job keeps its draws whatever the limits
    are. A job larger than the machine is left to the scheduler, which rejects it, unless *max_cores* skips it.

    Args:
        reference_flops: flop/s, the mean core of the platform (`Platform.reference_flops`).
        capacity: cores of the machine, ``nb_res``.
        first: keep that many jobs and stop; None for all.
        skip: leave out that many lines at the start (thesis 5.1 leaves out the first 4 of Gaia).
        max_time, max_cores, max_memory, max_bandwidth: s, cores, MB per core, GB/s per core; larger jobs are skipped.
        missing_memory: MB per core of a job whose memory is unknown; None skips it, as the original does.
        runtimes: ``"trace"`` uses the run times of the trace instead of drawn accuracies.
        demands: of all jobs of the trace, for a platform with partitions.

    Returns:
        The workload, and the number of skipped lines by reason. Lines left out by *skip*, and those after the *first*
        jobs, are in neither.

    Raises:
        WorkloadError: no job is left.

    Source: HDeepRM thesis 3.1.3 and 4.1.2.
    """
    trace = with_requests_of_field_6(trace)
    requests = _requests(trace, rng, missing_memory)
    reasons = {
        "a negative submit time": trace.submit < 0,
        "no requested time": ~(requests.time > 0),
        "no processors": requests.size < 1,
        "no memory": requests.memory < 0,
        "no run time": ~(trace.run > 0) & (runtimes == "trace"),
        f"more than {max_time} s": _above(requests.time, max_time),
        f"more than {max_cores} cores": _above(requests.size, max_cores),
        f"more than {max_memory} MB per core": _above(requests.memory, max_memory),
        f"more than {max_bandwidth} GB/s per core": _above(requests.bandwidth, max_bandwidth),
    }
    rows, skipped = _kept(reasons, len(trace), skip, first)
    if not len(rows):
        raise WorkloadError(f"{trace.path}: none of {len(trace)} jobs is left{_why(skipped, skip)}")
    _check_times(trace, rows, requests.time, runtimes == "trace")
    return _workload(trace, requests, rows, reference_flops, capacity, runtimes, demands), skipped


def _check_times(trace: Trace, rows: Ints, requested: Floats, with_run: bool) -> None:
    """Raise for times that a workload cannot hold."""
    times = {"comes": trace.submit - trace.submit[rows].min(), "requests": requested}
    for verb, column in (times | {"runs for": trace.run} if with_run else times).items():
        longest = rows[np.argmax(column[rows])]
        if column[longest] > LONGEST:
            after = " after the first" if verb == "comes" else ""
            excess = f"{verb} {column[longest]:g} s{after}; at most {LONGEST:g} are possible"
            raise WorkloadError(f"{trace.path}: job {trace.job[longest]} {excess}")


class _Requests(NamedTuple):
    """Requests in each line of a trace, (J,) each, not yet validated."""

    time: Floats
    size: Ints
    memory: Floats
    bandwidth: Floats
    accuracy: Floats


def _requests(trace: Trace, rng: np.random.Generator, missing_memory: float | None) -> _Requests:
    accuracy_rng, bandwidth_rng = rng.spawn(2)
    return _Requests(
        time=np.where(trace.requested_time > 0, trace.requested_time, trace.run),
        size=np.where(trace.requested_processors > 0, trace.requested_processors, trace.processors),
        memory=memory_of(trace, missing_memory),
        bandwidth=BANDWIDTHS[bandwidth_rng.integers(len(BANDWIDTHS), size=len(trace))],
        accuracy=ACCURACY_STEPS[accuracy_rng.choice(len(ACCURACY), size=len(trace), p=ACCURACY)],
    )


def _workload(
    trace: Trace,
    requests: _Requests,
    rows: Ints,
    reference_flops: float,
    capacity: int,
    runtimes: str,
    demands: Demands | None,
) -> Workload:
    """Return the jobs of *rows*, numbered in that order and then sorted as in a `Workload`."""
    gflops = reference_flops / GIGA  # the original's unit, for bit-identical workloads
    ids = np.array([f"w0!{number}" for number in range(len(rows))])
    order = np.lexsort((ids.astype(np.bytes_), trace.submit[rows]))
    ids, rows = ids[order], rows[order]
    time, memory, bandwidth = requests.time[rows], requests.memory[rows], requests.bandwidth[rows]
    requested_ops = np.floor(time * gflops * GIGA)
    if runtimes == "trace":
        ops = np.floor(trace.run[rows] * gflops * GIGA)
        suffix = [f"{run:.17g}s" for run in trace.run[rows].tolist()]
    else:
        ops = np.floor(requested_ops * requests.accuracy[rows])
        suffix = [f"{percent:.0f}" for percent in (100 * requests.accuracy[rows]).tolist()]
    named = zip(time.tolist(), memory.tolist(), bandwidth.tolist(), suffix, strict=True)
    return Workload(
        ids=tuple(ids.tolist()),
        profiles=tuple(f"{t:.17g}_{m:.17g}_{b:.0f}_{last}" for t, m, b, last in named),
        submit=trace.submit[rows] - trace.submit[rows[0]],
        size=requests.size[rows],
        requested_time=time,
        requested_ops=requested_ops,
        ops=ops,
        delay=np.full(len(rows), -1.0),
        memory=memory,
        bandwidth=bandwidth,
        walltime=np.full(len(rows), np.inf),
        capacity=capacity,
        user=np.maximum(trace.user[rows], -1),
        program=np.maximum(trace.executable[rows], -1),
        demands=None if demands is None else demands.take(rows),
    )


def _why(skipped: Counter[str], skip: int) -> str:
    """Return the end of the message that no job is left."""
    reasons = [f"{count} with {reason}" for reason, count in skipped.items()]
    if skip:
        reasons.insert(0, f"the first {skip} left out")
    remedy = "; say how much memory such jobs take (missing_memory)" if skipped["no memory"] else ""
    return f": {', '.join(reasons)}{remedy}" if reasons else ""


def memory_of(trace: Trace, missing: float | None) -> Floats:
    """Return (J,) MB per core, -1 if neither the request nor the use is known."""
    used = np.where(trace.memory >= 0, trace.memory, trace.requested_memory)
    kilobytes = np.where(trace.requested_memory > 0, trace.requested_memory, used)
    return np.where(kilobytes >= 0, np.floor(kilobytes / KB_PER_MB), -1.0 if missing is None else missing)


def _above(column: Floats | Ints, limit: float | None) -> Bools:
    return np.zeros(len(column), dtype=np.bool_) if limit is None else column > limit


def _kept(reasons: dict[str, Bools], lines: int, skip: int, first: int | None) -> tuple[Ints, Counter[str]]:
    """Return the rows that become jobs, and the number of the other lines by reason (the first that holds)."""
    why = np.full(lines, -1)
    for number, refused in enumerate(reasons.values()):
        why[(why < 0) & refused] = number
    why = why[skip:]
    rows = np.flatnonzero(why < 0)[:first]
    looked_at = why if first is None or len(rows) < first else why[: rows[-1] + 1]
    counts = {reason: int((looked_at == number).sum()) for number, reason in enumerate(reasons)}
    return rows + skip, Counter({reason: count for reason, count in counts.items() if count})
