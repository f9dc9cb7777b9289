"""Partitions: sets of nodes, possibly overlapping, that jobs ask for, and what else jobs ask for besides cores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hdeeprm_like.errors import WorkloadError, did_you_mean
from hdeeprm_like.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of a platform; Q partitions, N nodes.

    Attributes:
        names: (Q,). nodes: (Q, N) which nodes belong to each.
        tiers, factors: (Q,) Slurm's ``PriorityTier``, which counts before all else, and ``PriorityJobFactor``.
        exclusive: (Q,) whether jobs get whole nodes there.
        features: (N,) of each node. weights: (N,) nodes of low weight are taken first.
        default: the number of the partition of jobs that name none.
        settings: what else Slurm schedules by, under its own names: priority weights, backfill parameters.
    """

    names: tuple[str, ...]
    nodes: Bools
    tiers: Floats
    factors: Floats
    exclusive: Bools
    features: tuple[frozenset[str], ...]
    weights: Floats
    default: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def number_of(self, name: str) -> int:
        """Return the number of a partition; the default one for no name.

        Raises:
            WorkloadError: there is none of that name.
        """
        first = name.split(",")[0].strip()  # of several, the first
        if not first:
            return self.default
        if first not in self.names:
            raise WorkloadError(f"partition {first[:80]!r}: the platform has none{did_you_mean(first, self.names)}")
        return self.names.index(first)


@dataclass(frozen=True, eq=False)
class Demands:
    """What jobs ask for besides cores, memory and GPUs, and who they belong to; all (J,).

    Attributes:
        partition: its name, empty for the default one. constraint: features joined by ``&`` or ``|``.
        account, qos: names, empty where nobody knows.
        nodes: how many nodes exactly, 0 for any number. task: cores that must be on one node.
        exclusive: whether a job gets whole nodes. nice: what is taken off its priority.
    """

    partition: tuple[str, ...]
    constraint: tuple[str, ...]
    account: tuple[str, ...]
    qos: tuple[str, ...]
    nodes: Ints
    task: Ints
    exclusive: Bools
    nice: Floats

    def take(self, rows: Ints) -> "Demands":
        """Return those of some jobs."""
        chosen = rows.tolist()

        def of(column: tuple[str, ...]) -> tuple[str, ...]:
            return tuple([column[row] for row in chosen])

        names = of(self.partition), of(self.constraint), of(self.account), of(self.qos)
        return Demands(*names, self.nodes[rows], self.task[rows], self.exclusive[rows], self.nice[rows])


def no_demands(jobs: int) -> Demands:
    """Return those of jobs that ask for nothing of the kind."""
    empty = ("",) * jobs
    none = np.zeros(jobs, np.int64)
    return Demands(empty, empty, empty, empty, none, np.ones(jobs, np.int64), np.zeros(jobs, np.bool_), np.zeros(jobs))


def has_features(features: frozenset[str], constraint: str) -> bool:
    """Tell whether a node with some features serves jobs of a constraint: ``a&b``, ``a|b``, ``[a|b]``, ``a*2``."""
    if not constraint:
        return True
    return any(
        all(one.split("*")[0].strip() in features for one in part.split("&"))
        for part in constraint.translate(str.maketrans("", "", "[]()")).replace(",", "&").split("|")
    )
