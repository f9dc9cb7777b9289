"""Guaranteed starts: each arriving job gets a reservation, as late as its guarantee allows, which never moves later.

A job is guaranteed to start within K times the longest time that the whole machine has needed for all waiting and
running work, now or before (earlier ones count e times less after 90 days), plus half a day; or, if that is later, at
the first date at which it fits beside all other reservations. So the order decides for longer while less waits than has
waited before. The reservation is at the last date before then at which it fits, so that the near future is free for the
order. No job starts that would delay a reservation; when a job starts before its own reservation, that is dropped. So
while jobs run no longer than assumed, each job starts by its guarantee: a reservation is made only where capacity is
free, and capacity is only used where no reservation is.

Requests are mostly too long. With *used* the share of the requested work that ended jobs have needed, the work is
expected to be *used* times the requested work, and a job is *due* at the date that this gives; from then on due jobs
go first, by due date. The guarantee is divided by *used*, since reservations of requested length fill the machine that
much sooner; so they do not obstruct jobs due earlier. With exact requests both dates are the same.

Jobs started by others, or that outrun their requests, may leave less capacity than is reserved. A reservation whose
date has come and which does not fit moves to the next date at which it fits.
"""

import numpy as np

from hdeeprm_like.decision.policies.core_profile import (
    NONE_RESERVED,
    OVERDUE,
    begin_profile,
    expected_finish,
    forget_past,
    is_free_until,
    is_overdue,
    occupy,
)
from hdeeprm_like.decision.policies.guaranteed_nodes import Bounds, earliest_begin, latest_begin, watch_nodes
from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.decision.policies.reserved_nodes import drop_span, reserve_span
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_lists import jobs_of
from hdeeprm_like.engine.tables import ENDED, KIND_BITS, KIND_MASK, STARTED, SUBMITTED, WAITING, Tables

MEMORY = 7776000.0  # s, after which the longest backlog counts e times less
SLACK = 43200.0  # s allowance of each guarantee, added to the time for the work
LEAST_USED = 0.1  # least assumed share of the requested work


@compiled
def follow_guarantees(tables: Tables, plans: Plans, bounds: Bounds, k: int) -> None:
    """Bring the profile and the reservations of baseline *k* to the present, and guarantee starts to new arrivals."""
    plan, bound, clock = plans.plans[k], bounds.state[0], tables.clock[0]
    if bounds.profile.count[0] == 0:
        begin_profile(bounds.profile, clock.now, clock.most_cores)
    forget_past(tables, bounds.profile)
    if bound.overdue > 0 and bound.until > clock.now:
        occupy(bounds.profile, clock.now, bound.until, -bound.overdue)
    for i in range(plan.cursor, clock.changes):
        change = tables.changes[i]
        kind, j = change & KIND_MASK, change >> KIND_BITS
        if kind == SUBMITTED:
            bounds.jobs[j].reserved = NONE_RESERVED
        elif kind == STARTED:
            note_start(tables, plans, bounds, k, j)
        elif kind == ENDED:
            note_end(tables, plans, bounds, k, j)
        else:
            let_go(tables, plans, bounds, k, j)
    note_overdue(tables, plans, bounds, k)
    for i in range(plan.cursor, clock.changes):
        change = tables.changes[i]
        j = change >> KIND_BITS
        if change & KIND_MASK == SUBMITTED and tables.jobs[j].status == WAITING:
            guarantee(tables, plans, bounds, k, j)
    plan.cursor = clock.changes


@compiled
def note_overdue(tables: Tables, plans: Plans, bounds: Bounds, k: int) -> None:
    """Take the cores of overdue running jobs from the profile for a second."""
    bound, now = bounds.state[0], tables.clock[0].now
    bound.overdue, bound.until = 0, now + OVERDUE
    if not is_overdue(tables, plans, k):
        return
    for j in jobs_of(tables.running, plans.plans[k].ends):
        if expected_finish(tables, plans, k, j) > now:
            break
        bound.overdue += tables.jobs[j].size
    if bound.overdue > 0:
        occupy(bounds.profile, now, bound.until, bound.overdue)


@compiled
def note_start(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int) -> None:
    """Remove a started job from the waiting work, and its cores from the profile."""
    bound, now, size = bounds.state[0], tables.clock[0].now, tables.jobs[j].size
    let_go(tables, plans, bounds, k, j)
    end = float(tables.jobs[j].start + planned_time(tables, plans, k, j))
    occupy(bounds.profile, now, end, size)
    bound.cores += size
    bound.ends += size * end


@compiled
def note_end(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int) -> None:
    """Return the cores of an ended job to the profile, and update how much of their requests jobs use."""
    bound, job = bounds.state[0], tables.jobs[j]
    time = planned_time(tables, plans, k, j)
    occupy(bounds.profile, tables.clock[0].now, job.start + time, -job.size)
    bound.cores -= job.size
    bound.ends -= job.size * (job.start + time)
    bound.asked += job.size * time
    bound.used += job.size * (job.finish - job.start)


@compiled
def let_go(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int) -> None:
    """Drop the reservation of a job that no longer waits."""
    if bounds.jobs[j].reserved == NONE_RESERVED:
        return
    bounds.state[0].work -= work_of(tables, plans, bounds, k, j)
    take_out(tables, plans, bounds, k, j)
    bounds.jobs[j].reserved = NONE_RESERVED


@inlined
def work_of(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int) -> float:
    """Return the core seconds that a job requests."""
    return float(bounds.jobs[j].cores * planned_time(tables, plans, k, j))


@compiled
def take_out(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int) -> None:
    """Return what is reserved for a job, its cores as far as that is not past."""
    begin = bounds.jobs[j].reserved
    if begin < np.inf:
        if len(bounds.spans.bits) > 0:
            drop_span(bounds.spans, j)
        end = begin + planned_time(tables, plans, k, j)
        occupy(bounds.profile, max(begin, tables.clock[0].now), end, -bounds.jobs[j].cores)


@compiled
def put_in(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, begin: float) -> None:
    """Reserve for a job from a date on; infinite for no reservation."""
    bound = bounds.state[0]
    bounds.jobs[j].reserved = begin
    if begin < np.inf:
        end = begin + planned_time(tables, plans, k, j)
        occupy(bounds.profile, begin, end, bounds.jobs[j].cores)
        if len(bounds.spans.bits) > 0:
            reserve_span(bounds.spans, j, begin, end)
    bound.soonest = min(bound.soonest, begin)


@compiled
def guarantee(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int) -> None:
    """Guarantee a start to an arriving job, and reserve for it."""
    bound, now = bounds.state[0], tables.clock[0].now
    bounds.jobs[j].cores = tables.jobs[j].size
    watch_nodes(tables, plans, bounds, k, j)
    bound.work += work_of(tables, plans, bounds, k, j)
    used = min(1.0, max(LEAST_USED, bound.used / bound.asked)) if bound.asked > 0.0 else 1.0
    backlog = (bound.work + max(bound.ends - now * bound.cores, 0.0)) / tables.clock[0].most_cores
    bound.worst = max(backlog, bound.worst * np.exp((bound.worst_at - now) / MEMORY))
    bound.worst_at = now
    longest = bound.factor * bound.worst + SLACK
    bound.due = max(bound.due, now + longest * used)
    bounds.jobs[j].due = bound.due
    begin = latest_begin(tables, plans, bounds, k, j, now + longest / used)
    if begin < now:
        begin = earliest_begin(tables, plans, bounds, k, j, np.inf)
    bounds.jobs[j].promised = begin
    put_in(tables, plans, bounds, k, j, begin)


@compiled
def hasten(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int) -> None:
    """Move the reservation of a job to the first date at which it fits; later only if its own date is past.

    Until then it holds, also where a job that it follows has started a moment late, and so is expected to end later.
    """
    before = bounds.jobs[j].reserved if bounds.jobs[j].reserved > tables.clock[0].now else np.inf
    take_out(tables, plans, bounds, k, j)
    put_in(tables, plans, bounds, k, j, earliest_begin(tables, plans, bounds, k, j, before))


@inlined
def has_begun(tables: Tables, bounds: Bounds, j: int) -> bool:
    """Return whether the reservation of a waiting job has begun."""
    reserved = bounds.jobs[j].reserved
    return bool(reserved <= tables.clock[0].now and reserved != NONE_RESERVED)


@inlined
def leaves_reservations(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int) -> bool:
    """Return whether a job's cores are free until it ends or its own reservation begins.

    From that date on the cores are its own. If the reservation has begun they are its own now.
    """
    if has_begun(tables, bounds, j):
        return True
    reserved, now = bounds.jobs[j].reserved, tables.clock[0].now
    end = now + planned_time(tables, plans, k, j)
    if reserved != NONE_RESERVED:
        end = min(end, reserved)
    return bool(is_free_until(bounds.profile, tables.jobs[j].size, end))
