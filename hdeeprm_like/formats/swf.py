"""Traces in the Standard Workload Format, and what they become for the simulator (thesis 3.1.3, appendix C.2)."""

import io
import logging
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from hdeeprm_like.cluster.partitions import Demands
from hdeeprm_like.cluster.synthetic.columns import BANDWIDTHS
from hdeeprm_like.cluster.synthetic.estimates import ACCURACY, ACCURACY_STEPS
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.files import packed, replacing_bytes
from hdeeprm_like.formats.swf_lines import LONGEST_LINE, check_lengths, comments, job_of, whole_numbers
from hdeeprm_like.inputs import READ_AT_ONCE, opened
from hdeeprm_like.limits import LONGEST
from hdeeprm_like.types import Bools, Floats, Ints

log = logging.getLogger(__name__)

GIGA = 1e9
KB_PER_MB = 1000.0
LARGEST = 2.0**53  # above, not every whole number is a float
WRITTEN_AT_ONCE = 10_000  # jobs
MANY = 100_000  # lines
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Trace:
    """The 18 fields of a trace as columns, one row per line that is a job; negative means unknown.

    Attributes:
        path: where it comes from, for messages.
        header: the comment lines before the first job, without their semicolon.
        submit, wait, run, cpu_time, requested_time, think_time: (J,) s.
        processors: (J,) allocated; requested_processors: (J,).
        memory, requested_memory: (J,) KB per processor.
        job, status, user, group, executable, queue, partition, preceding: (J,) numbers that the trace gives out.

    Source: Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers", 1999.
    """

    path: Path
    header: tuple[str, ...]
    job: Ints
    submit: Floats
    wait: Floats
    run: Floats
    processors: Ints
    cpu_time: Floats
    memory: Floats
    requested_processors: Ints
    requested_time: Floats
    requested_memory: Floats
    status: Ints
    user: Ints
    group: Ints
    executable: Ints
    queue: Ints
    partition: Ints
    preceding: Ints
    think_time: Floats

    def __len__(self) -> int:
        return len(self.job)


FIELDS = tuple(field.name for field in fields(Trace))[2:]
WHOLE = tuple(field.name for field in fields(Trace) if field.type is Ints)
WHOLE_FIELDS = tuple(FIELDS.index(name) for name in WHOLE)


def read_swf(path: Path) -> Trace:
    """Read a trace, plain or ``.gz``; comments, blank lines, tabs and any line ending are fine.

    What a line has beyond the 18 fields is ignored, which one warning for the file says.

    Raises:
        WorkloadError: a line is no job; the message names file, line and what would be right. There is no job at all.
    """
    header: tuple[str, ...] = ()
    pieces: list[list[Floats | Ints]] = []
    for part in swf_parts(path):
        header = part.header
        pieces.append([getattr(part, name) for name in FIELDS])
    columns: dict[str, Any] = {}
    for name in FIELDS:  # each is put together and its pieces let go before the next one is
        columns[name] = np.concatenate([piece.pop(0) for piece in pieces])
    return Trace(path=path, header=header, **columns)


def swf_parts(path: Path, endless: bool = False) -> Iterator[Trace]:
    """Yield the jobs of a trace as `read_swf` reads them, some at a time, each part with the header.

    Args:
        endless: whether the file may be of any size, as where no more than a part is kept.

    Raises:
        WorkloadError: as of `read_swf`.
    """
    header: list[str] = []
    widest, lines_before = 0, 0
    with (
        opened(path, WorkloadError, endless) as data,
        io.TextIOWrapper(data, encoding="utf-8-sig", errors="replace") as text,  # headers hold names in any encoding
    ):
        while block := text.read(READ_AT_ONCE):
            block += text.readline(LONGEST_LINE + 1)
            lines = block.removesuffix("\n").split("\n")
            check_lengths(lines, path, lines_before)
            if not widest:
                header += comments(lines)
            if any(map(job_of, lines)):
                numbers, width = _parse(block, lines, path, lines_before, endless or lines_before >= MANY)
                widest = max(widest, width)
                named = dict(zip(FIELDS, _columns(numbers), strict=True))
                yield Trace(path=path, header=tuple(header), **named)  # type: ignore[arg-type]
            lines_before += len(lines)
    if not widest:
        raise WorkloadError(f"{path}: holds no job; a trace has one line of {len(FIELDS)} numbers for each")
    if widest > len(FIELDS):
        log.warning("%s: has lines of %d fields; those beyond the %d of SWF are ignored", path, widest, len(FIELDS))


def write_swf(trace: Trace, path: Path) -> None:
    """Write a trace that reads back as the same header and the same 18 columns; packed if the name ends in ``.gz``.

    Whole numbers are written as such, others with as many digits as it takes to read the same number back. Equal
    traces give equal bytes. Comments between the jobs of the file that a trace was read from are no part of it.

    Raises:
        WorkloadError: the trace holds something that no trace can.
        ResultsError: the file cannot be written.
    """
    write_swf_parts(trace.header, [trace], path)


def write_swf_parts(header: Sequence[str], parts: Iterable[Trace], path: Path) -> None:
    """Write a trace whose jobs come some at a time, as `write_swf` does; the headers of the parts do not count.

    Raises:
        WorkloadError: the trace holds something that no trace can.
        ResultsError: the file cannot be written.
    """
    odd = next((line for line in header if "\n" in line or "\r" in line), None)
    if odd is not None:
        raise WorkloadError(f"{path}: header: {odd[:40]!r} is more than one line")
    with replacing_bytes(path) as raw, packed(raw, path) as file:
        file.write("".join(f"; {line}".rstrip() + "\n" for line in header).encode())
        for part in parts:
            for name in FIELDS:
                if not (np.abs(getattr(part, name)) < LARGEST).all():
                    raise WorkloadError(f"{path}: {name.replace('_', ' ')}: numbers below 2^53 are possible")
            file.writelines(_lines(part))


def _lines(trace: Trace) -> Iterator[bytes]:
    """Yield the jobs of a trace as lines, some at a time."""
    for begin in range(0, len(trace), WRITTEN_AT_ONCE):
        rows = slice(begin, begin + WRITTEN_AT_ONCE)
        columns = [_numbers(getattr(trace, name)[rows]) for name in FIELDS]
        yield "".join(" ".join(line) + "\n" for line in zip(*columns, strict=True)).encode()


def _numbers(column: Floats | Ints) -> list[str]:
    whole = column.astype(np.int64)
    if (whole == column).all():
        if len(whole) and (whole == whole[0]).all():  # most traces do not know most fields
            return [str(whole[0])] * len(whole)
        return list(map(str, whole.tolist()))
    return [str(int(number)) if number == int(number) else repr(number) for number in column.tolist()]


def knows_memory(trace: Trace) -> bool:
    """Return whether any job of a trace has a known memory, used or requested."""
    return bool((trace.memory >= 0).any() or (trace.requested_memory >= 0).any())


def _parse(block: str, lines: list[str], path: Path, before: int, many: bool) -> tuple[Floats, int]:
    """Return (J, 18) numbers of some lines, and how many fields the longest of these has.

    Args:
        block: the same lines as one text. path: for messages. before: how many lines of the file come before these.
        many: of `_parse_fast`.

    Raises:
        WorkloadError: a line is no job.
    """
    table = _parse_fast(block, lines, many)
    if table is not None:
        return table[:, : len(FIELDS)], table.shape[1]
    found = [(f"{path}:{before + i}", job) for i, line in enumerate(lines, start=1) if (job := job_of(line))]
    return np.array([_parse_line(job, where) for where, job in found]), max(len(job.split()) for _, job in found)


def _parse_fast(block: str, lines: list[str], many: bool) -> Floats | None:
    """Return (J, 18 or more) numbers, or None where anything is odd.

    Args:
        block, lines: as one text, and one by one.
        many: whether there are so many that it pays to load pandas, which reads whole numbers three times as fast.
    """
    table: Any = whole_numbers(block) if many else None
    try:
        table = np.loadtxt(lines, comments=";", ndmin=2) if table is None else table
    except ValueError:
        return None
    if table.shape[1] < len(FIELDS):
        return None
    sound = all(((column > -LARGEST) & (column < LARGEST)).all() for column in table.T[: len(FIELDS)])
    whole = table.dtype == np.int64 or all((table[:, i] == np.floor(table[:, i])).all() for i in WHOLE_FIELDS)
    return table if sound and whole else None


def _columns(table: Floats) -> list[Floats | Ints]:
    """Return the columns of a table of their own kind, so that the table can be let go."""
    return [table[:, i].astype(np.int64) if i in WHOLE_FIELDS else table[:, i].copy() for i in range(len(FIELDS))]


def _parse_line(line: str, where: str) -> list[float]:
    words = line.split()
    if len(words) < len(FIELDS):
        raise WorkloadError(f"{where}: has {len(words)} fields; a job has {len(FIELDS)} (-1 where unknown)")
    values = []
    for i, (name, word) in enumerate(zip(FIELDS, words, strict=False), start=1):
        value = float(word) if NUMBER.fullmatch(word) else math.nan
        field = f"{where}: field {i} ({name.replace('_', ' ')})"
        if math.isnan(value):
            raise WorkloadError(f"{field} is {word[:40]!r}; a number is needed, -1 where unknown")
        if not abs(value) < LARGEST:
            raise WorkloadError(f"{field} is {word[:40]}; numbers below 2^53 are possible")
        if name in WHOLE and value != math.floor(value):
            raise WorkloadError(f"{field} is {word[:40]}; a whole number is needed")
        values.append(value)
    return values


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
    """Turn a trace into a workload, line by line as HDeepRM's converter does.

    - requested time: its field, else the run time. Cores: the requested processors, else the allocated ones.
    - memory: the requested memory, else the used one, whole MB of 1000 KB, rounded down.
    - bandwidth: drawn from `BANDWIDTHS`.
    - operations: requested time times reference speed times an accuracy drawn for each job from `ACCURACY` (the
      original used one draw for all jobs with equal requests); rounded down to whole operations.
    - jobs are numbered from 0 in the order of the trace; the clock starts with the earliest of them.

    Both draws are made for every line of the trace from streams of their own, so a job keeps its draws whatever the
    limits are. A job larger than the machine is left to the scheduler, which rejects it, unless *max_cores* skips it.

    Args:
        reference_flops: flop/s, the mean core of the platform (`Platform.reference_flops`).
        capacity: cores of the machine, ``nb_res``.
        first: keep that many jobs and stop; None keeps all.
        skip: leave out that many lines at the start (thesis 5.1 leaves out the first 4 of Gaia).
        max_time, max_cores, max_memory, max_bandwidth: s, cores, MB per core, GB/s per core; larger jobs are skipped.
        missing_memory: MB per core of a job whose memory is unknown; None skips it, as the original does.
        runtimes: ``"trace"`` takes the run time of the trace in place of a drawn accuracy.
        demands: of all jobs of the trace, for a platform with partitions.

    Returns:
        The workload, and how many lines were skipped for which reason. Lines left out by *skip*, and those after the
        *first* jobs, are in neither.

    Raises:
        WorkloadError: no job is left.

    Source: HDeepRM thesis 3.1.3 and 4.1.2.
    """
    asked = _requests(trace, rng, missing_memory)
    reasons = {
        "a negative submit time": trace.submit < 0,
        "no requested time": ~(asked.time > 0),
        "no processors": asked.size < 1,
        "no memory": asked.memory < 0,
        "no run time": ~(trace.run > 0) & (runtimes == "trace"),
        f"more than {max_time} s": _above(asked.time, max_time),
        f"more than {max_cores} cores": _above(asked.size, max_cores),
        f"more than {max_memory} MB per core": _above(asked.memory, max_memory),
        f"more than {max_bandwidth} GB/s per core": _above(asked.bandwidth, max_bandwidth),
    }
    rows, skipped = _kept(reasons, len(trace), skip, first)
    if not len(rows):
        raise WorkloadError(f"{trace.path}: none of {len(trace)} jobs is left{_why(skipped, skip)}")
    _check_times(trace, rows, asked.time, runtimes == "trace")
    return _workload(trace, asked, rows, reference_flops, capacity, runtimes, demands), skipped


def _check_times(trace: Trace, rows: Ints, requested: Floats, with_run: bool) -> None:
    """Refuse times that a workload cannot hold."""
    times = {"comes": trace.submit - trace.submit[rows].min(), "asks for": requested}
    for verb, column in (times | {"runs for": trace.run} if with_run else times).items():
        longest = rows[np.argmax(column[rows])]
        if column[longest] > LONGEST:
            after = " after the first" if verb == "comes" else ""
            told = f"{verb} {column[longest]:g} s{after}; at most {LONGEST:g} are possible"
            raise WorkloadError(f"{trace.path}: job {trace.job[longest]} {told}")


class _Requests(NamedTuple):
    """What each line of a trace asks for, (J,) each, not yet looked at for sense."""

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
    asked: _Requests,
    rows: Ints,
    reference_flops: float,
    capacity: int,
    runtimes: str,
    demands: Demands | None,
) -> Workload:
    """Return the jobs of *rows*, numbered in that order and then put into the order of a `Workload`."""
    gflops = reference_flops / GIGA  # as the original counts, so that its workloads come out to the last bit
    ids = np.array([f"w0!{number}" for number in range(len(rows))])
    order = np.lexsort((ids.astype(np.bytes_), trace.submit[rows]))
    ids, rows = ids[order], rows[order]
    time, memory, bandwidth = asked.time[rows], asked.memory[rows], asked.bandwidth[rows]
    requested_ops = np.floor(time * gflops * GIGA)
    if runtimes == "trace":
        ops = np.floor(trace.run[rows] * gflops * GIGA)
        suffix = [f"{run:.17g}s" for run in trace.run[rows].tolist()]
    else:
        ops = np.floor(requested_ops * asked.accuracy[rows])
        suffix = [f"{percent:.0f}" for percent in (100 * asked.accuracy[rows]).tolist()]
    named = zip(time.tolist(), memory.tolist(), bandwidth.tolist(), suffix, strict=True)
    return Workload(
        ids=tuple(ids.tolist()),
        profiles=tuple(f"{t:.17g}_{m:.17g}_{b:.0f}_{last}" for t, m, b, last in named),
        submit=trace.submit[rows] - trace.submit[rows[0]],
        size=asked.size[rows],
        requested_time=time,
        requested_ops=requested_ops,
        ops=ops,
        delay=np.full(len(rows), -1.0),
        memory=memory,
        bandwidth=bandwidth,
        walltime=np.full(len(rows), np.inf),
        capacity=capacity,
        user=np.maximum(trace.user[rows], -1),
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
    """Return (J,) MB per core, -1 where neither the request nor the use is known."""
    used = np.where(trace.memory >= 0, trace.memory, trace.requested_memory)
    kilobytes = np.where(trace.requested_memory > 0, trace.requested_memory, used)
    return np.where(kilobytes >= 0, np.floor(kilobytes / KB_PER_MB), -1.0 if missing is None else missing)


def _above(column: Floats | Ints, limit: float | None) -> Bools:
    return np.zeros(len(column), dtype=np.bool_) if limit is None else column > limit


def _kept(reasons: dict[str, Bools], lines: int, skip: int, first: int | None) -> tuple[Ints, Counter[str]]:
    """Return the rows that become jobs, and how many of those looked at fall to which reason (the first that holds)."""
    why = np.full(lines, -1)
    for number, refused in enumerate(reasons.values()):
        why[(why < 0) & refused] = number
    why = why[skip:]
    rows = np.flatnonzero(why < 0)[:first]
    looked_at = why if first is None or len(rows) < first else why[: rows[-1] + 1]
    counts = {reason: int((looked_at == number).sum()) for number, reason in enumerate(reasons)}
    return rows + skip, Counter({reason: count for reason, count in counts.items() if count})
