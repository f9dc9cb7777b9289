"""Slurm's multifactor priorities, and Fair Tree's fair share.

Priorities are computed when a job arrives, and again for all at intervals of ``PriorityCalcPeriod``, as is the fair
share. As in Slurm, dates are whole seconds and priorities whole numbers, and equal priorities go in the order of
submission.

Source: documentation and source text of Slurm 22.05.8 ("Multifactor Priority Plugin", "Fair Tree Fairshare
Algorithm"), and its behaviour on recorded queues.
"""

import numpy as np

from hdeeprm_like.decision.policies.knowledge import Knowledge
from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.engine.compiled import callback, compiled, inlined
from hdeeprm_like.engine.job_lists import entries_of, jobs_of
from hdeeprm_like.engine.job_sorting import sort_by_keys
from hdeeprm_like.engine.tables import ENDED, KIND_BITS, KIND_MASK, Tables
from hdeeprm_like.types import Ints, Records

TIER = 2.0**33  # more than any priority
LN_2 = 0.693  # as Slurm rounds it


@inlined
def whole_second(tables: Tables, time: float) -> float:
    """Return a time without its fraction of a second on the clock of the trace."""
    epoch = tables.clock[0].epoch
    return float(np.floor(time + epoch) - epoch)


@inlined
def own_priority(tables: Tables, plans: Plans, j: int) -> float:
    """Return the priority of a job now with its site factor, a whole number from 1 on."""
    slurm, rows = plans.slurm, plans.slurm.params[0]
    since = slurm.preemption.arrival[j] if slurm.preemption.state[0].on == 1 else tables.jobs[j].submit
    waits = whole_second(tables, tables.clock[0].now) - whole_second(tables, since)
    age = min(max(waits, 0.0) / rows.max_age, 1.0)
    fair = slurm.owners[slurm.owner[j]].factor
    return float(max(np.floor(slurm.fixed[j] + rows.age * age + rows.fair * fair) + slurm.factors.site[j], 1.0))


@compiled
def prioritize(tables: Tables, plans: Plans, k: int) -> None:
    """Compute the priorities of new arrivals, or of all jobs at each period, and sort the queue by them."""
    clock, slurm, rows, v = tables.clock[0], plans.slurm, plans.slurm.params[0], plans.plans[k].list
    for j in range(rows.ranked, clock.submitted):
        slurm.factors.site[j] = 0  # in a batch this still is the factor of the previous run
    again = clock.now >= rows.next_period
    if again:
        rows.seen, rows.reordered = -1, 1
        rows.next_period += rows.period * np.ceil((clock.now - rows.next_period) / rows.period + 1e-9)
        if rows.fair > 0.0:
            let_usage_fade(tables, plans, k)
            rank_owners(slurm.accounts, slurm.owners, slurm.account_order, slurm.order, rows.users, rows.root)
    if not again and rows.ranked == clock.submitted:
        return
    for j in jobs_of(tables.waiting, v):
        if again or j >= rows.ranked:
            slurm.priority[j] = own_priority(tables, plans, j)
    rows.ranked = clock.submitted
    sort_by_priority(tables, plans, v)


@compiled
def sort_by_priority(tables: Tables, plans: Plans, v: int) -> None:
    """Sort a list of the waiting jobs by tier and priority."""
    lists, slurm = tables.waiting, plans.slurm
    for i in entries_of(lists, v):
        j = lists.jobs[v, i]
        lists.keys[v, i] = -(slurm.tier[j] * TIER + slurm.priority[j])
    sort_by_keys(lists, v)


@compiled
def book_usage(tables: Tables, plans: Plans) -> None:
    """Add the usage of jobs that have ended since the last decision.

    If Slurm enforces no limits, it does not count a job's usage between the last calculation and its end.
    """
    clock, slurm, rows = tables.clock[0], plans.slurm, plans.slurm.params[0]
    if rows.fair <= 0.0 or rows.limits == 0:
        return
    while rows.booked < clock.changes:
        change = tables.changes[rows.booked]
        kind, j = change & KIND_MASK, change >> KIND_BITS
        rows.booked += 1
        if kind == ENDED:
            slurm.owners[slurm.owner[j]].used += used_until(
                tables, plans, j, whole_second(tables, tables.jobs[j].finish)
            )


@compiled
def let_usage_fade(tables: Tables, plans: Plans, k: int) -> None:
    """Decay the past usage, then add the usage of the running jobs since the last decay."""
    slurm, rows = plans.slurm, plans.slurm.params[0]
    now = whole_second(tables, tables.clock[0].now)
    fade = (1.0 - LN_2 / rows.half_life) ** max(now - rows.as_of, 0.0)
    for u in range(len(slurm.owners)):
        slurm.owners[u].used *= fade
    for j in jobs_of(tables.running, plans.plans[k].ends):
        slurm.owners[slurm.owner[j]].used += used_until(tables, plans, j, now)
    rows.as_of = now


@inlined
def used_until(tables: Tables, plans: Plans, j: int, end: float) -> float:
    """Return the core seconds of a job since the last decay, decayed by this whole time, as in Slurm."""
    rows, preemption, size = plans.slurm.params[0], plans.slurm.preemption, tables.jobs[j].size
    if preemption.state[0].suspends == 1:
        size += preemption.suspension.borrowed[j]
    seconds = max(end - max(whole_second(tables, tables.jobs[j].start), rows.as_of), 0.0)
    return float(size * seconds * (1.0 - LN_2 / rows.half_life) ** seconds)


@compiled
def rank_owners(accounts: Records, owners: Records, account_order: Ints, order: Ints, users: int, root: int) -> None:
    """Compute Fair Tree's factors: accounts by share over usage, and in each of them users by theirs.

    Args:
        users: in the tree, with root. root: 1 if the tree has root beside the accounts; it never runs a job and so
            ranks first, equal to accounts without usage.
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
    rank = users
    for i in range(len(order)):
        if i > 0:
            tied = not ranks_before(accounts, owners, order[i - 1], order[i])
        else:
            tied = root == 1 and accounts[owners[order[0]].account].level == np.inf
        rank = rank if tied else users - root - i
        owners[order[i]].factor = rank / users


@inlined
def ranks_before(accounts: Records, owners: Records, u: int, other: int) -> bool:
    """Return whether one user has a better rank than another."""
    one, two = accounts[owners[u].account], accounts[owners[other].account]
    if one.level != two.level:
        return bool(one.level > two.level)
    if owners[u].account != owners[other].account and one.level < np.inf:
        return bool(one.tested < two.tested)
    return bool(owners[u].level > owners[other].level)


@callback
def sort_prioritized(tables: Tables, plans: Plans, knowledge: Knowledge, k: int) -> None:
    """Sort the queue of baseline *k* by Slurm's own priorities."""
    book_usage(tables, plans)
    prioritize(tables, plans, k)
