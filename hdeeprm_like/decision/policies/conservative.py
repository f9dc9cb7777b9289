"""Conservative backfilling: a reservation for every job, on a profile of the cores that will be free.

The profile is a step function: ``point_free[i]`` cores are free from ``point_time[i]`` on, up to the next point. While
jobs end when they are expected to, the reservations before a newly come job stay as they are; planning them anew would
give the same. Otherwise all are planned anew, and in either case no further down the queue than a job may start.

Reservations are for cores; memory and GPUs are looked at when a job starts (one that lacks them then goes on waiting).
Source: Mu'alem and Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM
SP2 with backfilling", 2001.
"""

import numpy as np

from hdeeprm_like.decision.names import FIRST_CHANGING
from hdeeprm_like.decision.policies.pairs import choose_cores
from hdeeprm_like.decision.policies.priorities import Plan, add_running, follows_running
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.tables import CORES, NOTHING, WAITING, Tables

OVERDUE = 1.0  # s from now on that a job is expected to run on which has outrun its request
NONE_NEW = 1 << 60


@compiled
def start_planned(t: Tables, plan: Plan, j: int) -> int:
    """Start a job if it fits; return NOTHING or what it lacks."""
    clock = t.clock[0]
    clock.decisions += 1
    if t.jobs[j].size > clock.free_cores:
        return CORES
    return place_planned(t, plan, j)


@compiled
def place_planned(t: Tables, plan: Plan, j: int) -> int:
    """Start a job for which there are enough cores, if it fits; return NOTHING or what it lacks."""
    lacks = choose_cores(t, plan.rule[0].core_policy, j)
    if lacks == NOTHING:
        start_job(t, j)
        if follows_running(plan):
            add_running(t, plan, j)
    return lacks


@compiled
def point_at(plan: Plan, time: float) -> int:
    """Return the number of the profile's point at a time after its first, made if there is none."""
    rule = plan.rule[0]
    low, high = 0, rule.points
    while low < high:
        middle = (low + high) // 2
        if plan.point_time[middle] < time:
            low = middle + 1
        else:
            high = middle
    if low == rule.points or plan.point_time[low] > time:
        for i in range(rule.points, low, -1):
            plan.point_time[i] = plan.point_time[i - 1]
            plan.point_free[i] = plan.point_free[i - 1]
        plan.point_time[low] = time
        plan.point_free[low] = plan.point_free[low - 1]
        rule.points += 1
    return int(low)


@compiled
def drop_point(plan: Plan, i: int) -> None:
    """Take a point out of the profile if nothing changes there."""
    rule = plan.rule[0]
    if i == 0 or plan.point_free[i] != plan.point_free[i - 1]:
        return
    rule.points -= 1
    for k in range(i, rule.points):
        plan.point_time[k] = plan.point_time[k + 1]
        plan.point_free[k] = plan.point_free[k + 1]


@compiled
def occupy(plan: Plan, begin: float, end: float, cores: int) -> None:
    """Take cores from the profile for a span of time, or give them back if negative."""
    if end <= begin:
        return
    first = point_at(plan, begin)
    last = point_at(plan, end)
    for i in range(first, last):
        plan.point_free[i] -= cores
    drop_point(plan, last)
    drop_point(plan, first)


@compiled
def earliest(plan: Plan, cores: int, time: float) -> float:
    """Return when so many cores are free for so long at the earliest; infinite for never."""
    points = plan.rule[0].points
    i = 0
    while i < points:
        if plan.point_free[i] < cores:
            i += 1
            continue
        end = plan.point_time[i] + time
        k = i + 1
        while k < points and plan.point_time[k] < end and plan.point_free[k] >= cores:
            k += 1
        if k == points or plan.point_time[k] >= end:
            return float(plan.point_time[i])
        i = k + 1
    return np.inf


@compiled
def is_free_now(plan: Plan, cores: int, time: float) -> bool:
    """Tell whether so many cores are free from now on for so long."""
    if plan.point_free[0] < cores:
        return False
    points, end, i = plan.rule[0].points, plan.point_time[0] + time, 1
    while i < points and plan.point_time[i] < end:
        if plan.point_free[i] < cores:
            return False
        i += 1
    return True


@compiled
def forget_past(t: Tables, plan: Plan) -> None:
    """Let the profile begin now."""
    rule, now = plan.rule[0], t.clock[0].now
    past = 0
    while past + 1 < rule.points and plan.point_time[past + 1] <= now:
        past += 1
    if past > 0:
        rule.points -= past
        for i in range(rule.points):
            plan.point_time[i] = plan.point_time[i + past]
            plan.point_free[i] = plan.point_free[i + past]
    plan.point_time[0] = now


@compiled
def new_profile(t: Tables, plan: Plan) -> None:
    """Make the profile of the running jobs alone; an overdue one is expected to end in a second."""
    rule, clock = plan.rule[0], t.clock[0]
    rule.points, rule.planned, rule.stale = 1, 0, 0
    plan.point_time[0] = clock.now
    plan.point_free[0] = clock.free_cores
    overdue, k = 0, 0
    while k < rule.running and plan.end[plan.running[k]] <= clock.now:
        overdue += t.jobs[plan.running[k]].size
        k += 1
    rule.stale = 1 if overdue > 0 else 0
    while k < rule.running or overdue > 0:
        time, cores = clock.now + OVERDUE, overdue
        if k < rule.running and (overdue == 0 or plan.end[plan.running[k]] < time):
            time, cores = plan.end[plan.running[k]], t.jobs[plan.running[k]].size
            k += 1
        else:
            overdue = 0
        if time > plan.point_time[rule.points - 1]:
            plan.point_time[rule.points] = time
            plan.point_free[rule.points] = plan.point_free[rule.points - 1]
            rule.points += 1
        plan.point_free[rule.points - 1] += cores


@compiled
def refresh(t: Tables, plan: Plan) -> None:
    """Bring the reservations up to date: those that still stand are the first *planned* of the queue."""
    rule, now = plan.rule[0], t.clock[0].now
    if rule.order >= FIRST_CHANGING or (rule.running > 0 and plan.end[plan.running[0]] <= now):
        rule.stale = 1
    if rule.stale:
        new_profile(t, plan)
    else:
        forget_past(t, plan)
        if rule.first_new < rule.planned:
            place, seen = rule.front + rule.first_new, rule.first_new
            while seen < rule.planned:  # there are as many planned jobs as before, behind the new ones
                j = plan.queue[place]
                if plan.reserved[j] >= 0.0:
                    occupy(plan, plan.reserved[j], plan.reserved[j] + plan.time[j], -t.jobs[j].size)
                    plan.reserved[j] = -1.0
                    seen += 1
                place += 1
            rule.planned = rule.first_new
    rule.first_new = NONE_NEW


@compiled
def start_conservative(t: Tables, plan: Plan) -> None:
    """Start the jobs whose reservation is for now."""
    rule, now = plan.rule[0], t.clock[0].now
    refresh(t, plan)
    front = rule.front
    for i in range(front, front + rule.planned):
        j = plan.queue[i]
        if plan.reserved[j] <= now:
            start_reserved(t, plan, j)
    last = front + rule.waiting - 1  # the last job that may start: it could if the next in order were the last
    i = front + rule.planned
    while True:
        while last >= i and not is_free_now(plan, t.jobs[plan.queue[last]].size, plan.time[plan.queue[last]]):
            last -= 1
        if i > last:
            break
        j = plan.queue[i]
        job = t.jobs[j]
        begin = earliest(plan, job.size, plan.time[j])
        plan.reserved[j] = begin
        if begin < np.inf:
            occupy(plan, begin, begin + plan.time[j], job.size)
        if begin == now:
            start_reserved(t, plan, j)
        i += 1
    rule.planned = i - front
    drop_started(t, plan, front)


@compiled
def start_reserved(t: Tables, plan: Plan, j: int) -> None:
    """Start a job at its reservation; without the memory or GPUs for it, it goes on waiting."""
    if start_planned(t, plan, j) != NOTHING:
        plan.rule[0].stale = 1


@compiled
def drop_started(t: Tables, plan: Plan, first: int) -> None:
    """Take the started jobs out of the queue: some at the front of it, others from the place *first* on."""
    rule = plan.rule[0]
    if rule.waiting == t.clock[0].waiting:
        return
    end, end_of_planned = rule.front + rule.waiting, rule.front + rule.planned
    while rule.front < end and t.jobs[plan.queue[rule.front]].status != WAITING:
        rule.front += 1
        rule.planned -= rule.planned > 0
    rule.waiting = t.clock[0].waiting
    kept = max(first, rule.front)
    if rule.front + rule.waiting == end:
        return
    for i in range(kept, end):
        j = plan.queue[i]
        if t.jobs[j].status == WAITING:
            plan.queue[kept] = j
            kept += 1
        else:
            rule.planned -= i < end_of_planned
