"""The lines of ``out_jobs.csv`` for many jobs at once, in compiled code: the bytes of `batsim_files.job_line`."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from hdeeprm_like.engine.digits import LONGEST_NUMBER, Bytes, put_heads, put_intervals, put_job_lines, put_numbers
from hdeeprm_like.engine.tasks import KILLED, SUCCESS, WALLTIME_REACHED
from hdeeprm_like.results.batsim_files import JobRow, job_line
from hdeeprm_like.types import Floats, Ints

FINAL_STATES = {
    0: "REJECTED",
    SUCCESS: "COMPLETED_SUCCESSFULLY",
    WALLTIME_REACHED: "COMPLETED_WALLTIME_REACHED",
    KILLED: "COMPLETED_KILLED",
}
NUMBERS = 10  # of a line, beside its texts

Texts: TypeAlias = tuple[Bytes, Ints]
"""Texts one after the other, and where each ends, beginning with 0."""


class JobColumns(NamedTuple):
    """J jobs that ended or were rejected, as ``out_jobs.csv`` lists them.

    Attributes:
        heads: (J,) job, workload and profile, with a comma behind each.
        times: (5, J) submission, walltime (-1 for none), start and run time (above 0) in s, and energy in J (-1 where
            it was not measured). size: (J,) cores.
        outcome: (J,) of `engine.tasks`, 0 for a rejected job. cores: (J,) interval sets.
    """

    heads: Texts
    times: Floats
    size: Ints
    outcome: Ints
    cores: Texts


def job_lines(jobs: JobColumns) -> bytes:
    """Return the lines of some jobs."""
    states = texts_of([f"{outcome == SUCCESS:d},{name}," for outcome, name in sorted(FINAL_STATES.items())])
    line = NUMBERS * LONGEST_NUMBER + len(states[0])
    out = np.empty(len(jobs.size) * line + len(jobs.heads[0]) + len(jobs.cores[0]), np.uint8)
    times = np.ascontiguousarray(jobs.times, np.float64)
    size, outcome = jobs.size.astype(np.int64), jobs.outcome.astype(np.int64)
    count = put_job_lines(out, jobs.heads, jobs.cores, states, times, size, outcome)
    if count >= 0:
        return out[:count].tobytes()
    return "".join(f"{line}\n" for line in map(job_line, rows_of(jobs))).encode()


def texts_of(texts: Sequence[str]) -> Texts:
    """Return texts as compiled code reads them."""
    joined = "".join(texts)
    data = joined.encode()
    if len(data) > len(joined):  # letters of more than one byte
        return texts_of_bytes(data, (len(text.encode()) for text in texts), len(texts))
    return texts_of_bytes(data, map(len, texts), len(texts))


def texts_of_bytes(data: bytes, lengths: Iterable[int], count: int) -> Texts:
    """Return some texts of so many bytes each."""
    ends = np.zeros(count + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, count), out=ends[1:])
    # as a bytearray it may be written, as what `numbered` makes may be, so both have one machine code
    return np.frombuffer(bytearray(data), np.uint8), ends


def numbered(numbers: Ints, behind: str) -> Texts:
    """Return each of some numbers from 0 on with the same text behind it."""
    tail = np.frombuffer(behind.encode(), np.uint8)
    out, ends = np.empty(len(numbers) * (LONGEST_NUMBER + len(tail)), np.uint8), np.zeros(len(numbers) + 1, np.int64)
    put_numbers(out, ends, numbers, tail)
    return out[: ends[-1]], ends


def heads_of(rows: Ints, ids: Texts, profiles: Texts) -> Texts:
    """Return job, workload and profile of some jobs, with a comma behind each.

    Args:
        ids, profiles: of all jobs; an id is ``workload!job``.
    """
    long = ids[1][rows + 1] - ids[1][rows] + profiles[1][rows + 1] - profiles[1][rows]
    out, ends = np.empty(int(long.sum()) + 3 * len(rows), np.uint8), np.zeros(len(rows) + 1, np.int64)
    put_heads(out, ends, rows.astype(np.int64), ids, profiles)
    return out[: ends[-1]], ends


def intervals(groups: Ints, begins: Ints, first: Ints, last: Ints) -> Texts:
    """Return the interval sets of some groups of numbers, of what `core_intervals.joined` returns."""
    count = int((begins[groups + 1] - begins[groups]).sum())
    out, ends = np.empty(count * 2 * LONGEST_NUMBER, np.uint8), np.zeros(len(groups) + 1, np.int64)
    put_intervals(out, ends, groups.astype(np.int64), begins.astype(np.int64), first, last)
    return out[: ends[-1]], ends


def nothing(count: int) -> Texts:
    """Return so many empty texts."""
    return np.zeros(0, np.uint8), np.zeros(count + 1, np.int64)


def strings_of(texts: Texts) -> list[str]:
    """Return texts as Python has them."""
    data, ends = texts[0].tobytes(), texts[1].tolist()
    return [data[begin:end].decode() for begin, end in pairwise(ends)]


def rows_of(jobs: JobColumns) -> list[JobRow]:
    """Return some jobs one by one."""
    rows = []
    heads, cores = strings_of(jobs.heads), strings_of(jobs.cores)
    columns = heads, jobs.size.tolist(), jobs.outcome.tolist(), cores, *jobs.times.tolist()
    for head, size, outcome, own, submit, walltime, start, run, energy in zip(*columns, strict=True):
        job, workload, profile = head.removesuffix(",").split(",", 2)
        row = JobRow(
            job_id=job,
            workload=workload,
            profile=profile,
            submission_time=submit,
            size=size,
            walltime=walltime,
            success=outcome == SUCCESS,
            final_state=FINAL_STATES[outcome],
            starting_time=start if outcome else None,
            execution_time=run if outcome else None,
            allocated=own,
            energy=energy,
        )
        rows.append(row)
    return rows
