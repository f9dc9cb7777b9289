"""The lines of traces: comments, jobs, and many of these at once by pandas."""

import csv
import io
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Ints

LONGEST_LINE = 10_000  # characters
MOST_COMMENTS = 100_000  # before the first job; no log has a hundredth of it
MOST_OTHERS = 1_000_000  # lines in a row that are no job


def check_lengths(lines: list[str], path: Path, before: int) -> None:
    """Refuse a line that no trace has, as of a file of zero bytes, before a number is made of each of its parts."""
    if max(map(len, lines)) > LONGEST_LINE:
        number = before + next(i for i, line in enumerate(lines, start=1) if len(line) > LONGEST_LINE)
        raise WorkloadError(f"{path}:{number}: has more than {LONGEST_LINE} characters; this is no line of a trace")


def check_others(path: Path, others: int, comments: int) -> None:
    """Refuse a file that goes on without a job, which would be read for minutes, and its comments kept.

    Args:
        others: lines in a row that are no job. comments: lines of the header.
    """
    if comments > MOST_COMMENTS:
        raise WorkloadError(f"{path}: has more than {MOST_COMMENTS:,} comments before its first job; this is no trace")
    if others > MOST_OTHERS:
        raise WorkloadError(f"{path}: has more than {MOST_OTHERS:,} lines in a row that are no job; this is no trace")


def job_of(line: str) -> str:
    """Return what a line says about a job, nothing for a comment or a blank line."""
    return line.partition(";")[0].strip()


def comments(lines: list[str]) -> Iterator[str]:
    """Yield the comments before the first job, without their semicolon."""
    for line in takewhile(lambda line: not job_of(line), lines):
        if stripped := line.strip():
            yield stripped[1:].strip()


def whole_numbers(block: str) -> Ints | None:
    """Return (J, F) whole numbers; None where one is not whole, which pandas may read wrongly in its last bit."""
    import pandas as pd

    plain: dict[str, Any] = {"header": None, "na_filter": False, "quoting": csv.QUOTE_NONE, "low_memory": False}
    head = block[:LONGEST_LINE]
    if _single_spaced(head) != head:  # other ways to part fields take pandas four times as long
        block = _single_spaced(block)
    try:
        table = pd.read_csv(io.StringIO(block), sep=" ", comment=";", **plain)
    except ValueError:
        return None
    return table.to_numpy() if (table.dtypes == np.int64).all() else None


def _single_spaced(block: str) -> str:
    """Return lines with one space between their fields, and none before and behind them."""
    block = block.replace("\t", " ")
    while "  " in block:
        block = block.replace("  ", " ")
    return block.replace("\n ", "\n").replace(" \n", "\n").removeprefix(" ")
