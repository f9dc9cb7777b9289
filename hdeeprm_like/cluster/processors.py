"""Which processor next: those with free cores in a tree in which each core policy finds its choice (thesis table 3.2).

Row 1 of ``Tables.tree`` is the root, rows 2 i and 2 i + 1 lie below row i, and the second half are the processors in
their order. A row tells the best that is to be found below it, so that a search goes down where that is, and leaves out
what is worse or has no room: it takes the logarithm of the number of processors, and more only for jobs that ask for so
much memory or so many GPUs that processors which rank high have no room for them.
"""

import numpy as np

from hdeeprm_like.cluster.queue import draw
from hdeeprm_like.cluster.tables import (
    HIGH_CORES,
    HIGH_GFLOPS,
    HIGH_MEM,
    HIGH_MEM_BW,
    RANKINGS,
    Rows,
    Tables,
)
from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.compiled import compiled

ALL = 1 << 62  # more cores than there are


@compiled
def counts_cores(t: Tables) -> bool:
    """Tell whether the cores of the only processor are counted and have no names, see `State`."""
    return len(t.allocation) == 0


@compiled
def processor_key(t: Tables, policy: int, p: int) -> float:
    """Return what a core policy maximizes; ties go to the lowest core number, that is to the lowest processor.

    Peak figures for ``high_gflops`` and ``low_power``; what is left now for the others.
    """
    processor = t.processors[p]
    if policy == HIGH_GFLOPS:
        return float(processor.flops[0])
    if policy == HIGH_CORES:
        return float(processor.free)
    if policy == HIGH_MEM:
        return float(t.nodes[processor.node].free_memory)
    if policy == HIGH_MEM_BW:
        return float(processor.bandwidth - processor.used_bandwidth)
    return float(-processor.watts[0])


@compiled
def has_room(t: Tables, n: int, memory: float, gpus: float) -> bool:
    """Tell whether a node has so many MB and GPUs free, but for the rounding errors of what its jobs took."""
    node = t.nodes[n]
    if node.free_memory < memory - node.memory * ROUNDING:
        return False
    return bool(gpus <= 0.0 or node.free_gpus >= gpus - node.gpus * ROUNDING)


@compiled
def write_leaf(t: Tables, p: int) -> None:
    """Write the row of a processor."""
    leaf, processor = t.tree[len(t.tree) // 2 + p], t.processors[p]
    leaf.cores = processor.free
    if processor.free == 0:
        leaf.most, leaf.least = -np.inf, np.inf
        for ranking in range(RANKINGS):
            leaf.key[ranking] = -np.inf
        return
    node = t.nodes[processor.node]
    leaf.most, leaf.least = node.free_memory + 2.0 * ROUNDING * node.memory, node.free_memory
    for ranking in range(RANKINGS):
        leaf.key[ranking] = processor_key(t, HIGH_GFLOPS + ranking, p)


@compiled
def write_branch(tree: Rows, i: int) -> None:
    """Write a row from the two below it."""
    row, left, right = tree[i], tree[2 * i], tree[2 * i + 1]
    row.cores = left.cores + right.cores
    row.most, row.least = max(left.most, right.most), min(left.least, right.least)
    for ranking in range(RANKINGS):
        row.key[ranking] = max(left.key[ranking], right.key[ranking])


@compiled
def rank_all(t: Tables) -> None:
    """Write the whole tree."""
    for p in range(len(t.processors)):
        write_leaf(t, p)
    for n in range(len(t.nodes)):
        t.nodes[n].ranked_memory = t.nodes[n].free_memory
    for i in range(len(t.tree) // 2 - 1, 0, -1):
        write_branch(t.tree, i)


@compiled
def rank(t: Tables, p: int) -> None:
    """Bring the tree up to date after what is free on a processor, or on its node, has changed.

    Where cores are counted their number is all that matters, for the only processor has room for each of them.
    """
    if counts_cores(t):
        t.tree[1].cores = t.processors[0].free
        return
    node, low, high = t.nodes[t.processors[p].node], p, p
    if node.free_memory != node.ranked_memory:
        node.ranked_memory = node.free_memory
        low, high = node.first_processor, node.first_processor + node.processors - 1
    for changed in range(low, high + 1):
        write_leaf(t, changed)
    leaves = len(t.tree) // 2
    low, high = (low + leaves) >> 1, (high + leaves) >> 1
    while low > 0:
        for i in range(low, high + 1):
            write_branch(t.tree, i)
        low, high = low >> 1, high >> 1


@compiled
def best_key(t: Tables, policy: int, i: int) -> float:
    """Return the largest key of a policy below a row, minus infinity where no core is free."""
    return float(t.tree[i].key[policy - HIGH_GFLOPS])


@compiled
def better_below(t: Tables, policy: int, i: int) -> int:
    """Return which of the two rows below a row has the larger key, the left one if none."""
    return 2 * i + 1 if best_key(t, policy, 2 * i + 1) > best_key(t, policy, 2 * i) else 2 * i


@compiled
def is_beside(t: Tables, policy: int, p: int, beside: int) -> bool:
    """Tell whether a processor is left out beside another one, see `best_processor`."""
    return p == beside or (policy == HIGH_MEM and beside >= 0 and t.processors[p].node == t.processors[beside].node)


@compiled
def best_processor(t: Tables, policy: int, memory: float, gpus: float, beside: int) -> int:
    """Return the processor whose core a policy takes next, -1 if none has a free core with MB and GPUs on its node.

    *beside* (a processor or -1) is left out; with ``high_mem`` its whole node is, because it loses memory with it.
    """
    leaves = len(t.tree) // 2
    best, wanted, missed = -1, -np.inf, False
    i, width = 1, leaves  # a row, and how many processors there are below it, from i * width - leaves on
    while True:
        key = best_key(t, policy, i)
        found = key > wanted or (key == wanted and i * width - leaves < best)
        if found and t.tree[i].most >= memory:
            if i < leaves:
                i, width = better_below(t, policy, i), width >> 1
                continue
            p = i - leaves
            if is_beside(t, policy, p, beside) or not has_room(t, t.processors[p].node, memory, gpus):
                missed = True
            elif not missed:
                return p  # always where the larger key was
            else:
                best, wanted = p, key
        else:
            missed = True
        while i > 1 and i != better_below(t, policy, i >> 1):  # both have been looked at
            i, width = i >> 1, width << 1
        if i == 1:
            return best
        i ^= 1


@compiled
def processor_of(t: Tables, memory: float, gpus: float, core: int) -> tuple[int, int]:
    """Find one of the free cores with MB and GPUs on their nodes.

    Returns:
        The processor of number *core* of them, -1 if there are not so many, and how many there are before it.
    """
    leaves, before, i = len(t.tree) // 2, 0, 1
    while i > 0:
        row = t.tree[i]
        if row.cores > 0 and row.most >= memory:
            if i < leaves:
                all_have_room = gpus <= 0.0 and row.least >= memory
            else:
                all_have_room = has_room(t, t.processors[i - leaves].node, memory, gpus)
            inside = not all_have_room or before + row.cores > core
            if inside and i < leaves:
                i *= 2
                continue
            if all_have_room:
                if inside:
                    return i - leaves, before
                before += row.cores
        while i & 1:  # the rows on the right have nothing beside them; the root is one
            i >>= 1
        i += i > 0
    return -1, before


@compiled
def lowest_processor(t: Tables, memory: float, gpus: float) -> int:
    """Return the first processor that has a free core with MB and GPUs on its node, -1 if there is none."""
    p, _ = processor_of(t, memory, gpus, 0)
    return p


@compiled
def random_processor(t: Tables, memory: float, gpus: float) -> int:
    """Return the processor of a core drawn from the free ones with MB and GPUs on their node, -1 if there is none."""
    _, eligible = processor_of(t, memory, gpus, ALL)
    if eligible == 0:
        return -1
    p, _ = processor_of(t, memory, gpus, draw(t, eligible))
    return p
