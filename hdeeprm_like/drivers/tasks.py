"""The jobs that run inside the embedded simulator: how far each one is, and which ends next.

A job's progress follows the slowest of its cores and is kept through P-state changes, as SimGrid's parallel tasks do.
"""

from typing import NamedTuple

import numpy as np

from hdeeprm_like.bundles import bundle
from hdeeprm_like.cluster.tables import Rows, Tables
from hdeeprm_like.compiled import compiled
from hdeeprm_like.types import Floats, Ints

SUCCESS, WALLTIME_REACHED, KILLED = 1, 2, 3  # outcome of a job, 0 while it has none

FINISHED_SHARE = 1e-14  # SimGrid ends a parallel task when less than this share is left
# SimGrid fires timers less than 1e-9 s away together with an event. Letters take multiples of 1e-10 s, so timers are
# often just 1e-9 s away; what SimGrid then does hangs on its rounding errors, and mostly they fire.
TIMER_PRECISION = 1.05e-9  # s
NO_OPS = 1e-6  # flop of a job without work, so that its rate is finite
SHORTEST_RUN = 1e-5  # s, what Batsim reports for a job without work


TASK = np.dtype(
    [
        ("ops", "f8"),  # flop per core
        ("delay", "f8"),  # s, -1 for a job that computes
        ("walltime", "f8"),  # s, infinite for none
        ("left", "f8"),  # share of the work still to do at as_of
        ("rate", "f8"),  # share per second since as_of
        ("as_of", "f8"),  # s
        ("end", "f8"),  # s, when it fires unless its rate changes
        ("start", "f8"),  # s on the simulator's clock, nan before
        ("finish", "f8"),  # s
        ("watts", "f8"),  # W of its cores since as_of
        ("joules", "f8"),  # J of its cores from start to as_of
        ("seat", "i4"),  # its place in the heap, -1 when not running
        ("outcome", "i4"),
        ("marked", "i4"),  # 1 while its rate waits to be found again
    ],
    align=True,
)

SIM = np.dtype(
    [
        ("clock", "f8"),  # s, exact, the decision system sees it in microseconds
        ("submission", "f8"),  # s, when the next jobs are submitted, infinite when none is left
        ("reached", "f8"),  # s, when the submitter last woke up; it submits the jobs until then
        ("reply", "f8"),  # s, when the decision system's answer begins to be applied, infinite when none is under way
        ("call", "f8"),  # s, when the decision system asked to be called, infinite for never
        ("call_asked", "f8"),  # s, a call asked for in the answer under way
        ("jobs", "i8"),  # of the workload
        ("next_job", "i8"),  # of these submitted to the server so far
        ("heap", "i8"),  # running tasks
        ("mail_first", "i8"),
        ("mail", "i8"),  # letters in the mailbox
        ("ready", "i8"),  # 1 when the answer to the last message is applied
        ("stage", "i8"),  # how far the answer is
        ("completed", "i8"),  # what the next message will tell: completions, submissions, ...
        ("submitted", "i8"),
        ("submitting", "i8"),  # 1 while the submitter waits for the server to take in its jobs
        ("over", "i8"),  # ... that no more jobs come, 2 once it has been told
        ("acknowledged", "i8"),  # ... that P-states have changed
        ("called", "i8"),  # ... that the time asked for has come
        ("kills", "i8"),  # jobs to kill in the answer under way
        ("grouped_switches", "i8"),  # SET_RESOURCE_STATE commands
        ("machine_switches", "i8"),  # machines in them
    ],
    align=True,
)


@bundle("delay")
class Simulation(NamedTuple):
    """The arrays that the embedded simulator adds to ``Tables``.

    Attributes:
        sim: (1,) SIM.
        tasks: (J,) TASK.
        heap: (J,) running jobs, the next to end first.
        mail: ring of letters to the server, as Batsim's mailbox.
        completed: (J,) jobs that the next message reports.
        kills: (J,) jobs to kill in the answer under way.
        marked: (J,) scratch, jobs whose rate waits to be found again.
        delay: (P,) s that the message of an ended job takes from a core of each processor to the server.
        submit: (J,) s, of the first ``jobs`` of SIM.
    """

    sim: Rows
    tasks: Rows
    heap: Ints
    mail: Ints
    completed: Ints
    kills: Ints
    marked: Ints
    delay: Floats
    submit: Floats


@compiled
def ends_before(s: Simulation, a: int, b: int) -> bool:
    """Tell whether job *a* ends before job *b*; those that end together do so in the order of their starts."""
    x, y = s.tasks[a], s.tasks[b]
    if x.end != y.end:
        return bool(x.end < y.end)
    return bool(x.start < y.start or (x.start == y.start and a < b))


@compiled
def sift(s: Simulation, hole: int, j: int) -> None:
    """Put job *j* where it belongs in the heap, beginning at a hole."""
    size = s.sim[0].heap
    while hole > 0 and ends_before(s, j, s.heap[(hole - 1) // 2]):
        parent = (hole - 1) // 2
        s.heap[hole] = s.heap[parent]
        s.tasks[s.heap[hole]].seat = hole
        hole = parent
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and ends_before(s, s.heap[child + 1], s.heap[child]):
            child += 1
        if not ends_before(s, s.heap[child], j):
            break
        s.heap[hole] = s.heap[child]
        s.tasks[s.heap[hole]].seat = hole
        hole = child
    s.heap[hole] = j
    s.tasks[j].seat = hole


@compiled
def remove(s: Simulation, j: int) -> None:
    """Take a running job out of the heap."""
    sim = s.sim[0]
    seat = s.tasks[j].seat
    s.tasks[j].seat = -1
    sim.heap -= 1
    last = s.heap[sim.heap]
    if last != j:
        sift(s, seat, last)


@compiled
def progress(t: Tables, s: Simulation, j: int) -> None:
    """Book a running job's work and energy until now, and find its rate and end from the P-states of its cores."""
    task, job, clock = s.tasks[j], t.jobs[j], s.sim[0].clock
    elapsed = clock - task.as_of
    task.left -= task.rate * elapsed
    task.joules += task.watts * elapsed
    task.as_of = clock
    speed, watts = 1e300, 0.0
    for i in range(job.first, job.first + job.size):
        core = t.allocation[i]
        processor = t.processors[t.core_processor[core]]
        pstate = t.core_pstate[core]
        speed = min(speed, processor.flops[pstate])
        watts += processor.watts[pstate]
    task.watts = watts
    if task.delay < 0.0:
        task.rate = speed / max(task.ops, NO_OPS)
        task.end = min(clock + task.left / task.rate, task.start + task.walltime)
    if task.seat >= 0:
        sift(s, task.seat, j)


@compiled
def launch(t: Tables, s: Simulation, j: int) -> None:
    """Let a job begin to run on its cores."""
    sim, task = s.sim[0], s.tasks[j]
    task.start, task.as_of, task.left, task.rate, task.watts, task.joules = sim.clock, sim.clock, 1.0, 0.0, 0.0, 0.0
    if task.delay >= 0.0:
        task.end = sim.clock + min(task.delay, task.walltime)
    progress(t, s, j)
    sim.heap += 1
    sift(s, sim.heap - 1, j)


@compiled
def finish(t: Tables, s: Simulation, j: int, outcome: int) -> None:
    """End a running job on the simulator's clock."""
    task, clock = s.tasks[j], s.sim[0].clock
    task.joules += task.watts * (clock - task.as_of)
    task.as_of, task.finish, task.outcome = clock, clock, outcome
    remove(s, j)


@compiled
def has_fired(s: Simulation, j: int) -> bool:
    """Tell whether the event of a running job is due at this moment of the clock."""
    task, clock = s.tasks[j], s.sim[0].clock
    if task.end <= clock:
        return True
    if task.delay >= 0.0 or task.end == task.start + task.walltime:
        return bool(task.end - clock < TIMER_PRECISION)
    return bool((task.end - clock) * task.rate < FINISHED_SHARE)


@compiled
def outcome_of(s: Simulation, j: int) -> int:
    """Return how a job ends whose event is due: a computation wins a tie with its walltime, a delay loses it."""
    task = s.tasks[j]
    if task.delay >= 0.0:
        return SUCCESS if task.delay < task.walltime else WALLTIME_REACHED
    left = task.left - task.rate * (s.sim[0].clock - task.as_of)
    return SUCCESS if left < FINISHED_SHARE or task.end < task.start + task.walltime else WALLTIME_REACHED
