"""The steps of a baseline's decision that are called by address: what each does, and which callbacks stand there.

So a run contains no policy. `baselines.new_baselines` writes the addresses to the baseline's row in ``Plans.plans``;
NOWHERE means that there is nothing to do.
"""

from hdeeprm_like.decision.policies.knowledge import Knowledge
from hdeeprm_like.decision.policies.plans import KNOWLEDGE, MEMORY, Plans
from hdeeprm_like.engine.bundles import bundle_in
from hdeeprm_like.engine.calls import NOWHERE, call_at, number_at
from hdeeprm_like.engine.compiled import inlined
from hdeeprm_like.engine.tables import Tables


@inlined
def learn(tables: Tables, plans: Plans, k: int) -> None:
    """Update what is known of users with what has happened until now: `follow`, `share_out` for Slurm's order."""
    if plans.plans[k].learn_at != NOWHERE:
        call_at(plans.plans[k].learn_at, tables, plans.knowledge)


@inlined
def sort_lists(tables: Tables, plans: Plans, k: int) -> None:
    """Sort the lists whose order changes with time: `sort_changed`."""
    if plans.plans[k].change_at != NOWHERE:
        call_at(plans.plans[k].change_at, tables, plans, plans.knowledge, k)


@inlined
def sort_queue(tables: Tables, plans: Plans, k: int) -> None:
    """Sort the queue of a platform with partitions: `sort_scored`, `sort_prioritized`."""
    if plans.plans[k].sort_at != NOWHERE:
        call_at(plans.plans[k].sort_at, tables, plans, plans.knowledge, k)


@inlined
def open_starts(tables: Tables, plans: Plans, k: int) -> None:
    """Prepare job starts: `open_guarantees`."""
    if plans.plans[k].open_at != NOWHERE:
        call_at(plans.plans[k].open_at, tables, plans, bundle_in(plans.guarantees, k), k)


@inlined
def start_jobs(tables: Tables, plans: Plans, k: int) -> None:
    """Start jobs: what the mode has for that, `Mode.starts` or `Mode.starts_on_nodes`."""
    plan = plans.plans[k]
    if plan.takes == KNOWLEDGE:
        call_at(plan.start_at, tables, plans, plans.knowledge, bundle_in(plans.memories, k), k)
    elif plan.takes == MEMORY:
        call_at(plan.start_at, tables, plans, bundle_in(plans.memories, k), k)
    else:
        call_at(plan.start_at, tables, plans, k)


@inlined
def close_starts(tables: Tables, plans: Plans, k: int) -> None:
    """End job starts: `close_guarantees`."""
    if plans.plans[k].close_at != NOWHERE:
        call_at(plans.plans[k].close_at, tables, plans, bundle_in(plans.guarantees, k), k)


@inlined
def start_one(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job if it fits and delays no reservation: `start_anywhere`, `start_in_partition`."""
    return number_at(plans.plans[k].fit_at, tables, plans, k, j)


@inlined
def start_one_guarded(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job if it fits and delays no guaranteed start: `start_guaranteed`, `start_guaranteed_on_nodes`."""
    return number_at(plans.plans[k].guarded_at, tables, plans, bundle_in(plans.guarantees, k), k, j)


@inlined
def place_one(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Book the cores for a job by a placement score: `place_by_score`."""
    return number_at(plans.plans[k].place_at, tables, plans.knowledge, k, j)


@inlined
def see_cores(tables: Tables, plans: Plans, knowledge: Knowledge, k: int, j: int) -> None:
    """Write the score of the best cores for a job as a feature of the order: `see_best_cores`."""
    if plans.plans[k].see_at != NOWHERE:
        call_at(plans.plans[k].see_at, tables, knowledge, k, j)
