"""When a job fits beside the running jobs, as ``select/cons_tres`` finds it for Slurm's backfill.

The running jobs are removed by the ends of their limits, not one by one but all that end within 30 s, then 60 s and so
on, so that late dates are found in few tries, and too late. ``select/linear`` removes them one by one. All these dates
are whole seconds.

Source: documentation and source text of Slurm 22.05.8, and its behaviour on recorded queues.
"""

import numpy as np

from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.decision.policies.reserved_nodes import free_on_allowed, release
from hdeeprm_like.decision.policies.slurm_looks import has_ended
from hdeeprm_like.decision.policies.slurm_priorities import whole_second
from hdeeprm_like.decision.policies.slurm_suspension import (
    as_seen,
    keep_shared,
    suspended_for,
    suspends,
    takes_from,
)
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_lists import jobs_of
from hdeeprm_like.engine.node_places import pick_nodes
from hdeeprm_like.engine.tables import Tables

FIRST_SPAN = 30.0  # s, first span; jobs that end within one span are removed together
MOST_TAKEN = 201  # most jobs removed together
KILL_WAIT = 30.0  # s, Slurm's KillWait, after which a job over its limit is expected to be gone


@inlined
def multiple(tables: Tables, time: float, step: float) -> float:
    """Round a time down to a multiple of a step, on the clock of the trace."""
    epoch = tables.clock[0].epoch
    return float(np.floor((time + epoch) / step + 1e-9) * step - epoch)


@compiled
def room_at_all(tables: Tables, plans: Plans, k: int, j: int, now: float) -> float:
    """Return when the nodes of a job's set have enough free cores for it, ignoring reservations.

    A lower bound of its start; infinite for never.
    """
    nodes, sets, demand = plans.node_plans, tables.node_sets, tables.node_sets.demands[j]
    free = nodes.free[demand.set]
    if free >= demand.asked or plans.slurm.preemption.state[0].beside == 1:
        return now
    sort_limits(tables, plans, k)
    for i in range(nodes.releases[0]):
        of = sets.demands[plans.releases[i]]
        for hold in range(of.first_hold, of.first_hold + of.held):
            free += sets.hold_cores[hold] * sets.members[demand.set, sets.hold_node[hold]]
        if free >= demand.asked:
            return float(plans.release_ends[i])
    return np.inf


@compiled
def sort_limits(tables: Tables, plans: Plans, k: int) -> None:
    """Write the running jobs by the end of their limits, then by row, and these ends, unless still valid."""
    if plans.node_plans.releases[0] >= 0:
        return
    count = 0
    for j in jobs_of(tables.running, plans.plans[k].ends):
        if plans.slurm.params[0].leaving > 0 and has_ended(tables, plans, j):
            continue
        end = whole_second(tables, tables.jobs[j].start) + planned_time(tables, plans, k, j)
        end += suspended_for(tables, plans, j)
        place = count
        while place > 0:
            other = plans.release_ends[place - 1]
            if other < end or (other == end and plans.releases[place - 1] < j):
                break
            plans.releases[place], plans.release_ends[place] = plans.releases[place - 1], other
            place -= 1
        plans.releases[place], plans.release_ends[place] = j, end
        count += 1
    plans.node_plans.releases[0] = count


@compiled
def soonest_by_spans(tables: Tables, plans: Plans, k: int, j: int, now: float, latest: float) -> float:
    """Return when a job is expected to fit on the allowed nodes, by the limits of the running jobs.

    That is the end of the last removed job; infinite if the job does not fit until *latest*.
    """
    nodes, rows, asked = plans.node_plans, plans.slurm.params[0], tables.node_sets.demands[j].asked
    as_seen(tables, plans)
    free, released = free_on_allowed(tables), 0
    if free >= asked and pick_nodes(tables, j):
        return now
    sort_limits(tables, plans, k)
    count, i, barrier, span = nodes.releases[0], 0, -np.inf, FIRST_SPAN
    while i < count:
        last, taken = -np.inf, 0
        while i < count and taken <= MOST_TAKEN:
            end = plans.release_ends[i]
            cores = cores_on_allowed(tables, plans, j, plans.releases[i])
            i += 1
            if cores == 0:
                continue
            if end > latest:
                return np.inf
            free += cores
            if barrier == -np.inf:
                barrier = multiple(tables, end, FIRST_SPAN) + FIRST_SPAN
            last = end
            taken += 1
            if rows.linear == 1 or (i < count and plans.release_ends[i] > barrier + span):
                break
        if taken > MOST_TAKEN:
            continue
        if last == -np.inf:
            break
        span += rows.wider if rows.wider > 0.0 else span
        while i < count and plans.release_ends[i] > barrier + span:
            span += rows.wider if rows.wider > 0.0 else span
        if free >= asked:
            while released < i:
                release(tables, plans.releases[released])
                if suspends(plans):
                    keep_shared(tables, plans, j, released)
                released += 1
            if pick_nodes(tables, j):
                return float(last if last > now else max(last + KILL_WAIT, now + 1.0))
    return np.inf


@inlined
def cores_on_allowed(tables: Tables, plans: Plans, j: int, running: int) -> int:
    """Return how many cores a running job has on allowed nodes; none that a job gets by suspending it."""
    sets, demand, found = tables.node_sets, tables.node_sets.demands[running], 0
    if plans.slurm.preemption.state[0].beside == 1 and takes_from(plans, j, running):
        return 0
    for i in range(demand.first_hold, demand.first_hold + demand.held):
        found += sets.hold_cores[i] * sets.allowed[sets.hold_node[i]]
    return int(found)
