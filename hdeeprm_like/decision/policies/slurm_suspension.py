"""Suspension as in Slurm (``PreemptMode=SUSPEND,GANG``): a running job stops while jobs of a higher tier use its cores.

A job of a higher tier gets idle cores if it fits on these. Otherwise it gets the first cores of its nodes that jobs of
its own tier or above leave, and the running jobs whose cores these are stop until it ends. A suspended job keeps its
memory, its GPUs and, for jobs of its own tier and below, all of its cores. It goes on as soon as none of its cores is
used by others; so its end moves by as long as it was suspended.

In the engine a suspended job keeps all of its cores, and those that another one borrows are counted once. A job that is
itself suspended keeps those below it suspended.

Source: documentation of Slurm 22.05 ("Preemption", "Gang Scheduling"), and its behaviour on recorded queues.
"""

from hdeeprm_like.decision.policies.node_plans import touches_completing
from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.decision.policies.reserved_nodes import as_now, look_now, release
from hdeeprm_like.decision.policies.slurm_looks import has_ended
from hdeeprm_like.engine.allocation import book_on
from hdeeprm_like.engine.bundles import copy_entries
from hdeeprm_like.engine.compiled import compiled, count_bits, inlined
from hdeeprm_like.engine.job_lists import copy_jobs, jobs_of
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.node_places import book_gpus, note_holds, pick_nodes
from hdeeprm_like.engine.tables import ENDS_NOW, Tables
from hdeeprm_like.engine.words import BITS, bits


@inlined
def suspends(plans: Plans) -> bool:
    """Return whether any job may suspend another."""
    return bool(plans.slurm.preemption.state[0].suspends == 1)


@inlined
def takes_from(plans: Plans, j: int, other: int) -> bool:
    """Return whether a job may suspend another one."""
    rows = plans.slurm.preemption
    return bool(rows.suspension.takes[rows.of_job[j], rows.of_job[other]] == 1)


@compiled
def may_suspend(plans: Plans, j: int) -> bool:
    """Return whether a job may suspend any other."""
    if not suspends(plans):
        return False
    rows = plans.slurm.preemption
    found = 0
    for other in range(len(rows.mode)):
        found |= rows.suspension.takes[rows.of_job[j], other]
    return bool(found == 1)


@compiled
def look_beside(tables: Tables, plans: Plans, k: int, j: int) -> None:
    """Plan a job on what it gets by suspending others, until `look_as_usual`."""
    rows = plans.slurm.preemption.suspension
    write_cores(tables, plans, k, j)
    for n in range(len(tables.nodes)):
        rows.free[n] = tables.nodes[n].cores
        for w in range(plans.slurm.preemption.state[0].words):
            rows.free[n] -= count_bits(rows.used[n, w])
    plans.slurm.preemption.state[0].beside = 1


@inlined
def look_as_usual(plans: Plans) -> None:
    """Plan jobs on idle cores."""
    plans.slurm.preemption.state[0].beside = 0


@inlined
def as_seen(tables: Tables, plans: Plans) -> None:
    """Set the plan of the nodes to what the job that is being planned can get now."""
    as_now(tables, plans)
    if plans.slurm.preemption.state[0].beside == 1:
        copy_entries(tables.node_sets.cores, 0, plans.slurm.preemption.suspension.free, 0, len(tables.nodes))


@inlined
def release_seen(tables: Tables, plans: Plans, j: int, place: int) -> None:
    """Release the running job at a place of ``Plans.releases``, without the cores that those behind it have, too."""
    running = plans.releases[place]
    release(tables, running)
    if suspends(plans):
        keep_shared(tables, plans, j, place)


@compiled
def keep_shared(tables: Tables, plans: Plans, j: int, place: int) -> None:
    """Take back the cores of a released job that running ones still have, or that the planned job gets anyway."""
    rows, sets, running = plans.slurm.preemption.suspension, tables.node_sets, plans.releases[place]
    beside, demand = plans.slurm.preemption.state[0].beside == 1, tables.node_sets.demands[running]
    if beside and takes_from(plans, j, running):
        for hold in range(demand.first_hold, demand.first_hold + demand.held):
            sets.cores[sets.hold_node[hold]] -= sets.hold_cores[hold]
        return
    if rows.borrowed[running] == 0 and rows.resume[running] <= tables.clock[0].now:
        return
    for hold in range(demand.first_hold, demand.first_hold + demand.held):
        sets.cores[sets.hold_node[hold]] += own_cores(tables, plans, j, hold, place + 1) - sets.hold_cores[hold]


@inlined
def own_cores(tables: Tables, plans: Plans, j: int, hold: int, first: int) -> int:
    """Return how many cores that a job holds on a node no running one has that still counts, from a place on."""
    rows, sets, found = plans.slurm.preemption.suspension, tables.node_sets, 0
    beside = plans.slurm.preemption.state[0].beside == 1
    for w in range(plans.slurm.preemption.state[0].words):
        own = rows.cores[hold, w]
        for i in range(first, plans.node_plans.releases[0]):
            other = plans.releases[i]
            if beside and takes_from(plans, j, other):
                continue
            demand = sets.demands[other]
            for place in range(demand.first_hold, demand.first_hold + demand.held):
                if sets.hold_node[place] == sets.hold_node[hold]:
                    own &= ~rows.cores[place, w]
        found += count_bits(own)
    return found


@compiled
def write_cores(tables: Tables, plans: Plans, k: int, j: int) -> None:
    """Write which cores of each node running jobs have: those that a job cannot get, and those that it may take."""
    rows, sets = plans.slurm.preemption.suspension, tables.node_sets
    for n in range(len(tables.nodes)):
        for w in range(plans.slurm.preemption.state[0].words):
            rows.used[n, w] = rows.below[n, w] = 0
    for other in jobs_of(tables.running, plans.plans[k].ends):
        if other == j or has_ended(tables, plans, other):
            continue
        taken, demand = takes_from(plans, j, other), sets.demands[other]
        for hold in range(demand.first_hold, demand.first_hold + demand.held):
            n = sets.hold_node[hold]
            for w in range(plans.slurm.preemption.state[0].words):
                if taken:
                    rows.below[n, w] |= rows.cores[hold, w]
                else:
                    rows.used[n, w] |= rows.cores[hold, w]


@compiled
def note_cores(tables: Tables, plans: Plans, k: int, j: int) -> None:
    """Write the cores that a job has which has begun on idle ones."""
    rows, demand = plans.slurm.preemption.suspension, tables.node_sets.demands[j]
    write_cores(tables, plans, k, j)
    for n in range(len(tables.nodes)):
        for w in range(plans.slurm.preemption.state[0].words):
            rows.used[n, w] |= rows.below[n, w]
    rows.borrowed[j], rows.resume[j], rows.pause[j] = 0, tables.clock[0].now, 0.0
    for hold in range(demand.first_hold, demand.first_hold + demand.held):
        rows.lent[hold] = 0
        take_first(tables, plans, hold)


@inlined
def take_first(tables: Tables, plans: Plans, hold: int) -> None:
    """Write the first cores of its node that are not used as those that a job has there."""
    rows, sets = plans.slurm.preemption.suspension, tables.node_sets
    n = sets.hold_node[hold]
    left, cores = sets.hold_cores[hold], tables.nodes[n].cores
    for w in range(plans.slurm.preemption.state[0].words):
        rows.cores[hold, w] = 0
    for core in range(cores):
        w, bit = core // BITS, bits(core % BITS, 1)
        if left > 0 and rows.used[n, w] & bit == 0:
            rows.cores[hold, w] |= bit
            left -= 1


@compiled
def start_beside(tables: Tables, plans: Plans, k: int, j: int) -> bool:
    """Start a job on the allowed nodes by suspending others; return False if it does not fit even so."""
    rows, sets = plans.slurm.preemption.suspension, tables.node_sets
    tables.clock[0].decisions += 1
    look_beside(tables, plans, k, j)
    as_seen(tables, plans)
    look_as_usual(plans)
    if not pick_nodes(tables, j) or touches_completing(tables, plans):
        return False
    note_holds(tables, j)
    book_gpus(tables, j)
    demand, size = sets.demands[j], 0
    rows.borrowed[j], rows.resume[j], rows.pause[j] = 0, tables.clock[0].now, 0.0
    for hold in range(demand.first_hold, demand.first_hold + demand.held):
        take_first(tables, plans, hold)
        n, lent = sets.hold_node[hold], 0
        for w in range(plans.slurm.preemption.state[0].words):
            lent += count_bits(rows.cores[hold, w] & rows.below[n, w])
        rows.lent[hold] = lent
        rows.borrowed[j] += lent
        sets.picked[n] -= lent
        size += sets.picked[n]
    tables.jobs[j].size = size
    book_on(tables, sets.picked, j)
    start_job(tables, j)
    if tables.jobs[j].stretches == 0:
        tables.clock[0].placed += 1  # by which the lists of running jobs order those that end together
    suspend_below(tables, plans, k, j)
    look_now(tables, plans)
    return True


@compiled
def suspend_below(tables: Tables, plans: Plans, k: int, j: int) -> None:
    """Suspend the running jobs whose cores a job has, and those that these keep suspended, until it ends."""
    victims, count = plans.slurm.preemption.victims, 1
    victims[0] = j
    running = copy_jobs(tables.running, plans.plans[k].ends, plans.releases)
    while count > 0:
        count -= 1
        above = victims[count]
        end = tables.jobs[above].start + plans.slurm.works[above]
        for i in range(running):
            other = plans.releases[i]
            if not takes_from(plans, above, other) or not share_cores(tables, plans, above, other):
                continue
            if not has_ended(tables, plans, other) and stop_until(tables, plans, other, end) and count < len(victims):
                victims[count] = other
                count += 1


@compiled
def share_cores(tables: Tables, plans: Plans, j: int, other: int) -> bool:
    """Return whether two jobs have a core in common."""
    rows, sets = plans.slurm.preemption.suspension, tables.node_sets
    mine, its = sets.demands[j], sets.demands[other]
    for hold in range(mine.first_hold, mine.first_hold + mine.held):
        for place in range(its.first_hold, its.first_hold + its.held):
            if sets.hold_node[hold] == sets.hold_node[place]:
                for w in range(plans.slurm.preemption.state[0].words):
                    if rows.cores[hold, w] & rows.cores[place, w] != 0:
                        return True
    return False


@inlined
def stop_until(tables: Tables, plans: Plans, j: int, end: float) -> bool:
    """Suspend a job until a date; return False if it is suspended until then already."""
    rows, job, now = plans.slurm.preemption.suspension, tables.jobs[j], tables.clock[0].now
    since = max(rows.resume[j], now)
    if end <= since:
        return False
    if rows.resume[j] <= now:
        rows.before[j] = rows.pause[j]
    rows.resume[j] = end
    rows.pause[j] += end - since
    plans.slurm.works[j] += end - since
    job.finish = job.start + plans.slurm.works[j] + plans.slurm.params[0].linger
    if job.status != ENDS_NOW:
        job.status = ENDS_NOW
        tables.clock[0].ends_now += 1
    return True


@inlined
def suspended_for(tables: Tables, plans: Plans, j: int) -> float:
    """Return the s by which Slurm expects a job to end later, as it was suspended; not while it still is."""
    if not suspends(plans):
        return 0.0
    rows = plans.slurm.preemption.suspension
    return float(rows.pause[j] if rows.resume[j] <= tables.clock[0].now else rows.before[j])
