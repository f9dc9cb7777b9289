"""Preemption as in Slurm: a running job gives way to one of a higher tier or QOS, and is cancelled or requeued.

A job that does not fit is tried once more without the jobs that may give way: of low rank first, then those on few
nodes, then the first submitted, one after the other until it fits. Once more, beginning with the last of these and
then with those on most of the nodes that it would get; those on its nodes then end. It starts when their nodes are
clean; the end of each makes the main scheduler look at once.

Jobs that may take the place of others come before those in the queue, whatever their priority (`preemption_rows`).
A job that has begun keeps its place for ``PreemptExemptTime``. A requeued one has lost its work, and may start
again after two minutes, for which Slurm keeps its credential.

Source: documentation of Slurm 22.05 ("Preemption"), and its behaviour on recorded queues.
"""

import numpy as np

from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.decision.policies.preemption_rows import OFF, REQUEUE, SUSPEND
from hdeeprm_like.decision.policies.reserved_nodes import as_now, release
from hdeeprm_like.decision.policies.slurm_looks import DEEP, has_ended
from hdeeprm_like.decision.policies.slurm_priorities import own_priority, sort_by_priority
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dates import SAME_DATE
from hdeeprm_like.engine.job_lists import jobs_of
from hdeeprm_like.engine.node_places import pick_nodes
from hdeeprm_like.engine.tables import ENDED, ENDS_NOW, KIND_BITS, KIND_MASK, Tables
from hdeeprm_like.engine.waiting_queue import enqueue

LAST = 1 << 40  # more than any number of nodes


@inlined
def preempts(plans: Plans) -> bool:
    """Return whether any job may take the place of another."""
    return bool(plans.slurm.preemption.state[0].on == 1)


@inlined
def waits_again(tables: Tables, plans: Plans, j: int) -> bool:
    """Return whether a requeued job may not start yet."""
    return preempts(plans) and plans.slurm.preemption.arrival[j] > tables.clock[0].now + SAME_DATE


@compiled
def queue_again(tables: Tables, plans: Plans, k: int) -> None:
    """Put the jobs that have given way back into the queue, and make both schedulers look when such a job may start."""
    rows, clock, params = plans.slurm.preemption, tables.clock[0], plans.slurm.params[0]
    state, back = rows.state[0], 0
    while state.read < clock.changes:
        change = tables.changes[state.read]
        j = change >> KIND_BITS
        state.read += 1
        if change & KIND_MASK != ENDED or rows.ends[j] == 0:
            continue
        rows.ends[j] = 0
        params.due = max(params.due, DEEP)
        if rows.mode[rows.of_job[j]] == REQUEUE:
            clock.completed -= 1
            clock.places += tables.jobs[j].stretches  # its cores are allocated once more
            enqueue(tables, j)
            plans.slurm.works[j] = rows.works[j]
            rows.arrival[j] = clock.now + state.delay
            plans.slurm.priority[j] = own_priority(tables, plans, j)
            back += 1
    if back > 0:
        sort_by_priority(tables, plans, plans.plans[k].list)
    if back > 0 or clock.now >= state.next - SAME_DATE:
        params.seen, params.main_seen, params.reordered = -1, -1, 1
        state.next = next_return(tables, plans, k)


@compiled
def next_return(tables: Tables, plans: Plans, k: int) -> float:
    """Return when the next requeued job may start again; infinite for none."""
    soonest = np.inf
    for j in jobs_of(tables.waiting, plans.plans[k].list):
        date = plans.slurm.preemption.arrival[j]
        if date > tables.clock[0].now + SAME_DATE:
            soonest = min(soonest, date)
    return float(soonest)


@compiled
def make_way(tables: Tables, plans: Plans, k: int, j: int) -> bool:
    """End running jobs for one that fits on the allowed nodes without them; return whether some end."""
    count = find_victims(tables, plans, k, j)
    tried = remove_until_it_fits(tables, plans, j, count)
    if tried == 0:
        return False
    sort_by_overlap(tables, plans, tried)
    tried = remove_until_it_fits(tables, plans, j, tried)
    rows, count = plans.slurm.preemption, 0
    for i in range(tried):
        if overlap_of(tables, rows.victims[i]) > 0:
            rows.victims[count] = rows.victims[i]
            count += 1
    return end_all(tables, plans, count)


@compiled
def find_victims(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Write the running jobs that may give way to a job, those first that do so first; return their number.

    None may while some that gave way are still ending: it is for them that jobs wait.
    """
    rows, now, count = plans.slurm.preemption, tables.clock[0].now, 0
    for other in jobs_of(tables.running, plans.plans[k].ends):
        of = rows.of_job[other]
        if rows.ends[other] == 1:
            if rows.over[rows.of_job[j], of] == 1:
                return 0
            continue
        if rows.over[rows.of_job[j], of] == 0 or rows.mode[of] % SUSPEND == OFF or has_ended(tables, plans, other):
            continue
        if now < tables.jobs[other].start + rows.exempt[of] - SAME_DATE:
            rows.state[0].next = min(rows.state[0].next, tables.jobs[other].start + rows.exempt[of])
            continue
        place = count
        while place > 0 and gives_way_before(tables, plans, other, rows.victims[place - 1]):
            rows.victims[place] = rows.victims[place - 1]
            place -= 1
        rows.victims[place] = other
        count += 1
    return count


@inlined
def gives_way_before(tables: Tables, plans: Plans, j: int, other: int) -> bool:
    """Return whether a running job gives way before another one."""
    rows, demands = plans.slurm.preemption, tables.node_sets.demands
    rank, rank_of_other = rows.rank[rows.of_job[j]], rows.rank[rows.of_job[other]]
    if rank != rank_of_other:
        return bool(rank < rank_of_other)
    if demands[j].held != demands[other].held:
        return bool(demands[j].held < demands[other].held)
    return j < other


@compiled
def remove_until_it_fits(tables: Tables, plans: Plans, j: int, count: int) -> int:
    """Remove victims from the nodes one after the other until a job fits, and pick its nodes.

    Returns:
        How many were removed; 0 if it never fits.
    """
    as_now(tables, plans)
    if count == 0 or pick_nodes(tables, j):
        return 0  # it waits for something else, as nodes that are completing
    for i in range(count):
        if release(tables, plans.slurm.preemption.victims[i]) > 0 and pick_nodes(tables, j):
            return i + 1
    return 0


@compiled
def sort_by_overlap(tables: Tables, plans: Plans, count: int) -> None:
    """Sort victims by how many of the picked nodes they are on, the last one before all others."""
    rows = plans.slurm.preemption
    for i in range(count):
        j = rows.victims[i]
        overlap, place = LAST if i == count - 1 else overlap_of(tables, j), i
        while place > 0 and rows.overlap[place - 1] < overlap:
            rows.victims[place], rows.overlap[place] = rows.victims[place - 1], rows.overlap[place - 1]
            place -= 1
        rows.victims[place], rows.overlap[place] = j, overlap


@inlined
def overlap_of(tables: Tables, j: int) -> int:
    """Return on how many of the picked nodes a running job is."""
    sets, demand, found = tables.node_sets, tables.node_sets.demands[j], 0
    for i in range(demand.first_hold, demand.first_hold + demand.held):
        if sets.picked[sets.hold_node[i]] > 0:
            found += 1
    return found


@compiled
def end_all(tables: Tables, plans: Plans, count: int) -> bool:
    """End the first victims, whose nodes are completing as after any end; not if the tables cannot take them again."""
    clock, rows, places = tables.clock[0], plans.slurm.preemption, 0
    state = rows.state[0]
    for i in range(count):
        j = rows.victims[i]
        places += min(max(tables.jobs[j].size, tables.node_sets.demands[j].nodes), len(tables.nodes))
    if count > state.requeues or places > state.places:
        return False
    state.requeues -= count
    state.places -= places
    for i in range(count):
        j = rows.victims[i]
        rows.ends[j] = 1
        plans.slurm.works[j] = clock.now - tables.jobs[j].start
        tables.jobs[j].status = ENDS_NOW
        tables.jobs[j].finish = clock.now + plans.slurm.params[0].linger
    clock.ends_now += count
    return count > 0
