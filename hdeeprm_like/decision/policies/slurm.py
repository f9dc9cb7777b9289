"""A scheduler like Slurm's: multifactor priorities, a main scheduler, and backfill at intervals.

The main scheduler runs when jobs have come or ended, at most each ``batch_sched_delay``, and looks at the whole queue
each ``sched_interval``. It starts jobs in the order of tier and priority, and the first of a partition that cannot
start closes the nodes of that partition to later jobs; but not if it could not even start on them if they were idle,
because too many are closed already by other partitions.

Backfill waits for ``bf_interval`` after each pass and then, second by second, for something to have changed. It goes
through the queue, starts jobs that run into no reservation, and reserves nodes for the others. Reservations are of
whole nodes, begin and end at multiples of ``bf_resolution`` and last as long as the job may.

The start of a job is found as in ``select/cons_tres``, see `slurm_spans`.

A job that has ended leaves its nodes *completing* until Slurm has cleaned them up, which an epilog makes long. Its
cores count as free at once, but the main scheduler starts nothing on such a node, and a job that backfill would start
on one is put off by a second, with a reservation. The end of an epilog makes the main scheduler look at once, unless it
is to defer.

If another order than Slurm's own is used, a watch raises priorities by it, see `site_factors`. A job that it
changes makes both schedulers look again, as in a real Slurm.

Source: documentation and source text of Slurm 22.05.8, and its behaviour on recorded queues.
"""

from typing import Annotated

import numpy as np

from hdeeprm_like.decision.modes import SLURM, Mode, Option
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.easy import start_in_order
from hdeeprm_like.decision.policies.knowledge import Knowledge
from hdeeprm_like.decision.policies.node_plans import (
    close_partition,
    open_pass,
    reserve_picked,
    runs_into,
    touches_completing,
)
from hdeeprm_like.decision.policies.node_rows import NodeSpans
from hdeeprm_like.decision.policies.plans import Plans, changes, needs_of, planned_time
from hdeeprm_like.decision.policies.reserved_nodes import allow_until, first_to_end, has_cores, look_now
from hdeeprm_like.decision.policies.site_factors import WATCH, Watch, sort_by_order, watch_look, watch_queue
from hdeeprm_like.decision.policies.slurm_limits import (
    close_windows,
    held_by_window,
    next_window,
    over_limit,
    pass_windows,
)
from hdeeprm_like.decision.policies.slurm_looks import (
    FULL,
    TICK,
    ask_main,
    backfill_look,
    catch_up,
    leave_nodes,
    next_wake,
    waits_for_nodes,
)
from hdeeprm_like.decision.policies.slurm_preemption import make_way, preempts, queue_again, waits_again
from hdeeprm_like.decision.policies.slurm_priorities import book_usage, prioritize, whole_second
from hdeeprm_like.decision.policies.slurm_spans import multiple, room_at_all, soonest_by_spans
from hdeeprm_like.decision.policies.slurm_suspension import (
    look_as_usual,
    look_beside,
    may_suspend,
    note_cores,
    start_beside,
    suspends,
)
from hdeeprm_like.decision.policies.starting import start_if_fits
from hdeeprm_like.engine.compiled import callback, compiled, count_bits, inlined
from hdeeprm_like.engine.dates import SAME_DATE
from hdeeprm_like.engine.node_places import as_idle, pick_nodes
from hdeeprm_like.engine.numbers import (
    BY_SCORE,
    MULTIFACTOR,
    WATCH_FACTOR,
    WATCH_INTERVAL,
)
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import NOTHING, Tables
from hdeeprm_like.limits import SITE_FACTOR
from hdeeprm_like.types import Ints


@callback
def start_like_slurm(tables: Tables, plans: Plans, knowledge: Knowledge, memory: Watch, k: int) -> None:
    """Start the jobs that Slurm would start now."""
    clock, rows = tables.clock[0], plans.slurm.params[0]
    book_usage(tables, plans)
    by_priority = plans.plans[k].order == MULTIFACTOR or memory.params[0].seconds > 0.0
    if preempts(plans):
        queue_again(tables, plans, k)
    if by_priority:
        prioritize(tables, plans, k)
    else:
        sort_by_order(tables, plans, knowledge, memory, k)
    if watch_look(tables, plans, memory) <= clock.now + SAME_DATE:
        watch_queue(tables, plans, knowledge, memory, k)
    leave_nodes(tables, plans, k)
    catch_up(tables, plans)
    pass_windows(tables, plans)
    ask_main(plans, clock.now, clock.submitted, clock.completed)
    known = len(plans.slurm.main_dates) > 0
    if rows.due > 0 and clock.now >= rows.last_main + rows.gap - SAME_DATE:
        rows.last_main = clock.now
        if not waits_for_nodes(tables, plans):
            look_now(tables, plans)
            start_by_priority(tables, plans, k, clock.waiting if rows.due == FULL else rows.depth + 1)
        rows.due = 0
    changes = clock.changes + clock.completed + rows.leaving
    if backfill_look(plans, clock.now, changes) <= clock.now + SAME_DATE:
        if waits_for_nodes(tables, plans):
            rows.next_backfill = clock.now + TICK
        else:
            look_now(tables, plans)
            rows.seen = changes
            rows.next_backfill = clock.now + (2.0 * SAME_DATE if known else rows.interval)
            backfill_like_slurm(tables, plans, k)
    if clock.waiting > 0:
        soon = min(next_wake(tables, plans, memory, k, by_priority), next_window(plans, rows.windows_seen))
        clock.wake_at = min(clock.wake_at, soon)
    rows.called, rows.emptied, rows.noted = clock.now, clock.waiting == 0, clock.changes


@compiled
def start_by_priority(tables: Tables, plans: Plans, k: int, most: int) -> None:
    """Start jobs in order, as the main scheduler.

    Args:
        most: number of jobs to examine.
    """
    rows, started = plans.slurm.params[0], 0
    count = open_pass(tables, plans, k, most, preempts(plans))
    close_windows(tables, plans)
    for i in range(count):
        if 0 < rows.most_starts <= started:
            break
        j = plans.queue[i]
        demand = tables.node_sets.demands[j]
        if plans.node_plans.taken[demand.partition] == 1:
            continue
        if waits_again(tables, plans, j) or over_limit(tables, plans, j) or held_by_window(tables, plans, k, j):
            continue
        rows.avoid = rows.leaving > 0
        if begin_job(tables, plans, k, j):
            started += 1
            continue
        now = tables.clock[0].now
        allow_until(tables, plans, j, now, now + planned_time(tables, plans, k, j))
        if preempts(plans):
            make_way(tables, plans, k, j)
        if plans.node_plans.spans.count[0] > 0 and not waits_for_others(tables, plans, k, j):
            continue
        plans.node_plans.taken[demand.partition] = 1
        close_partition(tables, plans, demand.partition)


@compiled
def begin_job(tables: Tables, plans: Plans, k: int, j: int) -> bool:
    """Start a job if it fits on idle cores, or if it may suspend the jobs that have the others."""
    rows, takes = plans.slurm.params[0], may_suspend(plans, j)
    if takes:  # backfill has looked at other nodes than those with idle cores, which may be completing
        rows.avoid = rows.leaving > 0
    starts = has_cores(tables, plans, j) and start_if_fits(tables, plans, k, j) == NOTHING
    if starts and suspends(plans):
        note_cores(tables, plans, k, j)
    if takes and not starts:
        now = tables.clock[0].now
        allow_until(tables, plans, j, now, now + planned_time(tables, plans, k, j) + SAME_DATE)
        starts = start_beside(tables, plans, k, j)
    rows.avoid = 0
    return starts


@compiled
def waits_for_others(tables: Tables, plans: Plans, k: int, j: int) -> bool:
    """Return whether the allowed nodes could take a job if idle; also True if they are too few, or busy (unknown)."""
    sets, demand = tables.node_sets, tables.node_sets.demands[j]
    if allowed_nodes(plans) < max(demand.nodes, 1):
        return True
    as_idle(tables)
    if pick_nodes(tables, j):
        return True
    for n in range(len(tables.nodes)):
        if demand.exclusive == 1 and sets.allowed[n] == 1 and plans.node_cores[n] < tables.nodes[n].cores:
            return True
    return False


@compiled
def backfill_like_slurm(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs in order around the reservations, and reserve nodes for those that cannot start."""
    count = open_pass(tables, plans, k, len(plans.queue), preempts(plans))
    close_windows(tables, plans)
    rows, owners, tried, before = plans.slurm.params[0], plans.slurm.owners, 0, tables.clock[0].running
    for u in range(len(owners)):
        owners[u].tested = 0
    for i in range(count):
        if tried >= rows.most or 0 < rows.most_filled <= tables.clock[0].running - before:
            break
        j = plans.queue[i]
        if waits_again(tables, plans, j) or over_limit(tables, plans, j):
            continue
        owner = owners[plans.slurm.owner[j]]
        owner.tested += 1
        if rows.most_of_user > 0 and owner.tested > rows.most_of_user:
            continue
        if may_suspend(plans, j):
            look_beside(tables, plans, k, j)
        tried += try_job(tables, plans, k, j)
        look_as_usual(plans)


@compiled
def try_job(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job if it runs into no reservation, else reserve nodes for it; return 1 if nodes were examined.

    Each try considers all reservations that the job would meet if it began at a date: first now, then whenever one
    of them ends. The date at which it fits beside the running jobs does not depend on that.
    """
    rows, now = plans.slurm.params[0], whole_second(tables, tables.clock[0].now)
    time, begin, tried = planned_time(tables, plans, k, j), now, 0
    over = multiple(tables, now + rows.window, rows.resolution)
    room_from = room_at_all(tables, plans, k, j, now)
    while True:
        allow_until(tables, plans, j, begin, begin + time + SAME_DATE)  # as `start_if_fits` does
        later = next_end_for(tables, plans, j, begin)
        later = later if later < over else np.inf
        latest = min(later, now + rows.window)  # beyond these, a later date has the same outcome
        start = np.inf
        if allowed_nodes(plans) >= max(tables.node_sets.demands[j].nodes, 1):
            tried = 1
            if room_from <= latest:
                start = max(soonest_by_spans(tables, plans, k, j, now, latest), begin)
        if start <= now and touches_completing(tables, plans):
            start, later = now + 1.0, np.inf
        if start <= now:
            begin_job(tables, plans, k, j)
            if tables.node_sets.demands[j].exclusive == 1:
                reserve_picked(tables, plans, -np.inf, multiple(tables, now + time, rows.resolution))
            return tried
        if begin == now and preempts(plans):
            if make_way(tables, plans, k, j):
                return 1
            if start < np.inf:  # the nodes that it gets then are picked again: others have been looked at
                soonest_by_spans(tables, plans, k, j, now, latest)
        if start > later:
            begin = later
            continue
        if start > now + rows.window:
            return tried
        first, end = multiple(tables, start, rows.resolution), multiple(tables, start + time, rows.resolution)
        if runs_into(tables, plans, first, end) and start > begin:
            begin = start
            continue
        reserve_picked(tables, plans, first, max(end, first + rows.resolution))
        return tried


@compiled
def next_end_for(tables: Tables, plans: Plans, j: int, time: float) -> float:
    """Return the first date after *time* at which a reservation frees a node of a job's set; infinite for never."""
    spans = plans.node_plans.spans
    members = tables.node_sets.member_bits[tables.node_sets.demands[j].set]
    for place in range(first_to_end(spans, time), spans.count[0]):
        if leaves_free(spans, spans.by_end[place], members):
            return float(spans.ends[spans.by_end[place]])
    return np.inf


@compiled
def leaves_free(spans: NodeSpans, r: int, members: Ints) -> bool:
    """Return whether the end of a reservation frees a node.

    Args:
        members: (W,) bits of the nodes that count.
    """
    time = spans.ends[r]
    for w in range(len(spans.bits)):
        left = spans.nodes[r, w] & members[w]
        for place in range(first_to_end(spans, time), spans.count[0]):
            if left == 0:
                break
            if spans.begins[spans.by_end[place]] <= time:
                left &= ~spans.nodes[spans.by_end[place], w]
        if left != 0:
            return True
    return False


@inlined
def allowed_nodes(plans: Plans) -> int:
    """Return how many nodes `allow_until` has just allowed."""
    count = 0
    for w in range(len(plans.node_plans.spans.bits)):
        count += count_bits(plans.node_plans.spans.bits[w])
    return count


class LikeSlurm(Mode):
    """Slurm's own schedulers start jobs; needs partitions."""

    name, serves_itself = SLURM, True
    starts, starts_on_nodes = start_in_order, start_like_slurm
    margin = SAME_DATE  # a job may not even end when a reservation begins
    interval: Annotated[float, Option("s between two looks of the watch, 0 without watch", "60")] = WATCH_INTERVAL
    factor: Annotated[int, Option("the largest site factor", "5000", 1, SITE_FACTOR.most)] = WATCH_FACTOR

    @property
    def watches(self) -> bool:
        """Whether a watch sets priorities; without, the order replaces Slurm's own."""
        return self.interval > 0.0

    def new_memory(self, state: State, baseline: Baseline, jobs: int) -> Watch:
        """Return how the order comes to Slurm: by its watch, or in place of Slurm's own."""
        watch, order = np.zeros(1, WATCH), needs_of(baseline).orders[-1]
        watch["seconds"], watch["factor"] = self.interval if baseline.watched else 0.0, self.factor
        watch["reorders"] = order[0] == BY_SCORE or changes(*order)
        return Watch(watch)
