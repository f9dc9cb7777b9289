"""Placement as bin packing: how well a job and a node go together.

Kinds of resources are cores, memory and GPUs, all as shares of what the node has in all; a kind that it lacks counts 0.

| placement | score of a job on a node |
|---|---|
| ``best_fit`` | minus the sum over the kinds of what would be left free (004, section II.A: "the fewest resources remaining") |
| ``tetris`` | sum over the kinds of what the job takes there times what is free (Grandl et al., "Multi-resource packing for cluster schedulers", 2014, the heuristic of 000, table 5.10) |
| ``tetris_srtf`` | the same; in the mode ``packing`` jobs with little work go first, see `decision.policies.easy` (Grandl et al., 3.3) |

Both sources put a job on one machine. So a node that can take the whole job goes before all that cannot; a job too wide
for any takes all it can of the best, then of the next best. Ties go to the lowest node; in a node the lowest processors
come first.
"""  # noqa: E501

from collections.abc import Callable

import numpy as np

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dispatch import by_number, check_numbers
from hdeeprm_like.engine.fitting import places_on
from hdeeprm_like.engine.numbers import BEST_FIT, PACKINGS, TETRIS, TETRIS_SRTF
from hdeeprm_like.engine.processor_index import node_fits
from hdeeprm_like.engine.tables import Tables

WHOLE = 10.0  # more than any two scores differ by
ALIKE = 1e-9  # scores that differ by less do so by the rounding of what is free


@compiled
def score(tables: Tables, policy: int, j: int, wanted: int, n: int, free: int) -> float:
    """Return how well *wanted* cores of a job and a node with so many free ones go together; minus infinity if none."""
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
    """Tell whether the score of `best_node` is that of a node which takes the whole job."""
    return found > WHOLE / 2.0


@inlined
def left_over(taken: float, free: float, total: float) -> float:
    """Return minus what would be left free."""
    return float(-(free - taken) / total)


@inlined
def alignment(taken: float, free: float, total: float) -> float:
    """Return what the job takes times what is free."""
    return float(taken / total * (free / total))


SHARES: dict[int, Callable[[float, float, float], float]] = {
    BEST_FIT: left_over,
    TETRIS: alignment,
    TETRIS_SRTF: alignment,
}
"""What one kind of resource adds to the score of a packing, by number."""

check_numbers("packings", PACKINGS, SHARES, "engine.packing.SHARES")


@inlined
@by_number("policy", SHARES)
def share_of_kind(policy: int, taken: float, free: float, total: float) -> float:
    """Return what one kind of resource adds to a score; nan where there is no such packing."""
    return np.nan


@compiled
def share(policy: int, taken: float, free: float, total: float) -> float:
    """Return what one kind of resource adds to a score, nothing if the node has none of it."""
    return 0.0 if total <= 0.0 else share_of_kind(policy, taken, free, total)


@compiled
def best_node(tables: Tables, policy: int, j: int, wanted: int) -> tuple[int, float]:
    """Return the first processor with a free core of the node that goes best with a job, -1 if none, and the score."""
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
    """Return where the next cores of a job come from: the node of the *last* processor if it has room, else the best.

    Args:
        last: -1 at the beginning.
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
