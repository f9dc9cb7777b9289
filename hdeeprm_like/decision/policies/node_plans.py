"""Job starts by baselines on a platform with partitions, with reservations of whole nodes.

One pass over the queue serves all baselines. They differ in how many blocked jobs of a partition get nodes reserved:
none (greedy), the first (EASY), all (conservative). In strict order, the first blocked job of a partition closes all
nodes of that partition to later jobs; so does Slurm's main scheduler.

A reservation holds whole nodes, from the expected start of the job for as long as it requests, and others that would
run into it get none of these nodes. Slurm's backfill does the same. If EASY's candidates have another order than the
queue, the heads of all partitions are served first, then the candidates. Jobs after the last one with enough free
cores are skipped: they cannot start, and no later job needs their reservations.
"""

import numpy as np

from hdeeprm_like.decision.policies.core_profile import sort_releases
from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.decision.policies.reserved_nodes import (
    allow_until,
    are_reserved,
    as_now,
    free_on_allowed,
    has_cores,
    keep_nodes,
    next_end,
    release,
    reserve_span,
    write_picked,
)
from hdeeprm_like.decision.policies.starting import sort_ties_now, start_if_fits
from hdeeprm_like.engine.compiled import callback, compiled, inlined
from hdeeprm_like.engine.job_lists import copy_jobs
from hdeeprm_like.engine.node_places import pick_nodes
from hdeeprm_like.engine.tables import NOTHING, WAITING, Tables


@compiled
def soonest_on_allowed(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return when the allowed nodes are expected to fit a job, by the running jobs; infinite for never."""
    nodes, asked = plans.node_plans, tables.node_sets.demands[j].asked
    as_now(tables, plans)
    free = free_on_allowed(tables)
    if free >= asked and pick_nodes(tables, j):
        return float(tables.clock[0].now)
    if nodes.releases[0] < 0:
        nodes.releases[0] = sort_releases(tables, plans, k, True)
    for i in range(nodes.releases[0]):
        cores = release(tables, plans.releases[i])
        free += cores
        if cores > 0 and free >= asked and pick_nodes(tables, j):
            return float(plans.release_ends[i])
    return np.inf


@inlined
def touches_completing(tables: Tables, plans: Plans) -> bool:
    """Return whether a picked node is completing; a job that would start there waits for a second at least."""
    if plans.slurm.params[0].leaving == 0:
        return False
    spans, found = plans.node_plans.spans, 0
    write_picked(spans, tables.node_sets.picked)
    for w in range(len(spans.bits)):
        found |= spans.bits[w] & plans.slurm.completing[w]
    return bool(found != 0)


@compiled
def soonest(tables: Tables, plans: Plans, k: int, j: int, time: float) -> float:
    """Return when a job can start beside running jobs and reservations, and pick its nodes; infinite for never.

    Args:
        time: s, assumed run time.
    """
    start = tables.clock[0].now
    while True:
        allow_until(tables, plans, j, start, start + time)
        found = soonest_on_allowed(tables, plans, k, j)
        later = next_end(plans.node_plans.spans, start)
        if found <= start:
            return float(start)
        if later <= found and later < np.inf:  # nodes released at exactly that date may be lighter ones
            start = later
        elif found == np.inf:
            return np.inf
        elif runs_into(tables, plans, found, found + time):
            start = found
        else:
            return float(found)


@inlined
def runs_into(tables: Tables, plans: Plans, begin: float, end: float) -> bool:
    """Return whether a picked node is reserved at any time between two dates."""
    write_picked(plans.node_plans.spans, tables.node_sets.picked)
    return are_reserved(plans.node_plans.spans, begin, end)


@inlined
def reserve_picked(tables: Tables, plans: Plans, begin: float, end: float) -> None:
    """Reserve the picked nodes; each job, partition and window has at most one reservation."""
    spans = plans.node_plans.spans
    row = int(spans.count[0])
    keep_nodes(spans, row, tables.node_sets.picked)
    reserve_span(spans, row, begin, end)


@compiled
def reserve_soonest(tables: Tables, plans: Plans, k: int, j: int) -> None:
    """Reserve nodes for a job from when on it is expected to fit, if ever."""
    time = planned_time(tables, plans, k, j)
    begin = soonest(tables, plans, k, j, time)
    if begin < np.inf:
        reserve_picked(tables, plans, begin, begin + time)
        plans.node_plans.taken[tables.node_sets.demands[j].partition] += 1


@compiled
def close_partition(tables: Tables, plans: Plans, q: int) -> None:
    """Close the nodes of a partition to all later jobs."""
    for n in range(len(tables.nodes)):
        tables.node_sets.picked[n] = tables.node_sets.partition_nodes[q, n]
    reserve_picked(tables, plans, -np.inf, np.inf)


@compiled
def open_pass(tables: Tables, plans: Plans, k: int, most: int, all_of_them: bool) -> int:
    """Begin a pass over the queue of baseline *k*, in ``Plans.queue``, without reservations.

    Args:
        most: number of jobs to look at. all_of_them: whether jobs behind the last one with enough free cores count.

    Returns:
        The number of jobs to look at.
    """
    nodes = plans.node_plans
    nodes.spans.count[0] = 0
    for q in range(len(nodes.taken)):
        nodes.taken[q] = 0
    count = min(copy_jobs(tables.waiting, plans.plans[k].list, plans.queue), most)
    while not all_of_them and count > 0 and not has_cores(tables, plans, plans.queue[count - 1]):
        count -= 1
    return int(count)


@compiled
def start_around_reservations(tables: Tables, plans: Plans, k: int, depth: int) -> None:
    """Start jobs in order around the reservations, and reserve nodes for *depth* blocked jobs of each partition."""
    for i in range(open_pass(tables, plans, k, len(plans.queue), False)):
        j = plans.queue[i]
        q = tables.node_sets.demands[j].partition
        cores, wants = has_cores(tables, plans, j), plans.node_plans.taken[q] < depth
        if not cores and not wants:
            continue
        if cores and start_if_fits(tables, plans, k, j) == NOTHING:
            continue
        if wants:
            reserve_soonest(tables, plans, k, j)


@compiled
def start_up_to_heads(tables: Tables, plans: Plans, k: int, closes: bool) -> None:
    """Start jobs in order; from the first of a partition that does not fit on, none of that partition.

    Args:
        closes: whether that job closes all nodes of its partition to later jobs; else nodes are reserved for it.
    """
    for i in range(open_pass(tables, plans, k, len(plans.queue), not closes)):
        j = plans.queue[i]
        q = tables.node_sets.demands[j].partition
        if plans.node_plans.taken[q] == 1:
            continue
        if has_cores(tables, plans, j) and start_if_fits(tables, plans, k, j) == NOTHING:
            continue
        if closes:
            close_partition(tables, plans, q)
        else:
            reserve_soonest(tables, plans, k, j)
        plans.node_plans.taken[q] = 1


# --- what starts jobs in each mode


@callback
def start_heads(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs in order until one of each partition does not fit."""
    start_up_to_heads(tables, plans, k, True)


@callback
def start_without_reservations(tables: Tables, plans: Plans, k: int) -> None:
    """Start every job that fits, in order."""
    start_around_reservations(tables, plans, k, 0)


@callback
def start_around_all(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs that delay no job before them."""
    start_around_reservations(tables, plans, k, len(plans.queue))


@callback
def start_around_heads(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs that do not delay the head of a partition, from the queue or from the list of candidates."""
    start_around_each(tables, plans, k, True)


@callback
def start_around_picked(tables: Tables, plans: Plans, k: int) -> None:
    """Do the same; candidates that arrived at the same time stay in the order of their rows."""
    start_around_each(tables, plans, k, False)


@inlined
def start_around_each(tables: Tables, plans: Plans, k: int, sorts: bool) -> None:
    """Do so.

    Args:
        sorts: whether candidates with equal sort keys are taken as in the queue.
    """
    if plans.plans[k].candidates == plans.plans[k].list:
        start_around_reservations(tables, plans, k, 1)
        return
    start_up_to_heads(tables, plans, k, False)
    count = copy_jobs(tables.waiting, plans.plans[k].candidates, plans.queue)
    if sorts:
        sort_ties_now(tables, plans, k, count)
    for i in range(count):
        j = plans.queue[i]
        if tables.jobs[j].status == WAITING and has_cores(tables, plans, j):
            start_if_fits(tables, plans, k, j)
