"""Whether a job fits now: on cores anywhere, or entirely on one node, with memory and GPUs.

Compiled functions on ``Tables``.
"""

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.engine.called_on_nodes import call_fits, call_fits_on
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.processor_keys import node_fits, places
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Ints


@inlined
def fits_any_node(tables: Tables, first_processor: Ints, n: int, j: int) -> bool:
    """Return whether a node can take all cores of a job now, where jobs may run on all nodes."""
    job, free = tables.jobs[j], 0
    for p in range(first_processor[n], first_processor[n + 1]):
        free += tables.loads[p].free
    return bool(job.size <= free and node_fits(tables, n, job.size * job.memory, job.size * job.gpus))


@compiled
def fits_on(tables: Tables, first_processor: Ints, n: int, j: int) -> bool:
    """Return whether a node can take all cores of a job now.

    Args:
        first_processor: (N + 1,) where the processors of each node begin.
    """
    if tables.clock[0].partitioned:
        return call_fits_on(tables, n, j) == 1
    return fits_any_node(tables, first_processor, n, j)


@compiled
def fits_some_node(tables: Tables, first_processor: Ints, j: int) -> bool:
    """Return whether some node can take all cores of a job now.

    Args:
        first_processor: (N + 1,) where the processors of each node begin.
    """
    if tables.jobs[j].size > tables.clock[0].free_cores:
        return False
    for n in range(len(tables.nodes)):  # noqa: SIM110 - compiled code has no any()
        if fits_on(tables, first_processor, n, j):
            return True
    return False


@compiled
def fits(tables: Tables, j: int) -> bool:
    """Return whether a job can start now on cores anywhere."""
    return fits_now(tables, j)


@inlined
def fits_now(tables: Tables, j: int) -> bool:
    """Return whether a job can start now, with partitions on nodes of its set."""
    if tables.clock[0].partitioned:
        return call_fits(tables, j) == 1
    return fits_anywhere(tables, j)


@inlined
def fits_anywhere(tables: Tables, j: int) -> bool:
    """Return whether a job can start now where it may run on all nodes."""
    job = tables.jobs[j]
    only_cores = job.memory <= 0.0 and job.gpus <= 0.0
    return bool(job.size <= tables.clock[0].free_cores and (only_cores or has_places(tables, j)))


@compiled
def has_places(tables: Tables, j: int) -> bool:
    """Return whether the nodes have memory and GPUs for a job on their free cores."""
    found, n, free = 0.0, -1, 0
    for p in range(len(tables.processors)):
        if tables.processors[p].node != n:
            found += places_on(tables, n, free, j)
            n, free = tables.processors[p].node, 0
        free += tables.loads[p].free
    return bool(found + places_on(tables, n, free, j) >= tables.jobs[j].size)


@compiled
def places_on(tables: Tables, n: int, free: int, j: int) -> float:
    """Return how many cores of a job fit on a node with *free* free cores."""
    if free == 0:
        return 0.0
    job, node, room = tables.jobs[j], tables.nodes[n], tables.node_loads[n]
    memory, gpus = room.free_memory + node.memory * ROUNDING, room.free_gpus + node.gpus * ROUNDING
    return places(float(free), memory, gpus, job.memory, job.gpus)
