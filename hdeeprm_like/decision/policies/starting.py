"""Start of a job that a baseline has chosen: the only place that decides whether it may start now.

It may start if it fits by cores, memory, GPUs and nodes, and delays no reservation of the mode: that of the head of the
queue (`reservations`), those of all jobs before it (`node_profile`), those of nodes (`reserved_nodes`), or guaranteed
starts (`guarantees`).
"""

from hdeeprm_like.decision.policies.guaranteed_nodes import allow_on_set, allow_reserved, keep_to_allowed
from hdeeprm_like.decision.policies.guarantees import has_begun, leaves_reservations, note_start
from hdeeprm_like.decision.policies.node_profile import keep_to_profile
from hdeeprm_like.decision.policies.placement_scores import choose_by_score
from hdeeprm_like.decision.policies.plans import EACH, HEAD, NO_JOB, Plans, planned_time
from hdeeprm_like.decision.policies.reservations import leaves_to_head
from hdeeprm_like.decision.policies.reserved_nodes import allow_until, start_on_allowed
from hdeeprm_like.engine.allocation import choose_cores, return_cores
from hdeeprm_like.engine.bundles import BundleType
from hdeeprm_like.engine.compiled import by_type, compiled, inlined
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.node_sets import no_partitions
from hdeeprm_like.engine.numbers import BEST_FIT
from hdeeprm_like.engine.packing import best_node, is_whole
from hdeeprm_like.engine.processor_index import counts_cores
from hdeeprm_like.engine.tables import CORES, NOTHING, Tables

RESERVED = -1  # code for what a job lacks: it would take reserved cores


@by_type
def start_by_kind(tables: BundleType, plans: BundleType, k: object, j: object) -> object:
    """Start a job anywhere, or on nodes of its partition."""
    return start_anywhere if no_partitions(tables) else start_in_partition


@compiled
def start_if_fits(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job now if it fits and delays no reservation of baseline *k*, on cores by the baseline's placement.

    If nodes take jobs whole, the job goes to the node with the best fit, unless the placement scores nodes itself.

    Returns:
        NOTHING, or what it lacks: RESERVED if the number of cores decides that, else CORES, MEMORY or GPUS.
    """
    return int(start_by_kind(tables, plans, k, j))


@compiled
def start_in_partition(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job on nodes of its partition that are not reserved during its assumed run time."""
    now = tables.clock[0].now
    end = now + planned_time(tables, plans, k, j)
    if plans.plans[k].reserved != EACH:
        allow_until(tables, plans, j, now, end)
        return NOTHING if start_on_allowed(tables, plans, j) else CORES
    allow_on_set(tables, plans, k, j, now, end)
    if not start_on_allowed(tables, plans, j):
        if not has_begun(tables, plans, k, j):
            return CORES
        allow_reserved(tables, plans, k, j)  # restrict the nodes: others are picked, and the job fits on these
        if not start_on_allowed(tables, plans, j):
            return CORES
    note_start(tables, plans, k, j)
    return NOTHING


@inlined
def start_anywhere(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job that may run on all nodes."""
    clock, plan, asks = tables.clock[0], plans.plans[k], False
    if plan.reserved != NO_JOB:
        asks = plan.reserved != HEAD or clock.now + planned_time(tables, plans, k, j) > plan.shadow
        if plan.reserved == HEAD and (j == plan.head or (asks and tables.jobs[j].size > plan.spare)):
            return RESERVED
        if plan.reserved == EACH and not leaves_reservations(tables, plans, k, j):
            return RESERVED
    clock.decisions += 1
    if tables.jobs[j].size > clock.free_cores:
        return CORES
    policy = plan.core_policy
    if clock.whole:
        _, found = best_node(tables, BEST_FIT, j, tables.jobs[j].size)
        if not is_whole(found):
            return CORES
        policy = max(policy, BEST_FIT)
    lacks = choose_placed(tables, plans, k, j, policy)
    if lacks == NOTHING and asks and not keeps_reservations(tables, plans, k, j):
        return_cores(tables, j)
        return CORES
    if lacks == NOTHING:
        start_job(tables, j)
        if plan.reserved == EACH:
            note_start(tables, plans, k, j)
    return int(lacks)


@by_type
def choose_placed(tables: BundleType, plans: BundleType, k: object, j: object, policy: object) -> object:
    """Book the cores for a job by a placement, or by a placement score where the policies have scores."""
    return choose_fixed if plans.fields["placing"][0].kind == "NoPlacing" else choose_scored


@inlined
def choose_fixed(tables: Tables, plans: Plans, k: int, j: int, policy: int) -> int:
    """Book the cores for a job by a placement; return what it lacks."""
    return choose_cores(tables, policy, j)


@inlined
def choose_scored(tables: Tables, plans: Plans, k: int, j: int, policy: int) -> int:
    """Book the cores for a job by the placement score of baseline *k* if it has one; return what the job lacks."""
    if plans.placing.rows[k].used == 1 and not counts_cores(tables):
        return choose_by_score(tables, plans.history, plans.placing, k, j)
    return choose_cores(tables, policy, j)


@compiled
def keeps_reservations(tables: Tables, plans: Plans, k: int, j: int) -> bool:
    """Return whether a job with booked cores delays no reservation.

    If many jobs have reservations, booked cores that are reserved are exchanged for others.
    """
    if plans.plans[k].reserved == HEAD:
        return leaves_to_head(tables, plans, k, j)
    if plans.plans[k].reserved == EACH:
        return plans.bounds.rows[k].on_nodes == 0 or keep_to_allowed(tables, plans, k, j)
    keep_to_profile(tables, plans, j)
    return True
