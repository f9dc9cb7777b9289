"""A tree of processors with free cores, in which each core policy finds its choice (thesis table 3.2).

Up to eight processors have no tree: `processor_search` looks at one after the other.

``Tables.tree`` holds groups of eight places. On level 0 the places are the processors in their order, on each
next level the groups of the level below, until one group holds all. A place records the best key below it, so a search
descends only where that beats the best found so far and where there may be memory: it takes time logarithmic in the
number of processors, and more only if many that rank high have no memory or GPUs left, or if each is better than the
one before.
"""

from collections.abc import Callable

import numpy as np

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.engine.compiled import compiled, inlined
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

FEW = 3  # up to this many processors are ranked one by one


@inlined
def counts_cores(tables: Tables) -> bool:
    """Return whether cores of the only processor are counted and have no names, see `State`."""
    return len(tables.allocation) == 0


@inlined
def has_tree(tables: Tables) -> bool:
    """Return whether there are so many processors that they have a tree."""
    return len(tables.tree) > 0


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
def rank_processor(tables: Tables, p: int) -> bool:
    """Write the tree's entry of a processor; return whether a key by a peak value has changed there."""
    group, i, load, n = tables.tree[p // WIDTH], p % WIDTH, tables.loads[p], tables.processors[p].node
    speed, power = group.key[HIGH_GFLOPS - HIGH_GFLOPS, i], group.key[LOW_POWER - HIGH_GFLOPS, i]
    group.cores[i] = load.free
    if load.free == 0:
        group.most[i], group.least[i] = -np.inf, np.inf
        for ranking in range(RANKINGS):
            group.key[ranking, i] = -np.inf
        return bool(speed != -np.inf or power != -np.inf)
    rank_memory(tables, p, n)
    # one line each, so that the policy is a constant at compile time
    group.key[HIGH_GFLOPS - HIGH_GFLOPS, i] = processor_key(tables, HIGH_GFLOPS, p)
    group.key[HIGH_CORES - HIGH_GFLOPS, i] = processor_key(tables, HIGH_CORES, p)
    group.key[HIGH_MEM_BW - HIGH_GFLOPS, i] = processor_key(tables, HIGH_MEM_BW, p)
    group.key[LOW_POWER - HIGH_GFLOPS, i] = processor_key(tables, LOW_POWER, p)
    return bool(speed != group.key[HIGH_GFLOPS - HIGH_GFLOPS, i] or power != group.key[LOW_POWER - HIGH_GFLOPS, i])


@inlined
def rank_memory(tables: Tables, p: int, n: int) -> None:
    """Write what the tree has of the memory of a processor with free cores, on node *n*."""
    group, i, free = tables.tree[p // WIDTH], p % WIDTH, tables.node_loads[n].free_memory
    group.most[i], group.least[i] = free + 2.0 * ROUNDING * tables.nodes[n].memory, free
    group.key[HIGH_MEM - HIGH_GFLOPS, i] = free


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


@inlined
def offered(tables: Tables, row: int, ranking: int, i: int, memory: float) -> float:
    """Return the key of a place in a group, -inf if it lacks memory (MB)."""
    group = tables.tree[row]
    return float(group.key[ranking, i] if group.most[i] >= memory else -np.inf)


@inlined
def better_half(tables: Tables, row: int, ranking: int, first: int, memory: float) -> tuple[float, int]:
    """Return the largest key offered by four places of a group, and the first place that has it."""
    a, b = offered(tables, row, ranking, first, memory), offered(tables, row, ranking, first + 1, memory)
    c, d = offered(tables, row, ranking, first + 2, memory), offered(tables, row, ranking, first + 3, memory)
    low, at = larger(a, b), first + 1 if b > a else first
    high, behind = larger(c, d), first + 3 if d > c else first + 2
    return larger(low, high), behind if high > low else at


@compiled
def rank_group(tables: Tables, level: int, place: int, peaks: bool) -> None:
    """Write the entry of a group on the level above it; without *peaks* except its keys by peak values."""
    row = tables.levels[level - 1] + place
    below, group, i = tables.tree[row], tables.tree[tables.levels[level] + place // WIDTH], place % WIDTH
    if peaks:
        group.key[HIGH_GFLOPS - HIGH_GFLOPS, i] = best_key(tables, HIGH_GFLOPS - HIGH_GFLOPS, row)
        group.key[LOW_POWER - HIGH_GFLOPS, i] = best_key(tables, LOW_POWER - HIGH_GFLOPS, row)
    group.key[HIGH_CORES - HIGH_GFLOPS, i] = best_key(tables, HIGH_CORES - HIGH_GFLOPS, row)
    group.key[HIGH_MEM - HIGH_GFLOPS, i] = best_key(tables, HIGH_MEM - HIGH_GFLOPS, row)
    group.key[HIGH_MEM_BW - HIGH_GFLOPS, i] = best_key(tables, HIGH_MEM_BW - HIGH_GFLOPS, row)
    most, least, cores = below.most[0], below.least[0], below.cores[0]
    for k in range(1, WIDTH):
        most, least, cores = max(most, below.most[k]), min(least, below.least[k]), cores + below.cores[k]
    group.most[i], group.least[i], group.cores[i] = most, least, cores


def rank_all(tables: Tables) -> None:
    """Write the whole tree of an idle cluster."""
    if not has_tree(tables):
        return
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
    """Update the tree after what is free on a processor, or on its node, has changed."""
    if has_tree(tables):
        rank_in_tree(tables, p)


@compiled
def rank_in_tree(tables: Tables, p: int) -> None:
    """Update the tree after what is free on a processor, or on its node, has changed."""
    low, high, peaks = rank_leaves(tables, p)
    for level in range(1, len(tables.levels)):
        low, high = low // WIDTH, high // WIDTH
        for place in range(low, high + 1):
            rank_group(tables, level, place, peaks)


@inlined
def rank_leaves(tables: Tables, p: int) -> tuple[int, int, bool]:
    """Write the entry of a processor, and the memory of its whole node if that has changed.

    Returns:
        The first and the last processor whose entry has changed, and as `rank_processor`.
    """
    n, low, high = tables.processors[p].node, p, p
    room = tables.node_loads[n]
    if room.free_memory != room.ranked_memory:
        room.ranked_memory = room.free_memory
        low = tables.nodes[n].first_processor
        high = low + tables.nodes[n].processors - 1
        for other in range(low, high + 1):
            if tables.loads[other].free > 0:
                rank_memory(tables, other, n)
    return low, high, rank_processor(tables, p)


@inlined
def rank_picks(tables: Tables, first: int, end: int) -> None:
    """Update the tree for some of ``picks``; there are often none or one."""
    if has_tree(tables) and end - first > FEW:
        rank_many(tables, first, end)
    elif has_tree(tables):
        for i in range(first, end):
            rank_in_tree(tables, tables.picks[i].processor)


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
                    rank_group(tables, level, place, True)
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
    for level in range(1, len(tables.levels)):
        low, high = low // WIDTH, high // WIDTH
        for place in range(low, high + 1):
            key = best_key(tables, ranking, tables.levels[level - 1] + place)
            tables.tree[tables.levels[level] + place // WIDTH].key[ranking, place % WIDTH] = key


@compiled
def best_in_tree(tables: Tables, policy: int, memory: float, gpus: float) -> int:
    """Return the processor of a policy's next core, -1 if none has a free core with this memory (MB) and GPUs."""
    ranking, level, place, first = policy - HIGH_GFLOPS, len(tables.levels) - 1, 0, -np.inf
    while level >= 0:
        # in pairs, as a tournament needs three steps where a linear scan would take eight
        low, before = better_half(tables, tables.levels[level] + place, ranking, 0, memory)
        high, behind = better_half(tables, tables.levels[level] + place, ranking, 4, memory)
        best, at = larger(low, high), behind if high > low else before
        if best == -np.inf or best < first:
            break  # the best places lack capacity
        level, place, first = level - 1, place * WIDTH + at, best
    if level < 0 and node_fits(tables, tables.processors[place].node, memory, gpus):
        return place
    return best_by_looking(tables, ranking, memory, gpus)


@compiled
def best_by_looking(tables: Tables, ranking: int, memory: float, gpus: float) -> int:
    """Return the same, by scanning in order all groups that may hold a better processor than those before."""
    top = len(tables.levels) - 1
    best, wanted = -1, -np.inf
    level, place = top, 0
    while True:
        group, i = tables.tree[tables.levels[level] + place // WIDTH], place % WIDTH
        while i < WIDTH and not (group.key[ranking, i] > wanted and group.most[i] >= memory):
            i += 1
        place = place - place % WIDTH + i
        if i < WIDTH and level > 0:
            level, place = level - 1, place * WIDTH
            continue
        if i < WIDTH:
            if node_fits(tables, tables.processors[place].node, memory, gpus):
                best, wanted = place, group.key[ranking, i]
            place += 1
        while place % WIDTH == 0:  # the whole group has been scanned
            if level == top:
                return best
            level, place = level + 1, place // WIDTH


@compiled
def processor_in_tree(tables: Tables, memory: float, gpus: float, core: int) -> tuple[int, int]:
    """Find one of the free cores with this memory (MB) and GPUs on their nodes.

    Returns:
        The processor of core number *core* among them, -1 if there are fewer, and the number of cores before it.
    """
    top = len(tables.levels) - 1
    before, level, place = 0, top, 0
    while True:
        group, i = tables.tree[tables.levels[level] + place // WIDTH], place % WIDTH
        if group.cores[i] > 0 and group.most[i] >= memory:
            if level > 0:
                all_have_room = gpus <= 0.0 and group.least[i] >= memory
            else:
                all_have_room = node_fits(tables, tables.processors[place].node, memory, gpus)
            inside = not all_have_room or before + group.cores[i] > core
            if inside and level > 0:
                level, place = level - 1, place * WIDTH
                continue
            if all_have_room:
                if inside:
                    return place, before
                before += group.cores[i]
        place += 1
        while place % WIDTH == 0:  # the whole group has been scanned
            if level == top:
                return -1, before
            level, place = level + 1, place // WIDTH
