"""Reservations of whole nodes for spans of time; with partitions, what is free on nodes and may be had beside these.

Baselines on platforms with partitions make such reservations again at each pass over the queue (`node_plans`);
guaranteed starts keep them (`guaranteed_nodes`). They stand apart from `node_profile`, which reserves single cores of
nodes: whole nodes leave less to others, so with either in the place of the other different jobs would start.
"""

import numpy as np

from hdeeprm_like.decision.policies.node_rows import NodeSpans
from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.engine.allocation import book_picked
from hdeeprm_like.engine.bundles import copy_entries
from hdeeprm_like.engine.compiled import compiled, inlined, shift_left
from hdeeprm_like.engine.job_lists import jobs_of
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.node_places import look_at_nodes, pick_nodes
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Ints


@compiled
def look_now(tables: Tables, plans: Plans) -> None:
    """Write the free capacity of each node now, and the free cores of each set, on all nodes and on idle ones."""
    sets, nodes = tables.node_sets, plans.node_plans
    look_at_nodes(tables)
    count = len(tables.nodes)
    copy_entries(plans.node_cores, 0, sets.cores, 0, count)
    copy_entries(plans.node_memory, 0, sets.memory, 0, count)
    copy_entries(plans.node_gpus, 0, sets.gpus, 0, count)
    free_leaving(tables, plans)
    if plans.slurm.preemption.state[0].suspends == 1:
        take_borrowed(tables, plans)
    for s in range(len(nodes.free)):
        free, idle = 0, 0
        for n in range(count):
            if sets.members[s, n] == 1:
                free += plans.node_cores[n]
                if plans.node_cores[n] == tables.nodes[n].cores:
                    idle += plans.node_cores[n]
        nodes.free[s], nodes.idle[s] = free, idle
    nodes.releases[0] = -1


@inlined
def free_leaving(tables: Tables, plans: Plans) -> None:
    """Count what jobs have that ended on nodes that are completing as free: for Slurm it is, but for the nodes."""
    sets, leaving = tables.node_sets, plans.slurm.leaving
    for i in range(plans.slurm.params[0].leaving):
        job, demand = tables.jobs[leaving[i]], sets.demands[leaving[i]]
        for hold in range(demand.first_hold, demand.first_hold + demand.held):
            n, cores = sets.hold_node[hold], sets.hold_cores[hold]
            plans.node_cores[n] += cores
            plans.node_memory[n] += cores * job.memory
            plans.node_gpus[n] += cores * job.gpus + demand.gpus


@compiled
def take_borrowed(tables: Tables, plans: Plans) -> None:
    """Count the memory and the GPUs of borrowed cores as taken: they are no cores of the engine's.

    Nor are they free when their borrower has ended.
    """
    rows, sets = plans.slurm.preemption.suspension, tables.node_sets
    for j in jobs_of(tables.running, plans.plans[0].ends):
        job, demand = tables.jobs[j], sets.demands[j]
        for hold in range(demand.first_hold, demand.first_hold + demand.held):
            plans.node_memory[sets.hold_node[hold]] -= rows.lent[hold] * job.memory
            plans.node_gpus[sets.hold_node[hold]] -= rows.lent[hold] * job.gpus
    for i in range(plans.slurm.params[0].leaving):
        demand = sets.demands[plans.slurm.leaving[i]]
        for hold in range(demand.first_hold, demand.first_hold + demand.held):
            plans.node_cores[sets.hold_node[hold]] -= rows.lent[hold]


@inlined
def has_cores(tables: Tables, plans: Plans, j: int) -> bool:
    """Return whether the nodes of a job's set have enough free cores now, on any of them."""
    demand = tables.node_sets.demands[j]
    if demand.exclusive == 1:
        return bool(demand.asked <= plans.node_plans.idle[demand.set])
    return bool(demand.asked <= plans.node_plans.free[demand.set])


@inlined
def allow_until(tables: Tables, plans: Plans, j: int, begin: float, end: float) -> None:
    """Allow a job the nodes of its set that are not reserved at any time between two dates in this pass."""
    allow_beside(tables, plans, plans.node_plans.spans, j, begin, end, -1)


@compiled
def allow_beside(tables: Tables, plans: Plans, spans: NodeSpans, j: int, begin: float, end: float, row: int) -> None:
    """Allow a job the nodes of its set that are not reserved at any time between two dates.

    Completing nodes are left out where jobs are kept off these.

    Args:
        row: a reservation that does not count, -1 for none.
    """
    sets, words = tables.node_sets, len(spans.bits)
    copy_entries(spans.bits, 0, sets.member_bits[sets.demands[j].set], 0, words)
    leave_reserved(spans, begin, end, row)
    if plans.slurm.params[0].avoid == 1:
        for w in range(words):
            spans.bits[w] &= ~plans.slurm.completing[w]
    for n in range(len(tables.nodes)):
        sets.allowed[n] = 1 if has_node(spans, n) else 0


@inlined
def as_now(tables: Tables, plans: Plans) -> None:
    """Set the plan of the nodes to their free capacity now."""
    sets, count = tables.node_sets, len(tables.nodes)
    copy_entries(sets.cores, 0, plans.node_cores, 0, count)
    copy_entries(sets.memory, 0, plans.node_memory, 0, count)
    copy_entries(sets.gpus, 0, plans.node_gpus, 0, count)


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


@compiled
def start_on_allowed(tables: Tables, plans: Plans, j: int) -> bool:
    """Start a job on the allowed nodes if it fits."""
    tables.clock[0].decisions += 1
    as_now(tables, plans)
    if not pick_nodes(tables, j):
        return False
    book_picked(tables, j)
    start_job(tables, j)
    look_now(tables, plans)
    return True


# --- spans


@inlined
def has_node(spans: NodeSpans, n: int) -> bool:
    """Return whether a node is among those in ``NodeSpans.bits``."""
    return bool((spans.bits[n >> 6] >> (n & 63)) & 1 == 1)


@inlined
def write_picked(spans: NodeSpans, picked: Ints) -> None:
    """Write to ``NodeSpans.bits`` the nodes on which cores are picked."""
    for w in range(len(spans.bits)):
        spans.bits[w] = 0
    for n in range(len(picked)):
        if picked[n] > 0:
            spans.bits[n >> 6] |= shift_left(1, n & 63)


@compiled
def keep_nodes(spans: NodeSpans, row: int, picked: Ints) -> None:
    """Give the reservation of a row the nodes on which cores are picked."""
    write_picked(spans, picked)
    copy_entries(spans.nodes[row], 0, spans.bits, 0, len(spans.bits))
    spans.anywhere[row] = 0


@inlined
def first_to_end(spans: NodeSpans, time: float) -> int:
    """Return the place in ``by_end`` of the first reservation that ends after a time, their number if none does."""
    low, high = 0, spans.count[0]
    while low < high:
        middle = (low + high) // 2
        if spans.ends[spans.by_end[middle]] > time:
            high = middle
        else:
            low = middle + 1
    return int(low)


@inlined
def next_end(spans: NodeSpans, time: float) -> float:
    """Return when the next reservation ends after a time; infinite if none does."""
    place = first_to_end(spans, time)
    return float(spans.ends[spans.by_end[place]]) if place < spans.count[0] else np.inf


@compiled
def reserve_span(spans: NodeSpans, row: int, begin: float, end: float) -> None:
    """Reserve the nodes of a row for a span of time."""
    place = spans.count[0]
    spans.count[0] += 1
    spans.begins[row], spans.ends[row] = begin, end
    while place > 0 and spans.ends[spans.by_end[place - 1]] > end:
        spans.by_end[place] = spans.by_end[place - 1]
        place -= 1
    spans.by_end[place] = row


@compiled
def drop_span(spans: NodeSpans, row: int) -> None:
    """Drop the reservation of a row."""
    spans.count[0] -= 1
    place = 0
    while spans.by_end[place] != row:
        place += 1
    for later in range(place, spans.count[0]):
        spans.by_end[later] = spans.by_end[later + 1]


@compiled
def leave_reserved(spans: NodeSpans, begin: float, end: float, row: int) -> None:
    """Remove from ``NodeSpans.bits`` the nodes that are reserved at any time between two dates.

    Args:
        row: a reservation that does not count, -1 for none.
    """
    for place in range(first_to_end(spans, begin), spans.count[0]):
        r = spans.by_end[place]
        if r == row or spans.begins[r] >= end:
            continue
        if spans.anywhere[r] == 1 and row >= 0 and spans.anywhere[row] == 1:
            continue
        for w in range(len(spans.bits)):
            spans.bits[w] &= ~spans.nodes[r, w]


@compiled
def are_reserved(spans: NodeSpans, begin: float, end: float) -> bool:
    """Return whether a node in ``NodeSpans.bits`` is reserved at any time between two dates."""
    for place in range(first_to_end(spans, begin), spans.count[0]):
        r = spans.by_end[place]
        if spans.begins[r] < end:
            for w in range(len(spans.bits)):
                if spans.nodes[r, w] & spans.bits[w] != 0:
                    return True
    return False
