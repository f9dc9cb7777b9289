"""A scheduler like Slurm's: multifactor priorities, a main scheduler, and backfill at intervals.

At each instant the main scheduler starts jobs in the order of tier and priority, and the first of a partition that
cannot start closes the nodes of that partition to those behind. At intervals, if anything has changed, backfill goes
through the queue, starts what runs into no reservation, and reserves nodes for what cannot start. Reservations are of
whole nodes and last as long as the job may. Priorities
are computed when a job comes, and again for all at intervals of ``PriorityCalcPeriod``, as is Fair Tree's fair share.

Source: the documentation of Slurm 22.05: "Multifactor Priority Plugin", "Fair Tree Fairshare Algorithm", "slurm.conf",
"sched_config"; what a real Slurm 22.05.8 did with recorded queues.
"""

import numpy as np

from hdeeprm_like.decision.policies.node_plans import (
    allow_until,
    forget_reservations,
    has_cores,
    last_with_cores,
    look_now,
    reserve_picked,
    soonest,
    start_on_allowed,
    start_strictly,
)
from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_lists import copy_jobs, sort_by_keys
from hdeeprm_like.engine.numbers import MULTIFACTOR
from hdeeprm_like.engine.tables import ENDED, KIND_BITS, KIND_MASK, STARTED, Tables
from hdeeprm_like.types import Ints, Records

JUST = 1e-5  # s within which two dates are one
TIER = 2.0**33  # more than any priority


@compiled
def start_like_slurm(tables: Tables, plans: Plans, k: int) -> None:
    """Start what Slurm would start now."""
    clock, rows = tables.clock[0], plans.slurm.params[0]
    book_usage(tables, plans)
    if plans.plans[k].order == MULTIFACTOR:
        prioritize(tables, plans, k)
    if clock.now >= rows.next_full:
        rows.next_full += rows.full * np.ceil((clock.now - rows.next_full) / rows.full + 1e-9)
        rows.next_main, rows.main_seen = clock.now, -1
    if clock.changes != rows.main_seen and is_time(clock.now, rows.next_main, rows.main_phase, 1.0):
        look_now(tables, plans)
        rows.main_seen = clock.changes
        rows.next_main = clock.now + rows.delay
        start_strictly(tables, plans, k, rows.depth)
    if clock.changes != rows.seen and is_time(clock.now, rows.next_backfill, rows.backfill_phase, rows.interval):
        look_now(tables, plans)
        rows.seen = clock.changes
        rows.next_backfill = clock.now + 0.5 * rows.interval
        backfill_like_slurm(tables, plans, k)
    if clock.waiting > 0:
        if clock.changes != rows.main_seen:
            soon = min(rows.next_main, rows.next_full)
            clock.wake_at = min(clock.wake_at, next_look(clock.now, soon, rows.main_phase, 1.0))
        if clock.changes != rows.seen:
            clock.wake_at = min(
                clock.wake_at, next_look(clock.now, rows.next_backfill, rows.backfill_phase, rows.interval)
            )
        if rows.age > 0.0 or rows.fair > 0.0:
            clock.wake_at = min(clock.wake_at, rows.next_period)


@inlined
def next_look(now: float, earliest: float, phase: float, period: float) -> float:
    """Return the first date from now and from another one on that is whole periods after a phase."""
    return float(phase + period * np.ceil((max(now, earliest) - phase - JUST) / period))


@inlined
def is_time(now: float, earliest: float, phase: float, period: float) -> bool:
    """Tell whether who wakes up each period looks now."""
    return bool(next_look(now, earliest, phase, period) <= now + JUST)


@inlined
def whole(tables: Tables, time: float, resolution: float) -> float:
    """Return a time without what is beyond a multiple of bf_resolution, on the clock of the trace."""
    epoch = tables.clock[0].epoch
    return float(np.floor((time + epoch) / resolution) * resolution - epoch)


@compiled
def backfill_like_slurm(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs in order that run into no reservation, and reserve nodes for those that cannot start."""
    forget_reservations(tables, plans)
    plan, now, rows, owners = plans.plans[k], tables.clock[0].now, plans.slurm.params[0], plans.slurm.owners
    for u in range(len(owners)):
        owners[u].tested = 0
    count = min(copy_jobs(tables.waiting, plan.list, plans.queue), rows.most)
    last = last_with_cores(tables, plans, count)
    for i in range(last + 1):
        j = plans.queue[i]
        owner = owners[plans.slurm.owner[j]]
        owner.tested += 1
        if rows.most_of_user > 0 and owner.tested > rows.most_of_user:
            continue
        time = planned_time(tables, plans, k, j)
        if has_cores(tables, plans, j):
            allow_until(tables, plans, j, now, now + time)
            if start_on_allowed(tables, plans, j):
                continue
        begin = soonest(tables, plans, k, j, time)
        if begin <= now + rows.window:
            first, end = whole(tables, begin, rows.resolution), whole(tables, begin + time, rows.resolution)
            reserve_picked(tables, plans, first, end)


# --- priorities


@inlined
def own_priority(tables: Tables, plans: Plans, j: int) -> float:
    """Return the priority of a job now, a whole number from 1 on."""
    slurm, rows = plans.slurm, plans.slurm.params[0]
    age = min((tables.clock[0].now - tables.jobs[j].submit) / rows.max_age, 1.0)
    fair = slurm.owners[slurm.owner[j]].factor
    return float(max(np.floor(slurm.fixed[j] + rows.age * age + rows.fair * fair), 1.0))


@compiled
def prioritize(tables: Tables, plans: Plans, k: int) -> None:
    """Find the priorities of jobs that have come since, or of all where it is time, and sort the queue by them."""
    clock, slurm, rows, v = tables.clock[0], plans.slurm, plans.slurm.params[0], plans.plans[k].list
    again = clock.now >= rows.next_period
    if again:
        rows.main_seen = rows.seen = -1
        rows.next_period += rows.period * np.ceil((clock.now - rows.next_period) / rows.period + 1e-9)
        if rows.fair > 0.0:
            rank_owners(slurm.accounts, slurm.owners, slurm.account_order, slurm.order, rows.users)
    if not again and rows.ranked == clock.submitted:
        return
    for place in range(tables.waiting.lists[v].blocks):
        b = tables.waiting.directory[v, place]
        begin = tables.waiting.begins[v, b]
        for i in range(begin, begin + tables.waiting.sizes[v, b]):
            j = tables.waiting.jobs[v, i]
            if again or j >= rows.ranked:
                slurm.priority[j] = own_priority(tables, plans, j)
            tables.waiting.keys[v, i] = -(slurm.tier[j] * TIER + slurm.priority[j])
    rows.ranked = clock.submitted
    sort_by_keys(tables.waiting, v)


@compiled
def book_usage(tables: Tables, plans: Plans) -> None:
    """Book what users have used since the last decision, and let what they used before fade."""
    clock, slurm, rows = tables.clock[0], plans.slurm, plans.slurm.params[0]
    if rows.fair <= 0.0:
        return
    elapsed = clock.now - rows.as_of
    rows.as_of = clock.now
    fade = 0.5 ** (elapsed / rows.half_life)
    for u in range(len(slurm.owners)):
        owner = slurm.owners[u]
        owner.used = owner.used * fade + owner.cores * elapsed
    while rows.booked < clock.changes:
        change = tables.changes[rows.booked]
        kind, j = change & KIND_MASK, change >> KIND_BITS
        rows.booked += 1
        if kind == STARTED:
            slurm.owners[slurm.owner[j]].cores += tables.jobs[j].size
        elif kind == ENDED:
            slurm.owners[slurm.owner[j]].cores -= tables.jobs[j].size


@compiled
def rank_owners(accounts: Records, owners: Records, account_order: Ints, order: Ints, users: int) -> None:
    """Find Fair Tree's factors: accounts by share over usage, and in each of them users by theirs.

    Args:
        users: in the tree, those without jobs in this log included.
    """
    total = 0.0
    for a in range(len(accounts)):
        accounts[a].used = 0.0
    for u in range(len(owners)):
        accounts[owners[u].account].used += owners[u].used
        total += owners[u].used
    for a in range(len(accounts)):
        used = accounts[a].used / total if total > 0.0 else 0.0
        accounts[a].level = accounts[a].share / used if used > 0.0 else np.inf
    for u in range(len(owners)):
        among = accounts[owners[u].account].used
        used = owners[u].used / among if among > 0.0 else 0.0
        owners[u].level = owners[u].share / used if used > 0.0 else np.inf
    for i in range(1, len(account_order)):
        a, place = account_order[i], i
        while place > 0 and accounts[account_order[place - 1]].level < accounts[a].level:
            account_order[place] = account_order[place - 1]
            place -= 1
        account_order[place] = a
    for i in range(len(account_order)):
        accounts[account_order[i]].tested = i  # its rank
    for i in range(1, len(order)):
        u, place = order[i], i
        while place > 0 and ranks_before(accounts, owners, u, order[place - 1]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = u
    for i in range(len(order)):
        rank = users - i - (users - len(order))
        tied = i > 0 and not ranks_before(accounts, owners, order[i - 1], order[i])
        owners[order[i]].factor = owners[order[i - 1]].factor if tied else rank / users


@inlined
def ranks_before(accounts: Records, owners: Records, u: int, other: int) -> bool:
    """Tell whether one user has a better rank than another."""
    one, two = accounts[owners[u].account], accounts[owners[other].account]
    if one.level != two.level:
        return bool(one.level > two.level)
    if owners[u].account != owners[other].account and one.level < np.inf:
        return bool(one.tested < two.tested)
    return bool(owners[u].level > owners[other].level)
