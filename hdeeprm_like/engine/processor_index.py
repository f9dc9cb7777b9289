"""Which processor next: those with free cores in a tree in which each core policy finds its choice (thesis table 3.2).

``Tables.tree`` holds groups of eight seats. On level 0 the seats are the processors in their order, on each next level
the groups of the one before, until one group holds all. A seat tells the best that is to be found there, so that a
search goes down only where that is better than what it has and where there may be room: it takes the logarithm of the
number of processors, and more only where many that rank high have no memory or GPUs left, or each is better than the
one before.
"""

import numpy as np

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.numbers import HIGH_CORES, HIGH_GFLOPS, HIGH_MEM, HIGH_MEM_BW, LOW_POWER
from hdeeprm_like.engine.tables import RANKINGS, WIDTH, Tables
from hdeeprm_like.engine.waiting_queue import draw

ALL = 1 << 62  # more cores than there are


@inlined
def counts_cores(t: Tables) -> bool:
    """Tell whether the cores of the only processor are counted and have no names, see `State`."""
    return len(t.allocation) == 0


@inlined
def processor_key(t: Tables, policy: int, p: int) -> float:
    """Return what a core policy maximizes; ties go to the lowest core number, that is to the lowest processor.

    Peak figures for ``high_gflops`` and ``low_power``; what is left now for the others.
    """
    processor = t.processors[p]
    if policy == HIGH_GFLOPS:
        return float(processor.flops[0])
    if policy == HIGH_CORES:
        return float(t.loads[p].free)
    if policy == HIGH_MEM:
        return float(t.rooms[processor.node].free_memory)
    if policy == HIGH_MEM_BW:
        return float(processor.bandwidth - t.loads[p].used_bandwidth)
    return float(-processor.watts[0])


@inlined
def has_room(t: Tables, n: int, memory: float, gpus: float) -> bool:
    """Tell whether a node has so many MB and GPUs free, but for the rounding errors of what its jobs took."""
    node, room = t.nodes[n], t.rooms[n]
    if room.free_memory < memory - node.memory * ROUNDING:
        return False
    return bool(gpus <= 0.0 or room.free_gpus >= gpus - node.gpus * ROUNDING)


@compiled
def rank_processor(t: Tables, p: int) -> None:
    """Write the seat of a processor."""
    group, i, load, n = t.tree[p // WIDTH], p % WIDTH, t.loads[p], t.processors[p].node
    group.cores[i] = load.free
    if load.free == 0:
        group.most[i], group.least[i] = -np.inf, np.inf
        for ranking in range(RANKINGS):
            group.key[ranking, i] = -np.inf
        return
    free = t.rooms[n].free_memory
    group.most[i], group.least[i] = free + 2.0 * ROUNDING * t.nodes[n].memory, free
    # one line for each, for which the policy is known when this is compiled
    group.key[HIGH_GFLOPS - HIGH_GFLOPS, i] = processor_key(t, HIGH_GFLOPS, p)
    group.key[HIGH_CORES - HIGH_GFLOPS, i] = processor_key(t, HIGH_CORES, p)
    group.key[HIGH_MEM - HIGH_GFLOPS, i] = processor_key(t, HIGH_MEM, p)
    group.key[HIGH_MEM_BW - HIGH_GFLOPS, i] = processor_key(t, HIGH_MEM_BW, p)
    group.key[LOW_POWER - HIGH_GFLOPS, i] = processor_key(t, LOW_POWER, p)


@inlined
def best_key(t: Tables, ranking: int, row: int) -> float:
    """Return the largest key in a group."""
    group = t.tree[row]
    best = group.key[ranking, 0]
    for i in range(1, WIDTH):
        key = group.key[ranking, i]
        best = key if key > best else best
    return float(best)


@compiled
def rank_group(t: Tables, level: int, seat: int) -> None:
    """Write the seat of a group on the level above it."""
    below, group, i = t.tree[t.levels[level - 1] + seat], t.tree[t.levels[level] + seat // WIDTH], seat % WIDTH
    for ranking in range(RANKINGS):
        group.key[ranking, i] = best_key(t, ranking, t.levels[level - 1] + seat)
    most, least, cores = below.most[0], below.least[0], below.cores[0]
    for k in range(1, WIDTH):
        most, least = max(most, below.most[k]), min(least, below.least[k])
        cores += below.cores[k]
    group.most[i], group.least[i], group.cores[i] = most, least, cores


def rank_all(t: Tables) -> None:
    """Write the whole tree of an idle cluster."""
    groups, nodes = t.tree, t.processors["node"]
    free, memory = t.loads["free"], t.rooms["free_memory"][nodes]
    keys = np.stack(
        [
            t.processors["flops"][:, 0],
            free.astype(np.float64),
            memory,
            t.processors["bandwidth"] - t.loads["used_bandwidth"],
            -t.processors["watts"][:, 0],
        ]
    )
    most, least, cores = memory + 2.0 * ROUNDING * t.nodes["memory"][nodes], memory, free
    taken = free == 0
    keys, most, least = np.where(taken, -np.inf, keys), np.where(taken, -np.inf, most), np.where(taken, np.inf, least)
    for first in t.levels.tolist():
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
    t.rooms["ranked_memory"] = t.rooms["free_memory"]


@compiled
def rank(t: Tables, p: int) -> None:
    """Bring the tree up to date after what is free on a processor, or on its node, has changed.

    Where cores are counted their number is all that matters, for the only processor has room for each of them.
    """
    if counts_cores(t):
        t.tree[0].cores[0] = t.loads[0].free
        return
    n, low, high = t.processors[p].node, p, p
    room = t.rooms[n]
    if room.free_memory != room.ranked_memory:
        room.ranked_memory = room.free_memory
        low = t.nodes[n].first_processor
        high = low + t.nodes[n].processors - 1
    for changed in range(low, high + 1):
        rank_processor(t, changed)
    for level in range(1, len(t.levels)):
        low, high = low // WIDTH, high // WIDTH
        for seat in range(low, high + 1):
            rank_group(t, level, seat)


@compiled
def hide(t: Tables, policy: int, p: int) -> None:
    """Leave a processor out of what a policy finds until it is ranked anew, with ``high_mem`` its whole node.

    With that policy all processors of a node lose memory together.
    """
    ranking, low, high = policy - HIGH_GFLOPS, p, p
    if policy == HIGH_MEM:
        node = t.nodes[t.processors[p].node]
        low, high = node.first_processor, node.first_processor + node.processors - 1
        t.rooms[t.processors[p].node].ranked_memory = np.nan
    for hidden in range(low, high + 1):
        t.tree[hidden // WIDTH].key[ranking, hidden % WIDTH] = -np.inf
    for level in range(1, len(t.levels)):
        low, high = low // WIDTH, high // WIDTH
        for seat in range(low, high + 1):
            key = best_key(t, ranking, t.levels[level - 1] + seat)
            t.tree[t.levels[level] + seat // WIDTH].key[ranking, seat % WIDTH] = key


@compiled
def best_processor(t: Tables, policy: int, memory: float, gpus: float) -> int:
    """Return the processor whose core a policy takes next, -1 if none has a free core with MB and GPUs on its node."""
    ranking, level, seat, first = policy - HIGH_GFLOPS, len(t.levels) - 1, 0, -np.inf
    while level >= 0:
        group, best, at = t.tree[t.levels[level] + seat], -np.inf, -1
        for i in range(WIDTH):
            key = group.key[ranking, i]
            better = (key > best) & (group.most[i] >= memory)
            best, at = key if better else best, i if better else at
        if at < 0 or best < first:
            break  # where the best are there is no room
        level, seat, first = level - 1, seat * WIDTH + at, best
    if level < 0 and has_room(t, t.processors[seat].node, memory, gpus):
        return seat
    return best_by_looking(t, ranking, memory, gpus)


@compiled
def best_by_looking(t: Tables, ranking: int, memory: float, gpus: float) -> int:
    """Return the same, with a look at all groups in their order that may hold a better one than those before."""
    top = len(t.levels) - 1
    best, wanted = -1, -np.inf
    level, seat = top, 0
    while True:
        group, i = t.tree[t.levels[level] + seat // WIDTH], seat % WIDTH
        while i < WIDTH and not (group.key[ranking, i] > wanted and group.most[i] >= memory):
            i += 1
        seat = seat - seat % WIDTH + i
        if i < WIDTH and level > 0:
            level, seat = level - 1, seat * WIDTH
            continue
        if i < WIDTH:
            if has_room(t, t.processors[seat].node, memory, gpus):
                best, wanted = seat, group.key[ranking, i]
            seat += 1
        while seat % WIDTH == 0:  # all of a group has been looked at
            if level == top:
                return best
            level, seat = level + 1, seat // WIDTH


@compiled
def processor_of(t: Tables, memory: float, gpus: float, core: int) -> tuple[int, int]:
    """Find one of the free cores with MB and GPUs on their nodes.

    Returns:
        The processor of number *core* of them, -1 if there are not so many, and how many there are before it.
    """
    top = len(t.levels) - 1
    before, level, seat = 0, top, 0
    while True:
        group, i = t.tree[t.levels[level] + seat // WIDTH], seat % WIDTH
        if group.cores[i] > 0 and group.most[i] >= memory:
            if level > 0:
                all_have_room = gpus <= 0.0 and group.least[i] >= memory
            else:
                all_have_room = has_room(t, t.processors[seat].node, memory, gpus)
            inside = not all_have_room or before + group.cores[i] > core
            if inside and level > 0:
                level, seat = level - 1, seat * WIDTH
                continue
            if all_have_room:
                if inside:
                    return seat, before
                before += group.cores[i]
        seat += 1
        while seat % WIDTH == 0:  # all of a group has been looked at
            if level == top:
                return -1, before
            level, seat = level + 1, seat // WIDTH


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
