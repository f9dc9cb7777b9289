"""Memory of a baseline with guaranteed starts (`bounded`), and nodes, if it matters on which nodes cores are.

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
from hdeeprm_like.decision.policies.node_rows import NodeSpans, new_spans
from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.decision.policies.reserved_nodes import (
    allow_beside,
    has_node,
    keep_nodes,
    leave_reserved,
    next_end,
    release,
)
from hdeeprm_like.engine.allocation import book_on, return_cores
from hdeeprm_like.engine.bundles import Bundle, copy_entries
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_lists import jobs_of
from hdeeprm_like.engine.node_places import look_at_nodes, pick_nodes
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Ints, Records

BOUND = np.dtype(
    [
        ("factor", "f8"),  # multiple of the machine's time for all work
        ("due", "f8"),  # s, due date of the last arrival
        ("soonest", "f8"),  # s, no later than the first reservation; not after now if one must be tried again
        ("until", "f8"),  # s, until when cores of overdue jobs are taken from the profile,
        ("overdue", "i8"),  # and the number of these cores
        ("on_nodes", "i8"),  # 1 if it matters on which nodes cores are: from the first job on that requests more
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


PROMISE = np.dtype(
    [
        ("reserved", "f8"),  # s, planned start while the job waits, infinite for none yet
        ("promised", "f8"),  # s, start guaranteed on arrival
        ("due", "f8"),  # s, due date
        ("cores", "i8"),  # requested on arrival
    ],
    align=True,
)


class Bounds(Bundle):
    """The guarantees of a baseline; J jobs, N nodes.

    Attributes:
        state: (1,) BOUND. jobs: (J,) PROMISE. profile: free cores beside all reservations.
        spans: reservations of nodes, each in the row of its job; none where cores have no names.
        picked: (N,) scratch: cores of a job on each node.
    """

    state: Records
    jobs: Records
    profile: Profile
    spans: NodeSpans
    picked: Ints


def new_bounds(state: State, baseline: Baseline, jobs: int) -> Bounds:
    """Return the memory of a baseline with guarantees before the first arrival."""
    platform, row = state.platform, np.zeros(1, BOUND)
    row["factor"], row["soonest"] = baseline.mode.bound, np.inf
    row["on_nodes"] = state.named and (platform.partitions is not None or bool(state.tables.clock["whole"][0]))
    words, promises = -(-platform.nodes // 64) if state.named else 0, np.zeros(jobs, PROMISE)
    promises["reserved"], promises["promised"] = NONE_RESERVED, np.nan
    return Bounds(
        state=row,
        jobs=promises,
        profile=new_profile(jobs),
        spans=new_spans(jobs if words else 0, words),
        picked=np.zeros(platform.nodes, np.int64),
    )


@compiled
def latest_begin(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, limit: float) -> float:
    """Return the last date up to a limit at which a job fits, and keep its nodes; a date before now if none does."""
    bound, spans, now = bounds.state[0], bounds.spans, tables.clock[0].now
    for w in range(len(spans.bits)):
        spans.anywhere[j], spans.nodes[j, w] = 1 - bound.on_nodes, -1
    begin = float(last_count(tables, plans, bounds, k, j, limit))
    while bound.on_nodes == 1 and begin >= now and not has_nodes_at(tables, plans, bounds, k, j, begin):
        begin = float(last_count(tables, plans, bounds, k, j, last_before(tables, plans, bounds, k, j, begin)))
    return begin


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
    bound, begin = bounds.state[0], float(first_count(tables, plans, bounds, k, j, tables.clock[0].now))
    while bound.on_nodes == 1 and begin < before and not has_nodes_at(tables, plans, bounds, k, j, begin):
        begin = float(first_count(tables, plans, bounds, k, j, first_after(tables, plans, bounds, k, begin)))
    return min(begin, before)


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


@compiled
def has_nodes_at(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, begin: float) -> bool:
    """Return whether a job fits at a date on nodes that no other job has reserved, and keep these for it.

    They are the lowest; with partitions, those that Slurm picks.
    """
    allow_from(tables, plans, bounds, k, j, begin)
    if tables.clock[0].partitioned:
        look_at_nodes(tables)
    else:
        find_room(tables, plans, k, j)
    for other in jobs_of(tables.running, plans.plans[k].ends):
        if expected_end(tables, plans, k, other) > begin:
            continue
        if tables.clock[0].partitioned:
            release(tables, other)
        else:
            change_at_shadow(tables, plans, k, tables.jobs[other].first, other, 1)
    if tables.clock[0].partitioned:
        fits = pick_nodes(tables, j)
        copy_entries(bounds.picked, 0, tables.node_sets.picked, 0, len(tables.nodes))
    else:
        fits = pick_allowed(tables, plans, bounds, j)
    if fits:
        keep_nodes(bounds.spans, j, bounds.picked)
    return bool(fits)


@compiled
def allow_from(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, begin: float) -> None:
    """Allow a job the nodes, those of its set, that no other job has reserved while it would run from a date on."""
    end = begin + planned_time(tables, plans, k, j)
    if tables.clock[0].partitioned:
        allow_beside(tables, plans, bounds.spans, j, begin, end, j)
        return
    for w in range(len(bounds.spans.bits)):
        bounds.spans.bits[w] = -1
    leave_reserved(bounds.spans, begin, end, j)


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
def keep_to_allowed(tables: Tables, plans: Plans, bounds: Bounds, k: int, j: int, begin: float) -> bool:
    """Move the booked cores of a job to other nodes if some are reserved while it would run, from a date in s on.

    Returns:
        False if it does not fit on other nodes; then nothing is booked.
    """
    allow_from(tables, plans, bounds, k, j, begin)
    note_nodes(tables, plans, tables.clock[0].placed, j)
    for n in range(len(tables.nodes)):
        if plans.node_profile.picked[n] > 0 and not has_node(bounds.spans, n):
            return_cores(tables, j)
            look_at_present(tables, plans)
            return pick_allowed(tables, plans, bounds, j) and book_on(tables, bounds.picked, j)
    return True
