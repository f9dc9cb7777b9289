"""The part of the queue that an agent sees, named once for what it can do, sees and is rewarded for.

A window has slots: the first jobs of the queue and, if it is split (001, section II.B), the last ones. The rows here
also keep what observations need: the queue in the order of submission, the running jobs in the order in which they are
expected to end, and what each job found when it was submitted (000, table 4.1).

When an agent is asked (000, sections 4.4, 4.6.2 and 4.7.1; 001, section III.B):

| opens | a decision is wanted |
|---|---|
| ``waiting`` | at every instant at which jobs wait: a job has come or ended |
| ``fitting`` | only when a job of the window can start at once |
| ``ticks`` | at every time step, also when there is nothing to do |

Waiting takes *step* seconds, in which the agent is not asked again; with a step of 0 it lasts until something happens.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from hdeeprm_like.bundles import bundle
from hdeeprm_like.cluster.state import State
from hdeeprm_like.cluster.tables import WAITING, Rows, Tables, longer
from hdeeprm_like.compiled import compiled
from hdeeprm_like.decision.room import fits_some_node, has_places
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.types import Floats, Ints

Opens: TypeAlias = Literal["waiting", "fitting", "ticks"]
OPENS: tuple[Opens, ...] = get_args(Opens)
ON_WAITING, ON_FITTING, ON_TICKS = 0, 1, 2

NONE = -1  # no job: in an empty slot
NEVER = 2**31 - 1  # cores that let no job start: in an empty slot
EARLY = 1e-6  # s; an instant is at a time step if it comes no earlier than that before it: Batsim tells microseconds

QUEUE, WORK, FREE, REMAINING, BACKLOG = 0, 1, 2, 3, 4  # columns of Window.found
FOUND = 5

WINDOW = np.dtype(
    [
        ("step", "f8"),  # s that waiting takes, 0 until something happens
        ("next_step", "f8"),  # s, the agent is not asked before
        ("queued_work", "f8"),  # core x s requested by the waiting jobs
        ("sum_of_submissions", "f8"),  # s, over the waiting jobs: turns the time into their time in the queue
        ("longest_queue", "f8"),  # the largest number of waiting jobs until now
        ("longest_wait", "f8"),  # s, the largest sum of times in the queue until now
        ("waited", "f8"),  # s that the started jobs have waited together
        ("urgency", "f8"),  # 1/s, sum of 1 / requested time over the waiting and running jobs
        ("started", "i8"),  # jobs
        ("noted", "i8"),  # entries of Tables.started_now looked at
        ("seen", "i8"),  # job rows looked at
        ("queue", "i8"),  # waiting jobs
        ("first", "i4"),  # where they begin and end in Window.line
        ("end", "i4"),
        ("running", "i4"),  # used entries of Window.running
        ("head", "i4"),  # slots for the first jobs of the queue
        ("tail", "i4"),  # slots for the last ones
        ("filled", "i4"),  # slots at the head that hold a job
        ("opens", "i4"),
        ("machines", "i4"),  # 1: the slots hold the first jobs that some node can take whole
        ("stale", "i4"),  # 1: the slots must be filled again
        ("looks", "i4"),  # 1: some job in the slots asks for memory or GPUs
        ("finds", "i4"),  # 1: what jobs find when they are submitted is kept
    ],
    align=True,
)


@bundle("first_processor")
class Window(NamedTuple):
    """The rows of one run; J jobs, M = head + tail slots.

    Attributes:
        rule: (1,) WINDOW.
        line: (J,) the waiting jobs in the order of submission, those from ``first`` to before ``end`` of the rule.
        cores: (J,) that let each of these start, below 0 if it asks for memory or GPUs too.
        paces: (J,) 1/s, one over the requested time of each job.
        slots: (M,) job rows, NONE where empty: the head in order, then the tail from the last job backwards.
        wants: (M,) the *cores* of these, NEVER where empty.
        running: (J,) running jobs by their expected end. ends: (J,) s, these ends. widths: (J,) their cores.
        found: (J, 5) what each job found: jobs in the queue, their work in core x s, free cores, work that the running
            jobs still had to do in core x s, jobs outside the window.
        first_processor: (N + 1,) where the processors of each node begin.
    """

    rule: Rows
    line: Ints
    cores: Ints
    paces: Floats
    slots: Ints
    wants: Ints
    running: Ints
    ends: Floats
    widths: Ints
    found: Floats
    first_processor: Ints


def new_window(
    state: State,
    head: int,
    tail: int = 0,
    opens: Opens = "waiting",
    step: float = 0.0,
    machines: bool = False,
    finds: bool = True,
) -> Window:
    """Return the window of a run at its beginning.

    Args:
        head, tail: slots for the first and the last jobs of the queue. opens, step: see the module.
        machines: whether only jobs that some node can take whole come into the slots (004, section II.E).
        finds: whether to keep what jobs find when they are submitted.

    Raises:
        OptionsError: a value makes no sense.
    """
    if opens not in OPENS:
        raise OptionsError(f"opens {opens!r} is not known{did_you_mean(opens, OPENS)}")
    if head < 0 or tail < 0 or (machines and tail):
        raise OptionsError(f"a window of {head} + {tail} slots cannot be had")
    if not 0.0 <= step < np.inf or (opens == "ticks" and step == 0.0):
        raise OptionsError(f"step is {step:g}; a time in s is needed" + (" above 0" if opens == "ticks" else ""))
    rule = np.zeros(1, WINDOW)
    rule["step"], rule["head"], rule["tail"], rule["opens"] = step, head, tail, OPENS.index(opens)
    rule["machines"], rule["finds"], rule["stale"] = machines, finds, 1
    jobs = len(state.tables.jobs)
    return Window(
        rule=rule,
        line=np.zeros(jobs, np.int32),
        cores=np.zeros(jobs, np.int32),
        paces=np.zeros(jobs),
        slots=np.full(head + tail, NONE, np.int32),
        wants=np.full(head + tail, NEVER, np.int32),
        running=np.zeros(jobs, np.int32),
        ends=np.zeros(jobs),
        widths=np.zeros(jobs, np.int32),
        found=np.zeros((jobs if finds else 0, FOUND)),
        first_processor=np.searchsorted(state.platform.processor_node, np.arange(state.platform.nodes + 1)),
    )


def wider(w: Window, jobs: int) -> Window:
    """Return the same window with room for so many jobs; under Batsim they become known on the way."""
    known = len(w.line)
    if jobs <= known:
        return w
    found = np.zeros((jobs if w.rule["finds"][0] else 0, FOUND))
    found[: len(w.found)] = w.found
    columns = {name: longer(getattr(w, name), jobs) for name in ("line", "cores", "paces", "running", "ends", "widths")}
    return w._replace(found=found, **columns)


class JobWindow:
    """The window of one run, shared by its action space, observer and reward; see the module.

    Attributes:
        rows: what compiled functions read and write; replaced when more jobs become known.
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
    ) -> None:
        """Take the arguments of `new_window`."""
        self.rows = new_window(state, head, tail, opens, step, machines, finds)

    @property
    def slots(self) -> int:
        """Number of slots, M."""
        return len(self.rows.slots)

    def follow(self, state: State, completed: Sequence[int]) -> None:
        """Bring the window to the instant that the state has just received."""
        if len(state.tables.jobs) > len(self.rows.line):
            self.rows = wider(self.rows, len(state.tables.jobs))
        follow(state.tables, self.rows, np.asarray(completed, np.int32))

    def note_starts(self, state: State) -> None:
        """Take note of the jobs that the action space has started."""
        note_starts(state.tables, self.rows)

    def opens(self, state: State) -> bool:
        """Tell whether a decision is wanted now."""
        return opens(state.tables, self.rows)


@compiled
def one_over(time: float) -> float:
    """Return 1 / *time* in 1/s; no time counts as 1 s."""
    return 1.0 / time if time > 0.0 else 1.0


@compiled
def remaining_work(t: Tables, w: Window) -> float:
    """Return the core x s that the running jobs have still to do, by their requested times."""
    now, total = t.clock[0].now, 0.0
    for i in range(w.rule[0].running - 1, -1, -1):
        if w.ends[i] <= now:
            break
        total += w.widths[i] * (w.ends[i] - now)
    return total


@compiled
def append(t: Tables, w: Window, j: int) -> None:
    """Put a job behind the queue and note what it finds."""
    rule, job = w.rule[0], t.jobs[j]
    if rule.finds:
        found = w.found[j]
        found[QUEUE], found[WORK], found[FREE] = rule.queue, rule.queued_work, t.clock[0].free_cores
        found[REMAINING] = remaining_work(t, w)
        found[BACKLOG] = max(rule.queue - rule.head - rule.tail, 0)
    w.line[rule.end] = j
    w.cores[rule.end] = -job.size if job.memory > 0.0 or job.gpus > 0.0 else job.size
    w.paces[j] = one_over(job.requested_time)
    rule.end += 1
    rule.queue += 1
    rule.urgency += w.paces[j]
    rule.queued_work += job.size * job.requested_time
    rule.sum_of_submissions += job.submit


@compiled
def seat_in_line(w: Window, j: int) -> int:
    """Return the place of a waiting job in the line."""
    low, high = w.rule[0].first, w.rule[0].end
    while low < high:
        middle = (low + high) // 2
        if w.line[middle] < j:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def leave(t: Tables, w: Window, j: int) -> None:
    """Take a job out of the queue."""
    rule, job = w.rule[0], t.jobs[j]
    seat = seat_in_line(w, j)
    if seat - rule.first < rule.end - seat:  # the shorter part closes the gap
        for i in range(seat, rule.first, -1):
            w.line[i], w.cores[i] = w.line[i - 1], w.cores[i - 1]
        rule.first += 1
    else:
        rule.end -= 1
        for i in range(seat, rule.end):
            w.line[i], w.cores[i] = w.line[i + 1], w.cores[i + 1]
    rule.queue -= 1
    rule.queued_work -= job.size * job.requested_time
    rule.sum_of_submissions -= job.submit
    if rule.queue == 0:  # no rounding error survives an empty queue
        rule.queued_work = rule.sum_of_submissions = 0.0
    rule.stale = 1


@compiled
def seat_after(w: Window, end: float) -> int:
    """Return the first place among the running jobs that ends later."""
    low, high = 0, w.rule[0].running
    while low < high:
        middle = (low + high) // 2
        if w.ends[middle] <= end:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def began(t: Tables, w: Window, j: int) -> None:
    """Take note that a job of the queue has started."""
    leave(t, w, j)
    rule, job = w.rule[0], t.jobs[j]
    rule.started += 1
    rule.waited += job.start - job.submit
    end = job.start + job.requested_time
    seat = seat_after(w, end)
    for i in range(rule.running, seat, -1):
        w.running[i], w.ends[i], w.widths[i] = w.running[i - 1], w.ends[i - 1], w.widths[i - 1]
    w.running[seat], w.ends[seat], w.widths[seat] = j, end, job.size
    rule.running += 1


@compiled
def note_starts(t: Tables, w: Window) -> None:
    """Take note of the jobs that were started in this instant since the last look."""
    rule = w.rule[0]
    while rule.noted < t.clock[0].started_now:
        began(t, w, t.started_now[rule.noted])
        rule.noted += 1


@compiled
def ended(t: Tables, w: Window, j: int) -> None:
    """Take note that a running job has ended."""
    rule, job = w.rule[0], t.jobs[j]
    seat = seat_after(w, job.start + job.requested_time) - 1
    while seat >= 0 and w.running[seat] != j:
        seat -= 1
    if seat < 0:
        return
    rule.running -= 1
    rule.urgency = rule.urgency - w.paces[j] if rule.running + rule.queue > 0 else 0.0
    for i in range(seat, rule.running):
        w.running[i], w.ends[i], w.widths[i] = w.running[i + 1], w.ends[i + 1], w.widths[i + 1]


@compiled
def follow(t: Tables, w: Window, completed: Ints) -> None:
    """Bring the window to a new instant: some jobs have completed, others were submitted."""
    rule, clock = w.rule[0], t.clock[0]
    rule.noted = 0
    for j in completed:
        ended(t, w, j)
    while rule.seen < clock.submitted:
        if t.jobs[rule.seen].status == WAITING:
            append(t, w, rule.seen)
        rule.seen += 1
    rule.stale = 1
    rule.longest_queue = max(rule.longest_queue, rule.queue)
    rule.longest_wait = max(rule.longest_wait, rule.queue * clock.now - rule.sum_of_submissions)


@compiled
def fill_slots(t: Tables, w: Window) -> None:
    """Find out which jobs are in the slots, if that may have changed."""
    if w.rule[0].stale:
        refill_slots(t, w)


@compiled
def refill_slots(t: Tables, w: Window) -> None:
    """Find out which jobs are in the slots."""
    rule = w.rule[0]
    head, filled, behind = rule.head, min(rule.head, rule.queue), 0
    if rule.machines:
        filled = place_whole(t, w)
    else:
        behind = min(rule.tail, rule.queue - filled)
        line, cores = w.line[rule.first : rule.end], w.cores[rule.first : rule.end]
        for i in range(filled):
            w.slots[i], w.wants[i] = line[i], cores[i]
        for i in range(behind):
            w.slots[head + i], w.wants[head + i] = line[len(line) - 1 - i], cores[len(line) - 1 - i]
    for i in range(filled, head):
        w.slots[i], w.wants[i] = NONE, NEVER
    for i in range(head + behind, len(w.slots)):
        w.slots[i], w.wants[i] = NONE, NEVER
    rule.stale, rule.filled, rule.looks = 0, filled, least_wanted(w.wants) < 0


@compiled
def place_whole(t: Tables, w: Window) -> int:
    """Put the first jobs that some node can take whole into the slots; return how many."""
    rule, filled = w.rule[0], 0
    for i in range(rule.first, rule.end):
        if filled == rule.head:
            break
        if fits_some_node(t, w.first_processor, w.line[i]):
            w.slots[filled], w.wants[filled] = w.line[i], w.cores[i]
            filled += 1
    return filled


@compiled
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
    if not w.rule[0].looks:
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


@compiled
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
