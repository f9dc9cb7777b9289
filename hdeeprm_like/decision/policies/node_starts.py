"""Functions that start jobs in each mode on a platform with partitions, by passes over the queue (`node_plans`)."""

from hdeeprm_like.decision.policies.node_plans import (
    start_around_reservations,
    start_candidates,
    start_up_to_heads,
)
from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.engine.compiled import callback, inlined
from hdeeprm_like.engine.tables import Tables


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
    start_around_each(tables, plans, k, True)


@callback
def start_around_picked(tables: Tables, plans: Plans, k: int) -> None:
    """Do the same; candidates that arrived at the same time stay in the order of their rows."""
    start_around_each(tables, plans, k, False)


@inlined
def start_around_each(tables: Tables, plans: Plans, k: int, sorts: bool) -> None:
    """Do so.

    Args:
        sorts: whether candidates with equal sort keys are taken as in the queue.
    """
    if plans.plans[k].candidates == plans.plans[k].list:
        start_around_reservations(tables, plans, k, 1)
    else:
        start_up_to_heads(tables, plans, k, tables.clock[0].waiting, False)
        start_candidates(tables, plans, k, sorts)
