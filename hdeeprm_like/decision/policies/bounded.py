"""Steps of a decision for baselines with guaranteed starts, in addition to serving their order (`guarantees`)."""

from typing import Annotated

import numpy as np

from hdeeprm_like.decision.modes import GUARANTEED, Mode, Option
from hdeeprm_like.decision.policies.core_profile import NONE_RESERVED
from hdeeprm_like.decision.policies.easy import start_all_that_fit
from hdeeprm_like.decision.policies.guaranteed_nodes import Bounds, allow_from, keep_to_allowed
from hdeeprm_like.decision.policies.guarantees import (
    follow_guarantees,
    has_begun,
    hasten,
    leaves_reservations,
    note_start,
)
from hdeeprm_like.decision.policies.node_plans import start_without_reservations
from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.decision.policies.reserved_nodes import look_now, start_on_allowed
from hdeeprm_like.decision.policies.starting import RESERVED, book_anywhere, start_if_fits
from hdeeprm_like.decision.score_files import LEAST_BOUND, MOST_BOUND
from hdeeprm_like.engine.compiled import callback, compiled, inlined
from hdeeprm_like.engine.dates import REPORTED_LATE
from hdeeprm_like.engine.job_lists import copy_jobs, job_at
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.tables import CORES, NOTHING, Tables


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
