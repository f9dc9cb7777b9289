"""Memory of a baseline with guaranteed starts (`guarantees`), and nodes, if it matters on which nodes cores are.

A reservation holds whole nodes, each for one waiting job at a time. It is made where the job fits on these nodes beside
the jobs that run on them now, and no job starts on them that would still run then. So whatever a job requests, its
nodes have it when its time comes. If jobs request only cores anywhere, a count of cores suffices.
"""

import numpy as np

from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.core_profile import (
    NEVER,
    NONE_RESERVED,
    Profile,
    begin_of,
    earliest,
    expected_end,
    latest,
    new_profile,
)
from hdeeprm_like.decision.policies.node_profile import (
    change_at_shadow,
    find_room,
    look_at_present,
    note_nodes,
    room_in_plan,
)
from hdeeprm_like.decision.policies.node_spans import (
    NodeSpans,
    has_node,
    keep_nodes,
    leave_reserved,
    new_spans,
    next_end,
)
from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.decision.policies.reserved_nodes import allow_left, release, write_members
from hdeeprm_like.engine.allocation import book_on, return_cores
from hdeeprm_like.engine.bundles import Bundle, copy_entries
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_lists import copy_jobs, jobs_of
from hdeeprm_like.engine.node_places import look_at_nodes, pick_nodes
from hdeeprm_like.engine.processor_keys import counts_cores
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.waiting_queue import requests_more
from hdeeprm_like.types import Floats, Ints, Records

BOUND = np.dtype(
    [
        ("factor", "f8"),  # multiple of the machine's time for all work
        ("due", "f8"),  # s, due date of the last arrival
        ("soonest", "f8"),  # s, no later than the first reservation; not after now if one must be tried again
        ("until", "f8"),  # s, until when cores of overdue jobs are taken from the profile,
        ("overdue", "i8"),  # and the number of these cores
        ("on_nodes", "i8"),  # 1 if it matters on which nodes cores are
        ("work", "f8"),  # core s that the waiting jobs request
        ("ends", "f8"),  # sum over the running jobs of cores times expected end in s,
        ("cores", "i8"),  # and the sum of their cores
        ("asked", "f8"),  # core s that the ended jobs have requested,
        ("used", "f8"),  # and core s that they have used
        ("worst", "f8"),  # s, the longest time that the machine has needed for all work, fading,
        ("worst_at", "f8"),  # s, date of *worst*
    ],
    align=True,
)


class Bounds(Bundle):
    """The guarantees of a baseline; J jobs, N nodes.

    Attributes:
        state: (1,) BOUND. profile: free cores beside all reservations.
        reserved: (J,) s, planned start of a waiting job.
        promised: (J,) s, start guaranteed to each job on arrival. due: (J,) s, its due date.
        spans: reservations of nodes, each in the row of its job; none where cores have no names.
        cores: (J,) that each job requested on arrival. picked: (N,) scratch: cores of a job on each node.
    """

    state: Records
    profile: Profile
    reserved: Floats
    promised: Floats
    due: Floats
    spans: NodeSpans
    cores: Ints
    picked: Ints


def new_bounds(state: State, baseline: Baseline, jobs: int) -> Bounds:
    """Return the memory of a baseline with guarantees before the first arrival."""
    platform, row = state.platform, np.zeros(1, BOUND)
    row["factor"], row["soonest"] = baseline.mode.bound, np.inf
    row["on_nodes"] = state.named and (platform.partitions is not None or bool(state.tables.clock["whole"][0]))
    words = -(-platform.nodes // 64) if state.named else 0
    return Bounds(
        state=row,
        profile=new_profile(jobs),
        reserved=np.full(jobs, NONE_RESERVED),
        promised=np.full(jobs, np.nan),
        due=np.zeros(jobs),
        spans=new_spans(jobs, words),
        cores=np.zeros(jobs, np.int64),
        picked=np.zeros(platform.nodes, np.int64),
    )


@inlined
def watch_nodes(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int) -> None:
    """Check whether it matters on which nodes cores are: from the first job on that requests more than cores.

    Until then reservations are of cores anywhere; later ones of nodes do not overlap with these in time.
    """
    if bounds.state[0].on_nodes == 0 and (tables.clock[0].whole == 1 or requests_more(tables, j)):
        bounds.state[0].on_nodes = 0 if counts_cores(tables) else 1


@compiled
def latest_begin(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, limit: float) -> float:
    """Return the last date up to a limit at which a job fits, a date before now if there is none."""
    begin, now = float(last_count(tables, plans, bounds, k, j, limit)), tables.clock[0].now
    if bounds.state[0].on_nodes == 0:
        bounds.spans.anywhere[j] = 1
        for w in range(len(bounds.spans.bits)):
            bounds.spans.nodes[j, w] = -1
        return begin
    bounds.spans.anywhere[j] = 0
    while begin >= now:
        if has_nodes_at(tables, plans, bounds, k, j, begin):
            keep_nodes(bounds.spans, j, bounds.picked)
            return begin
        begin = float(last_count(tables, plans, bounds, k, j, last_before(tables, plans, bounds, k, j, begin)))
    return NEVER


@compiled
def last_before(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, date: float) -> float:
    """Return the last date before another at which a job would end before another job's reservation begins."""
    spans, time, found = bounds.spans, planned_time(tables, plans, k, j), NEVER
    for place in range(spans.count[0]):
        reserved = float(spans.begins[spans.by_end[place]])
        begin = begin_of(time, reserved, reserved)
        if begin < date:
            found = max(found, begin)
    return float(found)


@compiled
def earliest_begin(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, before: float) -> float:
    """Return the first date at which a job fits, and keep its nodes; *before* if there is no earlier one."""
    begin = float(first_count(tables, plans, bounds, k, j, tables.clock[0].now))
    if bounds.state[0].on_nodes == 0:
        return min(begin, before)
    while begin < before:
        if has_nodes_at(tables, plans, bounds, k, j, begin):
            keep_nodes(bounds.spans, j, bounds.picked)
            return begin
        begin = float(first_count(tables, plans, bounds, k, j, first_after(tables, plans, bounds, k, begin)))
    return before


@compiled
def first_after(tables: Tables, plans: Plans, bounds: Bounds, k: int, date: float) -> float:
    """Return the first date after another at which a running job or a reservation ends."""
    found = next_end(bounds.spans, date)
    for other in jobs_of(tables.running, plans.plans[k].ends):
        end = expected_end(tables, plans, k, other)
        if end > date:
            found = min(found, end)
    return float(found)


@inlined
def last_count(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, limit: float) -> float:
    """Return the last date up to a limit with enough free cores for a job; with partitions only nodes decide."""
    if tables.clock[0].partitioned:
        return float(limit)
    return float(latest(bounds.profile, tables.jobs[j].size, planned_time(tables, plans, k, j), limit))


@inlined
def first_count(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, date: float) -> float:
    """Return the first date from one on with enough free cores for a job; with partitions only nodes decide."""
    if tables.clock[0].partitioned:
        return float(date)
    return float(earliest(bounds.profile, tables.jobs[j].size, planned_time(tables, plans, k, j), date))


@inlined
def has_nodes_at(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, begin: float) -> bool:
    """Return whether a job fits at a date on nodes not reserved for others, and pick them."""
    if tables.clock[0].partitioned:
        return has_set_at(tables, plans, bounds, k, j, begin)
    return has_room_at(tables, plans, bounds, k, j, begin)


@compiled
def has_room_at(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, begin: float) -> bool:
    """Return whether a job fits at a date on any unreserved nodes, and pick the lowest."""
    allow_any(tables, plans, bounds, k, j, begin)
    find_room(tables, plans, k, j)
    for i in range(copy_jobs(tables.running, plans.plans[k].ends, plans.releases)):
        other = plans.releases[i]
        if expected_end(tables, plans, k, other) <= begin:
            change_at_shadow(tables, plans, k, tables.jobs[other].first, other, 1)
    return pick_allowed(tables, plans, bounds, j)


@inlined
def allow_any(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, begin: float) -> None:
    """Write to ``NodeSpans.bits`` the nodes that no other job has reserved while a job would run from a date on."""
    for w in range(len(bounds.spans.bits)):
        bounds.spans.bits[w] = -1
    leave_reserved(bounds.spans, begin, begin + planned_time(tables, plans, k, j), j)


@compiled
def pick_allowed(tables: Tables, plans: Plans, bounds: Bounds, j: int) -> bool:
    """Pick the lowest allowed nodes that fit a job in the state written for them; return whether they suffice."""
    left = tables.jobs[j].size
    for n in range(len(tables.nodes)):
        taken = min(left, int(room_in_plan(tables, plans, n, j))) if has_node(bounds.spans, n) else 0
        bounds.picked[n] = taken
        left -= taken
    return bool(left == 0)


@compiled
def has_set_at(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, begin: float) -> bool:
    """Return whether a job fits at a date on nodes of its set, and pick them as Slurm does."""
    allow_set(tables, plans, bounds, k, j, begin)
    look_at_nodes(tables)
    for other in jobs_of(tables.running, plans.plans[k].ends):
        if expected_end(tables, plans, k, other) <= begin:
            release(tables, other)
    if not pick_nodes(tables, j):
        return False
    copy_entries(bounds.picked, 0, tables.node_sets.picked, 0, len(tables.nodes))
    return True


@compiled
def allow_set(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, begin: float) -> None:
    """Allow a job the nodes of its set that no other job has reserved while it would run from a date on."""
    write_members(tables, bounds.spans, j)
    leave_reserved(bounds.spans, begin, begin + planned_time(tables, plans, k, j), j)
    allow_left(tables, plans, bounds.spans)


@compiled
def keep_to_allowed(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, begin: float) -> bool:
    """Move the booked cores of a job to other nodes if some are reserved while it would run, from a date in s on.

    Returns:
        False if it does not fit on other nodes.
    """
    allow_any(tables, plans, bounds, k, j, begin)
    note_nodes(tables, plans, tables.clock[0].placed, j)
    for n in range(len(tables.nodes)):
        if plans.node_profile.picked[n] > 0 and not has_node(bounds.spans, n):
            return_cores(tables, j)
            look_at_present(tables, plans)
            if not pick_allowed(tables, plans, bounds, j):
                book_on(tables, plans.node_profile.picked, j)
                return False
            return book_on(tables, bounds.picked, j)
    return True
