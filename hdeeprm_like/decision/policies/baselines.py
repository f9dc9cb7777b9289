"""The steps of a baseline's decision: read what has happened, start jobs in its mode, record what the head lacks."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hdeeprm_like.decision.modes import SCORED
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.bounded import (
    close_guarantees,
    open_guarantees,
    start_guaranteed,
    start_guaranteed_on_nodes,
)
from hdeeprm_like.decision.policies.guaranteed_nodes import new_bounds
from hdeeprm_like.decision.policies.history import find_again
from hdeeprm_like.decision.policies.knowledge import Knowledge, assumed_time, follow, no_knowledge
from hdeeprm_like.decision.policies.node_rows import profile_size
from hdeeprm_like.decision.policies.placement_scores import place_by_score, see_best_cores
from hdeeprm_like.decision.policies.plans import (
    KNOWLEDGE,
    MEMORY,
    NO_MORE,
    Plans,
    close_starts,
    has_own_priorities,
    learn,
    new_plans,
    open_starts,
    sort_lists,
    sort_queue,
    start_jobs,
)
from hdeeprm_like.decision.policies.priorities import share_out, sort_again
from hdeeprm_like.decision.policies.reserved_nodes import look_now
from hdeeprm_like.decision.policies.scored import sort_scored
from hdeeprm_like.decision.policies.slurm_priorities import sort_prioritized
from hdeeprm_like.decision.policies.starting import start_anywhere, start_in_partition
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.calls import address_of
from hdeeprm_like.engine.compiled import callback, entry, inlined
from hdeeprm_like.engine.job_lists import job_at
from hdeeprm_like.engine.lifecycle import lacking_beside_cores
from hdeeprm_like.engine.numbers import MULTIFACTOR, SJF
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import CORES, Tables
from hdeeprm_like.types import Floats


@inlined
def open_decision(tables: Tables, plans: Plans, k: int) -> bool:
    """Bring baseline *k* to the present instant; return False if no job waits."""
    learn(tables, plans, k)
    waits = tables.clock[0].waiting > 0
    if waits:
        sort_lists(tables, plans, k)
    return bool(waits)


@callback
def sort_changed(tables: Tables, plans: Plans, knowledge: Knowledge, k: int) -> None:
    """Sort the lists of baseline *k* whose order changes with time."""
    plan = plans.plans[k]
    if plan.changing:
        sort_again(tables, knowledge, plan.list, plan.order, plan.order_times)
    if plan.candidates_change and plan.candidates != plan.list:
        sort_again(tables, knowledge, plan.candidates, SJF, plan.times)


@inlined
def note_blocked(tables: Tables, plans: Plans, k: int) -> None:
    """Record what the head of the queue lacks."""
    clock = tables.clock[0]
    j = plans.plans[k].held if plans.plans[k].held >= 0 else job_at(tables.waiting, plans.plans[k].list, 0, 0)
    clock.blocked_job = j
    size = tables.jobs[j].size
    clock.blocked = CORES if size > clock.free_cores else lacking_beside_cores(tables, j, size)


class NoMemory(Bundle):
    """The memory of a baseline whose mode has none."""

    nothing: Floats


@functools.cache
def taken_by(starts: Callable[..., None]) -> int:
    """Return what a function that starts jobs takes beside tables and plans, as a number of ``Plan.takes``."""
    names = inspect.signature(starts).parameters
    return KNOWLEDGE if "knowledge" in names else MEMORY if "memory" in names else NO_MORE


def plans_of(state: State, baselines: Sequence[Baseline]) -> Plans:
    """Return plans and memories of baselines with capacity for all known jobs, without addresses of functions."""
    jobs, none = len(state.tables.jobs), NoMemory(np.zeros(0))
    memories = [one.mode.new_memory(state, one, jobs) or none for one in baselines]
    guarantees = [new_bounds(state, one, jobs) if one.mode.bound else none for one in baselines]
    return new_plans(state, baselines, memories, guarantees)


def make_room(plans: Plans, state: State, baselines: Sequence[Baseline]) -> None:
    """Grow plans and memories to all known jobs and nodes; with Batsim these become known during the run."""
    profile, jobs = plans.node_profile, len(state.tables.jobs)
    holds = profile_size(state, jobs)[1] if len(profile.hold_node) else 0
    known = len(state.tables.node_sets.members) <= len(plans.node_plans.free)
    if known and jobs + 1 <= len(plans.queue) and holds <= len(profile.hold_node):
        return
    grow(plans, plans_of(state, baselines))
    find_again(plans.knowledge.history)


def grow(memory: Bundle, larger: Bundle) -> None:
    """Give a memory the larger arrays of another one, with its own content."""
    for name, new in larger.fields():
        old = getattr(memory, name)
        if isinstance(new, Bundle):
            grow(old, new)
        elif old.shape != new.shape:
            new[tuple(map(slice, old.shape))] = old
            setattr(memory, name, new)


def forget(plans: Plans, state: State, baselines: Sequence[Baseline]) -> None:
    """Clear the memories, which refer to rows of jobs, after these have moved; all is then planned again."""
    new = plans_of(state, baselines)
    clear(plans.memories, new.memories)
    clear(plans.guarantees, new.guarantees)


def clear(memory: Bundle, new: Bundle) -> None:
    """Give a memory the content of a new one."""
    for name, content in new.fields():
        if isinstance(content, Bundle):
            clear(getattr(memory, name), content)
        else:
            getattr(memory, name)[:] = content


def new_baselines(state: State, baselines: Sequence[Baseline]) -> Plans:
    """Return the memory of baselines before their first decision, with the addresses of the functions of their modes.

    Raises:
        ValueError: their lists are not maintained.
    """
    plans, tables = plans_of(state, baselines), state.tables
    memories, guarantees = ([one for _, one in found.fields()] for found in (plans.memories, plans.guarantees))
    for plan, memory, bounds, baseline in zip(plans.plans, memories, guarantees, baselines, strict=True):
        connect_mode(plan, state, plans, memory, baseline)
        connect_knowledge(plan, tables, plans)
        if baseline.placement_score is not None and state.named:  # where cores are counted, all are alike
            plan["place_at"] = address_of(place_by_score, tables, plans.knowledge, 0, 0)
            plan["see_at"] = address_of(see_best_cores, tables, plans.knowledge, 0, 0)
        if baseline.mode.bound:
            plan["open_at"] = address_of(open_guarantees, tables, plans, bounds, 0)
            plan["close_at"] = address_of(close_guarantees, tables, plans, bounds, 0)
            guarded = start_guaranteed_on_nodes if bool(tables.clock["partitioned"][0]) else start_guaranteed
            plan["guarded_at"] = address_of(guarded, tables, plans, bounds, 0, 0)
    return plans


def connect_mode(plan: Any, state: State, plans: Plans, memory: Bundle, baseline: Baseline) -> None:
    """Write to a row of ``Plans.plans`` the addresses of functions that start jobs."""
    tables, scored = state.tables, baseline.mode.name == SCORED
    on_nodes = bool(tables.clock["partitioned"][0])
    starts = baseline.mode.starting(on_nodes)
    plan["takes"] = taken_by(starts)
    taken = {NO_MORE: (), MEMORY: (memory,), KNOWLEDGE: (plans.knowledge, memory)}[int(plan["takes"])]
    plan["start_at"] = address_of(starts, tables, plans, *taken, 0)
    plan["fit_at"] = address_of(start_in_partition if on_nodes else start_anywhere, tables, plans, 0, 0)
    if on_nodes and (scored or has_own_priorities(state, baseline)):
        sorts = sort_scored if scored else sort_prioritized
        plan["sort_at"] = address_of(sorts, tables, plans, plans.knowledge, 0)


def connect_knowledge(plan: Any, tables: Tables, plans: Plans) -> None:
    """Write to a row of ``Plans.plans`` the addresses of functions of what is known about users, and of orders."""
    knowledge = plans.knowledge
    if knowledge is not no_knowledge():
        plan["learn_at"] = address_of(share_out if plan["order"] == MULTIFACTOR else follow, tables, knowledge)
        plan["time_at"] = address_of(assumed_time, tables, knowledge, 0, 0)
    if plan["changing"] or (plan["candidates_change"] and plan["candidates"] != plan["list"]):
        plan["change_at"] = address_of(sort_changed, tables, plans, knowledge, 0)


@inlined
def prepare(tables: Tables, plans: Plans, k: int) -> None:
    """With partitions, sort the queue if that was not done before, and look at what is free; Slurm does both itself."""
    if tables.clock[0].partitioned and plans.plans[k].prepares == 1:
        sort_queue(tables, plans, k)
        look_now(tables, plans)


@callback
@entry
def decide(tables: Tables, plans: Plans, k: int) -> None:
    """Start the jobs that baseline *k* starts now."""
    if open_decision(tables, plans, k):
        open_starts(tables, plans, k)
        prepare(tables, plans, k)
        start_jobs(tables, plans, k)
        close_starts(tables, plans, k)
        learn(tables, plans, k)
        if tables.clock[0].waiting > 0:
            note_blocked(tables, plans, k)
