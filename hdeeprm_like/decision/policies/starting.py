"""Start of a job that a baseline has chosen: the only place that decides whether it may start now.

It may start if it fits by cores, memory, GPUs and nodes, and delays no reservation of the mode: that of the head of the
queue or those of all jobs before it (`skyline`), those of nodes (`reserved_nodes`), or guaranteed starts (`bounded`).
"""

from hdeeprm_like.decision.modes import SHORTEST_FIRST
from hdeeprm_like.decision.policies.node_profile import keep_to_profile
from hdeeprm_like.decision.policies.plans import (
    EACH,
    HEAD,
    NO_JOB,
    Plans,
    place_one,
    planned_time,
    start_one,
    start_one_guarded,
)
from hdeeprm_like.decision.policies.reserved_nodes import allow_until, start_on_allowed
from hdeeprm_like.decision.policies.skyline import leaves_to_head
from hdeeprm_like.engine.allocation import choose_cores, return_cores
from hdeeprm_like.engine.calls import NOWHERE
from hdeeprm_like.engine.compiled import callback, compiled, inlined
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.numbers import BEST_FIT, TETRIS_SRTF
from hdeeprm_like.engine.packing import best_node, is_whole
from hdeeprm_like.engine.tables import CORES, NOTHING, Tables
from hdeeprm_like.types import Floats

RESERVED = -1  # code for what a job lacks: it would take reserved cores


@inlined
def start_if_fits(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job now if it fits and delays no reservation of baseline *k*, on cores by the baseline's placement.

    If nodes take jobs whole, the job goes to the node with the best fit, unless the placement scores nodes itself.

    Returns:
        NOTHING, or what it lacks: RESERVED if the number of cores decides that, else CORES, MEMORY or GPUS.
    """
    return start_one_guarded(tables, plans, k, j) if plans.plans[k].reserved == EACH else start_one(tables, plans, k, j)


@callback
def start_in_partition(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job on nodes of its partition that are not reserved during its assumed run time."""
    now = tables.clock[0].now
    allow_until(tables, plans, j, now, now + planned_time(tables, plans, k, j) + plans.plans[k].margin)
    return NOTHING if start_on_allowed(tables, plans, j) else CORES


@callback
def start_anywhere(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job that may run on all nodes."""
    clock, plan, asks = tables.clock[0], plans.plans[k], False
    if plan.reserved != NO_JOB:
        asks = plan.reserved != HEAD or clock.now + planned_time(tables, plans, k, j) > plan.shadow
        if plan.reserved == HEAD and (j == plan.head or (asks and tables.jobs[j].size > plan.spare)):
            return RESERVED
    lacks = book_anywhere(tables, plans, k, j)
    if lacks == NOTHING and asks:
        at_head = plan.reserved == HEAD
        if not (leaves_to_head(tables, plans, k, j) if at_head else keep_to_profile(tables, plans, j)):
            return_cores(tables, j)
            return CORES
    if lacks == NOTHING:
        start_job(tables, j)
    return int(lacks)


@inlined
def book_anywhere(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Book cores of all nodes for a job, by the placement of baseline *k*; return NOTHING or what it lacks."""
    clock, policy = tables.clock[0], plans.plans[k].core_policy
    clock.decisions += 1
    if tables.jobs[j].size > clock.free_cores:
        return CORES
    if plans.plans[k].place_at != NOWHERE:
        return place_one(tables, plans, k, j)
    if clock.whole:
        _, found = best_node(tables, BEST_FIT, j, tables.jobs[j].size)
        if not is_whole(found):
            return CORES
        if policy < BEST_FIT or policy > TETRIS_SRTF:  # others do not keep a job on one node
            policy = BEST_FIT
    return int(choose_cores(tables, policy, j))


@compiled
def sort_ties(tables: Tables, plans: Plans, k: int, keys: Floats, submitted: int, count: int) -> None:
    """Order candidates with equal sort keys as in a queue.

    Args:
        keys: (J,) of each job in that queue. submitted: jobs submitted when it was in that order; later ones stay
            where they are. count: candidates in ``Plans.queue``.
    """
    plan = plans.plans[k]
    for i in range(1, count):
        j, place = plans.queue[i], i
        while place > 0 and j < submitted:
            other = plans.queue[place - 1]
            alike = tables.jobs[other].submit == tables.jobs[j].submit
            if plan.candidates_by == SHORTEST_FIRST:
                alike = alike and planned_time(tables, plans, k, other) == planned_time(tables, plans, k, j)
            key, own = keys[other], keys[j]
            if not alike or key < own or (key == own and other < j):
                break
            plans.queue[place] = other
            place -= 1
        plans.queue[place] = j


@inlined
def sort_ties_now(tables: Tables, plans: Plans, k: int, count: int) -> None:
    """Do so by the queue as it is now."""
    sort_ties(tables, plans, k, tables.waiting.key_of[plans.plans[k].list], tables.clock[0].submitted, count)
