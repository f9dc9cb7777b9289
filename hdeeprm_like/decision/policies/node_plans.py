"""How baselines start jobs on a platform with partitions: with reservations of whole nodes.

One pass over the queue serves all of them. They differ in how many jobs of a partition that cannot start get nodes
reserved: none (greedy), the first (EASY), all (conservative). Where the order is strict, the first job of a partition
that cannot start closes all nodes of that partition for those behind it; so does Slurm's main scheduler.

A reservation holds whole nodes, from when the job is expected to start for as long as it asks for, and others that
would run into it get none of these nodes. Slurm's backfill does the same. No job behind the last one that there are
cores for now is looked at: it cannot start, and what is reserved for it nobody else needs to know.
"""

import numpy as np

from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.decision.policies.releases import sort_releases
from hdeeprm_like.engine.allocation import book_picked
from hdeeprm_like.engine.bundles import copy_entries
from hdeeprm_like.engine.compiled import compiled, inlined, shift_left
from hdeeprm_like.engine.job_lists import copy_jobs
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.node_places import look_at_nodes, pick_nodes
from hdeeprm_like.engine.tables import WAITING, Tables


@compiled
def look_now(tables: Tables, plans: Plans) -> None:
    """Write what is free now on each node, and how many cores in each set, on all nodes and on idle ones."""
    sets, nodes = tables.node_sets, plans.node_plans
    look_at_nodes(tables)
    count = len(tables.nodes)
    copy_entries(plans.node_cores, 0, sets.cores, 0, count)
    copy_entries(plans.node_memory, 0, sets.memory, 0, count)
    copy_entries(plans.node_gpus, 0, sets.gpus, 0, count)
    for s in range(len(nodes.free)):
        free, idle = 0, 0
        for n in range(count):
            if sets.members[s, n] == 1:
                free += sets.cores[n]
                if sets.cores[n] == tables.nodes[n].cores:
                    idle += sets.cores[n]
        nodes.free[s], nodes.idle[s] = free, idle
    nodes.state[0].releases = -1


@inlined
def has_cores(tables: Tables, plans: Plans, j: int) -> bool:
    """Tell whether the nodes of a job's set have enough free cores now, wherever they are."""
    demand = tables.node_sets.demands[j]
    if demand.exclusive == 1:
        return bool(demand.asked <= plans.node_plans.idle[demand.set])
    return bool(demand.asked <= plans.node_plans.free[demand.set])


@compiled
def allow_until(tables: Tables, plans: Plans, j: int, begin: float, end: float) -> None:
    """Allow a job the nodes of its set that are not reserved at any time between two dates."""
    sets, nodes = tables.node_sets, plans.node_plans
    words = len(nodes.bits)
    copy_entries(nodes.bits, 0, sets.member_bits[sets.demands[j].set], 0, words)
    for r in range(nodes.state[0].reservations):
        if nodes.begins[r] < end and nodes.ends[r] > begin:
            for w in range(words):
                nodes.bits[w] &= ~nodes.reserved[r, w]
    for n in range(len(tables.nodes)):
        sets.allowed[n] = (nodes.bits[n >> 6] >> (n & 63)) & 1


@inlined
def as_now(tables: Tables, plans: Plans) -> None:
    """Look at what is free on the nodes now."""
    sets, count = tables.node_sets, len(tables.nodes)
    copy_entries(sets.cores, 0, plans.node_cores, 0, count)
    copy_entries(sets.memory, 0, plans.node_memory, 0, count)
    copy_entries(sets.gpus, 0, plans.node_gpus, 0, count)


@compiled
def start_on_allowed(tables: Tables, plans: Plans, j: int) -> bool:
    """Start a job on the allowed nodes if there is room for it."""
    tables.clock[0].decisions += 1
    as_now(tables, plans)
    if not pick_nodes(tables, j):
        return False
    book_picked(tables, j)
    start_job(tables, j)
    look_now(tables, plans)
    return True


@compiled
def soonest_on_allowed(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return when the allowed nodes are expected to have room for a job by the running jobs; infinite for never."""
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
    """Return how many cores of the allowed nodes are free; no job that asks for more needs nodes picked."""
    sets, free = tables.node_sets, 0
    for n in range(len(tables.nodes)):
        free += sets.cores[n] * sets.allowed[n]
    return free


@inlined
def release(tables: Tables, j: int) -> int:
    """Take a running job off the nodes that are looked at; return how many of its cores are on allowed ones."""
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
    """Return when the first reservation ends after a time; infinite if none does."""
    nodes, place = plans.node_plans, first_to_end(plans, time)
    return float(nodes.ends[nodes.by_end[place]]) if place < nodes.state[0].reservations else np.inf


@compiled
def runs_into(tables: Tables, plans: Plans, begin: float, end: float) -> bool:
    """Tell whether a picked node is reserved at some time between two dates."""
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


@compiled
def soonest(tables: Tables, plans: Plans, k: int, j: int, time: float) -> float:
    """Return when a job can start beside the running jobs and what is reserved, and pick its nodes; infinite for never.

    Args:
        time: s that it is taken to run.
    """
    start = tables.clock[0].now
    while True:
        allow_until(tables, plans, j, start, start + time)
        found = soonest_on_allowed(tables, plans, k, j)
        later = next_end(plans, start)
        if found <= start:
            return float(start)
        if later < found:
            start = later
        elif found == np.inf:
            return np.inf
        elif runs_into(tables, plans, found, found + time):
            start = found
        else:
            return float(found)


@compiled
def reserve_picked(tables: Tables, plans: Plans, begin: float, end: float) -> None:
    """Reserve the picked nodes, if there is room for one more reservation."""
    nodes = plans.node_plans
    r = nodes.state[0].reservations
    if r == len(nodes.begins):
        return
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
    """Let no job behind have a node of a partition."""
    for n in range(len(tables.nodes)):
        tables.node_sets.picked[n] = tables.node_sets.partition_nodes[q, n]
    reserve_picked(tables, plans, -np.inf, np.inf)


@inlined
def forget_reservations(tables: Tables, plans: Plans) -> None:
    """Begin a pass over the queue."""
    nodes = plans.node_plans
    nodes.state[0].reservations = 0
    for q in range(len(nodes.taken)):
        nodes.taken[q] = 0


@compiled
def last_with_cores(tables: Tables, plans: Plans, count: int) -> int:
    """Return the last place in ``Plans.queue`` of a job that there are cores for now, -1 if there is none."""
    last = count - 1
    while last >= 0 and not has_cores(tables, plans, plans.queue[last]):
        last -= 1
    return last


@compiled
def start_strictly(tables: Tables, plans: Plans, k: int, most: int) -> None:
    """Start jobs in order; the first of a partition that does not fit closes all its nodes to those behind.

    Args:
        most: jobs that are looked at.
    """
    forget_reservations(tables, plans)
    count = min(copy_jobs(tables.waiting, plans.plans[k].list, plans.queue), most)
    last = last_with_cores(tables, plans, count)
    for i in range(last + 1):
        j = plans.queue[i]
        q = tables.node_sets.demands[j].partition
        if plans.node_plans.taken[q] == 1:
            continue
        allow_until(tables, plans, j, 0.0, np.inf)
        if not (has_cores(tables, plans, j) and start_on_allowed(tables, plans, j)):
            plans.node_plans.taken[q] = 1
            close_partition(tables, plans, q)


@compiled
def start_around_reservations(tables: Tables, plans: Plans, k: int, depth: int) -> None:
    """Start jobs in order that run into no reservation, and reserve nodes for *depth* others of each partition."""
    forget_reservations(tables, plans)
    plan, now = plans.plans[k], tables.clock[0].now
    count = copy_jobs(tables.waiting, plan.list, plans.queue)
    last = last_with_cores(tables, plans, count)
    for i in range(last + 1):
        j = plans.queue[i]
        q = tables.node_sets.demands[j].partition
        cores, wants = has_cores(tables, plans, j), plans.node_plans.taken[q] < depth
        if not cores and not wants:
            continue
        time = planned_time(tables, plans, k, j)
        if cores:
            allow_until(tables, plans, j, now, now + time)
            if start_on_allowed(tables, plans, j):
                continue
        if wants:
            begin = soonest(tables, plans, k, j, time)
            if begin < np.inf:
                plans.node_plans.taken[q] += 1
                reserve_picked(tables, plans, begin, begin + time)


@compiled
def start_candidates(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs that run into no reservation in the order of the candidates, behind the heads of EASY."""
    plan, now = plans.plans[k], tables.clock[0].now
    count = copy_jobs(tables.waiting, plan.candidates, plans.queue)
    for i in range(count):
        j = plans.queue[i]
        if tables.jobs[j].status == WAITING and has_cores(tables, plans, j):
            allow_until(tables, plans, j, now, now + planned_time(tables, plans, k, j))
            start_on_allowed(tables, plans, j)


@compiled
def reserve_heads(tables: Tables, plans: Plans, k: int) -> None:
    """Start the jobs of each partition up to the first that does not fit, and reserve nodes for that one."""
    forget_reservations(tables, plans)
    count = copy_jobs(tables.waiting, plans.plans[k].list, plans.queue)
    for i in range(count):
        j = plans.queue[i]
        q = tables.node_sets.demands[j].partition
        if plans.node_plans.taken[q] == 1:
            continue
        time, now = planned_time(tables, plans, k, j), tables.clock[0].now
        allow_until(tables, plans, j, now, now + time)
        if not start_on_allowed(tables, plans, j):
            begin = soonest(tables, plans, k, j, time)
            plans.node_plans.taken[q] = 1
            if begin < np.inf:
                reserve_picked(tables, plans, begin, begin + time)
