"""Memory of baselines between decisions, for all baselines of an action space together.

The queue and the running jobs are read from the sorted lists of the cluster (``Tables.waiting``, ``Tables.running``).
`baselines.new_baselines` writes the addresses of functions to the row of a baseline, so a run contains no policy.
"""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.decision.modes import BY_ARRIVAL, IN_ORDER, SHORTEST_FIRST, SLURM
from hdeeprm_like.decision.names import ORDERS, OWN, PLACEMENTS, Baseline, number_of_times
from hdeeprm_like.decision.policies.knowledge import Knowledge, new_knowledge, no_knowledge
from hdeeprm_like.decision.policies.node_rows import (
    NodePlans,
    NodeProfile,
    SlurmRows,
    new_node_plans,
    new_node_profile,
    new_slurm_rows,
    no_node_plans,
    no_slurm_rows,
)
from hdeeprm_like.decision.policies.preemption_rows import make_room_for_requeues
from hdeeprm_like.engine.bundles import Bundle, bundle_in, several
from hdeeprm_like.engine.calls import NOWHERE, call_at, float_at, number_at
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_keys import known_time
from hdeeprm_like.engine.numbers import (
    ACTUAL,
    BY_SCORE,
    FCFS,
    FIRST_CHANGING,
    FIRST_FIT,
    FIRST_PREDICTED,
    MULTIFACTOR,
    REQUESTED,
    SJF,
)
from hdeeprm_like.engine.running_jobs import BY_SIZE
from hdeeprm_like.engine.state import Needs, State
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats, Ints, Records

NO_JOB, HEAD, ALL, EACH = 0, 1, 2, 3  # values of Plan.reserved: for which jobs cores are reserved; EACH: as guaranteed
# Lists by predicted times are sorted again at each decision, so one serves all predictors: FIRST_PREDICTED is
# the queue's, and the next number that of the candidates, whose times may differ.
OF_CANDIDATES = FIRST_PREDICTED + 1
NO_MORE, MEMORY, KNOWLEDGE = 0, 1, 2  # values of Plan.takes: what a mode takes beside tables and plans

PLAN = np.dtype(
    [
        ("order", "i8"),
        ("core_policy", "i8"),
        ("order_times", "i8"),  # the run times of the order, see ``names.number_of_times``,
        ("times", "i8"),  # and of reservations
        ("list", "i8"),  # list of waiting jobs in its order
        ("candidates", "i8"),  # list of candidates for backfilling,
        ("candidates_by", "i8"),  # and their order: IN_ORDER, BY_ARRIVAL or SHORTEST_FIRST
        ("changing", "i8"),  # 1 if the order changes with time,
        ("candidates_change", "i8"),  # 1 if the order of the candidates does
        ("ends", "i8"),  # list of running jobs by expected end, -1 if not needed
        ("cursor", "i8"),  # number of changes of the cluster read so far, if it reads them
        ("held", "i8"),  # the picked job that commit waits for, -1 for none
        ("shadow", "f8"),  # s, shadow time: expected start of that job, or of the head of the queue
        ("reserved", "i8"),  # for which jobs cores are reserved in this decision: NO_JOB, HEAD, ALL or EACH;
        ("head", "i8"),  # the head of the queue,
        ("on_nodes", "i8"),  # 1 if it matters on which nodes cores are free for it, or for any job,
        ("spare", "i8"),  # spare cores left when the head starts,
        ("room", "f8"),  # and how many of its cores fit on the nodes then
        ("prepares", "i8"),  # 1 if nodes of partitions are looked at, and the queue sorted, before jobs start
        ("margin", "f8"),  # s from the end of a job to a reservation of its nodes
        ("learn_at", "i8"),  # addresses of functions, NOWHERE for none: that updates what is known of users,
        ("time_at", "i8"),  # that predicts run times,
        ("change_at", "i8"),  # that sorts lists whose order changes,
        ("open_at", "i8"),  # that prepares job starts,
        ("sort_at", "i8"),  # that sorts the queue of a platform with partitions,
        ("start_at", "i8"),  # of the mode, which starts jobs,
        ("takes", "i8"),  # (NO_MORE, the baseline's MEMORY, or the KNOWLEDGE, too)
        ("close_at", "i8"),  # that is called after that,
        ("fit_at", "i8"),  # that starts a job if it fits,
        ("guarded_at", "i8"),  # and the same if *reserved* is EACH, as each job has a guaranteed start
        ("place_at", "i8"),  # that books cores by a placement score, NOWHERE for other placements,
        ("see_at", "i8"),  # and that writes this score of a waiting job as a feature of the order
    ],
    align=True,
)


class Plans(Bundle, opaque=("knowledge", "guarantees", "memories")):
    """The baselines of an action space; K baselines, J jobs, N nodes.

    Attributes:
        plans: (K,) PLAN.
        queue, releases: (J + 1,) scratch: waiting jobs in order, and running jobs by expected end, in this decision.
        release_ends: (J + 1,) s, expected ends of the latter.
        node_cores, node_memory, node_gpus: (N,) scratch: cores, MB and GPUs free at some time.
        knowledge: about users, or none if no baseline uses any.
        node_plans: reservations of nodes. node_profile: free capacity of nodes by date. slurm: its priorities.
        guarantees: of each baseline (`guaranteed_nodes.Bounds`), one bundle for each.
        memories: what each baseline remembers for its mode (`modes.Mode.new_memory`), one bundle for each.
    """

    plans: Records
    queue: Ints
    releases: Ints
    release_ends: Floats
    node_cores: Ints
    node_memory: Floats
    node_gpus: Floats
    knowledge: Knowledge
    node_plans: NodePlans
    node_profile: NodeProfile
    slurm: SlurmRows
    guarantees: Bundle
    memories: Bundle


def order_of(baseline: Baseline) -> int:
    """Return the number of a baseline's order."""
    return BY_SCORE if baseline.learned else ORDERS[baseline.order]


def needs_of(baseline: Baseline) -> Needs:
    """Return the sorted lists of jobs that a baseline reads."""
    mode, order = baseline.mode, order_of(baseline)
    order_times, times = number_of_times(baseline.order_times), number_of_times(baseline.times)
    by_times = order not in (FCFS, BY_SCORE)  # a learned policy sorts its list itself
    own = (order, min(order_times, FIRST_PREDICTED) if by_times else REQUESTED)
    by_arrival, shortest = (FCFS, REQUESTED), (SJF, min(times, OF_CANDIDATES))
    candidates = {IN_ORDER: own, BY_ARRIVAL: by_arrival, SHORTEST_FIRST: shortest}[mode.candidates]
    if baseline.mode.bound:
        candidates = by_arrival
    looks_at_ends = mode.looks_at_ends or baseline.looks_back
    ends = ((BY_SIZE, times if times == ACTUAL else REQUESTED),) if looks_at_ends else ()
    if baseline.watched:  # the queue by priority, and by the order of the watch
        own, candidates = (MULTIFACTOR, REQUESTED), own
    return Needs(tuple(dict.fromkeys((own, candidates))), ends)


def new_plans(
    state: State, baselines: Sequence[Baseline], memories: Sequence[Bundle] = (), guarantees: Sequence[Bundle] = ()
) -> Plans:
    """Return the plans of baselines before their first decision.

    Args:
        memories, guarantees: of the baselines.

    Raises:
        ValueError: their lists are not maintained.
    """
    count, jobs, nodes = len(baselines), len(state.tables.jobs), state.platform.nodes
    plans = np.zeros(count, PLAN)
    predictors = predictors_of(baselines)
    for plan, baseline in zip(plans, baselines, strict=True):
        needs = needs_of(baseline)
        state.require(needs, baseline.name)
        plan["order"], plan["candidates_by"] = order_of(baseline), baseline.mode.candidates
        plan["prepares"], plan["margin"] = not baseline.mode.serves_itself, baseline.mode.margin
        plan["core_policy"] = PLACEMENTS.get(baseline.placement, FIRST_FIT)  # that of a file is in `placing`
        plan["order_times"] = number_of_times(baseline.order_times, predictors)
        plan["times"] = number_of_times(baseline.times, predictors)
        plan["list"], plan["candidates"] = (state.needs.orders.index(needs.orders[i]) for i in (0, -1))
        plan["changing"], plan["candidates_change"] = (changes(*needs.orders[i]) for i in (0, -1))
        if baseline.mode.serves_itself:
            plan["changing"] = plan["candidates_change"] = 0
        if has_own_priorities(state, baseline):
            plan["changing"] = 0
        plan["ends"] = state.needs.ends.index(needs.ends[0]) if needs.ends else -1
        plan["reserved"] = EACH if baseline.mode.bound else NO_JOB
    plans["held"] = -1
    # so machine code for platforms with partitions is compiled once
    partitioned = state.platform.partitions is not None
    dated = any(one.mode.profiles for one in baselines)
    looks_back = partitioned or any(baseline.looks_back for baseline in baselines)
    return Plans(
        plans=plans,
        queue=np.empty(jobs + 1, np.int32),
        releases=np.empty(jobs + 1, np.int32),
        release_ends=np.empty(jobs + 1),
        node_cores=np.zeros(nodes, np.int64),
        node_memory=np.zeros(nodes),
        node_gpus=np.zeros(nodes),
        knowledge=new_knowledge(state, baselines, predictors) if looks_back else no_knowledge(),
        node_plans=new_node_plans(state.tables.node_sets, jobs) if partitioned else no_node_plans(),
        node_profile=new_node_profile(state, jobs, dated or any(one.mode.bound for one in baselines), dated),
        slurm=slurm_rows_of(state, baselines),
        guarantees=several(guarantees),
        memories=several(memories),
    )


def slurm_rows_of(state: State, baselines: Sequence[Baseline]) -> SlurmRows:
    """Return the state of Slurm's scheduler, empty if no baseline is like it."""
    slurm = [one for one in baselines if one.mode.name == SLURM or has_own_priorities(state, one)]
    if not slurm:
        return no_slurm_rows()
    jobs = state.jobs
    assert jobs is not None  # otherwise `refusals` has refused
    rows = new_slurm_rows(state.platform, jobs, state.tables.node_sets)
    make_room_for_requeues(state.tables, rows.preemption)
    return rows


def has_own_priorities(state: State, baseline: Baseline) -> bool:
    """Return whether another scheduler than Slurm's serves the queue in the order of Slurm's own priorities.

    It does wherever the platform is that of a Slurm and the jobs say what they request.
    """
    partitions, jobs = state.platform.partitions, state.jobs
    if baseline.order != OWN or baseline.mode.name == SLURM or partitions is None or jobs is None:
        return False
    return jobs.demands is not None and bool(partitions.settings)


def predictors_of(baselines: Sequence[Baseline]) -> tuple[str, ...]:
    """Return the learned predictors in use by baselines, in the order of their numbers."""
    return tuple(dict.fromkeys(times for baseline in baselines for times in baseline.predictors))


def changes(order: int, times: int) -> bool:
    """Return whether a list must be sorted again at each decision; learned policies sort theirs themselves."""
    return FIRST_CHANGING <= order < BY_SCORE or times >= FIRST_PREDICTED


@inlined
def planned_time(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return the assumed run time of a job in s for the reservations of baseline *k*."""
    times = plans.plans[k].times
    return float(known_time(tables, times, j) if times < FIRST_PREDICTED else predicted_time(tables, plans, k, j))


@compiled
def predicted_time(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return the same if it is predicted from the past jobs of users: `assumed_time`."""
    plan = plans.plans[k]
    return float_at(plan.time_at, tables, plans.knowledge, plan.times, j)


@inlined
def pass_changes(tables: Tables, plans: Plans, k: int) -> None:
    """Skip the changes that baseline *k* has made itself."""
    plans.plans[k].cursor = tables.clock[0].changes


# --- the steps of a decision that are called by address, and which callbacks stand there; NOWHERE for nothing to do


@inlined
def learn(tables: Tables, plans: Plans, k: int) -> None:
    """Update what is known of users with what has happened until now: `follow`, `share_out` for Slurm's order."""
    if plans.plans[k].learn_at != NOWHERE:
        call_at(plans.plans[k].learn_at, tables, plans.knowledge)


@inlined
def sort_lists(tables: Tables, plans: Plans, k: int) -> None:
    """Sort the lists whose order changes with time: `sort_changed`."""
    if plans.plans[k].change_at != NOWHERE:
        call_at(plans.plans[k].change_at, tables, plans, plans.knowledge, k)


@inlined
def sort_queue(tables: Tables, plans: Plans, k: int) -> None:
    """Sort the queue of a platform with partitions: `sort_scored`, `sort_prioritized`."""
    if plans.plans[k].sort_at != NOWHERE:
        call_at(plans.plans[k].sort_at, tables, plans, plans.knowledge, k)


@inlined
def open_starts(tables: Tables, plans: Plans, k: int) -> None:
    """Prepare job starts: `open_guarantees`."""
    if plans.plans[k].open_at != NOWHERE:
        call_at(plans.plans[k].open_at, tables, plans, bundle_in(plans.guarantees, k), k)


@inlined
def start_jobs(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs: what the mode has for that, `Mode.starts` or `Mode.starts_on_nodes`."""
    plan = plans.plans[k]
    if plan.takes == KNOWLEDGE:
        call_at(plan.start_at, tables, plans, plans.knowledge, bundle_in(plans.memories, k), k)
    elif plan.takes == MEMORY:
        call_at(plan.start_at, tables, plans, bundle_in(plans.memories, k), k)
    else:
        call_at(plan.start_at, tables, plans, k)


@inlined
def close_starts(tables: Tables, plans: Plans, k: int) -> None:
    """End job starts: `close_guarantees`."""
    if plans.plans[k].close_at != NOWHERE:
        call_at(plans.plans[k].close_at, tables, plans, bundle_in(plans.guarantees, k), k)


@inlined
def start_one(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job if it fits and delays no reservation: `start_anywhere`, `start_in_partition`."""
    return number_at(plans.plans[k].fit_at, tables, plans, k, j)


@inlined
def start_one_guarded(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job if it fits and delays no guaranteed start: `start_guaranteed`, `start_guaranteed_on_nodes`."""
    return number_at(plans.plans[k].guarded_at, tables, plans, bundle_in(plans.guarantees, k), k, j)


@inlined
def place_one(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Book the cores for a job by a placement score: `place_by_score`."""
    return number_at(plans.plans[k].place_at, tables, plans.knowledge, k, j)


@inlined
def see_cores(tables: Tables, plans: Plans, knowledge: Knowledge, k: int, j: int) -> None:
    """Write the score of the best cores for a job as a feature of the order: `see_best_cores`."""
    if plans.plans[k].see_at != NOWHERE:
        call_at(plans.plans[k].see_at, tables, knowledge, k, j)
