"""The search for the processor of a job's next core in the tree of `processor_index`, for `processor_search`.

It descends only where the best key below a place beats the best found so far and where there may be memory: it takes
time logarithmic in the number of processors, and more only if many that rank high have no memory or GPUs left, or if
each is better than the one before.
"""

import numpy as np

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.numbers import HIGH_GFLOPS
from hdeeprm_like.engine.processor_index import larger
from hdeeprm_like.engine.processor_keys import node_fits
from hdeeprm_like.engine.tables import WIDTH, Tables


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
