"""The watch of a simulated Slurm: at each interval it reads the queue and changes some site factors.

It does what `hdeeprm_like.slurm.watch` does to a real Slurm, with the factors that `hdeeprm_like.slurm.factors`
computes for the same queue; a test compares the two. Slurm itself starts jobs, by its own priorities including
these factors. Only the order of a policy counts: its order of backfilling and the cores that it keeps free
are left out here as there.
"""

import numpy as np

from hdeeprm_like.decision.policies.knowledge import Knowledge
from hdeeprm_like.decision.policies.node_rows import SlurmRows
from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.decision.policies.priorities import sort_again
from hdeeprm_like.decision.policies.scored import sort_by_score
from hdeeprm_like.decision.policies.scores import stage_of
from hdeeprm_like.decision.policies.slurm_priorities import own_priority, sort_by_priority
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dates import SAME_DATE
from hdeeprm_like.engine.job_lists import copy_jobs
from hdeeprm_like.engine.numbers import BY_SCORE, WATCH_RATE
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Ints, Records

WATCH = np.dtype(
    [
        ("seconds", "f8"),  # between two looks, 0 for no watch
        ("factor", "i8"),  # the largest site factor
        ("reorders", "i8"),  # 1 if the order changes with time, so that it is computed at each look
    ],
    align=True,
)


class Watch(Bundle):
    """How a baseline's order comes to a simulated Slurm.

    Attributes:
        params: (1,) WATCH.
    """

    params: Records


@compiled
def sort_by_order(tables: Tables, plans: Plans, knowledge: Knowledge, watch: Watch, k: int) -> None:
    """Sort the candidates in the order of baseline *k* now, if that changes with time."""
    plan = plans.plans[k]
    if watch.params[0].reorders == 0:
        return
    if plan.order == BY_SCORE:
        sort_by_score(tables, plans, knowledge, plan.candidates, stage_of(knowledge.history, k))
    else:
        sort_again(tables, knowledge, plan.candidates, plan.order, plan.order_times)


@inlined
def watch_look(tables: Tables, plans: Plans, watch: Watch) -> float:
    """Return the next look of the watch, from now on: at multiples of its interval, if something may have changed."""
    clock, seconds, rows = tables.clock[0], watch.params[0].seconds, plans.slurm.params[0]
    if seconds <= 0.0 or (watch.params[0].reorders == 0 and rows.looked == clock.changes and rows.behind == 0):
        return np.inf
    next_one = seconds * np.ceil((clock.now - SAME_DATE) / seconds)
    return float(next_one if next_one > rows.looked_at + SAME_DATE else next_one + seconds)


@compiled
def watch_queue(tables: Tables, plans: Plans, knowledge: Knowledge, watch: Watch, k: int) -> None:
    """Look at the queue if it is time, and set site factors."""
    clock, plan, slurm, rows = tables.clock[0], plans.plans[k], plans.slurm, plans.slurm.params[0]
    rows.looked_at, rows.looked, rows.behind = clock.now, clock.changes, 0
    sort_by_order(tables, plans, knowledge, watch, k)
    count = copy_jobs(tables.waiting, plan.candidates, plans.queue)
    want_factors(slurm, plans.queue, count, watch.params[0].factor, len(slurm.kept))
    due, changed = max(int(WATCH_RATE * watch.params[0].seconds), 1), 0
    for i in range(count):
        j = plans.queue[i]
        if slurm.site[j] == slurm.wanted[i]:
            continue
        if changed == due:
            rows.behind = 1
            break
        slurm.site[j] = slurm.wanted[i]
        slurm.priority[j] = own_priority(tables, plans, j)
        changed += 1
    if changed > 0:  # a changed job makes Slurm's schedulers look again
        sort_by_priority(tables, plans, plan.list)
        rows.seen, rows.main_seen, rows.reordered = -1, -1, 1


@compiled
def want_factors(slurm: SlurmRows, order: Ints, count: int, most: int, depth: int) -> None:
    """Write the site factors wanted for jobs, by their place in an order: few changes, descending from *most*.

    Args:
        count: jobs in the order. most: the largest factor. depth: most jobs with a factor.
    """
    first = min(count, most, depth)
    for i in range(first, count):
        slurm.wanted[i] = 0
    keep_longest(slurm, order, first, most)
    i, above = -1, most + 1
    for j in range(first + 1):
        if j < first and slurm.kept[j] == 0:
            continue
        below = slurm.site[order[j]] if j < first else 0
        between = j - i - 1
        if above - below <= between:  # too few whole numbers lie between the two
            for n in range(first):
                slurm.wanted[n] = most - most * n // first
            return
        for n in range(1, between + 1):
            slurm.wanted[i + n] = above - (above - below) * n // (between + 1)
        if j < first:
            slurm.wanted[j] = below
        i, above = j, below


@compiled
def keep_longest(slurm: SlurmRows, order: Ints, first: int, most: int) -> None:
    """Mark a longest subsequence of an order whose site factors descend strictly: these may stay.

    For each length ``lasts`` has the largest last factor of a subsequence of it, and ``ends`` the place of that.
    """
    longest = 0
    for i in range(first):
        slurm.kept[i], factor = 0, slurm.site[order[i]]
        if factor <= 0:
            continue
        low, high = 0, longest
        while low < high:
            middle = (low + high) // 2
            if slurm.lasts[middle] > factor:
                low = middle + 1
            else:
                high = middle
        slurm.before[i] = slurm.ends[low - 1] if low > 0 else -1
        slurm.lasts[low], slurm.ends[low] = factor, i
        longest = max(longest, low + 1)
    i = slurm.ends[longest - 1] if longest > 0 else -1
    while i >= 0:
        if slurm.site[order[i]] <= most:
            slurm.kept[i] = 1
        i = slurm.before[i]
