"""A scheduler like Slurm's: multifactor priorities, a main scheduler, and backfill at intervals.

The main scheduler runs when jobs have come or ended, at most each ``batch_sched_delay``, and looks at the whole queue
each ``sched_interval``. It starts jobs in the order of tier and priority, and the first of a partition that cannot start
closes the nodes of that partition to those behind.

Backfill waits for ``bf_interval`` after each pass and then, second by second, for something to have changed. It goes
through the queue, starts what runs into no reservation, and reserves nodes for what cannot start. Reservations are of
whole nodes, begin and end at multiples of ``bf_resolution`` and last as long as the job may.

When a job can start is asked as ``select/cons_tres`` asks it: the running jobs are taken away by the end of their limits,
not one by one but all that end within 30 s, then 60 s and so on, so that far dates are found with few tries, and late.
``select/linear`` takes them one by one. All these dates are whole seconds.

Source: the documentation of Slurm 22.05, "slurm.conf" and "Scheduling Configuration Guide"; what a real Slurm 22.05.8 did
with recorded queues, and how it says that it plans.
"""

import numpy as np

from hdeeprm_like.decision.policies.node_plans import (
    allow_until,
    as_now,
    forget_reservations,
    last_with_cores,
    look_now,
    release,
    reserve_picked,
    runs_into,
    start_on_allowed,
    start_strictly,
)
from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.decision.policies.releases import sort_releases
from hdeeprm_like.decision.policies.slurm_priorities import book_usage, prioritize, whole_second
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_lists import copy_jobs
from hdeeprm_like.engine.node_places import pick_nodes
from hdeeprm_like.engine.numbers import MULTIFACTOR
from hdeeprm_like.engine.tables import Tables

JUST = 1e-5  # s within which two dates are one
TICK = 1.0  # s between two looks of a thread that waits for something to do
FIRST_SPAN = 30.0  # s within which jobs end that are taken away together, at first
MOST_TAKEN = 201  # jobs that are taken away together
KILL_WAIT = 30.0  # s, Slurm's KillWait, after which a job over its limit is expected to be gone


@compiled
def start_like_slurm(tables: Tables, plans: Plans, k: int) -> None:
    """Start what Slurm would start now."""
    clock, rows = tables.clock[0], plans.slurm.params[0]
    book_usage(tables, plans)
    if plans.plans[k].order == MULTIFACTOR:
        prioritize(tables, plans, k)
    asked = clock.submitted + clock.completed
    full = clock.now >= rows.next_full
    if full:
        rows.next_full += rows.full * np.ceil((clock.now - rows.next_full) / rows.full + 1e-9)
    if (full or asked != rows.main_seen) and (full or is_time(clock.now, rows.next_main, rows.main_phase)):
        look_now(tables, plans)
        rows.main_seen, rows.reordered, rows.next_main = asked, 0, clock.now + rows.delay
        start_strictly(tables, plans, k, clock.waiting if full else rows.depth + 1)
    if clock.changes != rows.seen and is_time(clock.now, rows.next_backfill, rows.next_backfill):
        look_now(tables, plans)
        rows.seen = clock.changes
        rows.next_backfill = clock.now + rows.interval
        backfill_like_slurm(tables, plans, k)
    if clock.waiting > 0:
        if asked != rows.main_seen:
            soon = next_tick(clock.now, rows.next_main, rows.main_phase)
            clock.wake_at = min(clock.wake_at, soon)
        if asked != rows.main_seen or rows.reordered == 1:
            clock.wake_at = min(clock.wake_at, max(rows.next_full, clock.now))
        if clock.changes != rows.seen:
            clock.wake_at = min(clock.wake_at, next_tick(clock.now, rows.next_backfill, rows.next_backfill))
        if rows.age > 0.0 or rows.fair > 0.0:
            clock.wake_at = min(clock.wake_at, rows.next_period)


@inlined
def next_tick(now: float, earliest: float, phase: float) -> float:
    """Return the first date from now and from another one on that is whole seconds from a phase."""
    return float(phase + TICK * np.ceil((max(now, earliest) - phase - JUST) / TICK))


@inlined
def is_time(now: float, earliest: float, phase: float) -> bool:
    """Tell whether a thread that wakes up each second, from some date on, looks now."""
    return bool(next_tick(now, earliest, phase) <= now + JUST)


@inlined
def multiple(tables: Tables, time: float, step: float) -> float:
    """Return a time without what is beyond a multiple of a step, on the clock of the trace."""
    epoch = tables.clock[0].epoch
    return float(np.floor((time + epoch) / step + 1e-9) * step - epoch)


@compiled
def backfill_like_slurm(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs in order that run into no reservation, and reserve nodes for those that cannot start."""
    forget_reservations(tables, plans)
    plan, rows, owners = plans.plans[k], plans.slurm.params[0], plans.slurm.owners
    for u in range(len(owners)):
        owners[u].tested = 0
    count = copy_jobs(tables.waiting, plan.list, plans.queue)
    tried, last = 0, last_with_cores(tables, plans, count)
    for i in range(last + 1):
        if tried >= rows.most:
            break
        j = plans.queue[i]
        owner = owners[plans.slurm.owner[j]]
        owner.tested += 1
        if rows.most_of_user > 0 and owner.tested > rows.most_of_user:
            continue
        tried += try_job(tables, plans, k, j)


@compiled
def try_job(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job if it runs into no reservation, else reserve nodes for it; return 1 if nodes were looked at.

    It is tried beside all reservations that it would meet if it began at a date, first now, then whenever one of them
    ends. The date at which the running jobs leave room for it does not depend on that.
    """
    rows, now = plans.slurm.params[0], whole_second(tables, tables.clock[0].now)
    time, begin, tried = planned_time(tables, plans, k, j), now, 0
    over = multiple(tables, now + rows.window, rows.resolution)
    while True:
        allow_until(tables, plans, j, begin, begin + time + JUST)  # a job may not even end when a reservation begins
        later = next_end_for(tables, plans, j, begin)
        later = later if later < over else np.inf
        start = np.inf
        if allowed_nodes(tables) >= max(tables.node_sets.demands[j].nodes, 1):
            tried = 1
            start = max(soonest_by_spans(tables, plans, k, j, now), begin)
        if start <= now:
            start_on_allowed(tables, plans, j)
            if tables.node_sets.demands[j].exclusive == 1:
                reserve_picked(tables, plans, -np.inf, multiple(tables, now + time, rows.resolution))
            return tried
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
    """Return when the first reservation of a node of a job's set ends after a time; infinite if none does."""
    nodes, found = plans.node_plans, np.inf
    members = tables.node_sets.members[tables.node_sets.demands[j].set]
    for r in range(nodes.state[0].reservations):
        if time < nodes.ends[r] < found:
            for n in range(len(tables.nodes)):
                if nodes.reserved[r, n] & members[n]:
                    found = nodes.ends[r]
                    break
    return float(found)


@inlined
def allowed_nodes(tables: Tables) -> int:
    """Return how many nodes are allowed."""
    count = 0
    for n in range(len(tables.nodes)):
        count += tables.node_sets.allowed[n]
    return count


@inlined
def end_of_limit(tables: Tables, plans: Plans, i: int) -> float:
    """Return when the limit of a running job is over."""
    return float(whole_second(tables, plans.release_ends[i]))


@compiled
def soonest_by_spans(tables: Tables, plans: Plans, k: int, j: int, now: float) -> float:
    """Return when the allowed nodes are expected to have room for a job by the limits of the running jobs.

    That is the end of the last job that is taken away; infinite if there never is room.
    """
    nodes, rows = plans.node_plans, plans.slurm.params[0]
    as_now(tables, plans)
    if pick_nodes(tables, j):
        return now
    if nodes.state[0].releases < 0:
        nodes.state[0].releases = sort_releases(tables, plans, k)
    count, i, barrier, span = nodes.state[0].releases, 0, -np.inf, FIRST_SPAN
    while i < count:
        last, taken = -np.inf, 0
        while i < count and taken <= MOST_TAKEN:
            end = end_of_limit(tables, plans, i)
            helps = release(tables, plans.releases[i])
            i += 1
            if not helps:
                continue
            if barrier == -np.inf:
                barrier = multiple(tables, end, FIRST_SPAN) + FIRST_SPAN
            last = end
            taken += 1
            if rows.linear == 1 or (i < count and end_of_limit(tables, plans, i) > barrier + span):
                break
        if taken > MOST_TAKEN:
            continue
        if last == -np.inf:
            break
        span += rows.wider if rows.wider > 0.0 else span
        while i < count and end_of_limit(tables, plans, i) > barrier + span:
            span += rows.wider if rows.wider > 0.0 else span
        if pick_nodes(tables, j):
            return float(last if last > now else max(last + KILL_WAIT, now + 1.0))
    return np.inf
