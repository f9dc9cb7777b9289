"""Job starts of a learned policy: by its scores, with a reservation for the head of the queue."""

from collections.abc import Callable

import numpy as np

from hdeeprm_like.decision.modes import SCORED, Mode
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.history import find_siblings
from hdeeprm_like.decision.policies.knowledge import Knowledge
from hdeeprm_like.decision.policies.node_plans import start_around_heads, start_without_reservations
from hdeeprm_like.decision.policies.plans import EACH, NO_JOB, Plans, see_cores
from hdeeprm_like.decision.policies.scores import (
    BACKFILL,
    OF_PLACEMENT,
    QUEUE,
    STAGES,
    compare_with_head,
    find_kept,
    look_at_queue,
    needed_cores,
    stage_of,
    weigh,
    write_features,
)
from hdeeprm_like.decision.policies.skyline import reserve
from hdeeprm_like.decision.policies.starting import start_if_fits
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.calls import NOWHERE
from hdeeprm_like.engine.compiled import callback, compiled, entry, inlined
from hdeeprm_like.engine.job_lists import entries_of, job_at, next_fitting
from hdeeprm_like.engine.job_sorting import sort_by_keys
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import NOTHING, Tables
from hdeeprm_like.types import Floats


class Candidates(Bundle):
    """What a learned policy has for backfilling; J jobs.

    Attributes:
        keys: (J,) scratch: sort keys of the jobs behind the head that may start.
    """

    keys: Floats


@callback
def start_scored(tables: Tables, plans: Plans, knowledge: Knowledge, memory: Candidates, k: int) -> None:
    """Start the jobs that learned policy *k* starts now."""
    v = plans.plans[k].list
    place, _ = next_fitting(tables.waiting, v, 0, 0, tables.clock[0].free_cores)
    if place >= tables.waiting.lists[v].blocks:
        return
    s = stage_of(knowledge.history, k)
    sort_by_score(tables, plans, knowledge, v, s)
    if knowledge.scores.params[s].keeps == 1:
        find_kept(tables, knowledge.history, knowledge.scores, s)
    start_in_scored_order(tables, plans, knowledge, k, s)
    if tables.clock[0].waiting > 1 and tables.clock[0].free_cores > 0:
        backfill_by_score(tables, plans, knowledge, memory, k)


@entry
def sort_by_score(tables: Tables, plans: Plans, knowledge: Knowledge, v: int, s: int) -> None:
    """Sort a list of the waiting jobs by their scores now, in stage *s*."""
    lists, history = tables.waiting, knowledge.history
    look_at_queue(tables, knowledge.scores, s)
    find_siblings(tables, history)
    for i in entries_of(lists, v):
        describe(tables, plans, knowledge, s, lists.jobs[i])
        lists.keys[i] = weigh(knowledge.scores, s, QUEUE)
    sort_by_keys(lists, v)


@inlined
def describe(tables: Tables, plans: Plans, knowledge: Knowledge, s: int, j: int) -> None:
    """Write all features of a waiting job except the comparison with the head of the queue, in stage *s*."""
    write_features(tables, knowledge.history, knowledge.scores, s, j)
    if knowledge.scores.params[s].looks & OF_PLACEMENT:
        see_cores(tables, plans, knowledge, s // STAGES, j)


@compiled
def start_in_scored_order(tables: Tables, plans: Plans, knowledge: Knowledge, k: int, s: int) -> None:
    """Start jobs until one does not fit; cores kept before a job count as needed."""
    clock = tables.clock[0]
    while clock.waiting > 0:
        j = job_at(tables.waiting, plans.plans[k].list, 0, 0)
        if needed_cores(tables, knowledge.history, knowledge.scores, s, j) > clock.free_cores:
            return
        if start_if_fits(tables, plans, k, j) != NOTHING:
            return


@compiled
def backfill_by_score(tables: Tables, plans: Plans, knowledge: Knowledge, memory: Candidates, k: int) -> None:
    """Start jobs behind the head that do not delay it, in the order of the backfill score (EASY)."""
    scores, plan, clock, s = knowledge.scores, plans.plans[k], tables.clock[0], stage_of(knowledge.history, k)
    head = job_at(tables.waiting, plan.list, 0, 0)
    reserve(tables, plans, k, head, needed_cores(tables, knowledge.history, scores, s, head))
    if plan.guarded_at != NOWHERE:
        plan.reserved = EACH  # the head has its guarantee; only its expected start is needed
    count, place, i = 0, 0, 1
    while True:
        place, i = next_fitting(tables.waiting, plan.list, place, i, clock.free_cores)
        if place >= tables.waiting.lists[plan.list].blocks:
            break
        j, key = job_at(tables.waiting, plan.list, place, i), float(count)
        i += 1
        if needed_cores(tables, knowledge.history, scores, s, j) > clock.free_cores:
            continue
        if scores.params[s].own_backfill == 1:
            describe(tables, plans, knowledge, s, j)
            compare_with_head(tables, scores, j, head, plan.shadow)
            key = weigh(scores, s, BACKFILL)
        insert_candidate(plans, memory, count, j, key)
        count += 1
    for n in range(count):
        j = plans.queue[n]
        if needed_cores(tables, knowledge.history, scores, s, j) <= clock.free_cores:
            start_if_fits(tables, plans, k, j)
    plan.reserved = EACH if plan.guarded_at != NOWHERE else NO_JOB


@compiled
def insert_candidate(plans: Plans, memory: Candidates, count: int, j: int, key: float) -> None:
    """Insert a job into the *count* sorted candidates for backfilling, after those with an equal key."""
    at = count
    while at > 0 and memory.keys[at - 1] > key:
        plans.queue[at], memory.keys[at] = plans.queue[at - 1], memory.keys[at - 1]
        at -= 1
    plans.queue[at], memory.keys[at] = j, key


@callback
def sort_scored(tables: Tables, plans: Plans, knowledge: Knowledge, k: int) -> None:
    """Sort the queue by the scores of learned policy *k*."""
    sort_by_score(tables, plans, knowledge, plans.plans[k].list, stage_of(knowledge.history, k))


class ByScore(Mode):
    """A learned policy starts jobs itself."""

    name = SCORED
    starts, starts_on_nodes = start_scored, start_around_heads
    bound: float = 0.0

    def starting(self, on_nodes: bool) -> Callable[..., None]:
        """Return the callback that starts jobs; guarantees take the place of reservations for the heads."""
        return start_without_reservations if on_nodes and self.bound else super().starting(on_nodes)

    def new_memory(self, state: State, baseline: Baseline, jobs: int) -> Candidates:
        """Return what it has for backfilling."""
        return Candidates(np.zeros(jobs))
