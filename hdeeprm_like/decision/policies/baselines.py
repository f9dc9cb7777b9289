"""The steps of a baseline's decision: read what has happened, start jobs in its mode, record what the head lacks."""

from collections.abc import Callable

from hdeeprm_like.decision.mode_specs import MODES, MODES_BY_NAME, SCORED, SLURM
from hdeeprm_like.decision.policies.bounded import close_guarantees, open_guarantees
from hdeeprm_like.decision.policies.node_starts import start_on_nodes
from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.decision.policies.priorities import share_out, sort_again
from hdeeprm_like.decision.policies.run_times import follow
from hdeeprm_like.decision.policies.slurm import start_like_slurm
from hdeeprm_like.decision.specs import code_of
from hdeeprm_like.engine.bundles import BundleType
from hdeeprm_like.engine.compiled import by_type, compiled, inlined
from hdeeprm_like.engine.dispatch import by_number
from hdeeprm_like.engine.job_lists import job_at
from hdeeprm_like.engine.lifecycle import lacking_beside_cores
from hdeeprm_like.engine.node_sets import no_partitions
from hdeeprm_like.engine.numbers import MULTIFACTOR, SJF
from hdeeprm_like.engine.tables import CORES, NOTHING, Tables


@inlined
def open_decision(tables: Tables, plans: Plans, k: int) -> bool:
    """Bring baseline *k* to the present instant; return False if no job waits."""
    plan, clock = plans.plans[k], tables.clock[0]
    clock.blocked = NOTHING
    if plan.order == MULTIFACTOR:
        share_out(tables, plans.history)
    follow(tables, plans.history)
    if clock.waiting > 0 and plan.changing:
        sort_again(tables, plans, plan.list, plan.order, plan.order_times)
    if clock.waiting > 0 and plan.candidates_change and plan.candidates != plan.list:
        sort_again(tables, plans, plan.candidates, SJF, plan.times)
    return bool(clock.waiting > 0)


@inlined
def close_decision(tables: Tables, plans: Plans, k: int) -> None:
    """Record what baseline *k* has started, and what the head of the queue lacks."""
    follow(tables, plans.history)
    if tables.clock[0].waiting > 0:
        note_blocked(tables, plans, k)


@compiled
def start_by_partitions(tables: Tables, plans: Plans, k: int, mode: int) -> None:
    """Start the jobs that baseline *k* starts on a platform with partitions."""
    if mode == SLURM:
        start_like_slurm(tables, plans, k)
    else:
        start_on_nodes(tables, plans, k)


@inlined
def note_blocked(tables: Tables, plans: Plans, k: int) -> None:
    """Record what the head of the queue lacks."""
    clock = tables.clock[0]
    j = plans.plans[k].held if plans.plans[k].held >= 0 else job_at(tables.waiting, plans.plans[k].list, 0, 0)
    clock.blocked_job = j
    size = tables.jobs[j].size
    clock.blocked = CORES if size > clock.free_cores else lacking_beside_cores(tables, j, size)


STARTS: dict[int, Callable[[Tables, Plans, int], None]] = {
    MODES[name]: code_of("modes", name, f"policies.{spec.start}") for name, spec in MODES_BY_NAME.items()
}
"""Functions that start jobs, by mode; without partitions the mode ``slurm`` is refused, see `plans.slurm_rows_of`."""


@compiled
@by_number("mode", STARTS)
def start_by_mode(tables: Tables, plans: Plans, k: int, mode: int) -> None:
    """Start the jobs that baseline *k* starts in its mode."""


@compiled
@by_number("mode", {mode: start for mode, start in STARTS.items() if mode != SCORED})
def start_without_scores(tables: Tables, plans: Plans, k: int, mode: int) -> None:
    """Start the jobs that baseline *k* starts in its mode, without scored policies."""


@by_type
def start_jobs(tables: BundleType, plans: BundleType, k: object, mode: object) -> object:
    """Start the jobs that baseline *k* starts."""
    if not no_partitions(tables):
        return start_by_partitions
    return start_without_scores if plans.fields["scores"][0].kind == "NoScores" else start_by_mode


@compiled
def decide(tables: Tables, plans: Plans, k: int) -> None:
    """Start the jobs that baseline *k* starts now."""
    if open_decision(tables, plans, k):
        bounded = plans.plans[k].bounded == 1
        if bounded:
            open_guarantees(tables, plans, k)
        start_jobs(tables, plans, k, plans.plans[k].mode)
        if bounded:
            close_guarantees(tables, plans, k)
        close_decision(tables, plans, k)
