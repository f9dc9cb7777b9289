"""The reservation for the head of the queue: its expected start (shadow time), and what must be left for it then.

Every resource counts: cores that may serve jobs (fewer than there are under a power cap), and, for a head that requests
memory or GPUs, or whose cores must be on one node, the free cores, MB and GPUs of each node. Every job start beside the
reservation goes through `starting.start_if_fits`, which checks here whether the job delays it.
"""

import numpy as np

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.decision.policies.plans import HEAD, Plans
from hdeeprm_like.decision.policies.releases import are_sorted, sort_releases
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.cores import available_in, cores_of
from hdeeprm_like.engine.job_lists import key_at, place_with
from hdeeprm_like.engine.processor_keys import counts_cores, places
from hdeeprm_like.engine.tables import Tables


@inlined
def looks_at_nodes(tables: Tables, j: int) -> bool:
    """Return whether a job needs more than a number of cores anywhere."""
    job = tables.jobs[j]
    beside_cores = tables.clock[0].whole == 1 or job.memory > 0.0 or job.gpus > 0.0
    return bool(beside_cores and not counts_cores(tables))


@inlined
def room_on(tables: Tables, cores: float, memory: float, gpus: float, j: int) -> float:
    """Return how many cores of a job fit on a node; all or none if nodes take jobs whole.

    Args:
        cores, memory, gpus: free capacity of the node, MB.
    """
    job = tables.jobs[j]
    room = places(cores, memory, gpus, job.memory, job.gpus)
    if tables.clock[0].whole == 1:
        return float(job.size) if room >= job.size else 0.0
    return room


@inlined
def room_in_plan(tables: Tables, plans: Plans, n: int, j: int) -> float:
    """Return the same for a node as planned in ``Plans.node_cores`` and so on."""
    return room_on(tables, float(plans.node_cores[n]), plans.node_memory[n], plans.node_gpus[n], j)


@compiled
def look_at_present(tables: Tables, plans: Plans) -> None:
    """Write what is free on each node now."""
    for n in range(len(tables.nodes)):
        node, left = tables.nodes[n], tables.node_loads[n]
        plans.node_cores[n] = 0
        plans.node_memory[n] = left.free_memory + node.memory * ROUNDING
        plans.node_gpus[n] = left.free_gpus + node.gpus * ROUNDING
    for p in range(len(tables.processors)):
        plans.node_cores[tables.processors[p].node] += tables.loads[p].free


@compiled
def find_room(tables: Tables, plans: Plans, k: int, head: int) -> None:
    """Count how many cores of the head fit on the nodes now."""
    look_at_present(tables, plans)
    plans.plans[k].room = 0.0
    for n in range(len(tables.nodes)):
        plans.plans[k].room += room_in_plan(tables, plans, n, head)


@compiled
def change_at_shadow(tables: Tables, plans: Plans, k: int, begin: int, j: int, head: int, share: int) -> None:
    """Return what a job holds to the nodes as planned at the shadow time, or take it from them.

    Args:
        begin: place of the job's first stretch in the allocation. head: the job whose fitting cores are counted.
        share: 1 to return, -1 to take.
    """
    plan, job = plans.plans[k], tables.jobs[j]
    for p, first, count in cores_of(tables, begin, j):
        n, cores = tables.processors[p].node, share * available_in(tables, first, count)
        plan.room -= room_in_plan(tables, plans, n, head)
        plan.spare += cores
        plans.node_cores[n] += cores
        for _ in range(count):  # one after the other, as on release: without a rounding error
            plans.node_memory[n] += share * job.memory
            plans.node_gpus[n] += share * job.gpus
        plan.room += room_in_plan(tables, plans, n, head)


@compiled
def find_shadow(tables: Tables, plans: Plans, k: int, head: int, need: int, moved: bool) -> float:
    """Return when a job that does not fit is expected to, and note the spare capacity then; infinite for never.

    Cores that are released at exactly that time, but not needed for it, are not spare.

    Args:
        need: cores that must be free for it, no fewer than its own. moved: as in `sort_releases`.
    """
    plan = plans.plans[k]
    plan.spare = tables.clock[0].free_cores - need
    plan.on_nodes = 1 if looks_at_nodes(tables, head) else 0
    if plan.on_nodes == 1:
        find_room(tables, plans, k, head)
    elif are_sorted(tables, plans, k, moved):
        place, i, plan.spare = place_with(tables.running, plan.ends, -plan.spare)
        found = place < tables.running.lists[plan.ends].blocks
        return key_at(tables.running, plan.ends, place, i) if found else np.inf
    for i in range(sort_releases(tables, plans, k, moved)):
        other = plans.releases[i]
        if plan.on_nodes == 1:
            change_at_shadow(tables, plans, k, tables.jobs[other].first, other, head, 1)
        else:
            plan.spare += tables.jobs[other].size
        if plan.spare >= 0 and (plan.on_nodes == 0 or plan.room >= tables.jobs[head].size):
            return float(plans.release_ends[i])
    return np.inf


@inlined
def reserve(tables: Tables, plans: Plans, k: int, head: int, need: int) -> None:
    """Reserve for the head of the queue, which does not fit; *need* as in `find_shadow`."""
    plan = plans.plans[k]
    plan.reserved, plan.head, plan.shadow = HEAD, head, find_shadow(tables, plans, k, head, need, True)


@compiled
def leaves_to_head(tables: Tables, plans: Plans, k: int, j: int) -> bool:
    """Return whether a job with booked cores that outlives the reservation leaves enough to the head.

    If so, its use of spare capacity is recorded; else the caller releases the cores. It fits the spare cores.
    """
    plan = plans.plans[k]
    if plan.on_nodes == 0:
        plan.spare -= tables.jobs[j].size
        return True
    begin = tables.clock[0].placed
    change_at_shadow(tables, plans, k, begin, j, plan.head, -1)
    if plan.room >= tables.jobs[plan.head].size:
        return True
    change_at_shadow(tables, plans, k, begin, j, plan.head, 1)
    return False
