"""Reader and writer of traces in the Standard Workload Format."""

import io
import logging
import math
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.files import packed, replacing_bytes
from hdeeprm_like.formats.plain_numbers import plain_numbers
from hdeeprm_like.inputs import READ_AT_ONCE, encoding_of, opened
from hdeeprm_like.types import Floats, Ints
from hdeeprm_like.values import EXACT_MOST

log = logging.getLogger(__name__)

KB_PER_MB = 1000.0
WRITTEN_AT_ONCE = 10_000  # jobs
READ_FIRST = 2**17  # characters, some 1,000 jobs, of the first part of a file that need not be read whole
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
LONGEST_LINE = 10_000  # characters
MOST_COMMENTS = 100_000  # before the first job; no log has a hundredth of it
MOST_OTHERS = 1_000_000  # consecutive lines without a job


@dataclass(frozen=True, eq=False)
class Trace:
    """The 18 fields of a trace as columns, one row per job line; negative means unknown.

    Attributes:
        path: origin, for messages.
        header: the comment lines before the first job, without their semicolon.
        submit, wait, run, cpu_time, requested_time, think_time: (J,) s.
        processors: (J,) allocated; requested_processors: (J,).
        memory, requested_memory: (J,) KB per processor.
        job, status, user, group, executable, queue, partition, preceding: (J,) numbers assigned by the trace.
        line: (J,) numbers of the lines in the file. row: (J,) numbers of the jobs among all of the file, from 0.
        account, cores: of jobs as `job_reading.read_jobs` returns them: what was left out, and cores of the machine.

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
    line: Ints | None = None
    row: Ints | None = None
    account: Account | None = None
    cores: int | None = None

    def __len__(self) -> int:
        return len(self.job)


FIELDS = tuple(field.name for field in fields(Trace))[2:20]
COLUMNS = (*FIELDS, "line", "row")
WHOLE = tuple(field.name for field in fields(Trace) if field.type is Ints)
WHOLE_FIELDS = tuple(FIELDS.index(name) for name in WHOLE)


def read_swf(path: Path, enough: Callable[[Trace], bool] | None = None) -> Trace:
    """Read a trace, plain or ``.gz``; comments, blank lines, tabs and any line ending are allowed.

    Fields beyond the 18 are ignored, with one warning per file.

    Args:
        enough: says of the jobs read so far whether the caller needs no others, which are then not read; None for all.

    Raises:
        WorkloadError: a line is no job (the message names file, line and remedy), or there is no job at all.
    """
    header: tuple[str, ...] = ()
    columns: dict[str, Any] = {}
    with closing(swf_parts(path, first=READ_FIRST if enough else None)) as parts:
        for part in parts:
            header = part.header
            for name in (*FIELDS, "line"):
                column = getattr(part, name)
                if name in columns:  # a column that grows in place does not fragment memory as pieces would
                    rows = len(columns[name])
                    columns[name].resize(rows + len(column), refcheck=False)
                    columns[name][rows:] = column
                else:
                    columns[name] = column
            if enough and enough(Trace(path=path, header=header, **columns)):
                break
    return Trace(path=path, header=header, **columns)


def swf_parts(path: Path, endless: bool = False, first: int | None = None) -> Generator[Trace, None, None]:
    """Yield the jobs of a trace as in `read_swf`, some at a time, each part with the header.

    Args:
        endless: whether the file may be of any size, for callers that keep only one part.
        first: characters of the first part, the next ones are larger; None if all are as large as can be.

    Raises:
        WorkloadError: as in `read_swf`.
    """
    header: list[str] = []
    widest, lines_before, others = 0, 0, 0  # others: consecutive lines without a job
    with (
        opened(path, WorkloadError, endless) as data,
        io.TextIOWrapper(data, encoding=encoding_of(data, path, WorkloadError), errors="replace") as text,
    ):
        characters = first or READ_AT_ONCE
        while block := text.read(characters):
            characters = min(2 * characters, READ_AT_ONCE)
            block += text.readline(LONGEST_LINE + 1)
            lines = block.removesuffix("\n").split("\n")
            check_lengths(lines, path, lines_before)
            if not widest:
                lines = without_names(lines)
                block = "\n".join(lines)
                header += comments(lines)
            if any(map(job_of, lines)):
                others = 0
                numbers, width = _parse(block, lines, path, lines_before)
                if widest <= len(FIELDS) < width:
                    log.warning(
                        "%s: has lines of %d fields; those beyond the %d of SWF are ignored", path, width, len(FIELDS)
                    )
                widest = max(widest, width)
                named = dict(zip(FIELDS, _columns(numbers), strict=True))
                number = _numbers_of(lines, len(numbers)) + lines_before
                yield Trace(path=path, header=tuple(header), line=number, **named)  # type: ignore[arg-type]
            else:
                others += len(lines)
            check_others(path, others, len(header))
            lines_before += len(lines)
    if not widest:
        raise WorkloadError(f"{path}: holds no job; a trace has one line of {len(FIELDS)} numbers for each")


def _numbers_of(lines: list[str], jobs: int) -> Ints:
    """Return (J,) the numbers of the lines that hold jobs, from 1 on."""
    if len(lines) == jobs:
        return np.arange(1, jobs + 1)
    return np.flatnonzero([bool(job_of(line)) for line in lines]) + 1


def write_swf(trace: Trace, path: Path) -> None:
    """Write a trace that reads back as the same header and columns; packed if the name ends in ``.gz``.

    Integers are written as such, other numbers with as many digits as needed to read the same number back. Equal
    traces give equal bytes. Comments between the jobs of the original file are lost.

    Raises:
        WorkloadError: the trace holds something that the format cannot.
        ResultsError: the file cannot be written.
    """
    write_swf_parts(trace.header, [trace], path)


def write_swf_parts(header: Sequence[str], parts: Iterable[Trace], path: Path) -> None:
    """Write a trace whose jobs come some at a time, as `write_swf` does; the headers of the parts are ignored.

    Raises:
        WorkloadError: the trace holds something that the format cannot.
        ResultsError: the file cannot be written.
    """
    odd = next((line for line in header if "\n" in line or "\r" in line), None)
    if odd is not None:
        raise WorkloadError(f"{path}: header: {odd[:40]!r} is more than one line")
    with replacing_bytes(path) as raw, packed(raw, path) as file:
        file.write("".join(f"; {line}".rstrip() + "\n" for line in header).encode())
        for part in parts:
            for name in FIELDS:
                if not (np.abs(getattr(part, name)) < EXACT_MOST).all():
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
        if len(whole) and (whole == whole[0]).all():  # most fields are unknown in most traces
            return [str(whole[0])] * len(whole)
        return list(map(str, whole.tolist()))
    return [str(int(number)) if number == int(number) else repr(number) for number in column.tolist()]


def _parse(block: str, lines: list[str], path: Path, before: int) -> tuple[Floats, int]:
    """Return (J, 18) numbers of some lines, and the largest number of fields of a line.

    Args:
        block: the same lines as one text. path: for messages. before: number of lines of the file before these.

    Raises:
        WorkloadError: a line is no job.
    """
    table = _parse_fast(block, lines)
    if table is not None:
        return table[:, : len(FIELDS)], table.shape[1]
    found = [(f"{path}:{before + i}", job) for i, line in enumerate(lines, start=1) if (job := job_of(line))]
    return np.array([_parse_line(job, where) for where, job in found]), max(len(job.split()) for _, job in found)


def _parse_fast(block: str, lines: list[str]) -> Floats | None:
    """Return (J, 18 or more) numbers, or None if anything is unusual.

    Args:
        block, lines: as one text, and one by one.
    """
    table = plain_numbers("\n".join(map(job_of, lines)) if ";" in block else block)
    try:
        table = np.loadtxt(lines, comments=";", ndmin=2) if table is None else table
    except ValueError:
        return None
    if table.shape[1] < len(FIELDS):
        return None
    sound = all(((column > -EXACT_MOST) & (column < EXACT_MOST)).all() for column in table.T[: len(FIELDS)])
    whole = all((table[:, i] == np.floor(table[:, i])).all() for i in WHOLE_FIELDS)
    return table if sound and whole else None


def _columns(table: Floats) -> list[Floats | Ints]:
    """Return the columns of a table as separate arrays, so that the table can be freed."""
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
        if not abs(value) < EXACT_MOST:
            raise WorkloadError(f"{field} is {word[:40]}; numbers below 2^53 are possible")
        if name in WHOLE and value != math.floor(value):
            raise WorkloadError(f"{field} is {word[:40]}; a whole number is needed")
        values.append(value)
    return values


def check_lengths(lines: list[str], path: Path, before: int) -> None:
    """Raise for a line too long for any trace, as in a file of zero bytes, before its parts are parsed."""
    if max(map(len, lines)) > LONGEST_LINE:
        number = before + next(i for i, line in enumerate(lines, start=1) if len(line) > LONGEST_LINE)
        raise WorkloadError(f"{path}:{number}: has more than {LONGEST_LINE} characters; this is no line of a trace")


def check_others(path: Path, others: int, comments: int) -> None:
    """Raise for a file that goes on without jobs, before it is read for minutes and its comments are kept.

    Args:
        others: consecutive lines without a job. comments: lines of the header.
    """
    if comments > MOST_COMMENTS:
        raise WorkloadError(f"{path}: has more than {MOST_COMMENTS:,} comments before its first job; this is no trace")
    if others > MOST_OTHERS:
        raise WorkloadError(f"{path}: has more than {MOST_OTHERS:,} lines in a row that are no job; this is no trace")


def job_of(line: str) -> str:
    """Return the part of a line that describes a job, empty for a comment or a blank line."""
    return line.partition(";")[0].strip()


def without_names(lines: list[str]) -> list[str]:
    """Return the first lines of a trace; a line of names before the first job, without a number, becomes a comment."""
    first = next((i for i, line in enumerate(lines) if job_of(line)), None)
    if first is None or any(character.isdigit() for word in job_of(lines[first]).split() for character in word[:2]):
        return lines
    return [*lines[:first], f"; {lines[first]}", *lines[first + 1 :]]


def comments(lines: list[str]) -> Iterator[str]:
    """Yield the comments before the first job, without their semicolon."""
    for line in takewhile(lambda line: not job_of(line), lines):
        if stripped := line.strip():
            yield stripped[1:].strip()
