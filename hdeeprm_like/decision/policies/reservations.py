"""What is reserved for the head of the queue: when it is to start, and what must be left for it then.

Every resource counts: cores that may serve jobs, which a power cap makes fewer than there are, and for a head that asks
for memory or GPUs, or whose cores must be on one node, what each node has left of cores, MB and GPUs. Whoever starts a
job beside the reservation goes through `starting.start_if_fits`, which asks here whether the job moves it.
"""

import numpy as np

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.decision.policies.plans import HEAD, Plans
from hdeeprm_like.decision.policies.releases import are_sorted, sort_releases
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.cores import available_in, begin_stretch, cores_from
from hdeeprm_like.engine.job_lists import key_at, place_with
from hdeeprm_like.engine.processor_index import counts_cores, places
from hdeeprm_like.engine.tables import Tables


@inlined
def looks_at_nodes(tables: Tables, j: int) -> bool:
    """Return whether a job needs more than a number of cores that may be anywhere."""
    job = tables.jobs[j]
    beside_cores = tables.clock[0].whole == 1 or job.memory > 0.0 or job.gpus > 0.0
    return bool(beside_cores and not counts_cores(tables))


@inlined
def room_on(tables: Tables, cores: float, memory: float, gpus: float, j: int) -> float:
    """Return for how many cores of a job a node has room; all or none where a node takes jobs whole.

    Args:
        cores, memory, gpus: what the node has free, MB.
    """
    job = tables.jobs[j]
    room = places(cores, memory, gpus, job.memory, job.gpus)
    if tables.clock[0].whole == 1:
        return float(job.size) if room >= job.size else 0.0
    return room


@inlined
def room_in_plan(tables: Tables, plans: Plans, n: int, j: int) -> float:
    """Return the same for a node as it is at the time that is looked at."""
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
    """Find for how many cores of the head there is room on the nodes now."""
    look_at_present(tables, plans)
    plans.plans[k].room = 0.0
    for n in range(len(tables.nodes)):
        plans.plans[k].room += room_in_plan(tables, plans, n, head)


@compiled
def give(tables: Tables, plans: Plans, k: int, begin: int, j: int, head: int, share: int) -> None:
    """Give what a job holds to the nodes at the time that is looked at, or take it from them.

    Args:
        begin: place of the job's first stretch in the allocation. head: whose room is counted.
        share: 1 to give, -1 to take.
    """
    plan, job = plans.plans[k], tables.jobs[j]
    for place in range(begin, begin + job.stretches):
        first, left, p = begin_stretch(tables, place)
        while left > 0:
            n, count = tables.processors[p].node, min(left, cores_from(tables, p, first))
            cores = share * available_in(tables, first, count)
            plan.room -= room_in_plan(tables, plans, n, head)
            plan.spare += cores
            plans.node_cores[n] += cores
            for _ in range(count):  # one after the other, as they are given back: without a rest
                plans.node_memory[n] += share * job.memory
                plans.node_gpus[n] += share * job.gpus
            plan.room += room_in_plan(tables, plans, n, head)
            first, left, p = first + count, left - count, p + 1


@compiled
def reserve(tables: Tables, plans: Plans, k: int, head: int, need: int) -> None:
    """Reserve for the head of the queue, which does not fit: find when it is expected to, and what is left over then.

    Cores that are released at that very time, but not needed for it, are not left over.

    Args:
        need: cores that must be free for it, no fewer than its own.
    """
    plan = plans.plans[k]
    plan.reserved, plan.head, plan.shadow = HEAD, head, np.inf
    plan.spare = tables.clock[0].free_cores - need
    plan.on_nodes = 1 if looks_at_nodes(tables, head) else 0
    if plan.on_nodes == 1:
        find_room(tables, plans, k, head)
    elif are_sorted(tables, plans, k):
        place, i, plan.spare = place_with(tables.running, plan.ends, -plan.spare)
        if place < tables.running.lists[plan.ends].blocks:
            plan.shadow = key_at(tables.running, plan.ends, place, i)
        return
    for i in range(sort_releases(tables, plans, k)):
        other = plans.releases[i]
        if plan.on_nodes == 1:
            give(tables, plans, k, tables.jobs[other].first, other, head, 1)
        else:
            plan.spare += tables.jobs[other].size
        if plan.spare >= 0 and (plan.on_nodes == 0 or plan.room >= tables.jobs[head].size):
            plan.shadow = plans.release_ends[i]
            return


@compiled
def leaves_to_head(tables: Tables, plans: Plans, k: int, j: int) -> bool:
    """Return whether a job whose cores are booked, and which outlives the reservation, leaves enough to the head.

    If so it is noted that it takes them; else they are to be given back. It requests no more than the spare cores.
    """
    plan = plans.plans[k]
    if plan.on_nodes == 0:
        plan.spare -= tables.jobs[j].size
        return True
    begin = tables.clock[0].placed
    give(tables, plans, k, begin, j, plan.head, -1)
    if plan.room >= tables.jobs[plan.head].size:
        return True
    give(tables, plans, k, begin, j, plan.head, 1)
    return False
