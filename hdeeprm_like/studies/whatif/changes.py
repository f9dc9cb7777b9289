"""Other machines and other loads: ``nodes=+10%``, ``nodes=-16``, ``load=1.2``."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hdeeprm_like import limits
from hdeeprm_like.cluster.platform import Platform, core_names
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.types import Floats, Ints

NODES = re.compile(r"nodes=([+-]?)(\d+(?:\.\d+)?)(%?)")
LOAD = re.compile(r"load=(\d+(?:\.\d+)?)")
MOST = 100.0  # times as many nodes or as much load


@dataclass(frozen=True)
class Change:
    """A change by its name.

    Attributes:
        nodes: times as many of each kind. more: nodes, shared out among the kinds. load: times as much.
    """

    name: str
    nodes: float = 1.0
    more: int = 0
    load: float = 1.0

    def of_machine(self, machine: Platform) -> Platform:
        """Return the machine after the change.

        Raises:
            OptionsError: nothing would be left.
        """
        if self.nodes == 1.0 and self.more == 0:
            return machine
        factor = self.nodes + self.more / machine.nodes
        most = machine.cores + self.more if machine.nodes == 1 and self.more else machine.cores * factor
        if most > limits.CORES.most:
            raise OptionsError(f"change {self.name!r}: of {machine.cores:,} cores: {limits.refusal(limits.CORES)}")
        if machine.nodes == 1:  # a pool of cores
            cores = round(machine.cores * factor) if self.more == 0 else machine.cores + self.more
            if cores < 1:
                raise OptionsError(f"change {self.name!r}: leaves no core of {machine.cores}")
            return pool(cores)
        kinds = _kinds(machine)
        counts = shared_out(np.array([len(rows) for rows in kinds]) * factor, round(machine.nodes * factor))
        nodes = np.sort(np.concatenate([np.resize(rows, count) for rows, count in zip(kinds, counts, strict=True)]))
        if len(nodes) == 0:
            raise OptionsError(f"change {self.name!r}: leaves no node of {machine.nodes}")
        return with_nodes(machine, nodes)

    def of_log(self, log: Log) -> Log:
        """Return the log after the change: with more load the same jobs come in less time."""
        if self.load == 1.0:
            return log
        return replace(log, jobs=replace(log.jobs, submit=log.jobs.submit / self.load))


def change_named(text: str) -> Change:
    """Return the change of a text.

    Raises:
        OptionsError: it is none.
    """
    nodes, load = NODES.fullmatch(text.strip()), LOAD.fullmatch(text.strip())
    if nodes is not None:
        sign, amount, percent = nodes.groups()
        value = float(amount) * (-1.0 if sign == "-" else 1.0)
        if percent and 0.0 <= 1.0 + value / 100.0 <= MOST and sign:
            return Change(text.strip(), nodes=1.0 + value / 100.0)
        if not percent and sign and abs(value) < 1e6 and value == int(value):
            return Change(text.strip(), more=int(value))
    if load is not None and 1.0 / MOST <= float(load[1]) <= MOST:
        return Change(text.strip(), load=float(load[1]))
    raise OptionsError(f"change {text[:40]!r}: is none of nodes=+10%, nodes=-16 (nodes) and load=1.2 (times as much)")


def _kinds(machine: Platform) -> list[Ints]:
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
