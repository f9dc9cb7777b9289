"""What the core policies maximize (thesis table 3.2), and how many cores of a job a node can take."""

from collections.abc import Callable

import numpy as np

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.engine.compiled import inlined
from hdeeprm_like.engine.dispatch import by_number, check_numbers
from hdeeprm_like.engine.numbers import (
    CORE_POLICIES,
    HIGH_CORES,
    HIGH_GFLOPS,
    HIGH_MEM,
    HIGH_MEM_BW,
    LOW_POWER,
    RANDOM_CORE,
)
from hdeeprm_like.engine.tables import ALL, SHIFT, Tables


@inlined
def counts_cores(tables: Tables) -> bool:
    """Return whether cores of the only processor are counted and have no names, see `State`."""
    return len(tables.allocation) == 0


@inlined
def peak_flops(tables: Tables, p: int) -> float:
    """Return the flop/s of a processor's cores in the fastest P-state."""
    return float(tables.processors[p].flops[0])


@inlined
def free_cores(tables: Tables, p: int) -> float:
    """Return the number of free cores of a processor."""
    return float(tables.loads[p].free)


@inlined
def free_memory(tables: Tables, p: int) -> float:
    """Return the MB that are free on its node."""
    return float(tables.node_loads[tables.processors[p].node].free_memory)


@inlined
def free_bandwidth(tables: Tables, p: int) -> float:
    """Return the GB/s of a processor that no job uses."""
    return float(tables.processors[p].bandwidth - tables.loads[p].used_bandwidth)


@inlined
def peak_power(tables: Tables, p: int) -> float:
    """Return minus the W of a core in the fastest P-state."""
    return float(-tables.processors[p].watts[0])


PROCESSOR_KEYS: dict[int, Callable[[Tables, int], float]] = {
    HIGH_GFLOPS: peak_flops,
    HIGH_CORES: free_cores,
    HIGH_MEM: free_memory,
    HIGH_MEM_BW: free_bandwidth,
    LOW_POWER: peak_power,
}
"""Functions that core policies maximize, by number."""

check_numbers("core policies", CORE_POLICIES, {RANDOM_CORE, *PROCESSOR_KEYS}, "engine.processor_keys.PROCESSOR_KEYS")


key_of_policy = by_number(PROCESSOR_KEYS)


@inlined
def processor_key(tables: Tables, policy: int, p: int) -> float:
    """Return the key that a core policy maximizes; ties go to the lowest core number, i.e. the lowest processor.

    Peak values for ``high_gflops`` and ``low_power``; what is free now for the others; nan for policies without a key.
    """
    return key_of_policy(policy, tables, p)


@inlined
def raise_keys(tables: Tables, p: int) -> None:
    """Note that more is free on a processor and on its node: no key of a group is below those of its processors."""
    group, node, memory = tables.groups[p >> SHIFT], tables.nodes[tables.processors[p].node], free_memory(tables, p)
    group.key[HIGH_CORES - HIGH_CORES] = max(group.key[HIGH_CORES - HIGH_CORES], free_cores(tables, p))
    group.key[HIGH_MEM_BW - HIGH_CORES] = max(group.key[HIGH_MEM_BW - HIGH_CORES], free_bandwidth(tables, p))
    for g in range(node.first_processor >> SHIFT, ((node.first_processor + node.processors - 1) >> SHIFT) + 1):
        tables.groups[g].key[HIGH_MEM - HIGH_CORES] = max(tables.groups[g].key[HIGH_MEM - HIGH_CORES], memory)
        tables.groups[g].outdated = ALL


@inlined
def outdate(tables: Tables, p: int) -> None:
    """Note that less is free on a processor, and so on its node."""
    node = tables.nodes[tables.processors[p].node]
    for g in range(node.first_processor >> SHIFT, ((node.first_processor + node.processors - 1) >> SHIFT) + 1):
        tables.groups[g].outdated = ALL


@inlined
def places(cores: float, memory: float, gpus: float, core_memory: float, core_gpus: float) -> float:
    """Return how many cores of a job fit on a node.

    Args:
        cores, memory, gpus: capacity of the node, MB. core_memory, core_gpus: what each core of the job takes.
    """
    if core_memory > 0.0:
        cores = min(cores, max(np.floor(memory / core_memory), 0.0))
    if core_gpus > 0.0:
        cores = min(cores, max(np.floor(gpus / core_gpus), 0.0))
    return cores


@inlined
def node_fits(tables: Tables, n: int, memory: float, gpus: float) -> bool:
    """Return whether a node has this much memory (MB) and GPUs free, up to rounding errors of its jobs' shares."""
    node, room = tables.nodes[n], tables.node_loads[n]
    if room.free_memory < memory - node.memory * ROUNDING:
        return False
    return bool(gpus <= 0.0 or room.free_gpus >= gpus - node.gpus * ROUNDING)
