"""The skyline of nodes: free cores, MB and GPUs of each, at the shadow time of one job or from date to date for many.

The dates are those of a `core_profile`, with the number of free cores from each on. What a date changes on nodes is
stored, not what is free then, so it has as many dates as jobs need on any machine. It is rebuilt at each decision: the
expected ends of the running jobs, then one job after the other at the first date from which on it fits for its assumed
run time. Waiting jobs get the lowest of these nodes. Jobs that start now get the cores of the placement, or others if
some of these are reserved.
"""

import numpy as np

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.decision.policies.core_profile import Profile, slice_from
from hdeeprm_like.decision.policies.plans import ALL, Plans, planned_time
from hdeeprm_like.engine.allocation import book_on, return_cores
from hdeeprm_like.engine.bundles import copy_entries
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.cores import available_in, cores_of
from hdeeprm_like.engine.processor_keys import counts_cores, places
from hdeeprm_like.engine.tables import Tables

NONE = -1  # instead of a change
BEGIN, DATE, LEAST = 0, 1, 2  # rows of NodeProfile.cores and so on


@inlined
def looks_at_nodes(tables: Tables, j: int) -> bool:
    """Return whether a job needs more than a number of cores anywhere."""
    job = tables.jobs[j]
    beside_cores = tables.clock[0].whole == 1 or job.memory > 0.0 or job.gpus > 0.0
    return bool(beside_cores and not counts_cores(tables))


@inlined
def needs_nodes(tables: Tables) -> bool:
    """Return whether a waiting job needs more than a number of cores anywhere."""
    return bool((tables.clock[0].whole == 1 or tables.clock[0].demanding > 0) and not counts_cores(tables))


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
    plans.plans[k].head, plans.plans[k].room = head, 0.0
    for n in range(len(tables.nodes)):
        plans.plans[k].room += room_in_plan(tables, plans, n, head)


@compiled
def change_at_shadow(tables: Tables, plans: Plans, k: int, begin: int, j: int, share: int) -> None:
    """Return what a job holds to the nodes as planned for the head (``PLAN.head``), or take it from them.

    Args:
        begin: place of the job's first stretch in the allocation. share: 1 to return, -1 to take.
    """
    plan, job, head = plans.plans[k], tables.jobs[j], plans.plans[k].head
    for place in range(begin, begin + job.stretches):  # as `cores_of`, which made this a fourth slower
        first, left = tables.allocation[place].first, tables.allocation[place].cores
        p = tables.core_processor[first]
        while left > 0 and p < len(tables.processors):
            count = min(left, tables.processors[p].first_core + tables.processors[p].cores - first)
            n, cores = tables.processors[p].node, share * available_in(tables, first, count)
            plan.room -= room_in_plan(tables, plans, n, head)
            plan.spare += cores
            plans.node_cores[n] += cores
            plans.node_memory[n] += share * count * job.memory
            plans.node_gpus[n] += share * count * job.gpus
            plan.room += room_in_plan(tables, plans, n, head)
            first, left, p = first + count, left - count, p + 1


@inlined
def begin_changes(tables: Tables, plans: Plans, k: int) -> None:
    """Write the free capacity of nodes now, which no date changes yet."""
    profile, state = plans.node_profile, plans.node_profile.state[0]
    plans.plans[k].reserved = ALL
    state.changes, state.holds, profile.first_change[0] = 0, 0, NONE
    look_at_present(tables, plans)


@inlined
def add_release(tables: Tables, plans: Plans, i: int, j: int) -> int:
    """Add to the date of point *i* that a running job ends; return the cores that may serve others then."""
    first = plans.node_profile.state[0].holds
    note_nodes(tables, plans, tables.jobs[j].first, j)
    cores = store_picked(plans)
    add_change(plans, i, j, 1, first)
    return int(cores)


@compiled
def store_picked(plans: Plans) -> int:
    """Store the picked nodes as the next holds; return their cores."""
    profile, state, total = plans.node_profile, plans.node_profile.state[0], 0
    for n in range(len(profile.picked)):
        if profile.picked[n] > 0:
            profile.hold_node[state.holds], profile.hold_cores[state.holds] = n, profile.picked[n]
            state.holds += 1
            total += profile.picked[n]
    return int(total)


@inlined
def add_change(plans: Plans, i: int, j: int, share: int, first: int) -> None:
    """Add to a date that a job returns what it holds, all holds from *first* on, or takes it with *share* -1."""
    profile, state = plans.node_profile, plans.node_profile.state[0]
    change = profile.changes[state.changes]
    change.job, change.share, change.first_hold, change.held = j, share, first, state.holds - first
    change.next, profile.first_change[i] = profile.first_change[i], state.changes
    state.changes += 1


@compiled
def note_nodes(tables: Tables, plans: Plans, begin: int, j: int) -> None:
    """Write how many available cores a job has on each node.

    Args:
        begin: place of its first stretch in the allocation.
    """
    picked = plans.node_profile.picked
    for n in range(len(tables.nodes)):
        picked[n] = 0
    for p, first, count in cores_of(tables, begin, j):
        picked[tables.processors[p].node] += available_in(tables, first, count)


@compiled
def pass_date(tables: Tables, plans: Plans, at: int, i: int) -> None:
    """Change the free capacity of nodes in row *at* of ``NodeProfile.cores`` and so on by the changes of point *i*."""
    profile, c = plans.node_profile, plans.node_profile.first_change[i]
    while c != NONE:
        change = profile.changes[c]
        job = tables.jobs[change.job]
        for hold in range(change.first_hold, change.first_hold + change.held):
            n, cores = profile.hold_node[hold], change.share * profile.hold_cores[hold]
            profile.cores[at, n] += cores
            profile.memory[at, n] += cores * job.memory
            profile.gpus[at, n] += cores * job.gpus
        c = change.next


@inlined
def copy_capacity(plans: Plans, source: int, target: int) -> None:
    """Copy the free capacity of nodes from one row of ``NodeProfile.cores`` and so on to another."""
    profile, count = plans.node_profile, len(plans.node_profile.picked)
    copy_entries(profile.cores[target], 0, profile.cores[source], 0, count)
    copy_entries(profile.memory[target], 0, profile.memory[source], 0, count)
    copy_entries(profile.gpus[target], 0, profile.gpus[source], 0, count)


@compiled
def changes_at(plans: Plans, profile: Profile, date: float) -> int:
    """Return the slice that begins at a date after the first, inserted without changes if there is none."""
    first_change, count = plans.node_profile.first_change, profile.count[0]
    found = slice_from(profile, date)
    if profile.count[0] > count:
        copy_entries(first_change, found + 1, first_change, found, count - found)
        first_change[found] = NONE
    return int(found)


@compiled
def occupy_picked(plans: Plans, profile: Profile, j: int, begin: float, end: float) -> None:
    """Reserve a job's capacity on the picked nodes for a span of time."""
    holds = plans.node_profile.state[0].holds
    if end <= begin:
        return
    first = changes_at(plans, profile, begin)
    last = changes_at(plans, profile, end)
    cores = store_picked(plans)
    for i in range(first, last):
        profile.slices[i].free -= cores
    add_change(plans, first, j, -1, holds)
    add_change(plans, last, j, 1, holds)


@compiled
def earliest_on_nodes(tables: Tables, plans: Plans, profile: Profile, k: int, j: int, most: int) -> float:
    """Return the earliest date from which on a job fits for as long as it is assumed to run; infinite for never.

    The least capacity of nodes in that span stays in row LEAST of ``NodeProfile.cores`` and so on.

    Args:
        most: number of slices to try.
    """
    nodes, slices, count, i = plans.node_profile, profile.count[0], len(tables.nodes), 0
    time, size = planned_time(tables, plans, k, j), tables.jobs[j].size
    copy_entries(nodes.cores[BEGIN], 0, plans.node_cores, 0, count)
    copy_entries(nodes.memory[BEGIN], 0, plans.node_memory, 0, count)
    copy_entries(nodes.gpus[BEGIN], 0, plans.node_gpus, 0, count)
    while i < min(most, slices):
        end, last = profile.slices[i].time + time, i
        pass_date(tables, plans, BEGIN, i)
        while (last == i or profile.slices[last].time < end) and profile.slices[last].free >= size:
            last += 1
        if last > i and profile.slices[last].time >= end:
            find_least(tables, plans, i, last)
            room = 0.0
            for n in range(count):
                room += least_room(tables, plans, n, j)
            if room >= size:
                return float(profile.slices[i].time)
            last = i
        for n in range(i + 1, min(last + 1, slices)):  # any start until the last of these would meet it, too
            pass_date(tables, plans, BEGIN, n)
        i = last + 1
    return np.inf


@compiled
def find_least(tables: Tables, plans: Plans, first: int, end: int) -> None:
    """Find the least capacity of nodes from one point to before another one; that at the former is known."""
    profile = plans.node_profile
    copy_capacity(plans, BEGIN, LEAST)
    if end > first + 1:
        copy_capacity(plans, BEGIN, DATE)
    for i in range(first + 1, end):
        pass_date(tables, plans, DATE, i)
        c = profile.first_change[i]
        while c != NONE:
            change = profile.changes[c]
            for hold in range(change.first_hold, change.first_hold + (change.held if change.share < 0 else 0)):
                n = profile.hold_node[hold]
                profile.cores[LEAST, n] = min(profile.cores[LEAST, n], profile.cores[DATE, n])
                profile.memory[LEAST, n] = min(profile.memory[LEAST, n], profile.memory[DATE, n])
                profile.gpus[LEAST, n] = min(profile.gpus[LEAST, n], profile.gpus[DATE, n])
            c = change.next


@inlined
def least_room(tables: Tables, plans: Plans, n: int, j: int) -> float:
    """Return how many cores of a job fit on a node throughout the span."""
    profile = plans.node_profile
    return room_on(tables, float(profile.cores[LEAST, n]), profile.memory[LEAST, n], profile.gpus[LEAST, n], j)


@compiled
def pick_lowest(tables: Tables, plans: Plans, j: int) -> None:
    """Pick the lowest nodes that fit a job throughout the span."""
    left = tables.jobs[j].size
    for n in range(len(tables.nodes)):
        taken = min(left, int(least_room(tables, plans, n, j)))
        plans.node_profile.picked[n] = taken
        left -= taken


@compiled
def keep_to_profile(tables: Tables, plans: Plans, j: int) -> bool:
    """Move the cores booked for a job to other nodes if they are reserved during the span; return whether it fits."""
    picked = plans.node_profile.picked
    note_nodes(tables, plans, tables.clock[0].placed, j)
    for n in range(len(tables.nodes)):
        if picked[n] > 0 and least_room(tables, plans, n, j) < picked[n]:
            return_cores(tables, j)
            pick_lowest(tables, plans, j)
            return book_on(tables, picked, j)
    return True
