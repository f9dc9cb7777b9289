"""Which jobs belong together, by size, user, account, partition and hour, and how long those of a group wait."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.studies.whatif.outcome import Outcome
from hdeeprm_like.types import Bools, Ints

SIZES = (1, 2, 8, 32, 128, 512, 2048)  # cores, where classes of size begin
UNKNOWN = "unknown"  # the name of users without a name in the log


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
