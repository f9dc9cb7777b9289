"""Simulates a log under policies and changes, and compares each with the policy that the machine has now.

All are compared on the same jobs: those that can run under all of them. Intervals are those of the bootstrap over
blocks of time, in which jobs that come together stay together: jobs of one week wait for each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from hdeeprm_like.cluster import metrics
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.engine.numbers import WATCH_FACTOR, WATCH_INTERVAL
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.files import null_for_nan
from hdeeprm_like.studies.compare.bootstrap import CONFIDENCE, resampled_means
from hdeeprm_like.studies.whatif.changes import Change
from hdeeprm_like.studies.whatif.fidelity import Fidelity, fidelity_of
from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.studies.whatif.mechanism import NOW, asked_for
from hdeeprm_like.studies.whatif.outcome import Outcome, simulate
from hdeeprm_like.types import Bools, Floats, Ints

WEEK = 7 * 86400.0  # s
FEWEST_BLOCKS, MOST_BLOCKS = 10, 60
SIZES = (1, 2, 8, 32, 128, 512, 2048)  # cores, where classes of size begin
LONGER = 60.0  # s by which a wait is longer or shorter than another one; less is the same
ENDS = ("ratio", "low", "high")  # of a figure's name: a ratio, and its interval
PERCENTILES = {"wait_median": 50.0, "wait_p95": 95.0, "wait_p99": 99.0}


@dataclass(frozen=True)
class Answer:
    """The whole answer.

    Attributes:
        fidelity: how well the model reproduces the log; None if the log has no waits.
        rows: figures of each outcome, that of now first; `mechanism` lists the parts that they belong to.
        groups: of each by partition, account, size and hour. people: who wins and loses.
        jobs: that are compared. never: those that could not run, by outcome. blocks: of time.
    """

    fidelity: Fidelity | None
    rows: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    people: list[dict[str, Any]]
    jobs: int
    blocks: int
    never: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


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


def answer(
    machine: Platform,
    log: Log,
    now: str,
    policies: Sequence[str],
    changes: Sequence[Change],
    interval: float = WATCH_INTERVAL,
    factor: int = WATCH_FACTOR,
) -> Answer:
    """Simulate all, and compare.

    Args:
        now: the policy of the machine now. policies: others. changes: tried with the policy of now.
        interval, factor: of the watch of a Slurm, for policies that do not set their own.

    Raises:
        OptionsError: a policy is not known. WorkloadError: no job could run.
    """
    asked = asked_for(now, policies, changes, interval, factor)  # refuses a wrong name at once
    outcomes = [simulate(machine, log, one.policy, one.change) for one in asked]
    ran = np.isfinite(np.array([outcome.finish for outcome in outcomes])).all(axis=0)
    if not ran.any():
        raise WorkloadError("no job of the log could run on this machine")
    never = {one.name: int(np.isnan(one.finish).sum()) for one in outcomes if np.isnan(one.finish).any()}
    blocks = blocks_of(log.jobs.submit)
    rows = [row_of(one, outcomes[0], ran, blocks) for one in outcomes]
    for row, one, outcome in zip(rows, asked, outcomes, strict=True):
        row["part"], row["beside"] = one.part, outcomes[one.beside].name if one.part != NOW else None
        found = tuple(row[f"wait_{end}"] for end in ENDS)  # beside now
        if one.beside:
            found = ratio_of(outcome.wait[ran], outcomes[one.beside].wait[ran], blocks[ran])
        row |= {f"beside_{end}": value for end, value in zip(ENDS, found, strict=True)}
    groups, users = groups_of(log), Grouping.of([user or "unknown" for user in log.words["User"]])
    return Answer(
        fidelity=fidelity_of(log, outcomes[0]),
        rows=rows,
        groups=[
            line
            for one in outcomes[1:]
            for kind, group in groups.items()
            for line in by(kind, group, one, outcomes[0], ran)
        ],
        people=[line for one in outcomes[1:] for line in wins_and_losses(users, one, outcomes[0], ran)],
        jobs=int(ran.sum()),
        blocks=int(blocks.max()) + 1,
        never=never,
        notes=log.notes,
    )


def blocks_of(submit: Floats) -> Ints:
    """Return (J,) the block of time of each job: a week, or a tenth of a log of less than ten weeks."""
    span = max(float(submit[-1] - submit[0]), 1.0)
    count = int(np.clip(np.ceil(span / WEEK), FEWEST_BLOCKS, MOST_BLOCKS))
    blocks: Ints = np.minimum(((submit - submit[0]) / span * count).astype(np.int64), count - 1)
    return blocks


def row_of(one: Outcome, now: Outcome, ran: Bools, blocks: Ints) -> dict[str, Any]:
    """Return the figures of an outcome, and its mean wait and bounded slowdown over those of now with intervals."""
    wait = one.wait[ran]
    run = (one.finish - one.start)[ran]
    slowdown = metrics.bounded_slowdown(wait, run)
    before = metrics.bounded_slowdown(now.wait[ran], (now.finish - now.start)[ran])
    row: dict[str, Any] = {"name": one.name, "policy": one.policy, "change": one.change, "wait": float(wait.mean())}
    row |= {name: float(np.percentile(wait, rank)) for name, rank in PERCENTILES.items()}
    row["bounded_slowdown"] = float(slowdown.mean())
    row["utilization"] = metrics.utilization(
        one.submit[ran], one.start[ran], one.finish[ran], np.minimum(one.size[ran], one.cores), one.cores
    )
    row["energy"], row["cores"] = one.energy, one.cores
    for name, after, previous in (("wait", wait, now.wait[ran]), ("bounded_slowdown", slowdown, before)):
        row |= {f"{name}_{end}": value for end, value in zip(ENDS, ratio_of(after, previous, blocks[ran]), strict=True)}
    row["longer"] = float((wait > now.wait[ran] + LONGER).mean())
    row["shorter"] = float((wait < now.wait[ran] - LONGER).mean())
    return row


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


def groups_of(log: Log) -> dict[str, Grouping]:
    """Return the groups that jobs belong to, by kind."""
    hours = ((log.jobs.submit + log.epoch) // 3600 % 24).astype(np.int64)
    found = {
        "size": Grouping.by_size(log.jobs.size),
        "hour": Grouping.of([f"{hour:02}:00" for hour in hours.tolist()]),
    }
    for kind, name in (("partition", "Partition"), ("account", "Account")):
        if any(log.words[name]):
            found[kind] = Grouping.of([word or "unknown" for word in log.words[name]])
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


def wins_and_losses(users: Grouping, one: Outcome, now: Outcome, ran: Bools) -> list[dict[str, Any]]:
    """Return what each user gains or loses, those who lose most first."""
    lines = by("user", users, one, now, ran)
    for line in lines:
        line["hours"] = (line["wait"] - line["wait_now"]) * line["jobs"] / 3600.0
    return sorted(lines, key=lambda line: -line["hours"])


def as_tables(found: Answer) -> dict[str, Any]:
    """Return an answer in the form of its JSON; an unknown ratio or interval is null."""
    return {
        "jobs": found.jobs,
        "blocks": found.blocks,
        "never_ran": found.never,
        "notes": list(found.notes),
        "fidelity": None if found.fidelity is None else found.fidelity.as_json(),
        "outcomes": [null_for_nan(row) for row in found.rows],
    }
