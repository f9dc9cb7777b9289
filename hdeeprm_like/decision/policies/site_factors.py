"""The watch of a simulated Slurm: at each interval it reads the queue and changes some site factors.

It does what `hdeeprm_like.slurm.watch` does to a real Slurm, with the same `factors` for the same queue. Slurm itself
starts jobs, by its own priorities including these factors. Only the order of a policy counts: its order of backfilling
and the cores that it keeps free are left out here as there.
"""

import numpy as np

from hdeeprm_like.decision.policies.factors import want_factors
from hdeeprm_like.decision.policies.knowledge import Knowledge
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
from hdeeprm_like.types import Records

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
    factors = slurm.factors
    rows.looked_at, rows.looked, rows.behind = clock.now, clock.changes, 0
    sort_by_order(tables, plans, knowledge, watch, k)
    count = copy_jobs(tables.waiting, plan.candidates, plans.queue)
    want_factors(factors, plans.queue, count, watch.params[0].factor)
    due, changed = max(int(WATCH_RATE * watch.params[0].seconds), 1), 0
    for i in range(count):
        j = plans.queue[i]
        if factors.site[j] == factors.wanted[i]:
            continue
        if changed == due:
            rows.behind = 1
            break
        factors.site[j] = factors.wanted[i]
        slurm.priority[j] = own_priority(tables, plans, j)
        changed += 1
    if changed > 0:  # a changed job makes Slurm's schedulers look again
        sort_by_priority(tables, plans, plan.list)
        rows.seen, rows.main_seen, rows.reordered = -1, -1, 1
