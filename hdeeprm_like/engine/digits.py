"""Numbers and lines as text, written by compiled code byte for byte as C's and Python's formats write them."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.types import Floats, Ints

Bytes = NDArray[np.uint8]

LARGEST = 2.0**62  # larger numbers, and those that are not finite, are left to Python
ZERO, DOT, MINUS, COMMA, SPACE, QUOTE, LINE_END = (np.uint8(ord(sign)) for sign in '0.-, "\n')
OF_WORKLOAD = np.uint8(ord("!"))  # behind the name of a workload
MILLION = 1_000_000
TEN, HUNDRED, SHARE, SHIFT = (np.uint64(number) for number in (10, 100, 103, 10))  # division is faster unsigned
LONGEST_NUMBER = 28  # bytes: a sign, 19 digits, a dot, six digits and the separator


@inlined
def put_digits(out: Bytes, at: int, number: int, digits: int) -> int:
    """Write a nonnegative integer with the given number of digits; return the place of the next byte."""
    left, place = np.uint64(number), at + digits
    while place >= at + 2:  # two at once: tens of a number below a hundred are 103 1024ths of it
        hundreds = left // HUNDRED
        pair = left - hundreds * HUNDRED
        tens = (pair * SHARE) >> SHIFT
        out[place - 2], out[place - 1] = ZERO + tens, ZERO + (pair - tens * TEN)
        left, place = hundreds, place - 2
    if place > at:
        out[at] = ZERO + left
    return at + digits


@inlined
def put_whole(out: Bytes, at: int, number: int) -> int:
    """Write a nonnegative integer; return the place of the next byte."""
    digits, bound = 1, 10
    while number >= bound and digits < 18:
        digits += 1
        bound *= 10
    return put_digits(out, at, number, digits + 1 if number >= bound else digits)


@compiled
def put_fixed(out: Bytes, at: int, number: float) -> int:
    """Write a number below `LARGEST` with six decimals, rounded as C's ``%f`` does: by its exact value, half to even.

    The fractional part is exact as a float; Dekker's product ("A floating-point technique for extending the available
    precision", 1971) gives the rounding error of its product with a million, so that exact ties are distinguished from
    values near them.
    """
    if math.copysign(1.0, number) < 0.0:
        out[at] = MINUS
        at, number = at + 1, -number
    whole = int(number)
    rest = number - whole
    scaled = rest * 1e6
    big = rest * 134217729.0
    high = big - (big - rest)
    error = (high * 1e6 - scaled) + (rest - high) * 1e6
    millionths = int(scaled)
    behind = scaled - millionths
    if behind > 0.5 or (behind == 0.5 and (error > 0.0 or (error == 0.0 and millionths & 1 == 1))):
        millionths += 1
        if millionths == MILLION:
            whole, millionths = whole + 1, 0
    at = put_whole(out, at, whole)
    out[at] = DOT
    return int(put_digits(out, at + 1, millionths, 6))


@inlined
def put_text(out: Bytes, at: int, texts: Bytes, ends: Ints, i: int) -> int:
    """Write text number *i*; the texts are concatenated in *texts*, and *ends* begins with 0."""
    for place in range(ends[i], ends[i + 1]):
        out[at] = texts[place]
        at += 1
    return at


@inlined
def put_next(out: Bytes, at: int, number: float) -> int:
    """Write a number and a comma."""
    at = put_fixed(out, at, number)
    out[at] = COMMA
    return at + 1


@compiled
def put_heads(out: Bytes, ends: Ints, rows: Ints, ids: tuple[Any, Any], profiles: tuple[Any, Any]) -> None:
    """Write job, workload and profile of some jobs, with a comma behind each; *ends* begins with 0.

    Args:
        rows: of the jobs. ids, profiles: of all jobs, texts and their ends; an id is ``workload!job``.
    """
    at = 0
    for i in range(len(rows)):
        begin, end = ids[1][rows[i]], ids[1][rows[i] + 1]
        middle = begin
        while middle < end and ids[0][middle] != OF_WORKLOAD:
            middle += 1
        for place in range(middle + 1, end):
            out[at] = ids[0][place]
            at += 1
        out[at] = COMMA
        at += 1
        for place in range(begin, middle):
            out[at] = ids[0][place]
            at += 1
        out[at] = COMMA
        at = put_text(out, at + 1, profiles[0], profiles[1], rows[i])
        out[at] = COMMA
        at += 1
        ends[i + 1] = at


@compiled
def put_numbers(out: Bytes, ends: Ints, numbers: Ints, behind: Bytes) -> None:
    """Write nonnegative integers, each followed by the same text, and where each ends; *ends* begins with 0."""
    at = 0
    for i in range(len(numbers)):
        at = put_whole(out, at, numbers[i])
        for place in range(len(behind)):
            out[at] = behind[place]
            at += 1
        ends[i + 1] = at


@compiled
def put_intervals(out: Bytes, ends: Ints, groups: Ints, begins: Ints, first: Ints, last: Ints) -> None:
    """Write the intervals of some groups as Batsim does, ``0-3 6``; *ends* begins with 0.

    Args:
        groups: their numbers. begins: group g has intervals ``begins[g]`` up to, not including, ``begins[g + 1]``.
        first, last: bounds of each interval.
    """
    at = 0
    for i in range(len(groups)):
        for k in range(begins[groups[i]], begins[groups[i] + 1]):
            if k > begins[groups[i]]:
                out[at] = SPACE
                at += 1
            at = put_whole(out, at, first[k])
            if last[k] > first[k]:
                out[at] = MINUS
                at = put_whole(out, at + 1, last[k])
        ends[i + 1] = at


@compiled
def put_job_lines(
    out: Bytes,
    heads: tuple[Any, Any],
    cores: tuple[Any, Any],
    states: tuple[Any, Any],
    times: Floats,
    size: Ints,
    outcome: Ints,
) -> int:
    """Write lines of ``out_jobs.csv`` as `batsim_files.job_line` does; return the byte count, -1 to leave it to Python.

    Args:
        out: large enough for all. heads, cores, states: texts and their ends: of each job what precedes its submission
        time, and its cores; of each outcome its success flag and name.
        times: (5, J) submission, walltime, start and run time in s, energy in J. size, outcome: (J,); 0 for rejected.
    """
    at = 0
    for i in range(len(size)):
        submit, walltime, start, run, energy = times[0, i], times[1, i], times[2, i], times[3, i], times[4, i]
        at = put_text(out, at, heads[0], heads[1], i)
        if not (abs(submit) < LARGEST and abs(walltime) < LARGEST):
            return -1
        at = put_next(out, at, submit)
        at = put_whole(out, at, size[i])
        out[at] = COMMA
        at = put_next(out, at + 1, walltime)
        at = put_text(out, at, states[0], states[1], outcome[i])
        if outcome[i] == 0:
            for _ in range(8):
                out[at] = COMMA
                at += 1
        else:
            finish, wait = start + run, start - submit
            turnaround = finish - submit
            stretch = turnaround / run
            for number in (start, finish, wait, turnaround, stretch):
                if not abs(number) < LARGEST:
                    return -1
            at = put_next(out, at, start)
            at = put_next(out, at, run)
            at = put_next(out, at, finish)
            at = put_next(out, at, wait)
            at = put_next(out, at, turnaround)
            at = put_next(out, at, stretch)
            at = put_text(out, at, cores[0], cores[1], i)
            out[at] = COMMA
            if not abs(energy) < LARGEST:
                return -1
            at = put_next(out, at + 1, energy)
        out[at] = out[at + 1] = QUOTE
        out[at + 2] = LINE_END
        at += 3
    return at
