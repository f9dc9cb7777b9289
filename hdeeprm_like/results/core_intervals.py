"""The cores of all jobs of a run as intervals, and as Batsim writes them."""

import numpy as np

from hdeeprm_like.engine.job_texts import Intervals
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats, Ints, Records

AT_ONCE = 2_000  # jobs


def intervals_of(tables: Tables) -> Intervals:
    """Return the cores of each job that has started, as few intervals as there can be; job j is group j."""
    rows = tables.jobs
    used = tables.allocation[: int(tables.clock["placed"][0])]
    started = np.flatnonzero(rows["stretches"] > 0) if len(used) else np.zeros(0, np.int64)
    started = started[np.isfinite(rows["start"][started])]
    counts = rows["stretches"][started]
    own = used[spread(rows["first"][started], counts)]
    return joined(np.repeat(started, counts), own, len(rows))


def last_times(cores: Intervals, jobs: Ints, times: Floats, count: int) -> Floats:
    """Return the time of the last of some jobs that had each core, 0 for a core that none had: (count,) s.

    Args:
        cores: of the jobs. jobs, times: in the order in which they count. count: cores of the machine.
    """
    found, open_cores = np.zeros(count), np.ones(count, np.bool_)
    for end in range(len(jobs), 0, -AT_ONCE):  # from the last on, until each core had one
        some = slice(max(0, end - AT_ONCE), end)
        counts = cores.begins[jobs[some] + 1] - cores.begins[jobs[some]]
        which = spread(cores.begins[jobs[some]], counts)
        lengths = cores.last[which] - cores.first[which] + 1
        held, when = spread(cores.first[which], lengths), np.repeat(np.repeat(times[some], counts), lengths)
        new = open_cores[held]
        found[held[new]] = when[new]  # of equal cores the last one stays
        open_cores[held] = False
        if not open_cores.any():
            break
    return found


def spread(first: Ints, counts: Ints) -> Ints:
    """Return so many whole numbers from each of some first ones on, one after the other."""
    before = np.cumsum(counts) - counts
    return np.asarray(np.arange(int(counts.sum())) + np.repeat(first - before, counts))


def joined(groups: Ints, stretches: Records, count: int) -> Intervals:
    """Return the stretches of each of *count* groups as intervals, in ascending order."""
    first = stretches["first"].astype(np.int64)
    ends = first + stretches["cores"]
    if ((groups[1:] < groups[:-1]) | ((groups[1:] == groups[:-1]) & (first[1:] < first[:-1]))).any():
        order = np.lexsort((first, groups))
        groups, first, ends = groups[order], first[order], ends[order]
    opens = np.ones(len(first), np.bool_)
    opens[1:] = (groups[1:] != groups[:-1]) | (first[1:] != ends[:-1])
    closes = np.append(opens[1:], True)[: len(first)]
    begins = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(groups[opens], minlength=count), out=begins[1:])
    return Intervals(begins, first[opens], ends[closes] - 1)


def interval_text(first: int, last: int) -> str:
    """Return an interval as Batsim writes it."""
    return f"{first}-{last}" if first < last else str(first)
