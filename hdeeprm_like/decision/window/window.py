"""The window: the part of the queue that actions, observations and rewards refer to.

A window has slots: the first jobs of the queue and, if it is split (001, section II.B), the last ones. Its arrays also
hold what observations need: sums over the queue, and what each job found when it was submitted (000, table 4.1).
The queue is in the order of submission unless another *order* is given; with one slot it is the job that a heuristic
would start next, and the agent decides whether it may (SchedInspector).

A run is over when all its jobs are, or earlier: after some time (000, sections 4.4 and 5.1.1), or as soon as some jobs
have been placed while others still arrive (001, section IV.A).

When an agent decides (000, sections 4.4, 4.6.2 and 4.7.1; 001, section III.B):

| opens | a decision is due |
|---|---|
| ``waiting`` | at every instant at which jobs wait: a job has arrived or ended |
| ``fitting`` | only when a job of the window can start at once |
| ``ticks`` | at every time step, also when there is nothing to do |

A wait lasts *step* seconds, without further decisions; with a step of 0, or with *jump*, it lasts until something
happens: a job arrives or ends.
"""

from hdeeprm_like.decision.window.arrays import (
    EARLY,
    NEVER,
    NONE,
    ON_FITTING,
    ON_WAITING,
    NoWindow,
    Window,
    WindowOptions,
    new_window,
)
from hdeeprm_like.engine.bundles import copy_entries
from hdeeprm_like.engine.compiled import compiled, entry, inlined
from hdeeprm_like.engine.dates import wire_time
from hdeeprm_like.engine.fitting import fits_now, fits_some_node
from hdeeprm_like.engine.job_lists import entries_of
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.waiting_queue import requests_more
from hdeeprm_like.types import Ints


class JobWindow:
    """The window of one run, shared by its action space, observer and reward; see the module.

    Attributes:
        arrays: what compiled functions read and write.
    """

    def __init__(
        self,
        state: State,
        options: WindowOptions = WindowOptions(),  # noqa: B008 - frozen
        machines: bool = False,
        finds: bool = False,
        lists: bool = True,
    ) -> None:
        """Take the arguments of `new_window`."""
        self.arrays = new_window(state, options, machines, finds, lists)

    @property
    def slots(self) -> int:
        """Number of slots, M."""
        return len(self.arrays.slots)

    def opens(self, state: State) -> bool:
        """Return whether a decision is due now."""
        return opens(state.tables, self.arrays)


class NoJobWindow(JobWindow):
    """Window of a run in which no part reads the queue: a decision is due whenever jobs wait."""

    def __init__(self, state: State) -> None:
        rows = new_window(state, WindowOptions(), lists=False)
        self.arrays = NoWindow(**dict(rows.fields()))

    def opens(self, state: State) -> bool:
        """Return whether jobs wait."""
        return bool(state.tables.clock["waiting"][0] > 0)


@inlined
def fill_slots(tables: Tables, window: Window) -> None:
    """Update which jobs are in the slots, if that may have changed."""
    if window.params[0].stale:
        refill_slots(tables, window)


@compiled
def refill_slots(tables: Tables, window: Window) -> None:
    """Update which jobs are in the slots."""
    params = window.params[0]
    head, tail, behind = params.head, params.tail, 0
    if params.machines:
        filled = place_whole(tables, window)
    else:
        filled = fill_head(tables, window)
        if tail > 0:
            behind = fill_tail(tables, window, min(tail, params.queue - filled))
    for i in range(filled, head):
        window.slots[i], window.wants[i] = NONE, NEVER
    for i in range(head + behind, head + tail):
        window.slots[i], window.wants[i] = NONE, NEVER
    if tables.clock[0].demanding > 0:
        for i in range(head + tail):
            if window.slots[i] != NONE and requests_more(tables, window.slots[i]):
                window.wants[i] = -window.wants[i]
    params.stale, params.filled, params.least = 0, filled, least_wanted(window.wants)


@inlined
def slots_behind(window: Window) -> int:
    """Return how many slots after the head hold a job; the slots must be filled. Empty slots follow those with jobs."""
    params = window.params[0]
    return int(min(params.tail, params.queue - params.filled))


@compiled
def fill_head(tables: Tables, window: Window) -> int:
    """Put the first jobs of the queue into the slots; return their number."""
    v, head, filled = window.params[0].line, window.params[0].head, 0
    for place in range(tables.waiting.lists[v].blocks):
        if filled == head:
            break
        block = tables.waiting.blocks[v, place]
        count = min(block.size, head - filled)
        copy_entries(window.slots, filled, tables.waiting.jobs, block.begin, count)
        copy_entries(window.wants, filled, tables.waiting.cores, block.begin, count)
        filled += count
    return filled


@compiled
def fill_tail(tables: Tables, window: Window, behind: int) -> int:
    """Put the last jobs of the queue into the slots after the head, the last one first; return their number."""
    v, at, left = window.params[0].line, window.params[0].head, behind
    for place in range(tables.waiting.lists[v].blocks - 1, -1, -1):
        begin = tables.waiting.blocks[v, place].begin
        for i in range(begin + tables.waiting.blocks[v, place].size - 1, begin - 1, -1):
            if left == 0:
                return behind
            window.slots[at], window.wants[at] = tables.waiting.jobs[i], tables.waiting.cores[i]
            at, left = at + 1, left - 1
    return behind


@compiled
def place_whole(tables: Tables, window: Window) -> int:
    """Put the first jobs that fit on one node into the slots; return their number."""
    v, head, filled = window.params[0].line, window.params[0].head, 0
    for i in entries_of(tables.waiting, v):
        if filled == head:
            return filled
        if fits_some_node(tables, window.first_processor, tables.waiting.jobs[i]):
            window.slots[filled], window.wants[filled] = tables.waiting.jobs[i], tables.waiting.cores[i]
            filled += 1
    return filled


@inlined
def fits_slot(tables: Tables, window: Window, i: int) -> bool:
    """Return whether the job in a slot can start now on cores anywhere; the slots must be filled."""
    wants, free = window.wants[i], tables.clock[0].free_cores
    return bool(wants <= free and (wants >= 0 or (-wants <= free and fits_now(tables, window.slots[i]))))


@compiled
def any_fits(tables: Tables, window: Window) -> bool:
    """Return whether a job in the slots can start now."""
    if tables.clock[0].free_cores == 0 or window.params[0].queue == 0:
        return False
    fill_slots(tables, window)
    if window.params[0].machines:
        return bool(window.params[0].filled > 0)
    if window.params[0].least >= 0:
        return bool(window.params[0].least <= tables.clock[0].free_cores)
    for i in range(len(window.slots)):  # noqa: SIM110 - compiled code has no any()
        if fits_slot(tables, window, i):
            return True
    return False


@compiled
def least_wanted(wants: Ints) -> int:
    """Return the fewest free cores that let a job of the slots start; below 0 if some request memory or GPUs."""
    if len(wants) == 0:
        return NEVER
    least = wants[0]
    for i in range(len(wants)):
        if wants[i] < least:  # of one type, so that it compiles to SIMD instructions on eight entries
            least = wants[i]
    return int(least)


@inlined
def is_over(tables: Tables) -> bool:
    """Return whether only a decision can make anything happen."""
    clock = tables.clock[0]
    return bool(clock.arrivals_over and clock.running == 0)


@inlined
def has_ended(tables: Tables, window: Window) -> bool:
    """Return whether the run is over before all its jobs are."""
    params = window.params[0]
    return bool(params.started >= params.placed or tables.clock[0].now >= params.until - EARLY)


@entry
@inlined
def opens(tables: Tables, window: Window) -> bool:
    """Return whether a decision is due now."""
    params, clock = window.params[0], tables.clock[0]
    if clock.now < params.next_step - EARLY or has_ended(tables, window):
        return False
    if params.opens == ON_WAITING:
        return bool(clock.waiting > 0)
    if params.opens == ON_FITTING:
        return any_fits(tables, window)
    return bool(clock.waiting > 0 or not is_over(tables))


@compiled
def wait(tables: Tables, window: Window) -> bool:
    """Wait; return whether the agent decides again in this instant, as nothing else can happen any more."""
    params, clock = window.params[0], tables.clock[0]
    if params.step > 0.0:
        params.next_step = wire_time(clock.now + params.step)
        clock.wake_at = params.next_step
        return False
    return is_over(tables)
