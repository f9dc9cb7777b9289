"""Partitions: sets of nodes, possibly overlapping, that jobs request, and other requests besides cores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hdeeprm_like.errors import WorkloadError, did_you_mean
from hdeeprm_like.types import Bools, Floats, Ints

NO_PARTITIONS = "the platform has no partitions (key 'slurm')"


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of a platform; Q partitions, N nodes.

    Attributes:
        names: (Q,). nodes: (Q, N) which nodes belong to each.
        tiers, factors: (Q,) Slurm's ``PriorityTier``, which precedes all other factors, and ``PriorityJobFactor``.
        exclusive: (Q,) whether jobs get whole nodes in each.
        features: (N,) of each node. weights: (N,) nodes of low weight are taken first.
        default: number of the partition for jobs that name none.
        settings: other Slurm settings under Slurm's names: priority weights, backfill parameters.
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
        """Return the number of a partition; the default one for an empty name.

        Raises:
            WorkloadError: there is no partition of that name.
        """
        first = name.split(",")[0].strip()  # the first of several
        if not first:
            return self.default
        if first not in self.names:
            raise WorkloadError(f"partition {first[:80]!r}: the platform has none{did_you_mean(first, self.names)}")
        return self.names.index(first)


class Demand(NamedTuple):
    """Requests of a job besides cores, memory and GPUs, and its owner.

    Attributes:
        partition: its name, empty for the default one. constraint: features joined by ``&`` or ``|``.
        nodes: exact number of nodes, 0 for any. task: cores that must be on one node.
        exclusive: whether it gets whole nodes.
        gpus_per_node: GPUs on each of its nodes, however many of its cores are there; 0 if GPUs are requested per core.
        account, qos: names, empty if unknown. nice: subtracted from its priority.
    """

    partition: str = ""
    constraint: str = ""
    nodes: int = 0
    task: int = 1
    exclusive: bool = False
    gpus_per_node: float = 0.0
    account: str = ""
    qos: str = ""
    nice: float = 0.0

    def refusal(self) -> str | None:
        """Return why a platform without partitions cannot serve it; None if it can."""
        requested = self._asdict()
        for name in ("partition", "constraint", "nodes", "exclusive", "gpus_per_node"):
            if requested[name]:
                return f"requests {name} {requested[name]!r:.60}; {NO_PARTITIONS}"
        return f"requests {self.task} cores on one node; {NO_PARTITIONS}" if self.task > 1 else None


NO_DEMAND = Demand()


@dataclass(frozen=True, eq=False)
class Demands:
    """The demands of jobs as columns, all (J,), see `Demand`."""

    partition: tuple[str, ...]
    constraint: tuple[str, ...]
    nodes: Ints
    task: Ints
    exclusive: Bools
    gpus_per_node: Floats
    account: tuple[str, ...]
    qos: tuple[str, ...]
    nice: Floats

    def take(self, rows: Ints) -> "Demands":
        """Return the demands of some jobs."""
        chosen = rows.tolist()

        def of(column: tuple[str, ...]) -> tuple[str, ...]:
            return tuple([column[row] for row in chosen])

        return Demands(
            partition=of(self.partition),
            constraint=of(self.constraint),
            nodes=self.nodes[rows],
            task=self.task[rows],
            exclusive=self.exclusive[rows],
            gpus_per_node=self.gpus_per_node[rows],
            account=of(self.account),
            qos=of(self.qos),
            nice=self.nice[rows],
        )

    def each(self) -> Iterator[Demand]:
        """Yield the demand of each job."""
        columns = (getattr(self, name) for name in Demand._fields)
        return map(Demand._make, zip(*(c.tolist() if isinstance(c, np.ndarray) else c for c in columns), strict=True))


def demands_of(jobs: Sequence[Demand]) -> Demands:
    """Return the demands of some jobs as columns."""
    found: dict[str, Any] = {name: tuple([getattr(one, name) for one in jobs]) for name in Demand._fields}
    for name in ("nodes", "task", "exclusive", "gpus_per_node", "nice"):
        found[name] = np.array(found[name], type(getattr(NO_DEMAND, name)))
    return Demands(**found)


def no_demands(jobs: int) -> Demands:
    """Return the demands of jobs without any such request."""
    return demands_of([NO_DEMAND] * jobs)


def has_features(features: frozenset[str], constraint: str) -> bool:
    """Return whether a node with some features satisfies a constraint: ``a&b``, ``a|b``, ``[a|b]``, ``a*2``."""
    if not constraint:
        return True
    return any(
        all(one.split("*")[0].strip() in features for one in part.split("&"))
        for part in constraint.translate(str.maketrans("", "", "[]()")).replace(",", "&").split("|")
    )
