"""The lines of traces: which are comments and which are jobs."""

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from hdeeprm_like.errors import WorkloadError

LONGEST_LINE = 10_000  # characters
MOST_COMMENTS = 100_000  # before the first job; no log has a hundredth of it
MOST_OTHERS = 1_000_000  # consecutive lines without a job


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
