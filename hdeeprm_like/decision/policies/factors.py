"""From an order of jobs to few, bounded changes of their site factors, for a real Slurm and for a simulated one.

A site factor is what Slurm adds to the priority that it has found for a job itself. The first job of the order gets the
largest one. A job that still stands right between its neighbours keeps the factor it has, so that a job that comes or
leaves changes few others.
"""

import numpy as np

from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, entry
from hdeeprm_like.types import Int64s, Ints


class Factors(Bundle):
    """Site factors of J jobs, of which D may have one.

    Attributes:
        site: (J,) set factors. wanted: (J,) wanted ones, by place in the order.
        lasts, ends, before, kept: (D,) scratch: of the longest part of an order whose factors may stay.
    """

    site: Ints
    wanted: Ints
    lasts: Ints
    ends: Ints
    before: Ints
    kept: Ints


def new_factors(jobs: int, depth: int) -> Factors:
    """Return that no job has a factor.

    Args:
        depth: most jobs with a factor.
    """
    return Factors(*(np.zeros(size, np.int64) for size in (jobs, jobs, *[min(jobs, depth)] * 4)))


@entry
def want_factors(factors: Factors, order: Int64s, count: int, most: int) -> None:
    """Write the site factors wanted for jobs, by their place in an order: few changes, descending from *most*.

    Args:
        count: jobs in the order. most: the largest factor.
    """
    first = min(count, most, len(factors.kept))
    for i in range(first, count):
        factors.wanted[i] = 0
    keep_longest(factors, order, first, most)
    i, above = -1, most + 1
    for j in range(first + 1):
        if j < first and factors.kept[j] == 0:
            continue
        below = factors.site[order[j]] if j < first else 0
        between = j - i - 1
        if above - below <= between:  # too few whole numbers lie between the two
            for n in range(first):
                factors.wanted[n] = most - most * n // first
            return
        for n in range(1, between + 1):
            factors.wanted[i + n] = above - (above - below) * n // (between + 1)
        if j < first:
            factors.wanted[j] = below
        i, above = j, below


@compiled
def keep_longest(factors: Factors, order: Ints, first: int, most: int) -> None:
    """Mark a longest subsequence of an order whose site factors descend strictly: these may stay.

    For each length ``lasts`` has the largest last factor of a subsequence of it, and ``ends`` the place of that.
    """
    longest = 0
    for i in range(first):
        factors.kept[i], factor = 0, factors.site[order[i]]
        if factor <= 0:
            continue
        low, high = 0, longest
        while low < high:
            middle = (low + high) // 2
            if factors.lasts[middle] > factor:
                low = middle + 1
            else:
                high = middle
        factors.before[i] = factors.ends[low - 1] if low > 0 else -1
        factors.lasts[low], factors.ends[low] = factor, i
        longest = max(longest, low + 1)
    i = factors.ends[longest - 1] if longest > 0 else -1
    while i >= 0:
        if factors.site[order[i]] <= most:
            factors.kept[i] = 1
        i = factors.before[i]
