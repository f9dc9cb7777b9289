"""What baselines remember from one decision to the next, all those of an action space together.

The queue and the running jobs they read from the sorted lists of the cluster (``Tables.waiting``, ``Tables.running``).
"""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.decision.mode_specs import (
    COMMIT,
    COMMIT_BACKFILL,
    CONSERVATIVE,
    EASY_FCFS,
    EASY_SJF,
    GREEDY,
    MODES,
    PACKING,
    RESERVE,
    SLURM,
    STRICT,
)
from hdeeprm_like.decision.names import ORDERS, PLACEMENTS, Baseline, number_of_times
from hdeeprm_like.decision.policies.guarantee_rows import Bounds, make_room_for_jobs, new_bounds
from hdeeprm_like.decision.policies.history import DEMANDS, History, new_history
from hdeeprm_like.decision.policies.history import make_room as make_room_in
from hdeeprm_like.decision.policies.lookahead import Ahead, let_run, new_ahead
from hdeeprm_like.decision.policies.node_rows import (
    OWN_PRIORITIES,
    NodePlans,
    NodeProfile,
    SlurmRows,
    new_node_plans,
    new_node_profile,
    new_slurm_rows,
    no_slurm_rows,
)
from hdeeprm_like.decision.policies.run_times import expected_time
from hdeeprm_like.decision.policies.scores import Scores, new_scores
from hdeeprm_like.decision.score_files import ScoredPolicy, plans_profiles
from hdeeprm_like.decision.tree_files import predictor
from hdeeprm_like.engine.bundles import Bundle, absent
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.node_sets import NodeSets
from hdeeprm_like.engine.numbers import (
    ACTUAL,
    BY_SCORE,
    FCFS,
    FIRST_CHANGING,
    FIRST_PREDICTED,
    MULTIFACTOR,
    REQUESTED,
    SJF,
)
from hdeeprm_like.engine.running_jobs import BY_SIZE
from hdeeprm_like.engine.state import Needs, State
from hdeeprm_like.engine.tables import ENDED, KIND_BITS, KIND_MASK, STARTED, SUBMITTED, Tables, longer
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.types import Floats, Ints, Records

NONE_RESERVED = -1.0  # s, in Plans.reserved
NOBODY, HEAD, ALL, EACH = 0, 1, 2, 3  # for whom cores are reserved, in Plan.reserved; EACH: as guaranteed
# Lists by predicted times are sorted again at each decision, so one serves all predictors: FIRST_PREDICTED stands for
# the queue's, and the next number for the one of the candidates, whose times may be others.
OF_CANDIDATES = FIRST_PREDICTED + 1

PLAN = np.dtype(
    [
        ("order", "i8"),
        ("mode", "i8"),
        ("core_policy", "i8"),
        ("order_times", "i8"),  # the run times that the order looks at, see ``names.number_of_times``,
        ("times", "i8"),  # and that reservations look at
        ("list", "i8"),  # of waiting jobs in its order
        ("candidates", "i8"),  # list of waiting jobs that it backfills from
        ("changing", "i8"),  # 1 where the order changes with time,
        ("candidates_change", "i8"),  # and where that of the candidates does
        ("ends", "i8"),  # list of running jobs by expected end, -1 where it does not look at them
        ("cursor", "i8"),  # changes of the cluster that it has seen, where it looks at them
        ("held", "i8"),  # the job that commit blocks on, -1 for none
        ("held_at", "i8"),  # jobs submitted when it was picked
        ("shadow", "f8"),  # s, when it, or the head of the queue, is expected to start
        ("reserved", "i8"),  # for whom cores are reserved in this decision: NOBODY, HEAD, ALL or EACH;
        ("head", "i8"),  # the head of the queue,
        ("on_nodes", "i8"),  # 1 where it matters on which nodes cores are free for it, or for any,
        ("spare", "i8"),  # cores that it leaves over when it starts,
        ("room", "f8"),  # and for how many of its cores nodes have room then
        ("tried", "i8"),  # jobs submitted when jobs were last backfilled,
        ("tried_cores", "i8"),  # how many cores that left free, -1 if jobs may lack something else,
        ("tried_spare", "i8"),  # how many of these were left over,
        ("tried_shadow", "f8"),  # s, and until when jobs could end
        ("points", "i8"),  # used entries of Plans.point_time
        ("planned", "i8"),  # jobs at the front of the queue that have a reservation,
        ("last_planned", "i8"),  # the last of these,
        ("soonest", "f8"),  # s, and before when none of them is to start
        ("kept", "i8"),  # cores that reserve keeps
        ("short", "f8"),  # for jobs of at most so many s
        ("reordered", "i8"),  # 1 where an order through Slurm is to be found anew at each look
        ("prioritized", "i8"),  # 1 where the queue is in Slurm's own order, but another scheduler starts jobs
        ("watch", "f8"),  # s between two looks of the watch that sets site factors, 0 where there is none,
        ("factor", "i8"),  # and the largest of these
        ("stale", "i8"),  # 1 when the reservations must all be planned anew
        ("bounded", "i8"),  # 1 where each job is guaranteed a start
    ],
    align=True,
)


class Plans(Bundle):
    """The baselines of an action space; K baselines, J jobs, N nodes.

    Attributes:
        plans: (K,) PLAN.
        tie_key: (K, J) what the order minimized for each job when commit picked the held one; else empty.
        reserved: (K, J) s, when a waiting job is to start, of conservative baselines; else empty.
        point_time, point_free: (K, 2J + 3) from when on how many cores are free of running jobs and reservations.
        queue, releases: (J + 1,) scratch: waiting jobs in order, and running ones by expected end, in this decision.
        release_ends: (J + 1,) s, when these are expected to end.
        node_cores, node_memory, node_gpus: (N,) scratch: cores, MB and GPUs free at some time.
        history: what is known of users. scores: of learned policies. ahead: what these play.
        node_plans: reservations of nodes. node_profile: what they have left from date to date. slurm: its priorities.
            Absent where nobody looks. bounds: guaranteed starts.
    """

    plans: Records
    tie_key: Floats
    reserved: Floats
    point_time: Floats
    point_free: Ints
    queue: Ints
    releases: Ints
    release_ends: Floats
    node_cores: Ints
    node_memory: Floats
    node_gpus: Floats
    history: History
    scores: Scores
    ahead: Ahead
    node_plans: NodePlans
    node_profile: NodeProfile
    slurm: SlurmRows
    bounds: Bounds


def order_of(baseline: Baseline) -> int:
    """Return the number of a baseline's order."""
    return BY_SCORE if baseline.learned else ORDERS[baseline.order]


def needs_of(baseline: Baseline) -> Needs:
    """Return the sorted lists of jobs that a baseline looks at."""
    mode, order = MODES[baseline.mode], order_of(baseline)
    order_times, times = number_of_times(baseline.order_times), number_of_times(baseline.times)
    own = (order, min(order_times, FIRST_PREDICTED) if order != FCFS else REQUESTED)
    by_submission = dict.fromkeys((EASY_FCFS, COMMIT, COMMIT_BACKFILL), (FCFS, REQUESTED))
    shortest = (SJF, min(times, OF_CANDIDATES))
    candidates = shortest if mode == EASY_SJF else by_submission.get(mode, own)
    if baseline.bound:
        candidates = FCFS, REQUESTED
    looks_at_ends = mode not in (STRICT, GREEDY, PACKING, RESERVE) or baseline.looks_back
    ends = ((BY_SIZE, times if times == ACTUAL else REQUESTED),) if looks_at_ends else ()
    if baseline.watched:  # the queue by priority, and the order of the watch
        own, candidates = (MULTIFACTOR, REQUESTED), own
    return Needs(tuple(dict.fromkeys((own, candidates))), ends)


def new_plans(state: State, baselines: Sequence[Baseline]) -> Plans:
    """Return what baselines remember before their first decision.

    Raises:
        OptionsError: a baseline looks at actual run times, which nobody knows; or its lists are not kept.
    """
    count, jobs, nodes = len(baselines), len(state.tables.jobs), state.platform.nodes
    plans = np.zeros(count, PLAN)
    predictors = predictors_of(baselines)
    for plan, baseline in zip(plans, baselines, strict=True):
        if baseline.needs_run_times and not state.knows_run_times:
            raise OptionsError(f"{baseline.name}: looks at actual run times, which only the embedded simulator knows")
        needs = needs_of(baseline)
        state.require(needs, baseline.name)
        plan["order"], plan["mode"] = order_of(baseline), MODES[baseline.mode]
        plan["core_policy"] = PLACEMENTS[baseline.placement]
        plan["order_times"] = number_of_times(baseline.order_times, predictors)
        plan["times"] = number_of_times(baseline.times, predictors)
        plan["list"], plan["candidates"] = (state.needs.orders.index(needs.orders[i]) for i in (0, -1))
        plan["changing"], plan["candidates_change"] = (changes(*needs.orders[i]) for i in (0, -1))
        plan["kept"], plan["short"] = baseline.kept_of(state.platform.usable_cores), baseline.short
        if plan["mode"] == SLURM:
            plan["changing"] = plan["candidates_change"] = 0  # it sorts the queue itself, and not at each decision
            plan["reordered"] = order_of(baseline) == BY_SCORE or changes(*needs.orders[-1])
            plan["watch"], plan["factor"] = baseline.interval if baseline.watched else 0.0, baseline.factor
        if has_own_priorities(state, baseline):
            plan["changing"], plan["prioritized"] = 0, 1
        plan["ends"] = state.needs.ends.index(needs.ends[0]) if needs.ends else -1
        plan["bounded"], plan["reserved"] = (1, EACH) if baseline.bound else (0, NOBODY)
    plans["held"], plans["stale"] = -1, 1
    learned = [baseline.learned for baseline in baselines]
    commits = np.isin(plans["mode"], (COMMIT, COMMIT_BACKFILL)).any()
    bounded = plans["bounded"].any()
    plans_ahead = bounded or (plans["mode"] == CONSERVATIVE).any() or any(map(plans_profiles, learned))
    # two kinds of plans, and no more: machine code is made for each
    looks_back = isinstance(state.tables.node_sets, NodeSets) or any(baseline.looks_back for baseline in baselines)
    return Plans(
        plans=plans,
        tie_key=np.zeros((count, jobs if commits else 0)),
        reserved=np.full((count, jobs if plans_ahead else 0), NONE_RESERVED),
        point_time=np.zeros((count, 2 * jobs + 3 if plans_ahead else 0)),
        point_free=np.zeros((count, 2 * jobs + 3 if plans_ahead else 0), np.int64),
        queue=np.zeros(jobs + 1, np.int32),
        releases=np.zeros(jobs + 1, np.int32),
        release_ends=np.zeros(jobs + 1),
        node_cores=np.zeros(nodes, np.int64),
        node_memory=np.zeros(nodes),
        node_gpus=np.zeros(nodes),
        history=new_history(state, [predictor(times) for times in predictors]) if looks_back else absent(History),
        scores=new_scores(learned, jobs, DEMANDS) if looks_back else absent(Scores),
        ahead=new_ahead(jobs, *played_by(learned)) if looks_back else absent(Ahead),
        node_plans=new_node_plans(state.tables.node_sets, jobs),
        node_profile=new_node_profile(state, jobs, bool(plans_ahead or any(learned))),
        slurm=slurm_rows_of(state, baselines),
        bounds=new_bounds(state, baselines, jobs),
    )


def slurm_rows_of(state: State, baselines: Sequence[Baseline]) -> SlurmRows:
    """Return what Slurm's scheduler knows, nothing if no baseline is like it; absent without partitions.

    Raises:
        OptionsError: the platform has no partitions, or the jobs do not say which they ask for.
    """
    slurm = [one for one in baselines if one.mode == "slurm" or has_own_priorities(state, one)]
    jobs, sets = state.jobs, state.tables.node_sets
    if not slurm:
        return no_slurm_rows() if isinstance(sets, NodeSets) else absent(SlurmRows)
    if jobs is None or jobs.demands is None or not isinstance(sets, NodeSets):
        raise OptionsError(
            f"{slurm[0].name}: needs a platform with partitions and jobs that ask for them, as "
            "hdeeprm-like import and hdeeprm-like whatif make them"
        )
    return new_slurm_rows(state.platform, jobs, sets)


def has_own_priorities(state: State, baseline: Baseline) -> bool:
    """Tell whether another scheduler than Slurm's serves the queue in the order of Slurm's own priorities."""
    partitions = state.platform.partitions
    told = partitions is not None and bool(partitions.settings.get(OWN_PRIORITIES))
    return told and baseline.order == "multifactor" and baseline.mode != "slurm"


def predictors_of(baselines: Sequence[Baseline]) -> tuple[str, ...]:
    """Return the learned predictors that baselines look at, in the order of their numbers."""
    return tuple(dict.fromkeys(times for baseline in baselines for times in baseline.predictors))


def played_by(learned: Sequence[ScoredPolicy | None]) -> tuple[int, int]:
    """Return how many jobs learned policies play at most, and how many drawn futures."""
    stages = [stage for policy in learned if policy for stage in (policy, policy.exact) if stage]
    ahead = [stage.lookahead for stage in stages if stage.lookahead]
    jobs = max((one.queue + one.arrivals for one in ahead), default=0)
    return jobs, max((one.scenarios for one in ahead), default=0)


def changes(order: int, times: int) -> bool:
    """Tell whether a list is to be sorted again at each decision; learned policies sort theirs themselves."""
    return FIRST_CHANGING <= order < BY_SCORE or times >= FIRST_PREDICTED


def make_room(plans: Plans, jobs: int) -> None:
    """Let there be room for so many jobs; under Batsim they become known on the way."""
    if jobs + 1 <= len(plans.queue):
        return
    for name in ("queue", "releases", "release_ends"):
        setattr(plans, name, longer(getattr(plans, name), jobs + 1))
    make_room_for_jobs(plans.bounds, jobs)
    if isinstance(plans.history, History):
        make_room_in(plans.history, jobs)
    if isinstance(plans.scores, Scores):
        plans.scores.keys = longer(plans.scores.keys, jobs)
    if isinstance(plans.ahead, Ahead):
        let_run(plans.ahead, jobs)
    for name, columns, fill in (
        ("tie_key", jobs, 0.0),
        ("reserved", jobs, NONE_RESERVED),
        ("point_time", 2 * jobs + 3, 0.0),
        ("point_free", 2 * jobs + 3, 0),
    ):
        old = getattr(plans, name)
        if old.shape[1]:
            grown = np.full((len(old), columns), fill, old.dtype)
            grown[:, : old.shape[1]] = old
            setattr(plans, name, grown)


@inlined
def planned_time(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return for how many s baseline *k* takes a job to run when it reserves cores."""
    return float(expected_time(tables, plans.history, plans.plans[k].times, j))


@compiled
def read_changes(tables: Tables, plans: Plans, k: int) -> None:
    """Take in what has happened to jobs since the last decision; what has started was started by others."""
    plan, clock = plans.plans[k], tables.clock[0]
    while plan.cursor < clock.changes:
        change = tables.changes[plan.cursor]
        kind, j = change & KIND_MASK, change >> KIND_BITS
        plan.cursor += 1
        if kind == SUBMITTED:
            if plan.mode == CONSERVATIVE:
                plans.reserved[k, j] = NONE_RESERVED
        elif kind == STARTED:
            plan.stale, plan.held = 1, -1
        elif kind == ENDED and tables.jobs[j].finish != tables.jobs[j].start + planned_time(tables, plans, k, j):
            plan.stale = 1


@inlined
def pass_changes(tables: Tables, plans: Plans, k: int) -> None:
    """Leave out what baseline *k* has started itself."""
    plans.plans[k].cursor = tables.clock[0].changes
