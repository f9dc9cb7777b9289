"""The figures of outcomes: of all jobs with intervals, of groups by size, user, account, partition and hour, over time.

Intervals are those of the bootstrap over blocks of time, in which jobs that come together stay together: jobs of one
week wait for each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hdeeprm_like.studies.compare.significance import CONFIDENCE, resampled_means
from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.studies.whatif.outcome import Outcome
from hdeeprm_like.types import Bools, Floats, Ints

WEEK = 7 * 86400.0  # s
FEWEST_BLOCKS, MOST_BLOCKS = 10, 60
LONGER = 60.0  # s by which a wait is longer or shorter than another one; less is the same
CLASSES = 400  # of waits, by which percentiles are resampled
ENDS = ("ratio", "low", "high")  # of a figure's name: a ratio, and its interval
PERCENTILES = {"wait_median": 50.0, "wait_p95": 95.0, "wait_p99": 99.0}
SPANS = 160  # points of a picture: about one for every two pixels of a phone
SIZES = (1, 2, 8, 32, 128, 512, 2048)  # cores, where classes of size begin
UNKNOWN = "unknown"  # the name of users without a name in the log


def blocks_of(submit: Floats) -> Ints:
    """Return (J,) the block of time of each job: a week, or a tenth of a log of less than ten weeks."""
    span = max(float(submit[-1] - submit[0]), 1.0)
    count = int(np.clip(np.ceil(span / WEEK), FEWEST_BLOCKS, MOST_BLOCKS))
    blocks: Ints = np.minimum(((submit - submit[0]) / span * count).astype(np.int64), count - 1)
    return blocks


def row_of(one: Outcome, now: Outcome, ran: Bools, blocks: Ints) -> dict[str, Any]:
    """Return the figures of an outcome, and its mean wait and bounded slowdown over those of now with intervals."""
    wait = one.wait[ran]
    slowdown, before = one.slowdown(ran), now.slowdown(ran)
    row: dict[str, Any] = {"name": one.name, "policy": one.policy, "change": one.change, "wait": float(wait.mean())}
    row |= {name: float(np.percentile(wait, rank)) for name, rank in PERCENTILES.items()}
    row |= {f"{name}_{end}": value for name, pair in intervals_of(wait, blocks[ran]).items() for end, value in pair}
    row["bounded_slowdown"] = float(slowdown.mean())
    row["utilization"] = one.utilization(ran)
    row["energy"], row["cores"] = one.energy, one.cores
    for name, after, previous in (("wait", wait, now.wait[ran]), ("bounded_slowdown", slowdown, before)):
        row |= {f"{name}_{end}": value for end, value in zip(ENDS, ratio_of(after, previous, blocks[ran]), strict=True)}
    row["waiting"] = float((wait > LONGER).mean())
    row["longer"] = float((wait > now.wait[ran] + LONGER).mean())
    row["shorter"] = float((wait < now.wait[ran] - LONGER).mean())
    return row


def intervals_of(wait: Floats, blocks: Ints) -> dict[str, tuple[tuple[str, float], tuple[str, float]]]:
    """Return the intervals of the mean and of the 95th percentile of waits over blocks of time, as ends by name.

    The percentile of a resample comes from a histogram of each block, whose classes hold a four hundredth of the jobs.
    NaN where all jobs are in one block.
    """
    numbers = np.unique(blocks, return_inverse=True)[1]
    count = int(numbers.max()) + 1
    edges = np.unique(np.quantile(wait, np.linspace(0.0, 1.0, CLASSES + 1), method="higher"))
    place = np.searchsorted(edges, wait)
    histogram = np.bincount(numbers * len(edges) + place, minlength=count * len(edges)).reshape(count, -1)
    columns = [np.bincount(numbers, weights=wait), *histogram.T]
    if count < 2:
        return dict.fromkeys(("wait_mean", "wait_p95"), (("from", np.nan), ("to", np.nan)))
    means = resampled_means(np.column_stack(columns).astype(np.float64))
    jobs = np.cumsum(means[:, 1:], axis=1)
    tails = edges[np.argmax(jobs >= 0.95 * jobs[:, -1:], axis=1)]
    found = {}
    for name, values, value in (
        ("wait_mean", means[:, 0] / jobs[:, -1], float(wait.mean())),
        ("wait_p95", tails, float(np.percentile(wait, PERCENTILES["wait_p95"]))),
    ):
        low, high = np.percentile(values, [50.0 * (1.0 - CONFIDENCE), 50.0 * (1.0 + CONFIDENCE)])
        found[name] = (("from", min(float(low), value)), ("to", max(float(high), value)))
    return found


def ratio_of(after: Floats, before: Floats, blocks: Ints) -> tuple[float, float, float]:
    """Return the mean of one figure over that of another, and its interval over blocks of time; NaN over nothing.

    Resamples in which both figures are zero do not count; if the denominator is zero in too many of them, the
    interval is unbounded and NaN.
    """
    numbers = np.unique(blocks, return_inverse=True)[1]
    sums = np.column_stack([np.bincount(numbers, weights=column) for column in (after, before)])
    total = sums.sum(axis=0)
    if total[1] <= 0.0:
        return np.nan, np.nan, np.nan
    if len(sums) < 2:
        return float(total[0] / total[1]), np.nan, np.nan
    means = resampled_means(sums.astype(np.float64))
    means = means[(means > 0.0).any(axis=1)]
    known = means[:, 1] > 0.0
    ends = np.array([50.0 * (1.0 - CONFIDENCE), 50.0 * (1.0 + CONFIDENCE)]) / known.mean()  # the others are the largest
    if ends[1] > 100.0:
        return float(total[0] / total[1]), np.nan, np.nan
    low, high = np.percentile(means[known, 0] / means[known, 1], ends)
    return float(total[0] / total[1]), float(low), float(high)


@dataclass(frozen=True)
class Grouping:
    """Which group each job belongs to.

    Attributes:
        names: (G,) of the groups, in order. number: (J,) the group of each job.
    """

    names: list[str]
    number: Ints

    @classmethod
    def of(cls, words: Sequence[str]) -> "Grouping":
        """Group jobs by a word of each, in the order of the alphabet."""
        names, number = np.unique(np.array(words), return_inverse=True)
        return cls(names.tolist(), number)

    @classmethod
    def by_size(cls, cores: Ints) -> "Grouping":
        """Group jobs by how many cores they have, small ones first."""
        names = [
            "1 core",
            *(f"{low} to {high - 1} cores" for low, high in pairwise(SIZES[1:])),
            f"{SIZES[-1]} cores on",
        ]
        classes = np.maximum(np.searchsorted(SIZES, cores, side="right") - 1, 0)
        used, number = np.unique(classes, return_inverse=True)
        return cls([names[one] for one in used.tolist()], number)


def groups_of(log: Log) -> dict[str, Grouping]:
    """Return the groups that jobs belong to, by kind."""
    hours = ((log.jobs.submit + log.epoch) // 3600 % 24).astype(np.int64)
    found = {
        "size": Grouping.by_size(log.jobs.size),
        "hour": Grouping.of([f"{hour:02}:00" for hour in hours.tolist()]),
    }
    for kind, name in (("partition", "Partition"), ("account", "Account")):
        if any(log.words[name]):
            found[kind] = Grouping.of([word or UNKNOWN for word in log.words[name]])
    return found


def by(kind: str, group: Grouping, one: Outcome, now: Outcome, ran: Bools) -> list[dict[str, Any]]:
    """Return the mean wait of each group, now and in an outcome."""
    numbers, count = group.number[ran], len(group.names)
    jobs = np.bincount(numbers, minlength=count)
    waits = [np.bincount(numbers, weights=each.wait[ran], minlength=count) for each in (now, one)]
    return [
        {
            **{"name": one.name, "kind": kind, "group": group.names[row], "jobs": int(jobs[row])},
            **{"wait_now": waits[0][row] / jobs[row], "wait": waits[1][row] / jobs[row]},
        }
        for row in np.flatnonzero(jobs).tolist()
    ]


def wins_and_losses(users: Grouping, sizes: Grouping, one: Outcome, now: Outcome, ran: Bools) -> list[dict[str, Any]]:
    """Return what each user gains or loses, those who lose most first.

    ``worst_size`` is the size of jobs of the user that loses most, and ``worst_longer`` the s by which these wait
    longer on average.
    """
    lines, count = by("user", users, one, now, ran), len(sizes.names)
    pairs = users.number[ran] * count + sizes.number[ran]
    cells = np.bincount(pairs, minlength=len(users.names) * count)
    longer = np.bincount(pairs, weights=(one.wait - now.wait)[ran], minlength=len(cells))
    means = np.where(cells > 0, longer / np.maximum(cells, 1), -np.inf).reshape(-1, count)
    rows = {name: row for row, name in enumerate(users.names)}
    for line in lines:
        own = means[rows[line["group"]]]
        line["hours"] = (line["wait"] - line["wait_now"]) * line["jobs"] / 3600.0
        line["worst_size"], line["worst_longer"] = sizes.names[int(own.argmax())], float(own.max())
    return sorted(lines, key=lambda line: -line["hours"])


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
