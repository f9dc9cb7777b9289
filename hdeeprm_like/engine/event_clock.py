"""The textbook's clock: everything of one time happens at once, and messages take no time.

Most published simulators keep time so: completions first, then submissions, then the decision. The embedded simulator
keeps Batsim's time by default, where a job that ends while another is submitted may arrive in a message of its own; use
this clock to compare with results of other simulators. Jobs share bandwidth and slow down as on Batsim's clock;
P-states of idle cores and their log are left out.
"""

import numpy as np

from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, inlined, lowest_bit
from hdeeprm_like.engine.dates import call_date
from hdeeprm_like.engine.joined_words import repeats
from hdeeprm_like.engine.lifecycle import started_job, write_log
from hdeeprm_like.engine.tables import ENDS_NOW, IDLE_CORE, LOG_END, LOG_START, RUNNING, Tables
from hdeeprm_like.engine.tasks import SUCCESS, WALLTIME_REACHED, Simulation
from hdeeprm_like.engine.words import without_lowest
from hdeeprm_like.types import Ints, Records

TOGETHER = 1.05e-9  # s within which jobs end together

HEAP_ENTRY = np.dtype([("end", "f8"), ("job", "i8")], align=True)  # a running job and its end in s


class EventClock(Bundle):
    """What this clock adds to a ``Simulation``.

    Attributes:
        one_by_one: (1,) 1 to decide after each single event, submissions before completions of the same time, as
            RLScheduler's simulator does.
        slowed: (P,) whether each processor was oversubscribed when last checked.
        heap: (J + 1,) HEAP_ENTRY, a heap of the running jobs by end; its length is ``heap`` of SIM.
        heap_places: (J,) places of running jobs in the heap.
    """

    one_by_one: Ints
    slowed: Ints
    heap: Records
    heap_places: Ints


def new_event_clock(one_by_one: bool, processors: int, jobs: int) -> EventClock:
    """Return the clock's arrays for a simulation of some jobs before its first event."""
    return EventClock(
        one_by_one=np.array([one_by_one], np.int64),
        slowed=np.zeros(processors, np.int8),
        heap=np.empty(jobs + 1, HEAP_ENTRY),
        heap_places=np.empty(jobs, np.int32),
    )


@inlined
def ends_before(simulation: Simulation, end: float, j: int, other_end: float, other: int) -> bool:
    """Return whether job *j* ends before another one; jobs that end together do so in the order of their starts."""
    if end != other_end:
        return bool(end < other_end)
    start, other_start = simulation.tasks[j].start, simulation.tasks[other].start
    return bool(start < other_start or (start == other_start and j < other))


@inlined
def put(timing: EventClock, place: int, end: float, j: int) -> None:
    """Put job *j* at a place of the heap."""
    timing.heap[place].end, timing.heap[place].job = end, j
    timing.heap_places[j] = place


@inlined
def rise(simulation: Simulation, timing: EventClock, hole: int, j: int) -> None:
    """Move job *j* from a hole without children that end earlier up to its place in the heap."""
    end = simulation.tasks[j].end
    while hole > 0:
        above = timing.heap[(hole - 1) >> 1]
        if not ends_before(simulation, end, j, above.end, above.job):
            break
        put(timing, hole, above.end, above.job)
        hole = (hole - 1) >> 1
    put(timing, hole, end, j)


@inlined
def sift(simulation: Simulation, timing: EventClock, hole: int, j: int) -> None:
    """Move job *j* to its place in the heap, starting at a hole.

    The hole first sinks to the bottom: most jobs belong there, and so a level takes one comparison instead of two.
    """
    size = simulation.sim[0].heap
    timing.heap[size].end = np.inf  # so each child has a sibling
    while 2 * hole + 1 < size:
        child = 2 * hole + 1
        left, right = timing.heap[child], timing.heap[child + 1]
        if left.end != right.end:
            child += right.end < left.end
        elif child + 1 < size and ends_before(simulation, right.end, right.job, left.end, left.job):
            child += 1
        put(timing, hole, timing.heap[child].end, timing.heap[child].job)
        hole = child
    rise(simulation, timing, hole, j)


@inlined
def remove(simulation: Simulation, timing: EventClock, j: int) -> None:
    """Remove a running job from the heap."""
    sim = simulation.sim[0]
    sim.heap -= 1
    last = timing.heap[sim.heap].job
    if last != j:
        sift(simulation, timing, timing.heap_places[j], last)


@inlined
def next_instant(tables: Tables, simulation: Simulation, timing: EventClock) -> bool:
    """Move to the next event, or all events of its time, and collect them; return False when nothing is left.

    A call is never early; it joins the events of its time, if any.
    """
    sim = simulation.sim[0]
    sim.completed = sim.submitted = sim.called = 0
    submission = simulation.submit[sim.next_job] if sim.next_job < sim.jobs else np.inf
    # an end recomputed after a release of bandwidth may lie before now, by rounding
    completion = max(timing.heap[0].end, sim.clock) if sim.heap > 0 else np.inf
    date = min(submission, completion)
    if sim.call < date - TOGETHER:
        date = sim.call
    if date == np.inf:
        return False
    sim.clock = date
    if sim.call <= date:
        sim.call = np.inf
        sim.called = 1
    alone = timing.one_by_one[0] == 1
    while sim.heap > 0 and timing.heap[0].end <= date + TOGETHER and not (alone and submission <= completion):
        j = first_started(tables, simulation, timing) if alone else timing.heap[0].job
        task = simulation.tasks[j]
        task.finish = date
        task.outcome = WALLTIME_REACHED if task.end == task.start + task.walltime else SUCCESS
        remove(simulation, timing, j)
        write_log(tables, date, LOG_END, j, 0)
        simulation.completed[sim.completed] = j
        sim.completed += 1
        if alone:
            break
    while sim.next_job < sim.jobs and simulation.submit[sim.next_job] <= date and not (alone and sim.completed > 0):
        sim.next_job += 1
        sim.submitted += 1
        if alone:
            break
    sim.over = sim.no_more = sim.next_job == sim.jobs
    sim.now = date
    return True


@inlined
def first_started(tables: Tables, simulation: Simulation, timing: EventClock) -> int:
    """Return the job that ends next; of jobs that end together the one started first."""
    best = timing.heap[0].job
    for i in range(1, simulation.sim[0].heap):
        j = timing.heap[i].job
        if simulation.tasks[j].end == simulation.tasks[best].end and tables.jobs[j].first < tables.jobs[best].first:
            best = j
    return int(best)


@inlined
def expect(tables: Tables, simulation: Simulation, j: int) -> None:
    """Compute when a running job ends."""
    task, job = simulation.tasks[j], tables.jobs[j]
    if task.delay >= 0.0:
        task.end = task.start + min(task.delay, task.walltime)
    else:
        task.end = min(job.as_of + (task.ops - job.done) / job.speed, task.start + task.walltime)


@inlined
def apply_decisions(tables: Tables, simulation: Simulation, timing: EventClock) -> None:
    """Start the started jobs, and recompute the ends of jobs whose bandwidth share has changed.

    A requested call replaces an earlier one.
    """
    sim, clock = simulation.sim[0], tables.clock[0]
    if sim.call_requested < np.inf:
        sim.call = call_date(sim.call_requested, sim.clock)
        sim.call_requested = np.inf
    for i in range(clock.started_now):
        j = started_job(tables, i)
        simulation.tasks[j].start = sim.clock
        write_log(tables, sim.clock, LOG_START, j, 0)
        expect(tables, simulation, j)
        sim.heap += 1
        rise(simulation, timing, sim.heap - 1, j)
    if clock.ends_now > 0:
        end_early(tables, simulation, timing)
    for i in range(clock.touched):
        p = tables.words[tables.touched[i]].processor
        processor, oversubscribed = tables.processors[p], tables.loads[p].oversubscribed
        if oversubscribed == timing.slowed[p]:
            continue
        timing.slowed[p] = oversubscribed
        last = IDLE_CORE
        for w in range(processor.first_word, processor.first_word + processor.words):
            begins = 0 if repeats(tables, w) else tables.words[w].begins
            while begins != 0:
                j = tables.owners[tables.words[w].first + lowest_bit(begins)]
                begins = without_lowest(begins)
                if j != last:
                    last = j
                    expect(tables, simulation, j)
                    sift(simulation, timing, timing.heap_places[j], j)


@compiled
def end_early(tables: Tables, simulation: Simulation, timing: EventClock) -> None:
    """End the running jobs that decisions end early, at the time of the decision."""
    clock, place = tables.clock[0], 0
    while clock.ends_now > 0 and place < simulation.sim[0].heap:
        j = timing.heap[place].job
        if tables.jobs[j].status == ENDS_NOW:
            tables.jobs[j].status = RUNNING
            simulation.tasks[j].end = tables.jobs[j].finish
            clock.ends_now -= 1
            sift(simulation, timing, place, j)
            place = -1  # the heap has changed
        place += 1


@inlined
def open_clock(tables: Tables, simulation: Simulation, timing: EventClock) -> None:
    """Begin a simulation: nothing to do."""
