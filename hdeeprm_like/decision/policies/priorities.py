"""Orders of the queue: what each minimizes, and the waiting and running jobs kept sorted.

A baseline keeps its own sorted rows beside ``Tables`` and brings them up to date at each decision, so it works under
every driver, and beside other actions that start jobs. Ties go to the job submitted first.
"""

from typing import NamedTuple

import numpy as np

from hdeeprm_like.decision.names import (
    EASY_SJF,
    F1,
    F2,
    F3,
    F4,
    FCFS,
    FIRST_CHANGING,
    FIRST_WITH_OTHERS,
    GREEDY,
    LAF,
    LCFS,
    LJF,
    MULTIFACTOR,
    ORACLE,
    SAF,
    SJF,
    SMALLEST,
    STRICT,
    UNICEP,
    WFP3,
    WFP3_PUBLISHED,
)
from hdeeprm_like.engine.bundles import bundle
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import RUNNING, WAITING, Rows, Tables
from hdeeprm_like.types import Floats, Ints

DAY = 86400.0  # s
HALF_LIFE = 7 * DAY  # of what a user has used, as Slurm's PriorityDecayHalfLife
MAX_AGE = 7 * DAY  # from there on a job gets no older, as Slurm's PriorityMaxAge

RULE = np.dtype(
    [
        ("order", "i8"),
        ("mode", "i8"),
        ("core_policy", "i8"),
        ("perfect", "i8"),  # 1 when Plan.time holds actual run times
        ("epoch", "f8"),  # s on the trace's clock when ours shows 0; F1 to F4 look at it
        ("seen", "i8"),  # rows of jobs looked at
        ("front", "i8"),  # first used entry of Plan.queue
        ("waiting", "i8"),  # used entries of Plan.queue
        ("others", "i8"),  # used entries of Plan.others
        ("running", "i8"),  # used entries of Plan.running
        ("completed", "i8"),  # jobs completed at the last decision
        ("held", "i8"),  # the job that commit blocks on, -1 for none
        ("shadow", "f8"),  # s, when it is expected to start
        ("tried", "i8"),  # rows of jobs that were there when jobs were last backfilled,
        ("tried_cores", "i8"),  # how many cores that left free, -1 if jobs may lack something else,
        ("tried_spare", "i8"),  # how many of these were left over,
        ("tried_shadow", "f8"),  # s, and until when jobs could end
        ("points", "i8"),  # used entries of Plan.point_time
        ("planned", "i8"),  # jobs at the front of the queue that have a reservation
        ("first_new", "i8"),  # least number of jobs before one that has come since they were planned
        ("stale", "i8"),  # 1 when the reservations must all be planned anew
        ("fair_as_of", "f8"),  # s, of Plan.usage
    ],
    align=True,
)


@bundle()
class Plan(NamedTuple):
    """What a baseline keeps between its decisions; J jobs, U users.

    Attributes:
        rule: (1,) RULE.
        time: (J,) s that each job is expected to run: requested or actual.
        oracle: (J,) s that each job runs, where it is known.
        user: (J,) from 0.
        key: (J,) what the order minimizes, of the waiting jobs.
        queue: (J,) waiting jobs in order.
        others: (J,) waiting jobs in the order of backfilling where that is another one.
        running: (J,) running jobs by expected end.
        end: (J,) s, start plus expected time of those.
        releases: (J,) scratch: running jobs by expected end as seen now.
        reserved: (J,) s, when a waiting job is to start.
        point_time, point_free: (2J + 2,) from when on how many cores are free of running jobs and reservations.
        node_cores, node_memory, node_gpus: (N,) scratch: cores, MB and GPUs free at some time.
        usage, user_cores: (U,) decayed core seconds used, and cores in use.
    """

    rule: Rows
    time: Floats
    oracle: Floats
    user: Ints
    key: Floats
    queue: Ints
    others: Ints
    running: Ints
    end: Floats
    releases: Ints
    reserved: Floats
    point_time: Floats
    point_free: Ints
    node_cores: Ints
    node_memory: Floats
    node_gpus: Floats
    usage: Floats
    user_cores: Ints


@compiled
def static_key(t: Tables, plan: Plan, j: int) -> float:
    """Return what an order that does not change with time minimizes.

    Sources: F1 to F4: Carastan-Santos and de Camargo, "Obtaining dynamic scheduling policies with simulation and
    machine learning", 2017. The published WFP3 and UNICEP are those of RLScheduler's code, see `baselines.MEANINGS`.
    """
    job, order = t.jobs[j], plan.rule[0].order
    if order == FCFS:
        return float(j)
    time, size = float(plan.time[j]), float(job.size)
    submit = plan.rule[0].epoch + job.submit
    if order == LCFS:
        return float(-j)
    if order == SJF:
        return time
    if order == SMALLEST:
        return size
    if order == LJF:
        return -time
    if order == SAF:
        return time * size
    if order == LAF:
        return -time * size
    if order == ORACLE:
        return float(plan.oracle[j])
    logarithm = np.log10(submit if submit > 0.0 else 0.1)
    if order == F1:
        return float(np.log10(time if time > 0.0 else 0.1) * size + 870.0 * logarithm)
    if order == F2:
        return float(np.sqrt(time) * size + 25600.0 * logarithm)
    if order == F3:
        return float(time * size + 6860000.0 * logarithm)
    if order == F4:
        return float(time * np.sqrt(size) + 530000.0 * logarithm)
    if order == WFP3_PUBLISHED:
        return wfp3(-1.0 - submit, time, size)
    return unicep(-1.0 - submit, time, size)


@compiled
def wfp3(wait: float, time: float, size: float) -> float:
    """Return the key of WFP3 (Tang et al., "Fault-aware, utility-based job scheduling on Blue Gene/P", 2009)."""
    return float(-((wait / max(time, 1.0)) ** 3.0) * size)


@compiled
def unicep(wait: float, time: float, size: float) -> float:
    """Return the key of UNICEP (same source), with a small number for the logarithm of one core."""
    logarithm = np.log2(size + 1e-15) if size > 1.0 else 1e-12
    return float(-(wait + 1e-15) / (logarithm * max(time, 1.0)))


@compiled
def changing_key(t: Tables, plan: Plan, j: int, used: float) -> float:
    """Return what an order that changes with time minimizes now; *used* is the sum of the usage of all users.

    Multifactor weighs age, size and fair share alike, each from 0 to 1, as Slurm's priority plugin defines them with
    equal shares for all users: 2^-(share of the usage times number of users).
    """
    job, order = t.jobs[j], plan.rule[0].order
    time, size = float(plan.time[j]), float(job.size)
    wait = t.clock[0].now - job.submit
    if order == WFP3:
        return wfp3(wait, time, size)
    if order == UNICEP:
        return unicep(wait, time, size)
    if order == MULTIFACTOR:
        share = plan.usage[plan.user[j]] / used * len(plan.usage) if used > 0.0 else 0.0
        return float(-(min(wait / MAX_AGE, 1.0) + size / len(t.core_job) + 2.0 ** (-share)))
    return float(-(wait + time) / max(time, 10.0))  # XFACTOR


@compiled
def seat_of(plan: Plan, j: int) -> int:
    """Return where a job belongs in the queue; often last."""
    low, high = plan.rule[0].front, plan.rule[0].front + plan.rule[0].waiting
    key = plan.key[j]
    if high > low and plan.key[plan.queue[high - 1]] <= key and plan.queue[high - 1] < j:
        return int(high)
    while low < high:
        middle = (low + high) // 2
        other = plan.queue[middle]
        if plan.key[other] < key or (plan.key[other] == key and other < j):
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def insert(rows: Ints, used: int, seat: int, j: int) -> None:
    """Put a job into sorted rows of which *used* are used."""
    for i in range(used, seat, -1):
        rows[i] = rows[i - 1]
    rows[seat] = j


@compiled
def insert_other(plan: Plan, j: int) -> None:
    """Put a job into the order of backfilling."""
    rule = plan.rule[0]
    seat = rule.others
    if rule.mode == EASY_SJF:
        while seat > 0 and plan.time[plan.others[seat - 1]] > plan.time[j]:
            seat -= 1
    insert(plan.others, rule.others, seat, j)
    rule.others += 1


@compiled
def keep_waiting(t: Tables, rows: Ints, first: int, used: int) -> int:
    """Drop the jobs from a place on that do not wait any more; return where the rows end then."""
    kept = first
    for i in range(first, used):
        if t.jobs[rows[i]].status == WAITING:
            rows[kept] = rows[i]
            kept += 1
    return kept


@compiled
def sort_again(t: Tables, plan: Plan) -> None:
    """Find the keys of all waiting jobs again and sort; little moves from one decision to the next."""
    used = plan.usage.sum()
    front = plan.rule[0].front
    for i in range(front, front + plan.rule[0].waiting):
        j = plan.queue[i]
        key = changing_key(t, plan, j, used)
        plan.key[j] = key
        seat = i
        while seat > front:
            other = plan.queue[seat - 1]
            if plan.key[other] < key or (plan.key[other] == key and other < j):
                break
            plan.queue[seat] = other
            seat -= 1
        plan.queue[seat] = j


@compiled
def add_running(t: Tables, plan: Plan, j: int) -> None:
    """Put a job that runs among those sorted by expected end, the smallest first of those that end together."""
    rule = plan.rule[0]
    end = t.jobs[j].start + plan.time[j]
    plan.end[j] = end
    seat = rule.running
    while seat > 0:
        other = plan.running[seat - 1]
        if plan.end[other] < end or (plan.end[other] == end and t.jobs[other].size <= t.jobs[j].size):
            break
        seat -= 1
    insert(plan.running, rule.running, seat, j)
    rule.running += 1
    plan.user_cores[plan.user[j]] += t.jobs[j].size


@compiled
def drop_completed(t: Tables, plan: Plan) -> None:
    """Forget the jobs that have ended; reservations are stale if one did so at another time than expected."""
    rule = plan.rule[0]
    kept = 0
    for i in range(rule.running):
        j = plan.running[i]
        if t.jobs[j].status == RUNNING:
            plan.running[kept] = j
            kept += 1
        else:
            plan.user_cores[plan.user[j]] -= t.jobs[j].size
            if t.jobs[j].finish != plan.end[j]:
                rule.stale = 1
    rule.running = kept
    rule.completed = t.clock[0].completed


@compiled
def start_over(t: Tables, plan: Plan) -> None:
    """Find the running jobs again, for some were started by another action."""
    rule = plan.rule[0]
    rule.running, rule.stale, rule.held = 0, 1, -1
    plan.user_cores[:] = 0
    for j in range(t.clock[0].submitted):
        if t.jobs[j].status == RUNNING:
            add_running(t, plan, j)


@compiled
def follows_running(plan: Plan) -> bool:
    """Tell whether a baseline looks at the running jobs."""
    rule = plan.rule[0]
    return bool((rule.mode != STRICT and rule.mode != GREEDY) or rule.order == MULTIFACTOR)


@compiled
def take_in(t: Tables, plan: Plan, j: int) -> None:
    """Put a submitted job into the queue."""
    rule = plan.rule[0]
    changing = rule.order >= FIRST_CHANGING
    plan.reserved[j] = -1.0
    if rule.perfect == 0:
        plan.time[j] = t.jobs[j].requested_time
    plan.key[j] = 0.0 if changing else static_key(t, plan, j)
    if rule.waiting == 0:
        rule.front = 0
    end = rule.front + rule.waiting
    seat = end if changing else seat_of(plan, j)
    insert(plan.queue, end, seat, j)
    rule.waiting += 1
    rule.first_new = min(rule.first_new, seat - rule.front)
    if rule.mode >= FIRST_WITH_OTHERS:
        insert_other(plan, j)


@compiled
def bring_up_to_date(t: Tables, plan: Plan) -> None:
    """Take in what has happened since the last decision."""
    rule, clock = plan.rule[0], t.clock[0]
    if rule.order == MULTIFACTOR:
        share_out(t, plan)
    following = follows_running(plan)
    if following and rule.completed != clock.completed:
        drop_completed(t, plan)
    for j in range(rule.seen, clock.submitted):
        if t.jobs[j].status == WAITING:
            take_in(t, plan, j)
    rule.seen = clock.submitted
    if rule.waiting != clock.waiting:
        rule.waiting = keep_waiting(t, plan.queue, rule.front, rule.front + rule.waiting) - rule.front
        rule.stale = 1
    if following and rule.running != clock.running:
        start_over(t, plan)
    if rule.order >= FIRST_CHANGING:
        sort_again(t, plan)


@compiled
def share_out(t: Tables, plan: Plan) -> None:
    """Book what the users have used since the last decision, and let what they used before fade."""
    rule, now = plan.rule[0], t.clock[0].now
    elapsed = now - rule.fair_as_of
    rule.fair_as_of = now
    fade = 0.5 ** (elapsed / HALF_LIFE)
    for user in range(len(plan.usage)):
        plan.usage[user] = plan.usage[user] * fade + plan.user_cores[user] * elapsed
