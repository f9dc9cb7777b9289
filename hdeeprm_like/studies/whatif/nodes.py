"""Machines of more or fewer nodes."""

from dataclasses import replace
from typing import Any

import numpy as np

from hdeeprm_like.cluster.platform import Platform, core_names
from hdeeprm_like.types import Floats, Ints


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
