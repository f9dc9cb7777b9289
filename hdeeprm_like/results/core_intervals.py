"""The cores of all jobs of a run as intervals, and as Batsim writes them."""

from functools import cached_property
from itertools import pairwise

import numpy as np

from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Ints, Records


class CoreIntervals:
    """Which cores each started job had, as few intervals as there can be.

    Attributes:
        begins: (J + 1,) the intervals of job j are those from ``begins[j]`` to before ``begins[j + 1]``.
        first, last: cores of each interval, in ascending order within a job.
    """

    def __init__(self, tables: Tables) -> None:
        rows = tables.jobs
        used = tables.allocation[: int(tables.clock["placed"][0])]
        started = np.flatnonzero(rows["stretches"] > 0) if len(used) else np.zeros(0, np.int64)
        started = started[np.isfinite(rows["start"][started])]
        order = started[np.argsort(rows["first"][started])]
        jobs = np.repeat(order, rows["stretches"][order])
        self.begins, self.first, self.last = joined(jobs, used, len(rows))

    @cached_property
    def _lists(self) -> tuple[list[int], list[tuple[int, int]]]:
        return self.begins.tolist(), list(zip(self.first.tolist(), self.last.tolist(), strict=True))

    def of(self, job: int) -> list[tuple[int, int]]:
        """Return the first and the last core of each interval of a job."""
        begins, pairs = self._lists
        return pairs[begins[job] : begins[job + 1]]

    def texts(self) -> list[str]:
        """Return the interval set of each job, ``0-3 6`` for instance."""
        return interval_texts(self.begins, self.first, self.last)


def joined(groups: Ints, stretches: Records, count: int) -> tuple[Ints, Ints, Ints]:
    """Return the stretches of each of *count* groups as intervals, in ascending order: begins, first and last cores."""
    order = np.lexsort((stretches["first"], groups))
    groups, first = groups[order], stretches["first"][order].astype(np.int64)
    ends = first + stretches["cores"][order]
    opens = np.ones(len(first), np.bool_)
    opens[1:] = (groups[1:] != groups[:-1]) | (first[1:] != ends[:-1])
    closes = np.append(opens[1:], True)[: len(first)]
    begins = np.searchsorted(groups[opens], np.arange(count + 1))
    return begins, first[opens], ends[closes] - 1


def interval_text(first: int, last: int) -> str:
    """Return an interval as Batsim writes it."""
    return f"{first}-{last}" if first < last else str(first)


def interval_texts(begins: Ints, first: Ints, last: Ints) -> list[str]:
    """Return the interval set of each group, of what `joined` returns."""
    parts = list(map(interval_text, first.tolist(), last.tolist()))
    bounds = begins.tolist()
    return [parts[low] if high == low + 1 else " ".join(parts[low:high]) for low, high in pairwise(bounds)]
