"""What keeps a job from starting under Slurm besides nodes: limits of associations and QOS, and closed nodes.

A limit bounds the sum of what its running jobs have, as ``GrpTRES=cpu=64`` or ``MaxJobs=4``. A job that would exceed
one is passed over by both schedulers: it closes no partition and gets no reservation, and those behind it may start.

A window closes nodes between two dates. Of a maintenance the schedulers know beforehand, and start no job there whose
limit reaches into it, as beside a reservation with the flag MAINT. Of nodes that are drained they learn when it
happens, and do not know until when: running jobs go on, and no other begins. Jobs that the open nodes cannot serve are
passed over, too.

Source: documentation of Slurm 22.05 ("Resource Limits", "Advanced Resource Reservation Guide").
"""

import numpy as np

from hdeeprm_like.decision.policies.node_plans import reserve_picked
from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.node_places import allow_set, as_idle, pick_nodes
from hdeeprm_like.engine.tables import ENDED, KIND_BITS, KIND_MASK, STARTED, Tables

TINY = 1e-9  # share of a limit by which sums of fractions may exceed it


@compiled
def count_running(tables: Tables, plans: Plans) -> None:
    """Book what jobs that have started or ended since the last look have of their limits."""
    rows, limits, clock = plans.slurm.params[0], plans.slurm.limits, tables.clock[0]
    if rows.counted == 0:
        for limit in range(len(limits.most)):
            limits.used[limit] = 0.0
    while rows.counted < clock.changes:
        change = tables.changes[rows.counted]
        kind, j = change & KIND_MASK, change >> KIND_BITS
        rows.counted += 1
        if kind in (STARTED, ENDED):
            sign = 1.0 if kind == STARTED else -1.0
            for i in range(limits.first[j], limits.first[j + 1]):
                limits.used[limits.limit[i]] += sign * limits.amount[i]


@inlined
def over_limit(tables: Tables, plans: Plans, j: int) -> bool:
    """Return whether a job would exceed a limit if it began now."""
    limits = plans.slurm.limits
    if len(limits.most) == 0:
        return False
    count_running(tables, plans)
    for i in range(limits.first[j], limits.first[j + 1]):
        limit = limits.limit[i]
        if limits.held[i] == 1 and limits.used[limit] + limits.amount[i] > limits.most[limit] * (1.0 + TINY):
            return True
    return False


@compiled
def close_windows(tables: Tables, plans: Plans) -> None:
    """Reserve the nodes of the windows that the schedulers know of, at the beginning of a pass over the queue."""
    limits, now = plans.slurm.limits, tables.clock[0].now
    for w in range(len(limits.windows)):
        window = limits.windows[w]
        if window.known <= now < window.gone:
            for n in range(len(tables.nodes)):
                tables.node_sets.picked[n] = limits.closed[w, n]
            reserve_picked(tables, plans, window.begin, window.end)


@compiled
def held_by_window(tables: Tables, plans: Plans, k: int, j: int) -> bool:
    """Return whether the nodes that no window closes while a job may run could not serve it, even if they were idle."""
    limits, sets, now = plans.slurm.limits, tables.node_sets, tables.clock[0].now
    if len(limits.windows) == 0:
        return False
    end, closed, open_nodes = now + planned_time(tables, plans, k, j), False, 0
    allow_set(tables, j)
    for w in range(len(limits.windows)):
        window = limits.windows[w]
        if window.known <= now < window.gone and window.begin < end and window.end > now:
            closed = True
            for n in range(len(tables.nodes)):
                if limits.closed[w, n] == 1:
                    sets.allowed[n] = 0
    if not closed:
        return False
    for n in range(len(tables.nodes)):
        open_nodes += sets.allowed[n]
    if open_nodes < max(sets.demands[j].nodes, 1):
        return True
    as_idle(tables)
    return not pick_nodes(tables, j)


@inlined
def pass_windows(tables: Tables, plans: Plans) -> None:
    """Make both schedulers look again where a window has opened or closed nodes since the last decision."""
    limits, rows, now = plans.slurm.limits, plans.slurm.params[0], tables.clock[0].now
    if len(limits.windows) == 0 or now < next_window(plans, rows.windows_seen):
        return
    rows.windows_seen = now
    rows.seen, rows.main_seen, rows.reordered = -1, -1, 1


@inlined
def next_window(plans: Plans, time: float) -> float:
    """Return the first date after a time at which a window opens or closes nodes; infinite for none."""
    limits, found = plans.slurm.limits, np.inf
    for w in range(len(limits.windows)):
        window = limits.windows[w]
        if window.known > time:
            found = min(found, window.known)
        if window.gone > time:
            found = min(found, window.gone)
    return found
