"""Job starts of a learned policy: by its scores with a reservation for the head of the queue, or by look-ahead."""

from collections.abc import Callable

from hdeeprm_like.decision.modes import SCORED, Mode
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.core_profile import Profile, new_profile
from hdeeprm_like.decision.policies.history import find_siblings
from hdeeprm_like.decision.policies.keeping import find_kept, needed_cores
from hdeeprm_like.decision.policies.knowledge import Knowledge
from hdeeprm_like.decision.policies.lookahead import choose_ahead
from hdeeprm_like.decision.policies.node_plans import start_around_heads, start_without_reservations
from hdeeprm_like.decision.policies.plans import EACH, NO_JOB, Plans
from hdeeprm_like.decision.policies.plays import Ahead, new_ahead
from hdeeprm_like.decision.policies.scores import (
    BACKFILL,
    GATE,
    OF_PLACEMENT,
    QUEUE,
    STAGES,
    compare_with_head,
    look_at_queue,
    stage_of,
    weigh,
    write_features,
)
from hdeeprm_like.decision.policies.skyline import begin_skyline, end_skyline, reserve
from hdeeprm_like.decision.policies.starting import start_beside, start_if_fits, start_or_reserve
from hdeeprm_like.decision.policies.steps import see_cores
from hdeeprm_like.decision.score_files import plans_profiles
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.calls import NOWHERE
from hdeeprm_like.engine.compiled import callback, compiled, entry, inlined
from hdeeprm_like.engine.job_lists import copy_jobs, entries_of, job_at, next_fitting
from hdeeprm_like.engine.job_sorting import sort_by_keys
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import NOTHING, Tables


class Scored(Bundle):
    """What a learned policy that starts jobs itself has for that.

    Attributes:
        ahead: its plays. profile: free cores beside its reservations, of a policy of several reservations.
    """

    ahead: Ahead
    profile: Profile


@callback
def start_scored(tables: Tables, plans: Plans, knowledge: Knowledge, memory: Scored, k: int) -> None:
    """Start the jobs that learned policy *k* starts now."""
    v = plans.plans[k].list
    place, _ = next_fitting(tables.waiting, v, 0, 0, tables.clock[0].free_cores)
    if place >= tables.waiting.lists[v].blocks:
        return
    s = stage_of(knowledge.history, k)
    params = knowledge.scores.params[s]
    if params.looks_ahead == 0 or tables.clock[0].waiting > params.played:
        sort_by_score(tables, plans, knowledge, plans.plans[k].list, s)
    if params.looks_ahead == 1:
        start_ahead(tables, plans, knowledge, memory.ahead, k, s)
        return
    if params.keeps == 1:
        find_kept(tables, knowledge.history, knowledge.scores, s)
    if params.reservations > 1:
        start_with_reservations(tables, plans, knowledge, memory.profile, k, s)
        return
    start_in_scored_order(tables, plans, knowledge, k, s)
    if tables.clock[0].waiting > 1 and tables.clock[0].free_cores > 0:
        backfill_by_score(tables, plans, knowledge, k, s)


@compiled
def start_ahead(tables: Tables, plans: Plans, knowledge: Knowledge, ahead: Ahead, k: int, s: int) -> None:
    """Start the jobs that the best candidate starts."""
    count = choose_ahead(tables, knowledge, ahead, s, plans.plans[k].list, plans.plans[k].ends)
    for i in range(count):
        if ahead.played[i].chosen == 1:
            start_if_fits(tables, plans, k, ahead.played[i].job)


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
def backfill_by_score(tables: Tables, plans: Plans, knowledge: Knowledge, k: int, s: int) -> None:
    """Start jobs behind the head that pass the gate and do not delay it, in the order of the backfill score (EASY)."""
    scores, v, clock = knowledge.scores, plans.plans[k].list, tables.clock[0]
    head = job_at(tables.waiting, v, 0, 0)
    reserve(tables, plans, k, head, needed_cores(tables, knowledge.history, scores, s, head))
    if plans.plans[k].guarded_at != NOWHERE:
        plans.plans[k].reserved = EACH  # the head has its guarantee; only its expected start is needed
    count, place, i = 0, 0, 1
    while True:
        place, i = next_fitting(tables.waiting, v, place, i, clock.free_cores)
        if place >= tables.waiting.lists[v].blocks:
            break
        j = job_at(tables.waiting, v, place, i)
        i += 1
        count += add_candidate(tables, plans, knowledge, s, j, count)
    for n in range(count):
        j = plans.queue[n]
        if needed_cores(tables, knowledge.history, scores, s, j) <= clock.free_cores:
            start_if_fits(tables, plans, k, j)
    plans.plans[k].reserved = EACH if plans.plans[k].guarded_at != NOWHERE else NO_JOB


@compiled
def start_with_reservations(
    tables: Tables, plans: Plans, knowledge: Knowledge, profile: Profile, k: int, s: int
) -> None:
    """Start jobs in order, reserve for the first ones that do not fit, and start others that delay none of these."""
    scores, history, now = knowledge.scores, knowledge.history, tables.clock[0].now
    waiting = copy_jobs(tables.waiting, plans.plans[k].list, plans.queue)
    begin_skyline(tables, plans, profile, k)
    plan, held, i, count = plans.plans[k], 0, 0, 0
    plan.head, plan.shadow = -1, 0.0
    while i < waiting and held < scores.params[s].reservations:
        j = plans.queue[i]
        begin = start_or_reserve(tables, plans, profile, k, j, needed_cores(tables, history, scores, s, j))
        if begin > now:
            held += 1
            if plan.head < 0:
                plan.head, plan.shadow = j, begin
        i += 1
    while i < waiting:
        count += add_candidate(tables, plans, knowledge, s, plans.queue[i], count)
        i += 1
    for n in range(count):
        j = plans.queue[n]
        start_beside(tables, plans, profile, k, j, needed_cores(tables, history, scores, s, j))
    end_skyline(plans, k)


@compiled
def add_candidate(tables: Tables, plans: Plans, knowledge: Knowledge, s: int, j: int, count: int) -> int:
    """Insert a job into the sorted *count* candidates for backfilling if it may start; return 1 if inserted, else 0."""
    scores, key, plan = knowledge.scores, float(count), plans.plans[s // STAGES]
    params = scores.params[s]
    if needed_cores(tables, knowledge.history, scores, s, j) > tables.clock[0].free_cores:
        return 0
    if params.gate == 1 or params.own_backfill == 1:
        describe(tables, plans, knowledge, s, j)
        compare_with_head(tables, scores, j, plan.head, plan.shadow)
        if params.gate == 1 and weigh(scores, s, GATE) < 0.0:
            return 0
        if params.own_backfill == 1:
            key = weigh(scores, s, BACKFILL)
    insert_candidate(plans, knowledge, count, j, key)
    return 1


@compiled
def insert_candidate(plans: Plans, knowledge: Knowledge, count: int, j: int, key: float) -> None:
    """Insert a job into the *count* sorted candidates for backfilling, after those with an equal key."""
    at = count
    while at > 0 and knowledge.scores.keys[at - 1] > key:
        plans.queue[at], knowledge.scores.keys[at] = plans.queue[at - 1], knowledge.scores.keys[at - 1]
        at -= 1
    plans.queue[at], knowledge.scores.keys[at] = j, key


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

    def new_memory(self, state: State, baseline: Baseline, jobs: int) -> Scored:
        """Return what it has for plays and for several reservations."""
        learned = baseline.learned
        stages = [] if learned is None else [learned, *([learned.exact] if learned.exact else [])]
        ahead = [stage.lookahead for stage in stages if stage.lookahead]
        most = max((one.queue + one.arrivals for one in ahead), default=0)
        futures = max((one.scenarios for one in ahead), default=0)
        return Scored(new_ahead(jobs, most, futures), new_profile(jobs, plans_profiles(learned)))
