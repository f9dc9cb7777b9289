"""Functions that start jobs in each mode on a platform with partitions, by passes over the queue (`node_plans`)."""

from collections.abc import Callable

from hdeeprm_like.decision.mode_specs import BOUNDED, MODES, MODES_BY_NAME, SCORED
from hdeeprm_like.decision.policies.node_plans import (
    reserve_heads,
    start_around_reservations,
    start_candidates,
    start_strictly,
)
from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.decision.policies.reserved_nodes import look_now
from hdeeprm_like.decision.policies.scored import sort_by_score
from hdeeprm_like.decision.policies.scores import STAGES
from hdeeprm_like.decision.policies.slurm_priorities import book_usage, prioritize
from hdeeprm_like.decision.specs import code_of
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dispatch import by_number
from hdeeprm_like.engine.tables import Tables


@compiled
def sort_queue(tables: Tables, plans: Plans, k: int) -> None:
    """Sort the queue by the scores of policy *k*, if it is a learned one, or by Slurm's own priorities."""
    if plans.plans[k].prioritized == 1:
        book_usage(tables, plans)
        prioritize(tables, plans, k)
    if plans.plans[k].mode == SCORED:
        sort_by_score(tables, plans, k, k * STAGES + (1 if plans.history.past[0].inexact == 0 else 0))


@inlined
def start_heads(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs in order until one of each partition does not fit."""
    start_strictly(tables, plans, k, tables.clock[0].waiting)


@inlined
def start_without_reservations(tables: Tables, plans: Plans, k: int) -> None:
    """Start every job that fits, in order."""
    start_around_reservations(tables, plans, k, 0)


@inlined
def start_around_all(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs that delay no job before them."""
    start_around_reservations(tables, plans, k, len(plans.queue))


@compiled
def start_around_heads(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs that do not delay the head of a partition, from the queue or from the list of candidates."""
    if plans.plans[k].candidates == plans.plans[k].list:
        start_around_reservations(tables, plans, k, 1)
    else:
        reserve_heads(tables, plans, k)
        start_candidates(tables, plans, k)


STARTS_ON_NODES: dict[int, Callable[[Tables, Plans, int], None]] = {
    MODES[name]: code_of("modes", name, f"policies.{spec.on_nodes}")
    for name, spec in MODES_BY_NAME.items()
    if spec.on_nodes
}
"""Functions that start jobs by mode with partitions, except `slurm.start_like_slurm`."""


@inlined
@by_number("mode", STARTS_ON_NODES)
def start_in_mode(tables: Tables, plans: Plans, mode: int, k: int) -> None:
    """Start the jobs that baseline *k* starts in its mode; none for a mode without a function."""
    return


@compiled
def start_on_nodes(tables: Tables, plans: Plans, k: int) -> None:
    """Start the jobs that baseline *k* starts on a platform with partitions."""
    sort_queue(tables, plans, k)
    look_now(tables, plans)
    start_in_mode(tables, plans, BOUNDED if plans.plans[k].bounded == 1 else plans.plans[k].mode, k)
