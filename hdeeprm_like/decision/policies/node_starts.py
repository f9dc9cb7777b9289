"""Functions that start jobs in each mode on a platform with partitions, by passes over the queue (`node_plans`)."""

from collections.abc import Callable

from hdeeprm_like.decision.mode_specs import MODES, MODES_BY_NAME
from hdeeprm_like.decision.policies.knowledge import Knowledge
from hdeeprm_like.decision.policies.node_plans import (
    start_around_reservations,
    start_candidates,
    start_up_to_heads,
)
from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.decision.policies.scored import sort_by_score
from hdeeprm_like.decision.policies.scores import stage_of
from hdeeprm_like.decision.policies.slurm_priorities import book_usage, prioritize
from hdeeprm_like.decision.specs import code_of
from hdeeprm_like.engine.compiled import callback, inlined
from hdeeprm_like.engine.tables import Tables


@callback
def sort_prioritized(tables: Tables, plans: Plans, knowledge: Knowledge, k: int) -> None:
    """Sort the queue of baseline *k* by Slurm's own priorities."""
    book_usage(tables, plans)
    prioritize(tables, plans, k)


@callback
def sort_scored(tables: Tables, plans: Plans, knowledge: Knowledge, k: int) -> None:
    """Sort the queue by the scores of learned policy *k*."""
    sort_by_score(tables, plans, knowledge, k, stage_of(knowledge.history, k))


@callback
@inlined
def start_heads(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs in order until one of each partition does not fit."""
    start_up_to_heads(tables, plans, k, tables.clock[0].waiting, True)


@callback
@inlined
def start_without_reservations(tables: Tables, plans: Plans, k: int) -> None:
    """Start every job that fits, in order."""
    start_around_reservations(tables, plans, k, 0)


@callback
@inlined
def start_around_all(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs that delay no job before them."""
    start_around_reservations(tables, plans, k, len(plans.queue))


@callback
def start_around_heads(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs that do not delay the head of a partition, from the queue or from the list of candidates."""
    if plans.plans[k].candidates == plans.plans[k].list:
        start_around_reservations(tables, plans, k, 1)
    else:
        start_up_to_heads(tables, plans, k, tables.clock[0].waiting, False)
        start_candidates(tables, plans, k)


STARTS_ON_NODES: dict[int, Callable[[Tables, Plans, int], None]] = {
    MODES[name]: code_of("modes", name, f"policies.{spec.on_nodes}")
    for name, spec in MODES_BY_NAME.items()
    if spec.on_nodes
}
"""Functions that start jobs by mode with partitions."""
