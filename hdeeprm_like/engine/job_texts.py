"""The lines of ``out_jobs.csv``, written by compiled code byte for byte as `batsim_files.job_line` writes them."""

import numpy as np

from hdeeprm_like.engine.bundles import Bundle, put_word
from hdeeprm_like.engine.compiled import entry, inlined
from hdeeprm_like.engine.digits import LARGEST, LONGEST_NUMBER, SPARE, Bytes, put_next, put_text, put_whole
from hdeeprm_like.engine.tasks import SHORTEST_RUN
from hdeeprm_like.types import Floats, Int64s, Ints, Records

COMMA, SPACE, MINUS = ord(","), ord(" "), ord("-")
OF_WORKLOAD = ord("!")  # behind the name of a workload
COMMAS = 0x2C2C_2C2C_2C2C_2C2C  # in place of what a rejected job has not
END_OF_LINE = int.from_bytes(b'""\n', "little")  # behind empty metadata
NUMBERS = 11  # of a line, with room for its commas


class Texts(Bundle):
    """Texts one after the other.

    Attributes:
        data: their bytes, one more behind each, and `SPARE` at the end. begins: where each begins, and one more would.
    """

    data: Bytes
    begins: Ints


class Intervals(Bundle):
    """The intervals of some groups of numbers.

    Attributes:
        begins: group g has the intervals from ``begins[g]`` up to before ``begins[g + 1]``.
        first, last: bounds of each interval, in ascending order within a group.
    """

    begins: Ints
    first: Ints
    last: Ints


class JobLines(Bundle):
    """What the lines of ``out_jobs.csv`` are made of; J jobs.

    Attributes:
        rows: of the jobs that have lines, in their order.
        ids, profiles: of the jobs; an id is ``workload!job``. states: of each outcome its success flag and name.
        submit, walltime: (J,) s, infinite without a limit. size: (J,) cores that are requested. cores: of each job.
        tasks: (J,) TASK; one without an outcome was rejected.
        out: what is written. written: (1,) its number of bytes.
    """

    rows: Ints
    ids: Texts
    profiles: Texts
    states: Texts
    submit: Floats
    walltime: Floats
    size: Ints
    cores: Intervals
    tasks: Records
    out: Bytes
    written: Ints


@entry
def put_lines(lines: JobLines, line: int, energy: bool) -> int:
    """Write lines from number *line* on, as many as there is room for.

    Args:
        energy: whether that of each job was measured.

    Returns:
        The number of the line that comes next. Before one with a number that is not below `LARGEST` it stops, too.
    """
    at, count = 0, len(lines.rows)
    while line < count:
        j = lines.rows[line]
        if at + longest_line(lines, j) > len(lines.out):
            break
        end = put_line(lines, at, j, energy)
        if end < 0:
            break
        at, line = end, line + 1
    lines.written[0] = at
    return line


@inlined
def longest_line(lines: JobLines, j: int) -> int:
    """Return how many bytes the line of a job has at most, with those that may be written behind it."""
    texts = length(lines.ids, j) + length(lines.profiles, j) + len(lines.states.data)
    intervals = lines.cores.begins[j + 1] - lines.cores.begins[j]
    return int(texts + (NUMBERS + 2 * intervals) * LONGEST_NUMBER + SPARE)


@inlined
def length(texts: Texts, i: int) -> int:
    """Return the bytes of a text with the one behind it."""
    return int(texts.begins[i + 1] - texts.begins[i])


@inlined
def put_line(lines: JobLines, at: int, j: int, energy: bool) -> int:
    """Write the line of a job; return the place behind it, -1 if a number is not below `LARGEST`."""
    task, submit, walltime = lines.tasks[j], lines.submit[j], lines.walltime[j]
    outcome, start = task.outcome, task.start
    run, joules = task.finish - start, task.joules if energy else -1.0
    if run == 0.0:
        run = SHORTEST_RUN
    if not abs(walltime) < np.inf:
        walltime = -1.0
    finish = start + run
    turnaround = finish - submit
    stretch = turnaround / run
    largest = abs(submit) + abs(walltime)
    if outcome != 0:
        largest += abs(start) + abs(finish) + abs(stretch) + abs(joules)
    if not largest < LARGEST:
        return -1
    at = put_names(lines, at, j)
    at = put_next(lines.out, at, submit)
    at = put_whole(lines.out, at, lines.size[j])
    lines.out[at] = COMMA
    at = put_next(lines.out, at + 1, walltime)
    at = put_entry(lines.out, at, lines.states, outcome)
    if outcome == 0:
        put_word(lines.out, at, COMMAS)
        at += 8
    else:
        at = put_next(lines.out, at, start)
        at = put_next(lines.out, at, run)
        at = put_next(lines.out, at, finish)
        at = put_next(lines.out, at, start - submit)
        at = put_next(lines.out, at, turnaround)
        at = put_next(lines.out, at, stretch)
        at = put_intervals(lines.out, at, lines.cores, j)
        lines.out[at] = COMMA
        at = put_next(lines.out, at + 1, joules)
    put_word(lines.out, at, END_OF_LINE)
    return at + 3


@inlined
def put_names(lines: JobLines, at: int, j: int) -> int:
    """Write job, workload and profile, with a comma behind each."""
    ids, begin, end = lines.ids, lines.ids.begins[j], lines.ids.begins[j + 1] - 1
    middle = begin
    while middle < end and ids.data[middle] != OF_WORKLOAD:
        middle += 1
    at = put_text(lines.out, at, ids.data, min(middle + 1, end), end)
    lines.out[at] = COMMA
    at = put_text(lines.out, at + 1, ids.data, begin, middle)
    lines.out[at] = COMMA
    at = put_entry(lines.out, at + 1, lines.profiles, j)
    lines.out[at] = COMMA
    return int(at + 1)


@inlined
def put_entry(out: Bytes, at: int, texts: Texts, i: int) -> int:
    """Write text number *i*; return the place of the next byte."""
    return put_text(out, at, texts.data, texts.begins[i], texts.begins[i + 1] - 1)


@inlined
def put_intervals(out: Bytes, at: int, intervals: Intervals, group: int) -> int:
    """Write the intervals of a group as Batsim does, ``0-3 6``; return the place of the next byte."""
    begin, end = intervals.begins[group], intervals.begins[group + 1]
    for k in range(begin, end):
        if k > begin:
            out[at] = SPACE
            at += 1
        at = put_whole(out, at, intervals.first[k])
        if intervals.last[k] > intervals.first[k]:
            out[at] = MINUS
            at = put_whole(out, at + 1, intervals.last[k])
    return at


@entry
def put_sets(texts: Texts, intervals: Intervals) -> None:
    """Write the intervals of each group as a text; there must be room."""
    at = 0
    for group in range(len(intervals.begins) - 1):
        at = put_intervals(texts.data, at, intervals, group) + 1
        texts.begins[group + 1] = at


@entry
def put_ids(texts: Texts, workload: Texts, numbers: Int64s) -> None:
    """Write the ids of the jobs of a workload with some numbers; there must be room."""
    at = 0
    for i in range(len(numbers)):
        at = put_entry(texts.data, at, workload, 0)
        texts.data[at] = OF_WORKLOAD
        at = put_whole(texts.data, at + 1, numbers[i]) + 1
        texts.begins[i + 1] = at
