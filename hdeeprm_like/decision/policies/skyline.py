"""What is free from when on: one skyline for the modes that reserve for many jobs.

A mode begins it from the running jobs, then starts the jobs in its order, or reserves for them where they fit first. It
does not know what is counted: cores anywhere (`core_profile`), which is short and stays valid between decisions, or the
cores, memory and GPUs of each node (`node_profile`) if a waiting job requests more than cores, or jobs run whole on a
node. All reservations are spans of assumed run times.
"""

import numpy as np

from hdeeprm_like.decision.policies.core_profile import Profile, earliest, is_free_now, occupy
from hdeeprm_like.decision.policies.node_profile import (
    begin_dates,
    earliest_on_nodes,
    needs_nodes,
    occupy_picked,
    pick_lowest,
)
from hdeeprm_like.decision.policies.plans import NO_JOB, Plans, planned_time
from hdeeprm_like.decision.policies.releases import is_overdue, sort_releases
from hdeeprm_like.decision.policies.starting import start_if_fits
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.numbers import FIRST_PREDICTED
from hdeeprm_like.engine.tables import NOTHING, Tables


@compiled
def begin_skyline(tables: Tables, plans: Plans, profile: Profile, k: int) -> None:
    """Make the skyline of the running jobs alone; an overdue one is expected to end in a second."""
    clock = tables.clock[0]
    plans.plans[k].on_nodes = 1 if needs_nodes(tables) else 0
    if plans.plans[k].on_nodes == 1:
        begin_dates(tables, plans, k)
        return
    profile.points[0], profile.time[0], profile.free[0] = 1, clock.now, clock.free_cores
    for i in range(sort_releases(tables, plans, k, True)):
        time, cores, last = plans.release_ends[i], tables.jobs[plans.releases[i]].size, profile.points[0] - 1
        if time > profile.time[last]:
            last += 1
            profile.time[last], profile.free[last] = time, profile.free[last - 1]
            profile.points[0] += 1
        profile.free[last] += cores


@inlined
def end_skyline(plans: Plans, k: int) -> None:
    """Let jobs that start after this decision disregard the reservations made in it."""
    plans.plans[k].reserved = NO_JOB


@compiled
def stays_valid(tables: Tables, plans: Plans, k: int) -> bool:
    """Return whether a skyline of now and its reservations serve later decisions, if jobs end when expected."""
    plan = plans.plans[k]
    if plan.changing or plan.times >= FIRST_PREDICTED:
        return False
    return not needs_nodes(tables) and not is_overdue(tables, plans, k)


@compiled
def could_start(tables: Tables, plans: Plans, profile: Profile, k: int, j: int, need: int) -> bool:
    """Return whether a job fits now around all reservations.

    Args:
        need: cores that must be free for it, no fewer than its own.
    """
    time = planned_time(tables, plans, k, j)
    if plans.plans[k].on_nodes == 1:
        return bool(earliest_on_nodes(tables, plans, k, j, need, time, 1) < np.inf)
    return is_free_now(profile, need, time)


@compiled
def start_beside(tables: Tables, plans: Plans, profile: Profile, k: int, j: int, need: int) -> bool:
    """Start a job if it fits now around all reservations; return whether it has started."""
    if not could_start(tables, plans, profile, k, j, need) or start_if_fits(tables, plans, k, j) != NOTHING:
        return False
    take(tables, plans, profile, k, j, tables.clock[0].now, 1)
    return True


@compiled
def start_or_reserve(tables: Tables, plans: Plans, profile: Profile, k: int, j: int, need: int) -> float:
    """Start a job if it fits now around all reservations, else reserve for it; return when it starts.

    That is infinite, and nothing is reserved, if it never fits, or no cores were found for it although it fits.

    Args:
        need: cores that must be free for it, no fewer than its own.
    """
    now, time = tables.clock[0].now, planned_time(tables, plans, k, j)
    if plans.plans[k].on_nodes == 1:
        begin = float(earliest_on_nodes(tables, plans, k, j, need, time, plans.node_profile.state[0].points))
        if now < begin < np.inf:
            pick_lowest(tables, plans, j)
    else:
        begin = float(earliest(profile, need, time, now))
    if begin == now and start_if_fits(tables, plans, k, j) != NOTHING:
        begin = np.inf
    if begin < np.inf:
        take(tables, plans, profile, k, j, begin, 1)
    return float(begin)


@inlined
def take(tables: Tables, plans: Plans, profile: Profile, k: int, j: int, begin: float, share: int) -> None:
    """Reserve a job's capacity from a date on for as long as it is assumed to run.

    Args:
        share: 1, or -1 to give it back, where cores are counted.
    """
    end = begin + planned_time(tables, plans, k, j)
    if plans.plans[k].on_nodes == 1:
        occupy_picked(tables, plans, k, j, begin, end)
    else:
        occupy(profile, begin, end, share * tables.jobs[j].size)
