"""Placement as bin packing: scores of a job on a node.

Resources are cores, memory and GPUs, as shares of the node's capacity; a resource that the node lacks counts 0.

| placement | score of a job on a node |
|---|---|
| ``best_fit`` | minus the sum over resources of what would be left free (004, section II.A: "the fewest resources remaining") |
| ``tetris`` | sum over resources of what the job takes there times what is free (Grandl et al., "Multi-resource packing for cluster schedulers", 2014, the heuristic of 000, table 5.10) |
| ``tetris_srtf`` | the same; in the mode ``packing`` jobs with little work go first, see `decision.policies.easy` (Grandl et al., 3.3) |

Both sources put a job on one machine. So a node that can take the whole job precedes all that cannot; a job too wide
for any node fills the best node, then the next best. Ties go to the lowest node; in a node the lowest processors come
first.
"""  # noqa: E501

from collections.abc import Callable

import numpy as np

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dispatch import by_number, check_numbers
from hdeeprm_like.engine.fitting import places_on
from hdeeprm_like.engine.numbers import BEST_FIT, PACKINGS, TETRIS, TETRIS_SRTF
from hdeeprm_like.engine.processor_keys import node_fits
from hdeeprm_like.engine.tables import Tables

WHOLE = 10.0  # larger than any difference of two scores
ALIKE = 1e-9  # smaller differences of scores are rounding errors


@compiled
def score(tables: Tables, policy: int, j: int, wanted: int, n: int, free: int) -> float:
    """Return the score of *wanted* cores of a job on a node with *free* free cores; minus infinity if none fits."""
    job, node, room = tables.jobs[j], tables.nodes[n], tables.node_loads[n]
    taken = min(float(wanted), places_on(tables, n, free, j))
    if taken < 1.0:
        return -np.inf
    found = share(policy, taken, float(free), float(node.cores))
    found += share(policy, taken * job.memory, room.free_memory, node.memory)
    found += share(policy, taken * job.gpus, room.free_gpus, node.gpus)
    return float(found + WHOLE if taken == wanted else found)


@compiled
def is_whole(found: float) -> bool:
    """Return whether a score of `best_node` is that of a node which takes the whole job."""
    return found > WHOLE / 2.0


@inlined
def left_over(taken: float, free: float, total: float) -> float:
    """Return minus the share left free."""
    return float(-(free - taken) / total)


@inlined
def alignment(taken: float, free: float, total: float) -> float:
    """Return the share taken times the share free."""
    return float(taken / total * (free / total))


SHARES: dict[int, Callable[[float, float, float], float]] = {
    BEST_FIT: left_over,
    TETRIS: alignment,
    TETRIS_SRTF: alignment,
}
"""Terms of the packing scores for one resource, by placement number."""

check_numbers("packings", PACKINGS, SHARES, "engine.packing.SHARES")


share_of_kind = by_number(SHARES)


@compiled
def share(policy: int, taken: float, free: float, total: float) -> float:
    """Return the term of one resource in a score, 0 if the node has none of it."""
    return 0.0 if total <= 0.0 else share_of_kind(policy, taken, free, total)


@compiled
def best_node(tables: Tables, policy: int, j: int, wanted: int) -> tuple[int, float]:
    """Return the first processor with a free core of the best-scoring node for a job, -1 if none, and the score."""
    best, best_score = -1, -np.inf
    p = 0
    while p < len(tables.processors):
        n, first, free = tables.processors[p].node, -1, 0
        while p < len(tables.processors) and tables.processors[p].node == n:
            if first < 0 and tables.loads[p].free > 0:
                first = p
            free += tables.loads[p].free
            p += 1
        found = score(tables, policy, j, wanted, n, free)
        if found > best_score + ALIKE:
            best, best_score = first, found
    return best, best_score


@compiled
def packed_processor(tables: Tables, policy: int, j: int, wanted: int, last: int) -> int:
    """Return the processor of the next cores of a job: on the node of *last* if one fits there, else on the best.

    Args:
        last: the processor before, -1 at the beginning.
    """
    job = tables.jobs[j]
    if last >= 0 and node_fits(tables, tables.processors[last].node, job.memory, job.gpus):
        p = last
        while p < len(tables.processors) and tables.processors[p].node == tables.processors[last].node:
            if tables.loads[p].free > 0:
                return p
            p += 1
    best, _ = best_node(tables, policy, j, wanted)
    return best
