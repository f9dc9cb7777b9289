"""The queue and the utilization over time, in spans of equal length."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hdeeprm_like.studies.whatif.outcome import Outcome
from hdeeprm_like.types import Bools, Floats

SPANS = 160  # points of a picture: about one for every two pixels of a phone


@dataclass(frozen=True, eq=False)
class OverTime:
    """What an outcome looks like over time; B spans.

    Attributes:
        edges: (B + 1,) s, where the spans begin and end. waiting: (B,) jobs that wait, on average.
        used: (B,) share of the cores that are in use, on average.
    """

    edges: Floats
    waiting: Floats
    used: Floats


def over_time(outcomes: Sequence[Outcome], ran: Bools) -> list[OverTime]:
    """Return the queue and the utilization of each outcome, all over the same spans.

    Args:
        ran: (J,) the jobs that count.
    """
    last = max(float(one.finish[ran].max()) for one in outcomes)
    first = min(float(one.submit[ran].min()) for one in outcomes)
    edges = np.linspace(first, max(last, first + 1.0), SPANS + 1)
    return [
        OverTime(
            edges,
            mean_count(one.submit[ran], one.start[ran], np.ones(int(ran.sum())), edges),
            mean_count(one.start[ran], one.finish[ran], one.used[ran] / one.cores, edges),
        )
        for one in outcomes
    ]


def mean_count(begin: Floats, end: Floats, weight: Floats, edges: Floats) -> Floats:
    """Return the mean of the weights that are present in each span.

    Args:
        begin, end: (n,) s, between which each weight is present. weight: (n,). edges: (B + 1,) s.

    Returns:
        (B,)
    """
    times = np.concatenate([begin, end])
    order = np.argsort(times, kind="stable")
    times, steps = times[order], np.concatenate([weight, -weight])[order]
    level = np.cumsum(steps)
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(times))])
    means: Floats = np.diff(np.interp(edges, times, area)) / np.diff(edges)
    return np.maximum(means, 0.0)  # sums of fractions may round to below nothing
