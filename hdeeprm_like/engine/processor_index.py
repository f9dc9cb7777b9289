"""A tree of processors with free cores, in which each core policy finds its choice, see `processor_search`.

Up to eight processors have no tree: `processor_search` looks at one after the other.

``Tables.tree`` holds groups of eight places. On level 0 the places are the processors in their order, on each
next level the groups of the level below, until one group holds all. A place records the best key below it.
"""

import numpy as np

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.engine.compiled import compiled, entry, inlined
from hdeeprm_like.engine.numbers import HIGH_CORES, HIGH_GFLOPS, HIGH_MEM, HIGH_MEM_BW, LOW_POWER
from hdeeprm_like.engine.processor_keys import processor_key
from hdeeprm_like.engine.tables import RANKINGS, WIDTH, Tables

FEW = 3  # up to this many processors are ranked one by one


@entry
@inlined
def has_tree(tables: Tables) -> bool:
    """Return whether there are so many processors that they have a tree."""
    return len(tables.tree) > 0


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
