"""Choose the windows of a trace: random ones, disjoint ones, the whole trace, or those of a list."""

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from hdeeprm_like import limits
from hdeeprm_like.csv_rows import CsvRow, read_rows
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_cuts import disjoint_begins, window_begins

log = logging.getLogger(__name__)

Sampling: TypeAlias = Literal["random", "disjoint", "all", "offsets"]

COUNT, JOBS = 10, 1024  # default windows and jobs of each, as in RLScheduler
START, FIRST = "start_index", "first_job_id"
NAMES = re.compile(r"(disjoint:)?([1-9]\d{0,8})(?:x([1-9]\d{0,8}))?", re.ASCII)


@dataclass(frozen=True)
class Windows:
    """How to choose the windows of a comparison.

    Attributes:
        count: number of windows; None for all. jobs: of each; None for all of the trace.
        sampling: ``"random"``: drawn with a seed, and they may share jobs; ``"disjoint"``: spread evenly, sharing no
        job; ``"all"``: the trace is one window; ``"offsets"``: from a file.
        offsets: that file.
    """

    count: int | None = COUNT
    jobs: int | None = JOBS
    sampling: Sampling = "random"
    offsets: Path | None = None


def windows_named(text: str | None, offsets: Path | None = None) -> Windows:
    """Return the windows that ``"10x1024"``, ``"disjoint:60x1024"``, ``"disjoint:60"`` or ``"all"`` means.

    Args:
        text: None for 10x1024, or for all windows of 1024 jobs that *offsets* lists. With *offsets* ``"10x1024"`` means
            the first ten of them.

    Raises:
        OptionsError: the text is invalid.
    """
    if text is None:
        return Windows() if offsets is None else Windows(None, JOBS, "offsets", offsets)
    match = NAMES.fullmatch(text)
    if offsets is not None:
        if not match or match[1] or not match[3]:
            raise OptionsError(
                f"windows: {text!r}: with offsets two numbers are needed, windows and jobs, e.g. 10x1024"
            )
        return Windows(int(match[2]), int(match[3]), "offsets", offsets)
    if text == "all":
        return Windows(1, None, "all")
    if not match or not (match[1] or match[3]):
        raise OptionsError(
            f"windows: {text!r}: two numbers are needed, windows and jobs of each, e.g. 10x1024 or disjoint:60x1024, "
            "or all"
        )
    found = Windows(int(match[2]), int(match[3] or JOBS), "disjoint" if match[1] else "random")
    if int(match[2]) > limits.WINDOWS.most:
        raise OptionsError(f"windows: {text!r}: {limits.refusal(limits.WINDOWS)}")
    return found


def places_of(windows: Windows, trace: Trace, seed: int) -> tuple[list[int], int]:
    """Return the place of each window's first job among the usable jobs of a trace, and the number of jobs of a window.

    Warn if there are fewer windows than requested, and if windows share jobs.

    Args:
        seed: of random windows.

    Raises:
        WorkloadError: the trace is shorter than a window, or the file of the offsets is not of this trace.
    """
    jobs = len(trace) if windows.jobs is None else windows.jobs
    count = windows.count or COUNT
    if windows.offsets is not None:
        begins = listed_begins(windows.offsets, trace, jobs, windows.count)
    elif windows.sampling == "random":
        begins = window_begins(trace, jobs, count, np.random.default_rng(seed))
    else:
        begins = disjoint_begins(trace, jobs, count)
    if len(begins) < count and windows.sampling == "disjoint":
        log.warning(
            "%s: the %d jobs make %d windows of %d jobs, all are used; %d were requested",
            *(trace.path, len(trace), len(begins), jobs, count),
        )
    if (np.diff(sorted(begins)) < jobs).any():
        log.warning(
            "%s: some windows share jobs, so they are not independent samples, and intervals and p-values are too "
            "narrow; those of disjoint:%dx%d share none",
            *(trace.path, min(len(begins), len(trace) // jobs), jobs),
        )
    return begins, jobs


def listed_begins(path: Path, trace: Trace, jobs: int, count: int | None) -> list[int]:
    """Return the places of the column ``start_index`` of a CSV, the first *count* of them.

    A column ``first_job_id``, as in RLScheduler's published windows, must match the jobs at these places.

    Raises:
        WorkloadError: the file cannot be used, has fewer lines, or belongs to another trace.
    """
    rows = read_rows(path, (START,), WorkloadError)
    if count is not None and len(rows) < count:
        raise WorkloadError(f"{path}: lists {len(rows)} windows; {count} were requested")
    return [listed_begin(row, trace, jobs) for row in rows[:count]]


def listed_begin(row: CsvRow, trace: Trace, jobs: int) -> int:
    """Return the place of one line of a list of windows."""
    begin = row.count(START, least=0)
    if begin + jobs > len(trace):
        raise WorkloadError(
            f"{row.where}: {START}: no {jobs} jobs follow from {begin} on; {trace.path} has {len(trace)} usable ones"
        )
    if FIRST in row.texts and row.count(FIRST, least=0) != trace.job[begin]:
        raise WorkloadError(
            f"{row.where}: {FIRST}: is {row.texts[FIRST][:40]!r}; usable job {begin} of {trace.path} has the number "
            f"{trace.job[begin]}, so the list is of another trace"
        )
    return begin
