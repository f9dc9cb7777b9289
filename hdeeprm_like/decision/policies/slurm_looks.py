"""When Slurm's main scheduler and backfill look, and which nodes are completing then.

Both are threads that wake up second by second, and look where something has changed since they did so last. They go on
doing so while nothing waits, which is caught up with when the next job has come.
"""

import numpy as np

from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.decision.policies.site_factors import Watch, watch_look
from hdeeprm_like.decision.policies.slurm_priorities import whole_second
from hdeeprm_like.engine.compiled import compiled, inlined, shift_left
from hdeeprm_like.engine.dates import SAME_DATE
from hdeeprm_like.engine.job_lists import jobs_of
from hdeeprm_like.engine.tables import ENDED, KIND_BITS, KIND_MASK, Tables
from hdeeprm_like.types import Floats

DEEP, FULL = 1, 2  # passes of the main scheduler: as deep as default_queue_depth, over the full queue
TICK = 1.0  # s between two looks of a thread that waits for something to do


@inlined
def ask_main(plans: Plans, now: float, submitted: int, completed: int) -> None:
    """Note which pass of the main scheduler is due now.

    Slurm's background thread asks for one when jobs have come or completed, and for a full one each ``sched_interval``.
    Where nodes run an epilog, its end asks for one at once.
    """
    rows = plans.slurm.params[0]
    known = len(plans.slurm.main_dates) > 0
    asked = submitted + (0 if rows.at_once == 1 else completed)
    full = now >= rows.next_full
    if full:
        rows.next_full += rows.full * np.ceil((now - rows.next_full) / rows.full + 1e-9)
    if (full and not known) or main_look(plans, now, asked) <= now + SAME_DATE:
        rows.main_seen, rows.reordered = asked, 0
        rows.next_main = now + (2.0 * SAME_DATE if known else rows.delay)
        rows.due = FULL if full else max(rows.due, DEEP)
    if rows.at_once == 1 and completed != rows.ended and not known:
        rows.ended = completed
        rows.due = max(rows.due, DEEP)


@inlined
def main_look(plans: Plans, now: float, asked: int) -> float:
    """Return when the main scheduler looks next, from now on."""
    rows = plans.slurm.params[0]
    return next_look(plans.slurm.main_dates, now, rows.next_main, rows.main_phase, asked != rows.main_seen, rows.tick)


@inlined
def backfill_look(plans: Plans, now: float, changes: int) -> float:
    """Return when backfill looks next, from now on."""
    rows = plans.slurm.params[0]
    return next_look(
        plans.slurm.backfill_dates, now, rows.next_backfill, rows.next_backfill, changes != rows.seen, TICK
    )


@inlined
def next_look(dates: Floats, now: float, earliest: float, phase: float, wanted: bool, tick: float = TICK) -> float:
    """Return when one of Slurm's threads looks next, from now on: at dates that are known, or when it wakes up.

    Args:
        dates: s, when it did look, if the jobs are recorded ones; else empty. After the last one it wakes up by itself.
        earliest: s, before when it does not wake up. phase: s, from when on it wakes up each *tick*.
        wanted: whether it then finds something to do. tick: s.
    """
    if len(dates) > 0:
        place = np.searchsorted(dates, max(now, earliest) - SAME_DATE)
        if place < len(dates):
            return float(dates[place])
    return float(phase + tick * np.ceil((max(now, earliest) - phase - SAME_DATE) / tick)) if wanted else np.inf


@inlined
def next_wake(tables: Tables, plans: Plans, watch: Watch, k: int, by_priority: bool) -> float:
    """Return when Slurm looks next if nothing happens before."""
    clock, rows = tables.clock[0], plans.slurm.params[0]
    asked = clock.submitted + (0 if rows.at_once == 1 else clock.completed)
    changes = clock.changes + clock.completed + rows.leaving
    soon = min(main_look(plans, clock.now, asked), backfill_look(plans, clock.now, changes))
    if asked != rows.main_seen or rows.reordered == 1:
        soon = min(soon, rows.next_full)
    if rows.due > 0:
        soon = min(soon, rows.last_main + rows.gap)
    if by_priority and (rows.age > 0.0 or rows.fair > 0.0):
        soon = min(soon, rows.next_period)
    soon = min(soon, float(plans.slurm.preemption.state[0].next))
    if rows.linger > 0.0:
        soon = min(soon, next_leaving(tables, plans, k))
    return min(soon, watch_look(tables, plans, watch))


@compiled
def catch_up(tables: Tables, plans: Plans) -> None:
    """Look in retrospect while nothing waited: what is looked at is an empty queue, but the next look is later.

    Where nothing waits, nothing is decided, so this is not called; Slurm's threads wake up none the less.
    """
    clock, rows = tables.clock[0], plans.slurm.params[0]
    if rows.emptied == 0 or len(plans.slurm.main_dates) > 0:
        return
    look_at_nothing(plans, rows.called, clock.now)
    for place in range(rows.noted, clock.changes):
        change = tables.changes[place]
        if change & KIND_MASK != ENDED:
            continue
        date = tables.jobs[change >> KIND_BITS].finish
        if date < clock.now - SAME_DATE:
            rows.ended += 1
            look_at_nothing(plans, date - rows.linger, clock.now)
            look_at_nothing(plans, date, clock.now)
    while rows.next_full < clock.now - SAME_DATE:
        rows.next_main = max(rows.next_main, rows.next_full + rows.delay)
        rows.next_full += rows.full


@inlined
def look_at_nothing(plans: Plans, date: float, now: float) -> None:
    """Record a look of both schedulers at an empty queue after a change, as soon as possible and before now."""
    rows = plans.slurm.params[0]
    if rows.at_once == 0 and date > rows.next_main - rows.delay:
        look = next_look(plans.slurm.main_dates, date, rows.next_main, rows.main_phase, True, rows.tick)
        if look < now - SAME_DATE:
            rows.next_main = look + rows.delay
    if date > rows.next_backfill - rows.interval:
        look = next_look(plans.slurm.backfill_dates, date, rows.next_backfill, rows.next_backfill, True, TICK)
        if look < now - SAME_DATE:
            rows.next_backfill = look + rows.interval


@inlined
def has_ended(tables: Tables, plans: Plans, j: int) -> bool:
    """Return whether a job has ended, though its nodes are still completing."""
    return bool(tables.clock[0].now >= tables.jobs[j].start + plans.slurm.works[j] - SAME_DATE)


@compiled
def leave_nodes(tables: Tables, plans: Plans, k: int) -> None:
    """Write which jobs have ended on nodes that are completing, and these nodes."""
    slurm, rows, sets = plans.slurm, plans.slurm.params[0], tables.node_sets
    rows.leaving = 0
    if rows.linger <= 0.0:
        return
    for w in range(len(slurm.completing)):
        slurm.completing[w] = 0
    for j in jobs_of(tables.running, plans.plans[k].ends):
        if not has_ended(tables, plans, j):
            continue
        slurm.leaving[rows.leaving] = j
        rows.leaving += 1
        demand = sets.demands[j]
        for hold in range(demand.first_hold, demand.first_hold + demand.held):
            n = sets.hold_node[hold]
            slurm.completing[n >> 6] |= shift_left(1, n & 63)


@compiled
def next_leaving(tables: Tables, plans: Plans, k: int) -> float:
    """Return when the next job ends, from now on; infinite for never."""
    soonest, now = np.inf, tables.clock[0].now
    for j in jobs_of(tables.running, plans.plans[k].ends):
        end = tables.jobs[j].start + plans.slurm.works[j]
        if end > now + SAME_DATE:
            soonest = min(soonest, end)
    return float(soonest)


@inlined
def waits_for_nodes(tables: Tables, plans: Plans) -> bool:
    """Return whether Slurm's ``CompleteWait`` keeps both schedulers from looking, since some job is completing."""
    slurm, rows = plans.slurm, plans.slurm.params[0]
    if rows.wait <= 0.0:
        return False
    since = whole_second(tables, tables.clock[0].now) - rows.wait
    for i in range(rows.leaving):
        j = slurm.leaving[i]
        if whole_second(tables, tables.jobs[j].start + slurm.works[j]) >= since:
            return True
    return False
