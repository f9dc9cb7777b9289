"""Placements that look at the network: cores of a job near each other, or far from each other.

Processors are in *parts*: a leaf switch of a fat tree, a ring of a torus, a group of a dragonfly, or, without a topology,
a node. Links within a part are shared with fewer jobs than those between parts.

| placement | part of the next cores |
|---|---|
| ``compact`` | the one before; at first, and where that is full, the smallest free part that takes all cores still wanted, or the largest free one if none does |
| ``spread`` | of each single core: the part with the most free cores |

Ties go to the lowest part; in a part the lowest processors come first.
"""  # noqa: E501

from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.numbers import COMPACT
from hdeeprm_like.engine.processor_keys import node_fits
from hdeeprm_like.engine.tables import Tables


@compiled
def neighbour(tables: Tables, policy: int, j: int, wanted: int, last: int) -> int:
    """Return the processor of the next cores of a job, -1 if none has capacity for one.

    Args:
        last: the processor before, -1 at the beginning.
    """
    job, best, most = tables.jobs[j], -1, 0
    near = tables.parts[last] if last >= 0 and policy == COMPACT else -1
    p, count = 0, len(tables.processors)
    while p < count:
        part, first, free = tables.parts[p], -1, 0
        while p < count and tables.parts[p] == part:
            if tables.loads[p].free > 0 and node_fits(tables, tables.processors[p].node, job.memory, job.gpus):
                first = p if first < 0 else first
                free += tables.loads[p].free
            p += 1
        if first < 0:
            continue
        if part == near:
            return first
        if free < most if policy == COMPACT and min(free, most) >= wanted else free > most:
            best, most = first, free
    return best
