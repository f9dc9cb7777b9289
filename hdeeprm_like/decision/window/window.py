"""The part of the queue that an agent sees, named once for what it can do, sees and is rewarded for.

A window has slots: the first jobs of the queue and, if it is split (001, section II.B), the last ones. The rows here
also keep what observations need: sums over the queue, and what each job found when it was submitted (000, table 4.1).

When an agent is asked (000, sections 4.4, 4.6.2 and 4.7.1; 001, section III.B):

| opens | a decision is wanted |
|---|---|
| ``waiting`` | at every instant at which jobs wait: a job has come or ended |
| ``fitting`` | only when a job of the window can start at once |
| ``ticks`` | at every time step, also when there is nothing to do |

Waiting takes *step* seconds, in which the agent is not asked again; with a step of 0 it lasts until something happens.
"""

from hdeeprm_like.decision.window.rows import (
    EARLY,
    NEVER,
    NONE,
    ON_FITTING,
    ON_WAITING,
    NoWindow,
    Opens,
    Window,
    new_window,
)
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.fitting import fits_some_node, has_places
from hdeeprm_like.engine.job_lists import BLOCK
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Ints


class JobWindow:
    """The window of one run, shared by its action space, observer and reward; see the module.

    Attributes:
        rows: what compiled functions read and write.
    """

    def __init__(
        self,
        state: State,
        head: int = 0,
        tail: int = 0,
        opens: Opens = "waiting",
        step: float = 0.0,
        machines: bool = False,
        finds: bool = False,
        lists: bool = True,
    ) -> None:
        """Take the arguments of `new_window`."""
        self.rows = new_window(state, head, tail, opens, step, machines, finds, lists)

    @property
    def slots(self) -> int:
        """Number of slots, M."""
        return len(self.rows.slots)

    def opens(self, state: State) -> bool:
        """Tell whether a decision is wanted now."""
        return opens(state.tables, self.rows)


class NoJobWindow(JobWindow):
    """The window of a run in which nobody looks at the queue: a decision is wanted whenever jobs wait."""

    def __init__(self, state: State) -> None:
        rows = new_window(state, 0, finds=False, lists=False)
        self.rows = NoWindow(**dict(rows.fields()))

    def opens(self, state: State) -> bool:
        """Tell whether jobs wait."""
        return bool(state.tables.clock["waiting"][0] > 0)


@inlined
def fill_slots(t: Tables, w: Window) -> None:
    """Find out which jobs are in the slots, if that may have changed."""
    if w.rule[0].stale:
        refill_slots(t, w)


@compiled
def refill_slots(t: Tables, w: Window) -> None:
    """Find out which jobs are in the slots."""
    rule = w.rule[0]
    head, tail, behind = rule.head, rule.tail, 0
    if rule.machines:
        filled = place_whole(t, w)
    else:
        filled = fill_head(t, w)
        if tail > 0:
            behind = fill_tail(t, w, min(tail, rule.queue - filled))
    for i in range(filled, head):
        w.slots[i], w.wants[i] = NONE, NEVER
    for i in range(head + behind, head + tail):
        w.slots[i], w.wants[i] = NONE, NEVER
    if t.clock[0].demanding > 0:
        for i in range(head + tail):
            if w.slots[i] != NONE and (t.jobs[w.slots[i]].memory > 0.0 or t.jobs[w.slots[i]].gpus > 0.0):
                w.wants[i] = -w.wants[i]
    rule.stale, rule.filled, rule.demanding = 0, filled, least_wanted(w.wants) < 0


@compiled
def fill_head(t: Tables, w: Window) -> int:
    """Put the first jobs of the queue into the slots; return how many."""
    v, head, filled = w.rule[0].line, w.rule[0].head, 0
    jobs, cores, blocks = t.waiting.jobs[v], t.waiting.cores[v], t.waiting.lists[v].blocks
    for place in range(blocks):
        if filled == head:
            break
        b = t.waiting.directory[v, place]
        count, first = min(t.waiting.sizes[v, b], head - filled), b * BLOCK
        for i in range(count):
            w.slots[filled + i] = jobs[first + i]
        for i in range(count):
            w.wants[filled + i] = cores[first + i]
        filled += count
    return filled


@compiled
def fill_tail(t: Tables, w: Window, behind: int) -> int:
    """Put the last jobs of the queue into the slots behind the head, the last one first; return how many."""
    v, at, left = w.rule[0].line, w.rule[0].head, behind
    for place in range(t.waiting.lists[v].blocks - 1, -1, -1):
        b = t.waiting.directory[v, place]
        for i in range(b * BLOCK + t.waiting.sizes[v, b] - 1, b * BLOCK - 1, -1):
            if left == 0:
                return behind
            w.slots[at], w.wants[at] = t.waiting.jobs[v, i], t.waiting.cores[v, i]
            at, left = at + 1, left - 1
    return behind


@compiled
def place_whole(t: Tables, w: Window) -> int:
    """Put the first jobs that some node can take whole into the slots; return how many."""
    v, head, filled = w.rule[0].line, w.rule[0].head, 0
    for place in range(t.waiting.lists[v].blocks):
        b = t.waiting.directory[v, place]
        for i in range(b * BLOCK, b * BLOCK + t.waiting.sizes[v, b]):
            if filled == head:
                return filled
            if fits_some_node(t, w.first_processor, t.waiting.jobs[v, i]):
                w.slots[filled], w.wants[filled] = t.waiting.jobs[v, i], t.waiting.cores[v, i]
                filled += 1
    return filled


@inlined
def fits_slot(t: Tables, w: Window, i: int) -> bool:
    """Tell whether the job in a slot can start now on cores anywhere; the slots must be filled."""
    wants, free = w.wants[i], t.clock[0].free_cores
    return bool(wants <= free and (wants >= 0 or (-wants <= free and has_places(t, w.slots[i]))))


@compiled
def any_fits(t: Tables, w: Window) -> bool:
    """Tell whether a job in the slots can start now."""
    if t.clock[0].free_cores == 0 or w.rule[0].queue == 0:
        return False
    fill_slots(t, w)
    if w.rule[0].machines:
        return bool(w.rule[0].filled > 0)
    if not w.rule[0].demanding:
        return bool(least_wanted(w.wants) <= t.clock[0].free_cores)
    for i in range(len(w.slots)):  # noqa: SIM110 - compiled code has no any()
        if fits_slot(t, w, i):
            return True
    return False


@compiled
def least_wanted(wants: Ints) -> int:
    """Return the least cores that let a job of the slots start; below 0 if some ask for memory or GPUs."""
    if len(wants) == 0:
        return NEVER
    least = wants[0]
    for i in range(len(wants)):
        if wants[i] < least:  # of one type, so that it becomes a few instructions of eight each
            least = wants[i]
    return int(least)


@inlined
def is_over(t: Tables) -> bool:
    """Tell whether nothing can happen any more but by a decision."""
    clock = t.clock[0]
    return bool(clock.arrivals_over and clock.running == 0)


@compiled
def opens(t: Tables, w: Window) -> bool:
    """Tell whether a decision is wanted now."""
    rule, clock = w.rule[0], t.clock[0]
    if clock.now < rule.next_step - EARLY:
        return False
    if rule.opens == ON_WAITING:
        return bool(clock.waiting > 0)
    if rule.opens == ON_FITTING:
        return any_fits(t, w)
    return bool(clock.waiting > 0 or not is_over(t))


@compiled
def wait(t: Tables, w: Window) -> bool:
    """Let time pass; return whether the agent is asked again in this instant, for nothing else can ever happen."""
    rule, clock = w.rule[0], t.clock[0]
    if rule.step > 0.0:
        rule.next_step = clock.now + rule.step
        clock.wake_at = rule.next_step
        return False
    return is_over(t)
