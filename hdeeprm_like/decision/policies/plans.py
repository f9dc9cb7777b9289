"""What baselines remember from one decision to the next, all those of an action space together.

The queue and the running jobs they read from the sorted lists of the cluster (``Tables.waiting``, ``Tables.running``).
"""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.decision.names import (
    COMMIT,
    COMMIT_BACKFILL,
    CONSERVATIVE,
    EASY_FCFS,
    EASY_SJF,
    GREEDY,
    MODES,
    ORDERS,
    PACKING,
    PLACEMENTS,
    STRICT,
    Baseline,
)
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_keys import planned_time
from hdeeprm_like.engine.numbers import FCFS, MULTIFACTOR, SJF
from hdeeprm_like.engine.running_jobs import BY_SIZE
from hdeeprm_like.engine.state import Needs, State
from hdeeprm_like.engine.tables import ENDED, KIND_BITS, KIND_MASK, STARTED, SUBMITTED, Tables, longer
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.types import Floats, Ints, Records

NONE_RESERVED = -1.0  # s, in Plans.reserved

PLAN = np.dtype(
    [
        ("order", "i8"),
        ("mode", "i8"),
        ("core_policy", "i8"),
        ("actual", "i8"),  # 1 where it looks at actual run times
        ("list", "i8"),  # of waiting jobs in its order
        ("candidates", "i8"),  # list of waiting jobs that it backfills from
        ("ends", "i8"),  # list of running jobs by expected end, -1 where it does not look at them
        ("cursor", "i8"),  # changes of the cluster that it has seen
        ("held", "i8"),  # the job that commit blocks on, -1 for none
        ("held_at", "i8"),  # jobs submitted when it was picked
        ("shadow", "f8"),  # s, when it is expected to start
        ("tried", "i8"),  # jobs submitted when jobs were last backfilled,
        ("tried_cores", "i8"),  # how many cores that left free, -1 if jobs may lack something else,
        ("tried_spare", "i8"),  # how many of these were left over,
        ("tried_shadow", "f8"),  # s, and until when jobs could end
        ("points", "i8"),  # used entries of Plans.point_time
        ("planned", "i8"),  # jobs at the front of the queue that have a reservation
        ("stale", "i8"),  # 1 when the reservations must all be planned anew
        ("fair_as_of", "f8"),  # s, of Plans.usage
    ],
    align=True,
)


class Plans(Bundle):
    """The baselines of an action space; K baselines, J jobs, U users, N nodes.

    Attributes:
        plans: (K,) PLAN.
        tie_key: (K, J) what the order minimized for each job when commit picked the held one; else empty.
        reserved: (K, J) s, when a waiting job is to start, of conservative baselines; else empty.
        point_time, point_free: (K, 2J + 3) from when on how many cores are free of running jobs and reservations.
        queue, releases: (J + 1,) scratch: waiting jobs in order, and running ones by expected end, in this decision.
        node_cores, node_memory, node_gpus: (N,) scratch: cores, MB and GPUs free at some time.
        usage, user_cores: (K, U) decayed core seconds used, and cores in use.
    """

    plans: Records
    tie_key: Floats
    reserved: Floats
    point_time: Floats
    point_free: Ints
    queue: Ints
    releases: Ints
    node_cores: Ints
    node_memory: Floats
    node_gpus: Floats
    usage: Floats
    user_cores: Ints


def needs_of(baseline: Baseline) -> Needs:
    """Return the sorted lists of jobs that a baseline looks at."""
    mode, order = MODES[baseline.mode], ORDERS[baseline.order]
    own = (order, baseline.perfect and order != FCFS)
    others = {EASY_FCFS: (FCFS, False), COMMIT: (FCFS, False), COMMIT_BACKFILL: (FCFS, False)}
    candidates = (SJF, baseline.perfect) if mode == EASY_SJF else others.get(mode, own)
    ends = () if mode in (STRICT, GREEDY, PACKING) else ((BY_SIZE, baseline.perfect),)
    return Needs(tuple(dict.fromkeys((own, candidates))), ends)


def new_plans(state: State, baselines: Sequence[Baseline]) -> Plans:
    """Return what baselines remember before their first decision.

    Raises:
        OptionsError: a baseline looks at actual run times, which nobody knows; or its lists are not kept.
    """
    count, jobs, nodes = len(baselines), len(state.tables.jobs), state.platform.nodes
    plans = np.zeros(count, PLAN)
    for plan, baseline in zip(plans, baselines, strict=True):
        if baseline.needs_run_times and not state.knows_run_times:
            raise OptionsError(f"{baseline.name}: looks at actual run times, which only the embedded simulator knows")
        needs = needs_of(baseline)
        state.require(needs, baseline.name)
        plan["order"], plan["mode"] = ORDERS[baseline.order], MODES[baseline.mode]
        plan["core_policy"], plan["actual"] = PLACEMENTS[baseline.placement], baseline.perfect
        plan["list"], plan["candidates"] = (state.needs.orders.index(needs.orders[i]) for i in (0, -1))
        plan["ends"] = state.needs.ends.index(needs.ends[0]) if needs.ends else -1
    plans["held"], plans["stale"] = -1, 1
    commits = np.isin(plans["mode"], (COMMIT, COMMIT_BACKFILL)).any()
    plans_ahead = (plans["mode"] == CONSERVATIVE).any()
    return Plans(
        plans=plans,
        tie_key=np.zeros((count, jobs if commits else 0)),
        reserved=np.full((count, jobs if plans_ahead else 0), NONE_RESERVED),
        point_time=np.zeros((count, 2 * jobs + 3 if plans_ahead else 0)),
        point_free=np.zeros((count, 2 * jobs + 3 if plans_ahead else 0), np.int64),
        queue=np.zeros(jobs + 1, np.int32),
        releases=np.zeros(jobs + 1, np.int32),
        node_cores=np.zeros(nodes, np.int64),
        node_memory=np.zeros(nodes),
        node_gpus=np.zeros(nodes),
        usage=np.zeros((count, state.users)),
        user_cores=np.zeros((count, state.users), np.int64),
    )


def make_room(plans: Plans, jobs: int) -> None:
    """Let there be room for so many jobs; under Batsim they become known on the way."""
    if jobs + 1 <= len(plans.queue):
        return
    plans.queue, plans.releases = longer(plans.queue, jobs + 1), longer(plans.releases, jobs + 1)
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
def expected_finish(tables: Tables, actual: int, j: int) -> float:
    """Return when a running job is expected to end, in s."""
    return float(tables.jobs[j].start + planned_time(tables, actual, j))


@compiled
def read_changes(tables: Tables, plans: Plans, k: int, own: bool) -> None:
    """Take in what has happened to jobs since the last look.

    Args:
        own: whether the jobs that have started were started by this baseline.
    """
    plan, clock = plans.plans[k], tables.clock[0]
    fair = plan.order == MULTIFACTOR
    while plan.cursor < clock.changes:
        change = tables.changes[plan.cursor]
        kind, j = change & KIND_MASK, change >> KIND_BITS
        plan.cursor += 1
        if kind == SUBMITTED:
            if plan.mode == CONSERVATIVE:
                plans.reserved[k, j] = NONE_RESERVED
        elif kind == STARTED:
            if not own:
                plan.stale, plan.held = 1, -1
            if fair:
                plans.user_cores[k, tables.jobs[j].user] += tables.jobs[j].size
        elif kind == ENDED:
            if tables.jobs[j].finish != expected_finish(tables, plan.actual, j):
                plan.stale = 1
            if fair:
                plans.user_cores[k, tables.jobs[j].user] -= tables.jobs[j].size
