"""Removal of the rows of ended jobs, so that a run of any length needs rows only for jobs that wait, run or arrive.

The rows of the other jobs move to the front in their order. Rows are only ever compared (ties go to the earlier
submission), so only their order matters and the run goes on as if nothing had moved.

What holds rows of jobs, and what happens to it:

| where | what happens |
|---|---|
| ``Tables.jobs``, ``Simulation.tasks`` and ``submit`` | move |
| ``Tables.members``, ``waiting``, ``running``, ``EventClock.heap`` and ``heap_places`` | are renumbered |
| ``submitted`` and ``blocked_job`` of CLOCK, ``next_job`` and ``jobs`` of SIM | too |
| ``Tables.changes`` | is cleared; readers with a cursor of their own are not supported |
| ``Tables.rejected_now``, ``Simulation.completed``, decisions still to be read | are empty between instants |
| ``Tables.owners``, ``allocation``, ``log``, ``node_sets``, `BatsimClock` | are absent: cores are counted |
"""

import numpy as np

from hdeeprm_like.engine.compiled import entry
from hdeeprm_like.engine.event_clock import EventClock
from hdeeprm_like.engine.job_lists import JobLists, insert
from hdeeprm_like.engine.numbers import FIRST, LCFS
from hdeeprm_like.engine.tables import (
    ENDED,
    KIND_BITS,
    KIND_MASK,
    NOTHING,
    RUNNING,
    WAITING,
    Tables,
    longer,
)
from hdeeprm_like.engine.tables import make_room as make_room_in
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.types import Float64s, Int32s, Int64s, Ints


def ended_rows(tables: Tables) -> Ints:
    """Return the rows of the jobs that have ended since rows last moved, in the order of their ends."""
    changes = tables.changes[: int(tables.clock["changes"][0])]
    return np.asarray(changes[(changes & KIND_MASK) == ENDED] >> KIND_BITS)


def compact(tables: Tables, simulation: Simulation, timing: EventClock) -> Ints:
    """Remove the rows of ended jobs, between two instants; return the former rows of the others in order."""
    clock, sim = tables.clock, simulation.sim
    jobs, submitted = int(sim["jobs"][0]), int(clock["submitted"][0])
    status = tables.jobs["status"][:jobs]
    stays = (status == WAITING) | (status == RUNNING)
    stays[submitted:] = True
    kept = np.flatnonzero(stays)
    numbers = np.cumsum(stays) - 1
    for rows in (tables.jobs, simulation.tasks, simulation.submit):
        rows[: len(kept)] = rows[kept]
    clock["submitted"], sim["next_job"] = np.searchsorted(kept, [submitted, int(sim["next_job"][0])])
    sim["jobs"] = len(kept)
    if clock["blocked"][0] != NOTHING:
        clock["blocked_job"] = numbers[clock["blocked_job"]]
    clock["changes"] = clock["first_start"] = clock["started_now"] = 0
    members = tables.members[: int(clock["waiting"][0])]
    members[:] = numbers[members]
    for v in range(len(tables.waiting.lists)):
        renumber(tables.waiting, v, numbers, True)
    for v in range(len(tables.running.lists)):
        renumber(tables.running, v, numbers, False)
    running = timing.heap["job"][: int(sim["heap"][0])]
    running[:] = numbers[running]
    timing.heap_places[running] = np.arange(len(running))
    return kept


def renumber(lists: JobLists, v: int, numbers: Ints, by_row: bool) -> None:
    """Renumber the jobs of a list; the list is rebuilt as if they had just arrived, so that its capacity suffices.

    Args:
        by_row: whether their ranks are their rows.
    """
    blocks = lists.blocks[v, : int(lists.lists["blocks"][v]) if lists.lists["jobs"][v] else 0]
    sizes = blocks["size"]
    before = np.cumsum(sizes) - sizes
    entries = np.repeat(blocks["begin"] - before, sizes) + np.arange(int(sizes.sum()))
    jobs, keys, ranks = numbers[lists.jobs[entries]], lists.keys[entries], lists.ranks[entries]
    order = int(lists.lists["order"][v])
    if by_row:
        ranks = jobs
        if order in (FIRST, LCFS):
            keys = jobs * (1.0 if order == FIRST else -1.0)
    lists.lists["jobs"][v] = lists.lists["blocks"][v] = 0
    refill(lists, v, jobs, keys, ranks, lists.cores[entries])


@entry
def refill(lists: JobLists, v: int, jobs: Int64s, keys: Float64s, ranks: Int64s, cores: Int32s) -> None:
    """Insert jobs in order into an empty list."""
    for i in range(len(jobs)):
        insert(lists, v, jobs[i], keys[i], ranks[i], cores[i])


def make_room(tables: Tables, simulation: Simulation, timing: EventClock, jobs: int) -> None:
    """Grow the arrays to the given number of jobs."""
    make_room_in(tables, jobs, 0)
    rows = len(tables.jobs)
    if rows > len(simulation.tasks):
        for name in ("tasks", "completed", "kills", "submit"):
            setattr(simulation, name, longer(getattr(simulation, name), rows))
        timing.heap, timing.heap_places = longer(timing.heap, rows + 1), longer(timing.heap_places, rows)
