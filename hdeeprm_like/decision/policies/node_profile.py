"""Availability profile per node: free cores, MB and GPUs from date to date, for reservations of many jobs.

It replaces the profile of cores (`conservative`) if a waiting job requests memory or GPUs, or jobs run whole on a node.
It is rebuilt at each decision: the expected ends of the running jobs, then one job after the other at the first date
from which on it fits for its assumed run time. Waiting jobs get the lowest of these nodes. Jobs that start now get the
cores of the placement, or others if some of these are reserved.
"""

import numpy as np

from hdeeprm_like.decision.policies.plans import ALL, NO_JOB, Plans
from hdeeprm_like.decision.policies.releases import sort_releases
from hdeeprm_like.decision.policies.reservations import look_at_present, room_on
from hdeeprm_like.engine.allocation import book_on, return_cores
from hdeeprm_like.engine.bundles import copy_entries
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.cores import available_in, begin_stretch, cores_from
from hdeeprm_like.engine.processor_keys import counts_cores, places
from hdeeprm_like.engine.tables import Tables


@inlined
def needs_nodes(tables: Tables) -> bool:
    """Return whether a waiting job needs more than a number of cores anywhere."""
    return bool((tables.clock[0].whole == 1 or tables.clock[0].demanding > 0) and not counts_cores(tables))


@compiled
def begin_dates(tables: Tables, plans: Plans, k: int) -> None:
    """Write the free capacity of nodes now, and from each end of a running job on."""
    profile, plan, count = plans.node_profile, plans.plans[k], len(tables.nodes)
    plan.reserved, plan.on_nodes, profile.points[0] = ALL, 1, 1
    look_at_present(tables, plans)
    profile.rows[0], profile.dates[0], profile.usable[0] = 0, tables.clock[0].now, tables.clock[0].free_cores
    copy_entries(profile.cores[0], 0, plans.node_cores, 0, count)
    copy_entries(profile.memory[0], 0, plans.node_memory, 0, count)
    copy_entries(profile.gpus[0], 0, plans.node_gpus, 0, count)
    for i in range(sort_releases(tables, plans, k)):
        j, row = plans.releases[i], profile.points[0] - 1
        if plans.release_ends[i] > profile.dates[row]:
            if 2 * profile.points[0] >= len(profile.dates):
                return  # later releases are ignored, which leaves dates for reservations
            copy_row(plans, row, row + 1)
            row = row + 1
            profile.rows[row], profile.dates[row] = row, plans.release_ends[i]
            profile.points[0] += 1
        note_nodes(tables, plans, tables.jobs[j].first, j)
        add_picked(tables, plans, row, j, 1)


@inlined
def copy_row(plans: Plans, source: int, target: int) -> None:
    """Copy the row of one date to another."""
    profile, count = plans.node_profile, len(plans.node_profile.picked)
    profile.usable[target] = profile.usable[source]
    copy_entries(profile.cores[target], 0, profile.cores[source], 0, count)
    copy_entries(profile.memory[target], 0, profile.memory[source], 0, count)
    copy_entries(profile.gpus[target], 0, profile.gpus[source], 0, count)


@compiled
def note_nodes(tables: Tables, plans: Plans, begin: int, j: int) -> None:
    """Write how many available cores a job has on each node.

    Args:
        begin: place of its first stretch in the allocation.
    """
    picked = plans.node_profile.picked
    for n in range(len(tables.nodes)):
        picked[n] = 0
    for place in range(begin, begin + tables.jobs[j].stretches):
        first, left, p = begin_stretch(tables, place)
        while left > 0:
            count = min(left, cores_from(tables, p, first))
            picked[tables.processors[p].node] += available_in(tables, first, count)
            first, left, p = first + count, left - count, p + 1


@compiled
def add_picked(tables: Tables, plans: Plans, row: int, j: int, share: int) -> None:
    """Add the capacity that a job has on the picked nodes to a row, or subtract it with *share* -1."""
    profile, job = plans.node_profile, tables.jobs[j]
    for n in range(len(tables.nodes)):
        cores = share * profile.picked[n]
        if cores != 0:
            profile.usable[row] += cores
            profile.cores[row, n] += cores
            profile.memory[row, n] += cores * job.memory
            profile.gpus[row, n] += cores * job.gpus


@compiled
def place_at(plans: Plans, date: float) -> int:
    """Return the place of a date after the first, inserted if there is none."""
    profile = plans.node_profile
    low, high = 0, profile.points[0]
    while low < high:
        middle = (low + high) // 2
        if profile.dates[profile.rows[middle]] < date:
            low = middle + 1
        else:
            high = middle
    if low == profile.points[0] or profile.dates[profile.rows[low]] > date:
        for i in range(profile.points[0], low, -1):
            profile.rows[i] = profile.rows[i - 1]
        profile.rows[low], profile.dates[profile.points[0]] = profile.points[0], date
        copy_row(plans, profile.rows[low - 1], profile.points[0])
        profile.points[0] += 1
    return int(low)


@compiled
def occupy_picked(tables: Tables, plans: Plans, k: int, j: int, begin: float, end: float) -> None:
    """Reserve a job's capacity on the picked nodes for a span of time; skip it if there are too many dates."""
    profile = plans.node_profile
    if end <= begin or profile.points[0] + 2 > len(profile.dates):
        return
    first = place_at(plans, begin)
    last = place_at(plans, end)
    for i in range(first, last):
        add_picked(tables, plans, profile.rows[i], j, -1)


@compiled
def earliest_on_nodes(tables: Tables, plans: Plans, k: int, j: int, need: int, time: float, most: int) -> float:
    """Return the earliest date from which on a job fits for a span of time; infinite for never.

    The least capacity of nodes in that span stays in ``NodeProfile.least_cores`` and so on.

    Args:
        need: cores that must be free for it, no fewer than its own. most: number of dates to try.
    """
    profile, i = plans.node_profile, 0
    points = profile.points[0]
    while i < min(most, points):
        row = profile.rows[i]
        end, last = profile.dates[row] + time, i
        while last == i or (last < points and profile.dates[profile.rows[last]] < end):
            if profile.usable[profile.rows[last]] < need:
                break
            last += 1
        if last == i or (last < points and profile.dates[profile.rows[last]] < end):
            i = last + 1  # any start until then would meet it, too
            continue
        begin_least(plans, row)
        for n in range(i + 1, last):
            lower_least(plans, profile.rows[n])
        room = 0.0
        for n in range(len(tables.nodes)):
            room += least_room(tables, plans, n, j)
        if room >= tables.jobs[j].size:
            return float(profile.dates[row])
        i += 1
    return np.inf


@inlined
def begin_least(plans: Plans, row: int) -> None:
    """Begin a span: copy the capacity of nodes from a row."""
    profile, count = plans.node_profile, len(plans.node_profile.picked)
    copy_entries(profile.least_cores, 0, profile.cores[row], 0, count)
    copy_entries(profile.least_memory, 0, profile.memory[row], 0, count)
    copy_entries(profile.least_gpus, 0, profile.gpus[row], 0, count)


@inlined
def lower_least(plans: Plans, row: int) -> None:
    """Extend a span: lower the capacity of nodes to that of another row."""
    profile = plans.node_profile
    for n in range(len(profile.picked)):
        profile.least_cores[n] = min(profile.least_cores[n], profile.cores[row, n])
        profile.least_memory[n] = min(profile.least_memory[n], profile.memory[row, n])
        profile.least_gpus[n] = min(profile.least_gpus[n], profile.gpus[row, n])


@inlined
def least_room(tables: Tables, plans: Plans, n: int, j: int) -> float:
    """Return how many cores of a job fit on a node throughout the span."""
    profile = plans.node_profile
    return room_on(tables, float(profile.least_cores[n]), profile.least_memory[n], profile.least_gpus[n], j)


@compiled
def pick_lowest(tables: Tables, plans: Plans, j: int) -> None:
    """Pick the lowest nodes that fit a job throughout the span."""
    left = tables.jobs[j].size
    for n in range(len(tables.nodes)):
        taken = min(left, int(least_room(tables, plans, n, j)))
        plans.node_profile.picked[n] = taken
        left -= taken


@compiled
def keep_to_profile(tables: Tables, plans: Plans, j: int) -> None:
    """Move the cores booked for a job to other nodes if they are reserved during the span."""
    profile, job = plans.node_profile, tables.jobs[j]
    note_nodes(tables, plans, tables.clock[0].placed, j)
    for n in range(len(tables.nodes)):
        cores, memory, gpus = float(profile.least_cores[n]), profile.least_memory[n], profile.least_gpus[n]
        if profile.picked[n] > 0 and places(cores, memory, gpus, job.memory, job.gpus) < profile.picked[n]:
            return_cores(tables, j)
            pick_lowest(tables, plans, j)
            book_on(tables, profile.picked, j)
            return


@inlined
def end_dates(plans: Plans, k: int) -> None:
    """Reset the span to the present, without reservations."""
    plans.plans[k].reserved = NO_JOB
