"""Machines of more or fewer nodes, and nodes that are out between two dates.

Such dates are ``maint:all=2026-03-02T08:00/2026-03-02T20:00`` and ``drain:4=1-00/2-00``.
"""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from hdeeprm_like.cluster.platform import Platform, core_names
from hdeeprm_like.decision.policies.limit_rows import Window
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.studies.whatif.slurm_keys import seconds
from hdeeprm_like.types import Bools, Floats, Ints


def kinds_of(machine: Platform) -> list[Ints]:
    """Return the nodes of each kind: of one type and of the same partitions."""
    partitions = machine.partitions
    kinds: dict[tuple[str, bytes], list[int]] = {}
    for node, name in enumerate(machine.node_types):
        members = b"" if partitions is None else partitions.nodes[:, node].tobytes()
        kinds.setdefault((name, members), []).append(node)
    return [np.array(rows) for rows in kinds.values()]


def shared_out(wanted: Floats, total: int) -> Ints:
    """Return whole numbers of a sum that are close to some others: the largest remainders are rounded up."""
    counts: Ints = np.floor(wanted + 1e-9).astype(np.int64)
    missing = np.argsort(counts - wanted, kind="stable")[: max(total - int(counts.sum()), 0)]
    counts[missing] += 1
    return counts


def with_nodes(machine: Platform, nodes: Ints) -> Platform:
    """Return a machine of some nodes of another one, in their order; a node may come several times."""
    of_node: list[Ints] = [np.flatnonzero(machine.processor_node == node) for node in range(machine.nodes)]
    processors = np.concatenate([of_node[node] for node in nodes])
    node_of = np.repeat(np.arange(len(nodes)), [len(of_node[node]) for node in nodes])
    cores = machine.processor_cores[processors]
    columns: dict[str, Any] = {
        "node_cluster": machine.node_cluster[nodes],
        "node_memory": machine.node_memory[nodes],
        "node_gpus": machine.node_gpus[nodes],
        "node_types": tuple([machine.node_types[node] for node in nodes]),
        "processor_node": node_of,
        "processor_bandwidth": machine.processor_bandwidth[processors],
        "processor_types": tuple([machine.processor_types[one] for one in processors]),
        "processor_flops": machine.processor_flops[processors],
        "processor_watts": machine.processor_watts[processors],
        "core_processor": np.repeat(np.arange(len(processors)), cores),
        "core_names": core_names(int(cores.sum())),
    }
    partitions = machine.partitions
    if partitions is not None:
        partitions = replace(
            partitions,
            nodes=np.ascontiguousarray(partitions.nodes[:, nodes]),
            features=tuple([partitions.features[node] for node in nodes]),
            weights=partitions.weights[nodes],
        )
    return replace(machine, partitions=partitions, **columns)


@dataclass(frozen=True)
class Closing:
    """Nodes that are closed between two dates.

    Attributes:
        known: whether the schedulers know of it beforehand, as of a maintenance. nodes: a number of them, the name of a
            partition, or ``all``.
        begin, end: s since 1970, or since the first job where they are not *dated*. where: for messages.
    """

    known: bool
    nodes: str
    begin: float
    end: float
    dated: bool
    where: str

    def of(self, machine: Platform, log: Log) -> Window:
        """Return it on the clock of a log and the nodes of a machine.

        Raises:
            OptionsError: the machine has no such nodes, or the log no such dates.
            WorkloadError: it has no such partition.
        """
        if self.dated and not log.dated:
            raise OptionsError(f"{self.where}: the log has no dates; write times since its first job, as 1-00:00:00")
        origin = log.epoch if self.dated else float(log.jobs.submit[0])
        begin, end = (time - log.epoch if self.dated else time + origin for time in (self.begin, self.end))
        last = float((log.jobs.submit + log.jobs.requested_time).max())
        if end <= float(log.jobs.submit[0]) or begin > last:
            raise OptionsError(f"{self.where}: lies outside the log, {_span(log, last)}")
        nodes = self._rows(machine)
        if self.known:
            return Window(known=-math.inf, begin=begin, end=end, gone=end, nodes=nodes)
        return Window(known=begin, begin=-math.inf, end=math.inf, gone=end, nodes=nodes)

    def _rows(self, machine: Platform) -> Bools:
        """Return (N,) the nodes that are closed; a number of them is shared out among the kinds that there are."""
        chosen = np.zeros(machine.nodes, np.bool_)
        if self.nodes.lower() == "all":
            return ~chosen
        if not self.nodes.isdigit():
            assert machine.partitions is not None
            return np.array(machine.partitions.nodes[machine.partitions.number_of(self.nodes)])
        count = int(self.nodes)
        if not 0 < count <= machine.nodes:
            raise OptionsError(f"{self.where}: the machine has {machine.nodes:,} nodes, not {count:,}")
        kinds = kinds_of(machine)
        shares = shared_out(np.array([len(rows) for rows in kinds]) * count / machine.nodes, count)
        for rows, share in zip(kinds, shares.tolist(), strict=True):
            chosen[rows[:share]] = True
        return chosen


def _span(log: Log, last: float) -> str:
    """Return from when until when the jobs of a log may run."""
    if not log.dated:
        return (
            f"whose last job may end {(last - float(log.jobs.submit[0])) / 86400.0:.1f} days after its first one came"
        )
    dates = (datetime.fromtimestamp(log.epoch + time, UTC) for time in (float(log.jobs.submit[0]), last))
    return "whose jobs may run from {:%Y-%m-%dT%H:%M} to {:%Y-%m-%dT%H:%M}".format(*dates)


def closing_meant(kind: str, nodes: str, dates: str, where: str) -> Closing:
    """Return the closing of ``maint`` (known beforehand) or ``drain`` (not) of nodes between ``FROM/TO``.

    Raises:
        OptionsError: the nodes or the dates make no sense.
    """
    first, slash, last = (part.strip() for part in dates.partition("/"))
    if not nodes or (nodes.isdigit() and not nodes.isascii()) or len(nodes) > 200:
        raise OptionsError(f"{where}: nodes are needed, as {kind}:all, {kind}:16 or {kind}:PARTITION")
    if not slash:
        raise OptionsError(f"{where}: two dates as 2026-03-02T08:00/2026-03-02T20:00, or 1-00:00/1-12:00, are needed")
    (begin, dated), (end, also) = _moment(first, where), _moment(last, where)
    if dated != also or not begin < end:
        raise OptionsError(f"{where}: two dates, or two times since the first job, the earlier one first, are needed")
    return Closing(kind == "maint", nodes, begin, end, dated, where)


def _moment(text: str, where: str) -> tuple[float, bool]:
    """Return a date in s since 1970 (UTC where it has no offset) or s since the first job, and whether it is a date."""
    try:
        return seconds(text), False
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp(), True
    except (ValueError, OverflowError):
        raise OptionsError(f"{where}: {text[:40]!r} is no date as 2026-03-02T08:00 and no time as 1-12:00") from None
