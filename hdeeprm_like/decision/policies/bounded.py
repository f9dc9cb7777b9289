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

from typing import Annotated

import numpy as np

from hdeeprm_like.decision.modes import GUARANTEED, Mode, Option
from hdeeprm_like.decision.policies.core_profile import (
    NONE_RESERVED,
    OVERDUE,
    begin_profile,
    expected_finish,
    fits_before,
    forget_past,
    is_free_until,
    is_overdue,
    occupy,
)
from hdeeprm_like.decision.policies.easy import start_all_that_fit
from hdeeprm_like.decision.policies.guaranteed_nodes import (
    Bounds,
    allow_from,
    earliest_begin,
    keep_to_allowed,
    latest_begin,
)
from hdeeprm_like.decision.policies.node_plans import start_without_reservations
from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.decision.policies.reserved_nodes import drop_span, look_now, reserve_span, start_on_allowed
from hdeeprm_like.decision.policies.starting import RESERVED, book_anywhere, start_if_fits
from hdeeprm_like.decision.score_files import LEAST_BOUND, MOST_BOUND
from hdeeprm_like.engine.compiled import callback, compiled, inlined
from hdeeprm_like.engine.dates import REPORTED_LATE
from hdeeprm_like.engine.job_lists import copy_jobs, job_at, jobs_of
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.processor_keys import counts_cores
from hdeeprm_like.engine.tables import CORES, ENDED, KIND_BITS, KIND_MASK, NOTHING, STARTED, SUBMITTED, WAITING, Tables
from hdeeprm_like.engine.waiting_queue import requests_more

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
    if (tables.clock[0].whole == 1 or requests_more(tables, j)) and not counts_cores(tables):
        bound.on_nodes = 1  # reservations until now are of cores anywhere; those of nodes do not overlap with them
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
    time, cores, before = planned_time(tables, plans, k, j), bounds.jobs[j].cores, bounds.jobs[j].reserved
    if before <= tables.clock[0].now:
        before = np.inf
    elif bounds.state[0].on_nodes == 0 and not fits_before(bounds.profile, cores, time, before):
        return
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


# --- steps of a decision, in addition to serving the order


@callback
def open_guarantees(tables: Tables, plans: Plans, bounds: Bounds, k: int) -> None:
    """Bring the guarantees to the present, and start the jobs whose reservation begins or that are due."""
    follow_guarantees(tables, plans, bounds, k)
    if tables.clock[0].partitioned:
        look_now(tables, plans)
    start_reserved_jobs(tables, plans, bounds, k)
    start_due_jobs(tables, plans, bounds, k)


@callback
def close_guarantees(tables: Tables, plans: Plans, bounds: Bounds, k: int) -> None:
    """Skip the job starts of this decision when changes are read next, and request a call when a reservation begins.

    None is requested if that reservation only waits for an overdue job, whose end comes by itself.
    """
    plan, bound, clock = plans.plans[k], bounds.state[0], tables.clock[0]
    plan.cursor = clock.changes
    waits_for_overdue = bound.overdue > 0 and bound.soonest <= bound.until
    if clock.waiting > 0 and bound.soonest > clock.now and not waits_for_overdue:
        clock.wake_at = min(clock.wake_at, bound.soonest)


@compiled
def start_reserved_jobs(tables: Tables, plans: Plans, bounds: Bounds, k: int) -> None:
    """Start the jobs whose reservation begins; one that does not fit moves on, unless an end is reported late."""
    bound, now = bounds.state[0], tables.clock[0].now
    if bound.soonest > now:
        return
    count, bound.soonest = copy_jobs(tables.waiting, plans.plans[k].candidates, plans.queue), np.inf
    for i in range(count):
        j = plans.queue[i]
        reserved = bounds.jobs[j].reserved
        if reserved == NONE_RESERVED:
            continue
        if reserved > now:
            bound.soonest = min(bound.soonest, reserved)
        elif start_if_fits(tables, plans, k, j) != NOTHING:
            if reserved < now - REPORTED_LATE:
                hasten(tables, plans, bounds, k, j)
            else:
                bound.soonest = min(bound.soonest, now)  # try again as soon as anything happens


@compiled
def start_due_jobs(tables: Tables, plans: Plans, bounds: Bounds, k: int) -> None:
    """Start the due jobs that fit, in the order of arrival; the first that does not gets the first date at which it
    fits, and those behind it do not delay it.
    """
    clock, v, held = tables.clock[0], plans.plans[k].candidates, False
    if clock.waiting == 0 or bounds.jobs[job_at(tables.waiting, v, 0, 0)].due > clock.now:
        return
    for i in range(copy_jobs(tables.waiting, v, plans.queue)):
        j = plans.queue[i]
        promise = bounds.jobs[j]
        if promise.reserved == NONE_RESERVED or promise.due > clock.now or (held and clock.free_cores == 0):
            return
        if start_if_fits(tables, plans, k, j) != NOTHING and not held:
            held = True
            if promise.reserved > clock.now:
                hasten(tables, plans, bounds, k, j)


# --- the start of one job beside the guarantees of others; `starting.start_if_fits` calls it by address


@inlined
def begin_in_plan(tables: Tables, bounds: Bounds, j: int) -> float:
    """Return when a job that starts now begins in the plan: when its reservation does, if that has just begun.

    So a start that is reported late runs into no reservation that follows its own.
    """
    now, reserved = tables.clock[0].now, bounds.jobs[j].reserved
    return float(reserved if has_begun(tables, bounds, j) and reserved >= now - REPORTED_LATE else now)


@callback
def start_guaranteed(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int) -> int:
    """Start a job that may run on all nodes if it delays no reservation; return as `starting.start_if_fits`."""
    if not leaves_reservations(tables, plans, bounds, k, j):
        return RESERVED
    lacks = book_anywhere(tables, plans, k, j)
    if lacks != NOTHING:
        return int(lacks)
    begin = begin_in_plan(tables, bounds, j)
    if bounds.state[0].on_nodes == 1 and not keep_to_allowed(tables, plans, bounds, k, j, begin):
        return CORES
    start_job(tables, j)
    note_start(tables, plans, bounds, k, j)
    return NOTHING


@callback
def start_guaranteed_on_nodes(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int) -> int:
    """Start a job on nodes of its partition if it delays no reservation; return NOTHING or CORES."""
    begin = begin_in_plan(tables, bounds, j)
    allow_from(tables, plans, bounds, k, j, begin)
    if not start_on_allowed(tables, plans, j):
        if not has_begun(tables, bounds, j):
            return CORES
        for n in range(
            len(tables.nodes)
        ):  # restrict the nodes: others are picked, and the job fits on its reserved ones
            tables.node_sets.allowed[n] &= (bounds.spans.nodes[j, n >> 6] >> (n & 63)) & 1
        if not start_on_allowed(tables, plans, j):
            return CORES
    note_start(tables, plans, bounds, k, j)
    return NOTHING


class Bounded(Mode):
    """Starts every job that fits beside a start that each job is guaranteed."""

    name = GUARANTEED
    starts, starts_on_nodes = start_all_that_fit, start_without_reservations
    bound: Annotated[float, Option("how many times all work a job waits at most", "1.5", LEAST_BOUND, MOST_BOUND)] = 1.0
