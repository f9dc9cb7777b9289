"""A tree of processors with free cores, in which each core policy finds its choice (thesis table 3.2).

``Tables.tree`` holds groups of eight places. On level 0 the places are the processors in their order, on each
next level the groups of the level below, until one group holds all. A place records the best key below it, so a search
descends only where that beats the best found so far and where there may be memory: it takes time logarithmic in the
number of processors, and more only if many that rank high have no memory or GPUs left, or if each is better than the
one before.
"""

from collections.abc import Callable

import numpy as np

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.engine.compiled import compiled, inlined, lowest_bit, shift_left
from hdeeprm_like.engine.dispatch import by_number, check_names, check_numbers
from hdeeprm_like.engine.numbers import (
    CORE_POLICIES,
    HIGH_CORES,
    HIGH_GFLOPS,
    HIGH_MEM,
    HIGH_MEM_BW,
    LOW_POWER,
    RANDOM_CORE,
)
from hdeeprm_like.engine.tables import RANKINGS, WIDTH, Tables
from hdeeprm_like.engine.words import without_lowest

FEW = 3  # up to this many processors are ranked one by one

# What has changed in an entry of the tree, as bits: the key of ranking r is bit r
KEYS = (1 << RANKINGS) - 1
MEMORY = 1 << RANKINGS  # least and most
CORES = 1 << (RANKINGS + 1)
EVERYTHING = KEYS | MEMORY | CORES


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
"""Functions that core policies maximize, by number; the tree has a ranking for each."""

check_numbers("core policies", CORE_POLICIES, {RANDOM_CORE, *PROCESSOR_KEYS}, "engine.processor_index.PROCESSOR_KEYS")
check_names("rankings", PROCESSOR_KEYS, range(HIGH_GFLOPS, HIGH_GFLOPS + RANKINGS), "engine.tables.RANKINGS")


@inlined
@by_number("policy", PROCESSOR_KEYS)
def processor_key(tables: Tables, policy: int, p: int) -> float:
    """Return the key that a core policy maximizes; ties go to the lowest core number, i.e. the lowest processor.

    Peak values for ``high_gflops`` and ``low_power``; what is free now for the others; nan for policies without a key.
    """
    return np.nan


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


@inlined
def rank_processor(tables: Tables, p: int) -> int:
    """Write the tree's entry of a processor; return what has changed there."""
    group, i, load, n = tables.tree[p // WIDTH], p % WIDTH, tables.loads[p], tables.processors[p].node
    changed = CORES if group.cores[i] != load.free else 0
    group.cores[i] = load.free
    if load.free == 0:
        group.most[i], group.least[i] = -np.inf, np.inf
        for ranking in range(RANKINGS):
            group.key[ranking, i] = -np.inf
        return EVERYTHING if changed else 0
    changed |= rank_memory(tables, p, n)
    # one line each, so that the policy is a constant at compile time
    changed |= write_key(tables, HIGH_GFLOPS - HIGH_GFLOPS, p, processor_key(tables, HIGH_GFLOPS, p))
    changed |= write_key(tables, HIGH_CORES - HIGH_GFLOPS, p, processor_key(tables, HIGH_CORES, p))
    changed |= write_key(tables, HIGH_MEM_BW - HIGH_GFLOPS, p, processor_key(tables, HIGH_MEM_BW, p))
    changed |= write_key(tables, LOW_POWER - HIGH_GFLOPS, p, processor_key(tables, LOW_POWER, p))
    return changed


@inlined
def write_key(tables: Tables, ranking: int, p: int, key: float) -> int:
    """Write a key of a processor; return what has changed."""
    group, i = tables.tree[p // WIDTH], p % WIDTH
    before = group.key[ranking, i]
    group.key[ranking, i] = key
    return shift_left(1, ranking) if key != before else 0


@inlined
def rank_memory(tables: Tables, p: int, n: int) -> int:
    """Write what the tree has of the memory of a processor with free cores, on node *n*; return what has changed."""
    group, i, free = tables.tree[p // WIDTH], p % WIDTH, tables.node_loads[n].free_memory
    before = group.least[i]
    group.most[i], group.least[i] = free + 2.0 * ROUNDING * tables.nodes[n].memory, free
    return write_key(tables, HIGH_MEM - HIGH_GFLOPS, p, free) | (MEMORY if free != before else 0)


@inlined
def best_key(tables: Tables, ranking: int, row: int) -> float:
    """Return the largest key in a group."""
    group = tables.tree[row]
    low = larger(
        larger(group.key[ranking, 0], group.key[ranking, 1]), larger(group.key[ranking, 2], group.key[ranking, 3])
    )
    high = larger(
        larger(group.key[ranking, 4], group.key[ranking, 5]), larger(group.key[ranking, 6], group.key[ranking, 7])
    )
    return float(larger(low, high))


@inlined
def larger(one: float, other: float) -> float:
    """Return the larger of two keys."""
    return other if other > one else one


@compiled
def rank_group(tables: Tables, level: int, place: int, changed: int) -> int:
    """Write what may have changed in the entry of a group on the level above it.

    Args:
        changed: what has changed in entries of the group.

    Returns:
        What has changed in its own entry; often nothing, since another place is as good.
    """
    row = tables.levels[level - 1] + place
    below, group, i = tables.tree[row], tables.tree[tables.levels[level] + place // WIDTH], place % WIDTH
    found, keys = 0, changed & KEYS
    while keys != 0:
        ranking = lowest_bit(keys)
        keys = without_lowest(keys)
        key = best_key(tables, ranking, row)
        if key != group.key[ranking, i]:
            group.key[ranking, i] = key
            found |= shift_left(1, ranking)
    if changed & MEMORY:
        most, least = below.most[0], below.least[0]
        for k in range(1, WIDTH):
            most, least = max(most, below.most[k]), min(least, below.least[k])
        if most != group.most[i] or least != group.least[i]:
            group.most[i], group.least[i] = most, least
            found |= MEMORY
    if changed & CORES:
        cores = below.cores[0]
        for k in range(1, WIDTH):
            cores += below.cores[k]
        group.cores[i] = cores
        found |= CORES
    return found


def rank_all(tables: Tables) -> None:
    """Write the whole tree of an idle cluster."""
    groups, nodes = tables.tree, tables.processors["node"]
    free, memory = tables.loads["free"], tables.node_loads["free_memory"][nodes]
    keys = np.stack(
        [
            tables.processors["flops"][:, 0],
            free.astype(np.float64),
            memory,
            tables.processors["bandwidth"] - tables.loads["used_bandwidth"],
            -tables.processors["watts"][:, 0],
        ]
    )
    most, least, cores = memory + 2.0 * ROUNDING * tables.nodes["memory"][nodes], memory, free
    taken = free == 0
    keys, most, least = np.where(taken, -np.inf, keys), np.where(taken, -np.inf, most), np.where(taken, np.inf, least)
    for first in tables.levels.tolist():
        count = -(-len(cores) // WIDTH)
        gap = count * WIDTH - len(cores)
        keys = np.pad(keys, ((0, 0), (0, gap)), constant_values=-np.inf).reshape(RANKINGS, count, WIDTH)
        most = np.pad(most, (0, gap), constant_values=-np.inf).reshape(count, WIDTH)
        least = np.pad(least, (0, gap), constant_values=np.inf).reshape(count, WIDTH)
        cores = np.pad(cores, (0, gap)).reshape(count, WIDTH)
        level = slice(first, first + count)
        groups["key"][level], groups["cores"][level] = keys.transpose(1, 0, 2), cores
        groups["most"][level], groups["least"][level] = most, least
        keys, most, least, cores = keys.max(2), most.max(1), least.min(1), cores.sum(1)
    tables.node_loads["ranked_memory"] = tables.node_loads["free_memory"]


@inlined
def rank(tables: Tables, p: int) -> None:
    """Update the tree after what is free on a processor, or on its node, has changed.

    If cores are counted only their number matters: the only processor has capacity for each of them.
    """
    if counts_cores(tables):
        tables.tree[0].cores[0] = tables.loads[0].free
    else:
        rank_in_tree(tables, p)


@compiled
def rank_in_tree(tables: Tables, p: int) -> None:
    """Update the tree after what is free on a processor, or on its node, has changed."""
    low, high, changed = rank_leaves(tables, p)
    for level in range(1, len(tables.levels)):
        if changed == 0:
            return
        low, high, below, changed = low // WIDTH, high // WIDTH, changed, 0
        for place in range(low, high + 1):
            changed |= rank_group(tables, level, place, below)


@inlined
def rank_leaves(tables: Tables, p: int) -> tuple[int, int, int]:
    """Write the entry of a processor, and the memory of its whole node if that has changed.

    Returns:
        The first and the last processor whose entry has changed, and what has changed in these entries.
    """
    n, low, high, changed = tables.processors[p].node, p, p, 0
    room = tables.node_loads[n]
    if room.free_memory != room.ranked_memory:
        room.ranked_memory = room.free_memory
        low = tables.nodes[n].first_processor
        high = low + tables.nodes[n].processors - 1
        for other in range(low, high + 1):
            if tables.loads[other].free > 0:
                changed |= rank_memory(tables, other, n)
    return low, high, changed | rank_processor(tables, p)


@inlined
def rank_picks(tables: Tables, first: int, end: int) -> None:
    """Update the tree for some of ``picks``; there are often none or one."""
    if end - first > FEW:
        rank_many(tables, first, end)
        return
    for i in range(first, end):
        rank(tables, tables.picks[i].processor)


@compiled
def rank_many(tables: Tables, first: int, end: int) -> None:
    """Do the same, each group once where neighbours have changed."""
    for i in range(first, end):
        rank_leaves(tables, tables.picks[i].processor)
    width = 1
    for level in range(1, len(tables.levels)):
        width, before = width * WIDTH, -1
        for i in range(first, end):
            node = tables.nodes[tables.processors[tables.picks[i].processor].node]
            low, high = node.first_processor // width, (node.first_processor + node.processors - 1) // width
            for place in range(low, high + 1):
                if place != before:
                    rank_group(tables, level, place, EVERYTHING)
                before = place


@compiled
def hide(tables: Tables, policy: int, p: int) -> None:
    """Exclude a processor from a policy's search until it is ranked again, with ``high_mem`` its whole node.

    With that policy all processors of a node lose memory together.
    """
    ranking, low, high = policy - HIGH_GFLOPS, p, p
    if policy == HIGH_MEM:
        node = tables.nodes[tables.processors[p].node]
        low, high = node.first_processor, node.first_processor + node.processors - 1
        tables.node_loads[tables.processors[p].node].ranked_memory = np.nan
    for hidden in range(low, high + 1):
        tables.tree[hidden // WIDTH].key[ranking, hidden % WIDTH] = -np.inf
    changed = True
    for level in range(1, len(tables.levels)):
        if not changed:
            return
        low, high, changed = low // WIDTH, high // WIDTH, False
        for place in range(low, high + 1):
            changed |= rank_group(tables, level, place, shift_left(1, ranking)) != 0
