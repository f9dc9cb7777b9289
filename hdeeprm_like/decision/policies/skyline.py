"""What is free from when on: the one structure in which modes reserve.

EASY, commit and learned policies reserve for the head of the queue: they ask when it is expected to fit (shadow time),
and what must be left for it then, and keep no date beside that. A mode that reserves for many jobs begins a skyline
from the running jobs, then starts the jobs in their order, or reserves for them where they fit first.

No mode knows what is counted: cores that may serve jobs (fewer than there are under a power cap), in a short structure
that stays valid between decisions (`core_profile`), or cores, memory and GPUs of each node (`node_profile`) if jobs
request more than cores or run whole on a node. Every job starts through `starting.start_if_fits`, which asks here
whether that delays a reservation.
"""

import numpy as np

from hdeeprm_like.decision.policies.core_profile import (
    Profile,
    are_sorted,
    begin_profile,
    earliest,
    is_free_until,
    is_overdue,
    occupy,
    sort_releases,
)
from hdeeprm_like.decision.policies.node_profile import (
    NONE,
    add_release,
    begin_changes,
    change_at_shadow,
    earliest_on_nodes,
    find_room,
    looks_at_nodes,
    needs_nodes,
    occupy_picked,
    pick_lowest,
)
from hdeeprm_like.decision.policies.plans import HEAD, Plans, planned_time
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_lists import entry_with
from hdeeprm_like.engine.numbers import FIRST_PREDICTED
from hdeeprm_like.engine.tables import Tables

# --- for the head of the queue


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
        i, plan.spare = entry_with(tables.running, plan.ends, -plan.spare)
        return float(tables.running.keys[i]) if i >= 0 else np.inf
    for i in range(sort_releases(tables, plans, k, moved)):
        other = plans.releases[i]
        if plan.on_nodes == 1:
            change_at_shadow(tables, plans, k, tables.jobs[other].first, other, 1)
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
    change_at_shadow(tables, plans, k, begin, j, -1)
    if plan.room >= tables.jobs[plan.head].size:
        return True
    change_at_shadow(tables, plans, k, begin, j, 1)
    return False


# --- for many jobs


@compiled
def begin_skyline(tables: Tables, plans: Plans, profile: Profile, k: int) -> None:
    """Make the skyline of the running jobs alone; an overdue one is expected to end in a second."""
    clock, plan = tables.clock[0], plans.plans[k]
    plan.on_nodes = 1 if needs_nodes(tables) else 0
    if plan.on_nodes == 1:
        begin_changes(tables, plans, k)
    begin_profile(profile, clock.now, clock.free_cores)
    last = 0
    for i in range(sort_releases(tables, plans, k, True)):
        time, j = plans.release_ends[i], plans.releases[i]
        if time > profile.slices[last].time:
            last += 1
            profile.slices[last].time, profile.slices[last].free = time, profile.slices[last - 1].free
            if plan.on_nodes == 1:
                plans.node_profile.first_change[last] = NONE
        cores = add_release(tables, plans, last, j) if plan.on_nodes == 1 else tables.jobs[j].size
        profile.slices[last].free += cores
    profile.count[0], profile.slices[last + 1].time = last + 1, np.inf


@compiled
def stays_valid(tables: Tables, plans: Plans, k: int) -> bool:
    """Return whether a skyline of now and its reservations serve later decisions, if jobs end when expected."""
    plan = plans.plans[k]
    if plan.changing or plan.times >= FIRST_PREDICTED:
        return False
    return not needs_nodes(tables) and not is_overdue(tables, plans, k)


@inlined
def could_start(tables: Tables, plans: Plans, profile: Profile, k: int, j: int) -> bool:
    """Return whether a job fits now around all reservations."""
    if plans.plans[k].on_nodes == 1:
        return bool(earliest_on_nodes(tables, plans, profile, k, j, 1) < np.inf)
    return is_free_until(profile, tables.jobs[j].size, profile.slices[0].time + planned_time(tables, plans, k, j))


@inlined
def earliest_start(tables: Tables, plans: Plans, profile: Profile, k: int, j: int) -> float:
    """Return the first date at which a job fits around all reservations, and pick its nodes; infinite for never."""
    if plans.plans[k].on_nodes == 0:
        return float(earliest(profile, tables.jobs[j].size, planned_time(tables, plans, k, j), tables.clock[0].now))
    begin = float(earliest_on_nodes(tables, plans, profile, k, j, profile.count[0]))
    if begin < np.inf:
        pick_lowest(tables, plans, j)
    return begin


@inlined
def take(tables: Tables, plans: Plans, profile: Profile, k: int, j: int, begin: float) -> None:
    """Reserve a job's capacity from a date on for as long as it is assumed to run."""
    end = begin + planned_time(tables, plans, k, j)
    if plans.plans[k].on_nodes == 1:
        occupy_picked(plans, profile, j, begin, end)
    else:
        occupy(profile, begin, end, tables.jobs[j].size)
