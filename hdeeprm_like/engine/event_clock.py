"""The textbook's clock: all that has one time happens at once, and messages take no time.

Most published simulators keep time so: completions first, then submissions, then the decision. The embedded simulator
keeps Batsim's time instead, where a job that ends while another is submitted may come in a message of its own; use this
clock to compare with figures of other simulators. Jobs share bandwidth and lose speed by it as there; P-states of idle
cores and the log of them are left out.
"""

import numpy as np

from hdeeprm_like.engine.batsim_clock import SHORTEST_CALL
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.lifecycle import started_job, write_log
from hdeeprm_like.engine.tables import IDLE_CORE, LOG_END, LOG_START, Tables
from hdeeprm_like.engine.tasks import (
    SUCCESS,
    TIMER_PRECISION,
    WALLTIME_REACHED,
    Simulation,
    remove,
    sift,
)
from hdeeprm_like.types import Ints


class EventClock(Bundle):
    """What this clock adds to a ``Simulation``.

    Attributes:
        one_by_one: (1,) 1 to decide after each single event, submissions before completions of the same time, as
            RLScheduler's simulator does.
        slowed: (P,) whether each processor was oversubscribed at the last look.
    """

    one_by_one: Ints
    slowed: Ints


@compiled
def next_instant(t: Tables, s: Simulation, c: EventClock) -> bool:
    """Move to the next event, or to all of its time, and gather what happened; False when nothing can any more.

    A call comes with what happens at its time, else alone; never early.
    """
    sim = s.sim[0]
    sim.completed = sim.submitted = sim.called = 0
    submission = s.submit[sim.next_job] if sim.next_job < sim.jobs else np.inf
    completion = s.heap[0].end if sim.heap > 0 else np.inf
    date = min(submission, completion)
    if sim.call < date - TIMER_PRECISION:
        date = sim.call
    if date == np.inf:
        return False
    sim.clock = date
    if sim.call <= date:
        sim.call = np.inf
        sim.called = 1
    alone = c.one_by_one[0] == 1
    while sim.heap > 0 and s.heap[0].end <= date + TIMER_PRECISION and not (alone and submission <= completion):
        j = first_started(t, s) if alone else s.heap[0].job
        task = s.tasks[j]
        task.finish = date
        task.outcome = WALLTIME_REACHED if task.end == task.start + task.walltime else SUCCESS
        remove(s, j)
        write_log(t, date, LOG_END, j, 0)
        s.completed[sim.completed] = j
        sim.completed += 1
        if alone:
            break
    while sim.next_job < sim.jobs and s.submit[sim.next_job] <= date and not (alone and sim.completed > 0):
        sim.next_job += 1
        sim.submitted += 1
        if alone:
            break
    sim.over = sim.no_more = sim.next_job == sim.jobs
    sim.now = date
    return True


@compiled
def first_started(t: Tables, s: Simulation) -> int:
    """Return the job that ends next; of those that end together the one that was decided first."""
    best = s.heap[0].job
    for i in range(1, s.sim[0].heap):
        j = s.heap[i].job
        if s.tasks[j].end == s.tasks[best].end and t.jobs[j].first < t.jobs[best].first:
            best = j
    return int(best)


@compiled
def expect(t: Tables, s: Simulation, j: int) -> None:
    """Find when a running job ends."""
    task, job = s.tasks[j], t.jobs[j]
    if task.delay >= 0.0:
        task.end = task.start + min(task.delay, task.walltime)
    else:
        task.end = min(job.as_of + (task.ops - job.done) / job.speed, task.start + task.walltime)


@compiled
def apply_decisions(t: Tables, s: Simulation, c: EventClock) -> None:
    """Let the started jobs run, and find the ends of those again that bandwidth has slowed down or let go.

    The call that was asked for takes the place of an earlier one.
    """
    sim, clock = s.sim[0], t.clock[0]
    if sim.call_asked < np.inf:
        sim.call = max(sim.call_asked, sim.clock + SHORTEST_CALL)
        sim.call_asked = np.inf
    for i in range(clock.started_now):
        j = started_job(t, i)
        s.tasks[j].start = sim.clock
        write_log(t, sim.clock, LOG_START, j, 0)
        expect(t, s, j)
        sim.heap += 1
        sift(s, sim.heap - 1, j)
    for i in range(clock.touched):
        p = t.touched[i]
        processor, oversubscribed = t.processors[p], t.loads[p].oversubscribed
        if oversubscribed == c.slowed[p]:
            continue
        c.slowed[p] = oversubscribed
        last = IDLE_CORE
        for core in range(processor.first_core, processor.first_core + processor.cores):
            j = t.core_job[core]
            if j not in (IDLE_CORE, last):
                last = j
                expect(t, s, j)
                sift(s, s.seats[j], j)


@inlined
def open_clock(t: Tables, s: Simulation, c: EventClock) -> None:
    """Begin a simulation: nothing is to be done."""
