"""The jobs that run inside the embedded simulator: how far each one is, and which ends next.

A job's progress follows the slowest of its cores and is kept through P-state changes, as SimGrid's parallel tasks do.
"""

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.units import bytes_per_second, seconds
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats, Ints, Records

SUCCESS, WALLTIME_REACHED, KILLED = 1, 2, 3  # outcome of a job, 0 while it has none

FINISHED_SHARE = 1e-14  # SimGrid ends a parallel task when less than this share is left
# SimGrid fires timers less than 1e-9 s away together with an event. Messages take multiples of 1e-10 s, so timers are
# often just 1e-9 s away; what SimGrid then does hangs on its rounding errors, and mostly they fire.
LOOPBACK = 1e-10  # s, one byte at SimGrid's 10 GB/s
TIMER_PRECISION = 1.05e-9  # s
NO_OPS = 1e-6  # flop of a job without work, so that its rate is finite
SHORTEST_RUN = 1e-5  # s, what Batsim reports for a job without work


TASK = np.dtype(
    [
        ("end", "f8"),  # s, when it fires unless its rate changes
        ("start", "f8"),  # s on the simulator's clock, nan before
        ("walltime", "f8"),  # s, infinite for none
        ("delay", "f8"),  # s, -1 for a job that computes
        ("rate", "f8"),  # share per second since as_of
        ("left", "f8"),  # share of the work still to do at as_of
        ("as_of", "f8"),  # s
        ("ops", "f8"),  # flop per core
        ("finish", "f8"),  # s, nan before
        ("marked", "i4"),  # 1 while its rate waits to be found again
        ("outcome", "i4"),
        ("lowest", "i4"),  # of its cores, the one that sends the message that it has ended
        ("watts", "f8"),  # W of its cores since as_of, counted where a log is kept
        ("joules", "f8"),  # J of its cores from start to as_of
    ],
    align=True,
)

HEAP_ENTRY = np.dtype([("end", "f8"), ("job", "i8")], align=True)  # of a running job, and when it fires

SIM = np.dtype(
    [
        ("clock", "f8"),  # s, exact, the decision system sees it in microseconds
        ("now", "f8"),  # s, as the decision system sees it
        ("submission", "f8"),  # s, when the next jobs are submitted, infinite when none is left
        ("reached", "f8"),  # s, when the submitter last woke up; it submits the jobs until then
        ("reply", "f8"),  # s, when the decision system's answer begins to be applied, infinite when none is under way
        ("call", "f8"),  # s, when the decision system asked to be called, infinite for never
        ("call_asked", "f8"),  # s, a call asked for in the answer under way
        ("jobs", "i8"),  # of the workload
        ("next_job", "i8"),  # of these submitted to the server so far
        ("heap", "i8"),  # running tasks
        ("first_message", "i8"),
        ("messages", "i8"),  # messages in the mailbox
        ("ready", "i8"),  # 1 when the answer to the last message is applied
        ("stage", "i8"),  # how far the answer is
        ("completed", "i8"),  # what the next message will tell: completions, submissions, ...
        ("submitted", "i8"),
        ("submitting", "i8"),  # 1 while the submitter waits for the server to take in its jobs
        ("over", "i8"),  # ... that no more jobs come, 2 once it has been told
        ("acknowledged", "i8"),  # ... that P-states have changed
        ("called", "i8"),  # ... that the time asked for has come
        ("no_more", "i8"),  # 1 when the decision system knows that no more jobs come
        ("opened", "i8"),  # 1 once the clock has begun
        ("deciding", "i8"),  # 1 from an instant on until what was decided at it is applied
        ("kills", "i8"),  # jobs to kill in the answer under way
        ("changes", "i8", (4,)),  # cores that come into each P-state in it
        ("grouped_switches", "i8"),  # SET_RESOURCE_STATE commands
        ("machine_switches", "i8"),  # machines in them
    ],
    align=True,
)


class Simulation(Bundle):
    """The arrays that the embedded simulator adds to ``Tables``.

    Attributes:
        sim: (1,) SIM.
        tasks: (J,) TASK.
        heap: (J,) HEAP_ENTRY, running jobs, the next to end first.
        heap_places: (J,) where running jobs are in it.
        messages: ring of messages to the server, as Batsim's mailbox.
        completed: (J,) jobs that the next message reports.
        kills: (J,) jobs to kill in the answer under way.
        marked: (J,) scratch, jobs whose rate waits to be found again.
        changed: (C,) the cores that come into another P-state in the answer under way.
        submit: (J,) s, of the first ``jobs`` of SIM.
    """

    sim: Records
    tasks: Records
    heap: Records
    heap_places: Ints
    messages: Ints
    completed: Ints
    kills: Ints
    marked: Ints
    changed: Ints
    submit: Floats


@inlined
def ends_before(simulation: Simulation, end: float, j: int, other_end: float, other: int) -> bool:
    """Tell whether job *j* ends before another one; those that end together do so in the order of their starts."""
    if end != other_end:
        return bool(end < other_end)
    start, other_start = simulation.tasks[j].start, simulation.tasks[other].start
    return bool(start < other_start or (start == other_start and j < other))


@inlined
def put(simulation: Simulation, place: int, end: float, j: int) -> None:
    """Put job *j* into a place of the heap."""
    simulation.heap[place].end, simulation.heap[place].job = end, j
    simulation.heap_places[j] = place


@compiled
def sift(simulation: Simulation, hole: int, j: int) -> None:
    """Put job *j* where it belongs in the heap, beginning at a hole."""
    size, end = simulation.sim[0].heap, simulation.tasks[j].end
    while hole > 0:
        above = simulation.heap[(hole - 1) >> 1]
        if not ends_before(simulation, end, j, above.end, above.job):
            break
        put(simulation, hole, above.end, above.job)
        hole = (hole - 1) >> 1
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        left, right = simulation.heap[child], simulation.heap[child + 1 if child + 1 < size else child]
        if ends_before(simulation, right.end, right.job, left.end, left.job):
            child += 1
        below = simulation.heap[child]
        if not ends_before(simulation, below.end, below.job, end, j):
            break
        put(simulation, hole, below.end, below.job)
        hole = child
    put(simulation, hole, end, j)


@compiled
def remove(simulation: Simulation, j: int) -> None:
    """Take a running job out of the heap."""
    sim = simulation.sim[0]
    sim.heap -= 1
    last = simulation.heap[sim.heap].job
    if last != j:
        sift(simulation, simulation.heap_places[j], last)


@inlined
def is_running(simulation: Simulation, j: int) -> bool:
    """Tell whether a job has begun and not yet ended on the simulator's clock."""
    return bool(not np.isnan(simulation.tasks[j].start) and np.isnan(simulation.tasks[j].finish))


@compiled
def slowest(tables: Tables, j: int) -> float:
    """Return the flop/s of the slowest core of a job in the P-states that its cores are in."""
    job, speed = tables.jobs[j], 1e300
    for i in range(job.first, job.first + job.size):
        core = tables.allocation[i]
        speed = min(speed, tables.processors[tables.core_processor[core]].flops[tables.core_pstate[core]])
    return speed


@compiled
def power(tables: Tables, j: int) -> float:
    """Return the W of the cores of a job in the P-states that they are in."""
    job, watts = tables.jobs[j], 0.0
    for i in range(job.first, job.first + job.size):
        core = tables.allocation[i]
        watts += tables.processors[tables.core_processor[core]].watts[tables.core_pstate[core]]
    return watts


@compiled
def progress(tables: Tables, simulation: Simulation, j: int, settled: bool) -> None:
    """Book a running job's work and energy until now, and find its rate and end from the P-states of its cores.

    Args:
        settled: whether these are what the decision system has found its speed from.
    """
    task, clock = simulation.tasks[j], simulation.sim[0].clock
    elapsed = clock - task.as_of
    task.left -= task.rate * elapsed
    task.as_of = clock
    if len(tables.log) > 0:
        task.joules += task.watts * elapsed
        task.watts = power(tables, j)
    if task.delay < 0.0:
        task.rate = (tables.jobs[j].speed if settled else slowest(tables, j)) / max(task.ops, NO_OPS)
        task.end = min(clock + task.left / task.rate, task.start + task.walltime)


@compiled
def launch(tables: Tables, simulation: Simulation, j: int) -> None:
    """Let a job begin to run on its cores."""
    sim, task, job = simulation.sim[0], simulation.tasks[j], tables.jobs[j]
    task.start, task.as_of, task.left, task.rate, task.watts, task.joules = sim.clock, sim.clock, 1.0, 0.0, 0.0, 0.0
    task.lowest = tables.allocation[job.first]
    for i in range(job.first + 1, job.first + job.size):
        task.lowest = min(task.lowest, tables.allocation[i])
    if task.delay >= 0.0:
        task.end = sim.clock + min(task.delay, task.walltime)
    progress(tables, simulation, j, False)
    sim.heap += 1
    sift(simulation, sim.heap - 1, j)


@compiled
def finish(tables: Tables, simulation: Simulation, j: int, outcome: int) -> None:
    """End a running job on the simulator's clock."""
    task, clock = simulation.tasks[j], simulation.sim[0].clock
    task.joules += task.watts * (clock - task.as_of)
    task.as_of, task.finish, task.outcome = clock, clock, outcome
    remove(simulation, j)


@compiled
def has_fired(simulation: Simulation, j: int) -> bool:
    """Tell whether the event of a running job is due at this moment of the clock."""
    task, clock = simulation.tasks[j], simulation.sim[0].clock
    if task.end <= clock:
        return True
    if task.delay >= 0.0 or task.end == task.start + task.walltime:
        return bool(task.end - clock < TIMER_PRECISION)
    return bool((task.end - clock) * task.rate < FINISHED_SHARE)


@compiled
def outcome_of(simulation: Simulation, j: int) -> int:
    """Return how a job ends whose event is due: a computation wins a tie with its walltime, a delay loses it."""
    task = simulation.tasks[j]
    if task.delay >= 0.0:
        return SUCCESS if task.delay < task.walltime else WALLTIME_REACHED
    left = task.left - task.rate * (simulation.sim[0].clock - task.as_of)
    return SUCCESS if left < FINISHED_SHARE or task.end < task.start + task.walltime else WALLTIME_REACHED


def new_simulation(platform: Platform, workload: Workload) -> Simulation:
    """Return the simulator's rows for a workload, before its first event."""
    jobs = len(workload)
    tasks = np.zeros(jobs, TASK)
    fill_tasks(tasks, workload)
    sim = np.zeros(1, SIM)
    sim["jobs"] = jobs
    for date in ("submission", "reply", "call", "call_asked"):
        sim[date] = np.inf
    return Simulation(
        sim=sim,
        tasks=tasks,
        heap=np.zeros(jobs, HEAP_ENTRY),
        heap_places=np.zeros(jobs, np.int32),
        messages=np.zeros(jobs + 8, np.int64),
        completed=np.zeros(jobs, np.int32),
        kills=np.zeros(jobs, np.int32),
        marked=np.zeros(jobs, np.int32),
        changed=np.zeros(platform.cores, np.int32),
        submit=np.ascontiguousarray(workload.submit, np.float64),
    )


def fill_tasks(rows: Records, workload: Workload) -> None:
    """Write what the jobs of a workload need into rows of tasks that have not begun."""
    rows["ops"], rows["delay"], rows["walltime"] = workload.ops, workload.delay, workload.walltime
    rows["start"] = rows["finish"] = np.nan


def seconds_to_master(platform: Platform) -> Floats:
    """Return (P,) s that one byte takes from a core of each processor to Batsim's server on the master host."""
    network = platform.network
    if network is None:
        return np.full(platform.processors, LOOPBACK)
    to_global = seconds(network.global_latency)
    global_bandwidth = bytes_per_second(network.global_bandwidth)
    by_cluster = [
        to_global + seconds(latency) + 1.0 / min(global_bandwidth, bytes_per_second(bandwidth))
        for latency, bandwidth in zip(network.cluster_latency, network.cluster_bandwidth, strict=True)
    ]
    return np.array(by_cluster)[platform.node_cluster[platform.processor_node]]
