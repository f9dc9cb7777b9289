"""Orders that change with time: their keys now, and the sorting of the waiting jobs by them.

Orders that do not change are kept sorted as jobs arrive and leave, see ``engine.job_keys``.
"""

from collections.abc import Callable

import numpy as np

from hdeeprm_like.decision.policies.history import ANY, History, begin_reading, read_change
from hdeeprm_like.decision.policies.knowledge import Knowledge, assumed_time
from hdeeprm_like.engine.compiled import callback, compiled, inlined
from hdeeprm_like.engine.dispatch import by_number, check_numbers
from hdeeprm_like.engine.job_keys import KEYS, lasting_key, unicep, wfp3
from hdeeprm_like.engine.job_lists import entries_of
from hdeeprm_like.engine.job_sorting import sort_by_keys
from hdeeprm_like.engine.numbers import BY_SCORE, FIRST_CHANGING, MULTIFACTOR, ORDERS, UNICEP, WFP3, XFACTOR
from hdeeprm_like.engine.tables import ENDED, KIND_BITS, KIND_MASK, STARTED, Tables

DAY = 86400.0  # s
MOMENT = 1e-6  # s; the dates of Batsim's messages have six decimals
HALF_LIFE = 7 * DAY  # of a user's usage, as Slurm's PriorityDecayHalfLife
MAX_AGE = 7 * DAY  # largest age of a job, as Slurm's PriorityMaxAge


@inlined
def waited(tables: Tables, j: int) -> float:
    """Return the wait of a job until now, in s; one that has just come has not waited, whatever the clock rounds."""
    wait = tables.clock[0].now - tables.jobs[j].submit
    return float(wait if wait > MOMENT else 0.0)


@inlined
def wfp3_now(tables: Tables, knowledge: Knowledge, time: float, j: int, used: float) -> float:
    """Return WFP3's key."""
    return wfp3(waited(tables, j), time, float(tables.jobs[j].size))


@inlined
def unicep_now(tables: Tables, knowledge: Knowledge, time: float, j: int, used: float) -> float:
    """Return UNICEP's key."""
    return unicep(waited(tables, j), time, float(tables.jobs[j].size))


@inlined
def expansion(tables: Tables, knowledge: Knowledge, time: float, j: int, used: float) -> float:
    """Return minus the slowdown that the job would have if it started now."""
    return float(-(waited(tables, j) + time) / max(time, 10.0))


@compiled
def multifactor(tables: Tables, knowledge: Knowledge, time: float, j: int, used: float) -> float:
    """Return minus the multifactor priority.

    It weighs age, size and fair share equally, each from 0 to 1, as Slurm's priority plugin defines them with equal
    shares for all users: 2^-(share of the usage times number of users). A user counts from the first job on.
    """
    share, size = float(share_in_use(knowledge, j, used)), float(tables.jobs[j].size)
    age = min(waited(tables, j) / MAX_AGE, 1.0)
    return float(-(age + size / tables.clock[0].most_cores + 2.0 ** (-share)))


CHANGING_KEYS: dict[int, Callable[[Tables, Knowledge, float, int, float], float]] = {
    WFP3: wfp3_now,
    UNICEP: unicep_now,
    XFACTOR: expansion,
    MULTIFACTOR: multifactor,
}
"""Functions of the keys that change with time, by order number."""

check_numbers("orders", ORDERS, {*KEYS, *CHANGING_KEYS}, "decision.policies.priorities.CHANGING_KEYS", BY_SCORE)


key_now = by_number(CHANGING_KEYS, otherwise=np.inf)


@compiled
def changing_key(tables: Tables, knowledge: Knowledge, order: int, time: float, j: int, used: float) -> float:
    """Return the key of a job now.

    Args:
        time: s, assumed run time. used: sum of the usage of all users.
    """
    if order < FIRST_CHANGING:
        return lasting_key(tables, order, time, j)
    return key_now(order, tables, knowledge, time, j, used)


@compiled
def sort_again(tables: Tables, knowledge: Knowledge, v: int, order: int, times: int) -> None:
    """Recompute the keys of all waiting jobs in a list and sort them; few jobs move from one decision to the next.

    Args:
        v: the list. order, times: its sort order, and the run times of the keys.
    """
    used = float(sum_of_use(knowledge))
    for i in entries_of(tables.waiting, v):
        j = tables.waiting.jobs[i]
        time = float(assumed_time(tables, knowledge, times, j))
        tables.waiting.keys[i] = changing_key(tables, knowledge, order, time, j, used)
    sort_by_keys(tables.waiting, v)


# --- fair shares


@callback
def share_out(tables: Tables, knowledge: Knowledge) -> None:
    """Add the usage of users since the last decision, and decay their earlier usage.

    Jobs that started or ended between two decisions count until then, so that decisions made only where jobs wait, as
    those of agents and of Batsim's messages, give the same usage as decisions at every instant.
    """
    history, clock = knowledge.history, tables.clock[0]
    begin_reading(history)
    while history.past[0].cursor < clock.changes:
        change = tables.changes[history.past[0].cursor]
        kind, job = change & KIND_MASK, tables.jobs[change >> KIND_BITS]
        if kind == ENDED:
            use_until(history, min(job.finish, clock.now))
        elif kind == STARTED:
            use_until(history, min(job.start, clock.now))
        read_change(tables, history)
    use_until(history, clock.now)


@compiled
def use_until(history: History, time: float) -> None:
    """Add the usage of users until a time, if it is not added already."""
    past = history.past[0]
    elapsed = time - past.fair_as_of
    if elapsed <= 0.0:
        return
    past.fair_as_of = time
    fade = 0.5 ** (elapsed / HALF_LIFE)
    for number in range(past.groups):
        group = history.groups[number]
        group.used = group.used * fade + group.cores * elapsed


@compiled
def sum_of_use(knowledge: Knowledge) -> float:
    """Return the sum of the usage of all users."""
    history, used = knowledge.history, 0.0
    for number in range(history.past[0].groups):
        if history.groups[number].request == ANY:
            used += history.groups[number].used
    return used


@compiled
def share_in_use(knowledge: Knowledge, j: int, used: float) -> float:
    """Return the usage share of a job's user, times the number of users."""
    history = knowledge.history
    if used <= 0.0:
        return 0.0
    return float(history.groups[history.jobs[j].user].used / used * history.past[0].users)
