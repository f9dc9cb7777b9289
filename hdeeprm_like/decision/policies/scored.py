"""How a learned policy starts jobs: by its scores with a reservation for the head of the queue, or by looking ahead."""

from hdeeprm_like.decision.policies.easy import backfill, backfill_one, reservation, start_in_order
from hdeeprm_like.decision.policies.history import find_siblings
from hdeeprm_like.decision.policies.lookahead import choose_ahead
from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.decision.policies.scores import (
    BACKFILL,
    GATE,
    QUEUE,
    compare_with_head,
    look_at_queue,
    weigh,
    write_features,
)
from hdeeprm_like.decision.policies.starting import start_if_fits
from hdeeprm_like.decision.score_files import ALWAYS, WHILE_EXACT
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.job_lists import BLOCK, job_at, next_fitting, sort_by_keys
from hdeeprm_like.engine.tables import Tables


@compiled
def start_scored(tables: Tables, plans: Plans, k: int) -> None:
    """Start what the learned policy *k* starts now."""
    ahead = looks_ahead(plans, k)
    if not ahead or tables.clock[0].waiting > plans.scores.params[k].most:
        sort_by_score(tables, plans, k)
    if ahead:
        start_ahead(tables, plans, k)
        return
    start_in_order(tables, plans, k)
    if tables.clock[0].waiting > 1 and tables.clock[0].free_cores > 0:
        if plans.scores.params[k].own_backfill or plans.scores.params[k].gate:
            backfill_by_score(tables, plans, k)
        else:
            backfill(tables, plans, k)


@compiled
def looks_ahead(plans: Plans, k: int) -> bool:
    """Tell whether the future is played: always, or while every job that has ended ran as long as requested."""
    when = plans.scores.params[k].lookahead
    return bool(when == ALWAYS or (when == WHILE_EXACT and plans.history.past[0].inexact == 0))


@compiled
def start_ahead(tables: Tables, plans: Plans, k: int) -> None:
    """Start what the best candidate starts."""
    v, ahead = plans.plans[k].list, plans.ahead
    place, _ = next_fitting(tables.waiting, v, 0, 0, tables.clock[0].free_cores)
    if place >= tables.waiting.lists[v].blocks:
        return
    count = choose_ahead(tables, plans.scores, ahead, k, v, plans.plans[k].ends)
    for i in range(count):
        if ahead.played[i].chosen == 1:
            start_if_fits(tables, plans, k, ahead.played[i].job)


@compiled
def sort_by_score(tables: Tables, plans: Plans, k: int) -> None:
    """Sort the waiting jobs by their scores now."""
    v, lists = plans.plans[k].list, tables.waiting
    look_at_queue(tables, plans.scores, k)
    find_siblings(tables, plans.history)
    for place in range(lists.lists[v].blocks):
        b = lists.directory[v, place]
        for i in range(b * BLOCK, b * BLOCK + lists.sizes[v, b]):
            write_features(tables, plans.history, plans.scores, k, lists.jobs[v, i])
            lists.keys[v, i] = weigh(plans.scores, k, QUEUE)
    sort_by_keys(lists, v)


@compiled
def backfill_by_score(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs behind the head that pass the gate and do not delay it, in the order of their own score (EASY)."""
    scores, v = plans.scores, plans.plans[k].list
    head = job_at(tables.waiting, v, 0, 0)
    shadow, spare = reservation(tables, plans, k, head)
    count, place, i = 0, 0, 1
    while True:
        place, i = next_fitting(tables.waiting, v, place, i, tables.clock[0].free_cores)
        if place >= tables.waiting.lists[v].blocks:
            break
        j = job_at(tables.waiting, v, place, i)
        i += 1
        write_features(tables, plans.history, scores, k, j)
        compare_with_head(tables, scores, j, head, shadow)
        if scores.params[k].gate == 1 and weigh(scores, k, GATE) < 0.0:
            continue
        key = float(count)
        if scores.params[k].own_backfill == 1:
            key = weigh(scores, k, BACKFILL)
        insert_candidate(plans, count, j, key)
        count += 1
    for n in range(count):
        j = plans.queue[n]
        if tables.jobs[j].size <= tables.clock[0].free_cores:
            spare -= backfill_one(tables, plans, k, j, head, shadow, spare)


@compiled
def insert_candidate(plans: Plans, count: int, j: int, key: float) -> None:
    """Put a job into the sorted candidates for backfilling, of which there are *count*; of equal ones it is last."""
    at = count
    while at > 0 and plans.scores.keys[at - 1] > key:
        plans.queue[at], plans.scores.keys[at] = plans.queue[at - 1], plans.scores.keys[at - 1]
        at -= 1
    plans.queue[at], plans.scores.keys[at] = j, key
