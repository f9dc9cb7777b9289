"""Job starts by baselines on a platform with partitions, with reservations of whole nodes.

One pass over the queue serves all baselines. They differ in how many blocked jobs of a partition get nodes reserved:
none (greedy), the first (EASY), all (conservative). In strict order, the first blocked job of a partition closes all
nodes of that partition to later jobs; so does Slurm's main scheduler.

A reservation holds whole nodes, from the expected start of the job for as long as it requests, and others that would
run into it get none of these nodes. Slurm's backfill does the same. If EASY's candidates have another order than the
queue, the heads of all partitions are served first, then the candidates. Jobs after the last one with enough free
cores are skipped: they cannot start, and no later job needs their reservations.
"""

import numpy as np

from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.decision.policies.releases import sort_releases
from hdeeprm_like.decision.policies.reserved_nodes import allow_until, as_now, has_cores
from hdeeprm_like.decision.policies.starting import sort_ties, start_if_fits
from hdeeprm_like.engine.compiled import callback, compiled, inlined, shift_left
from hdeeprm_like.engine.job_lists import copy_jobs
from hdeeprm_like.engine.node_places import pick_nodes
from hdeeprm_like.engine.tables import NOTHING, WAITING, Tables


@compiled
def soonest_on_allowed(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return when the allowed nodes are expected to fit a job, by the running jobs; infinite for never."""
    nodes, asked = plans.node_plans, tables.node_sets.demands[j].asked
    as_now(tables, plans)
    free = free_on_allowed(tables)
    if free >= asked and pick_nodes(tables, j):
        return float(tables.clock[0].now)
    if nodes.state[0].releases < 0:
        nodes.state[0].releases = sort_releases(tables, plans, k)
    for i in range(nodes.state[0].releases):
        cores = release(tables, plans.releases[i])
        free += cores
        if cores > 0 and free >= asked and pick_nodes(tables, j):
            return float(plans.release_ends[i])
    return np.inf


@inlined
def free_on_allowed(tables: Tables) -> int:
    """Return the number of free cores on the allowed nodes, an upper bound for jobs that can be placed there."""
    sets, free = tables.node_sets, 0
    for n in range(len(tables.nodes)):
        free += sets.cores[n] * sets.allowed[n]
    return free


@inlined
def release(tables: Tables, j: int) -> int:
    """Release a running job on the nodes of the plan; return how many of its cores are on allowed ones."""
    sets, job, demand, found = tables.node_sets, tables.jobs[j], tables.node_sets.demands[j], 0
    for i in range(demand.first_hold, demand.first_hold + demand.held):
        n, cores = sets.hold_node[i], sets.hold_cores[i]
        sets.cores[n] += cores
        sets.memory[n] += cores * job.memory
        sets.gpus[n] += cores * job.gpus + demand.gpus
        found += cores * sets.allowed[n]
    return found


@inlined
def first_to_end(plans: Plans, time: float) -> int:
    """Return the place in ``by_end`` of the first reservation that ends after a time, their number if none does."""
    nodes, low, high = plans.node_plans, 0, plans.node_plans.state[0].reservations
    while low < high:
        middle = (low + high) // 2
        if nodes.ends[nodes.by_end[middle]] > time:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def next_end(plans: Plans, time: float) -> float:
    """Return when the next reservation ends after a time; infinite if none does."""
    nodes, place = plans.node_plans, first_to_end(plans, time)
    return float(nodes.ends[nodes.by_end[place]]) if place < nodes.state[0].reservations else np.inf


@compiled
def runs_into(tables: Tables, plans: Plans, begin: float, end: float) -> bool:
    """Return whether a picked node is reserved at any time between two dates."""
    nodes = plans.node_plans
    write_picked(tables, plans)
    for r in range(nodes.state[0].reservations):
        if nodes.begins[r] < end and nodes.ends[r] > begin:
            for w in range(len(nodes.bits)):
                if nodes.reserved[r, w] & nodes.bits[w] != 0:
                    return True
    return False


@inlined
def write_picked(tables: Tables, plans: Plans) -> None:
    """Write the picked nodes as bits."""
    bits = plans.node_plans.bits
    for w in range(len(bits)):
        bits[w] = 0
    for n in range(len(tables.nodes)):
        if tables.node_sets.picked[n] > 0:
            bits[n >> 6] |= shift_left(1, n & 63)


@inlined
def touches_completing(tables: Tables, plans: Plans) -> bool:
    """Return whether a picked node is completing; a job that would start there waits for a second at least."""
    if plans.slurm.params[0].leaving == 0:
        return False
    write_picked(tables, plans)
    found = 0
    for w in range(len(plans.node_plans.bits)):
        found |= plans.node_plans.bits[w] & plans.slurm.completing[w]
    return bool(found != 0)


@compiled
def soonest(tables: Tables, plans: Plans, k: int, j: int, time: float) -> float:
    """Return when a job can start beside running jobs and reservations, and pick its nodes; infinite for never.

    Args:
        time: s, assumed run time.
    """
    start = tables.clock[0].now
    while True:
        allow_until(tables, plans, j, start, start + time)
        found = soonest_on_allowed(tables, plans, k, j)
        later = next_end(plans, start)
        if found <= start:
            return float(start)
        if later <= found and later < np.inf:  # nodes released at exactly that date may be lighter ones
            start = later
        elif found == np.inf:
            return np.inf
        elif runs_into(tables, plans, found, found + time):
            start = found
        else:
            return float(found)


@compiled
def reserve_picked(tables: Tables, plans: Plans, begin: float, end: float) -> None:
    """Reserve the picked nodes; each job, partition and window has at most one reservation."""
    nodes = plans.node_plans
    r = nodes.state[0].reservations
    nodes.state[0].reservations += 1
    nodes.begins[r], nodes.ends[r] = begin, end
    place = r
    while place > 0 and nodes.ends[nodes.by_end[place - 1]] > end:
        nodes.by_end[place] = nodes.by_end[place - 1]
        place -= 1
    nodes.by_end[place] = r
    write_picked(tables, plans)
    for w in range(len(nodes.bits)):
        nodes.reserved[r, w] = nodes.bits[w]


@compiled
def close_partition(tables: Tables, plans: Plans, q: int) -> None:
    """Close the nodes of a partition to all later jobs."""
    for n in range(len(tables.nodes)):
        tables.node_sets.picked[n] = tables.node_sets.partition_nodes[q, n]
    reserve_picked(tables, plans, -np.inf, np.inf)


@inlined
def forget_reservations(tables: Tables, plans: Plans) -> None:
    """Clear the reservations at the beginning of a pass over the queue."""
    nodes = plans.node_plans
    nodes.state[0].reservations = 0
    for q in range(len(nodes.taken)):
        nodes.taken[q] = 0


@compiled
def last_with_cores(tables: Tables, plans: Plans, count: int) -> int:
    """Return the last place in ``Plans.queue`` of a job with enough free cores now, -1 if there is none."""
    last = count - 1
    while last >= 0 and not has_cores(tables, plans, plans.queue[last]):
        last -= 1
    return last


@compiled
def start_strictly(tables: Tables, plans: Plans, k: int, most: int) -> None:
    """Start jobs in order; the first of a partition that does not fit closes all its nodes to later jobs.

    Args:
        most: number of jobs to examine.
    """
    forget_reservations(tables, plans)
    count = min(copy_jobs(tables.waiting, plans.plans[k].list, plans.queue), most)
    last = last_with_cores(tables, plans, count)
    for i in range(last + 1):
        j = plans.queue[i]
        q = tables.node_sets.demands[j].partition
        if plans.node_plans.taken[q] == 1:
            continue
        if not (has_cores(tables, plans, j) and start_if_fits(tables, plans, k, j) == NOTHING):
            plans.node_plans.taken[q] = 1
            close_partition(tables, plans, q)


@callback
def start_around_guarantees(tables: Tables, plans: Plans, k: int) -> None:
    """Start every job, in order, that fits around the guaranteed starts of all others."""
    count = copy_jobs(tables.waiting, plans.plans[k].list, plans.queue)
    for i in range(count):
        if has_cores(tables, plans, plans.queue[i]):
            start_if_fits(tables, plans, k, plans.queue[i])


@compiled
def start_around_reservations(tables: Tables, plans: Plans, k: int, depth: int) -> None:
    """Start jobs in order around the reservations, and reserve nodes for *depth* blocked jobs of each partition."""
    forget_reservations(tables, plans)
    count = copy_jobs(tables.waiting, plans.plans[k].list, plans.queue)
    last = last_with_cores(tables, plans, count)
    for i in range(last + 1):
        j = plans.queue[i]
        q = tables.node_sets.demands[j].partition
        cores, wants = has_cores(tables, plans, j), plans.node_plans.taken[q] < depth
        if not cores and not wants:
            continue
        if cores and start_if_fits(tables, plans, k, j) == NOTHING:
            continue
        if wants:
            time = planned_time(tables, plans, k, j)
            begin = soonest(tables, plans, k, j, time)
            if begin < np.inf:
                plans.node_plans.taken[q] += 1
                reserve_picked(tables, plans, begin, begin + time)


@compiled
def start_candidates(tables: Tables, plans: Plans, k: int, sorts: bool) -> None:
    """Start jobs around the reservations in the order of the candidates, after the heads of EASY.

    Args:
        sorts: whether candidates with equal sort keys are taken as in the queue.
    """
    count = copy_jobs(tables.waiting, plans.plans[k].candidates, plans.queue)
    if sorts:
        sort_ties(tables, plans, k, count)
    for i in range(count):
        j = plans.queue[i]
        if tables.jobs[j].status == WAITING and has_cores(tables, plans, j):
            start_if_fits(tables, plans, k, j)


@compiled
def reserve_heads(tables: Tables, plans: Plans, k: int) -> None:
    """Start the jobs of each partition up to the first that does not fit, and reserve nodes for it."""
    forget_reservations(tables, plans)
    count = copy_jobs(tables.waiting, plans.plans[k].list, plans.queue)
    for i in range(count):
        j = plans.queue[i]
        q = tables.node_sets.demands[j].partition
        if plans.node_plans.taken[q] == 1:
            continue
        if start_if_fits(tables, plans, k, j) != NOTHING:
            time = planned_time(tables, plans, k, j)
            begin = soonest(tables, plans, k, j, time)
            plans.node_plans.taken[q] = 1
            if begin < np.inf:
                reserve_picked(tables, plans, begin, begin + time)
