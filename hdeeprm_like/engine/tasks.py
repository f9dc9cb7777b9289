"""The jobs inside the embedded simulator, whichever clock moves them: when each began and ended, and how."""

import numpy as np

from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.types import Floats, Ints, Records

SUCCESS, WALLTIME_REACHED, KILLED = 1, 2, 3  # outcome of a job, 0 while it has none

SHORTEST_RUN = 1e-5  # s, what Batsim reports for a job without work
SHORTEST_CALL = 1e-5  # s, Batsim lengthens shorter waits
ALL_KNOWN = 1 << 62  # rows, more than there are


TASK = np.dtype(
    [
        ("end", "f8"),  # s, when it fires unless its speed changes; Batsim's clock has `actions` for that
        ("start", "f8"),  # s on the simulator's clock, nan before
        ("walltime", "f8"),  # s, infinite for none
        ("delay", "f8"),  # s, -1 for a job that computes
        ("ops", "f8"),  # flop per core
        ("finish", "f8"),  # s, nan before
        ("outcome", "i4"),
        ("lowest", "i4"),  # of its cores, the one that sends the message that it has ended
        ("stage", "i4"),  # how far its actor is, see `batsim_jobs`
        ("rounds", "i4"),  # that its actor still lets the others go first
        ("marked", "i4"),  # 1 while its rate waits to be found again
        ("as_of", "f8"),  # s
        ("watts", "f8"),  # W of its cores since as_of, counted where a log is kept
        ("joules", "f8"),  # J of its cores from start to as_of
    ],
    align=True,
)

SIM = np.dtype(
    [
        ("clock", "f8"),  # s, exact, the decision system sees it in microseconds
        ("now", "f8"),  # s, as the decision system sees it
        ("call", "f8"),  # s, when the decision system asked to be called, infinite for never
        ("call_asked", "f8"),  # s, a call asked for in the answer under way
        ("jobs", "i8"),  # of the workload
        ("next_job", "i8"),  # of these submitted so far
        (
            "unsure_from",
            "i8",
        ),  # row before whose submission the next part must come, where jobs come in parts
        ("heap", "i8"),  # running jobs on the textbook's clock
        ("completed", "i8"),  # what the next message will tell: completions, submissions, ...
        ("submitted", "i8"),
        ("called", "i8"),  # ... that the time asked for has come
        ("over", "i8"),  # ... that no more jobs come, 2 once it has been told
        ("no_more", "i8"),  # 1 when the decision system knows that no more jobs come
        ("opened", "i8"),  # 1 once the clock has begun
        ("deciding", "i8"),  # 1 from an instant on until what was decided at it is applied
        ("kills", "i8"),  # jobs to kill in the answer under way
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
        completed: (J,) jobs that the next message reports.
        kills: (J,) jobs to kill in the answer under way.
        submit: (J,) s, of the first ``jobs`` of SIM.
    """

    sim: Records
    tasks: Records
    completed: Ints
    kills: Ints
    submit: Floats


def new_simulation(workload: Workload) -> Simulation:
    """Return the simulator's rows for a workload, before its first event."""
    jobs = len(workload)
    tasks = np.zeros(jobs, TASK)
    fill_tasks(tasks, workload)
    sim = np.zeros(1, SIM)
    sim["jobs"] = jobs
    sim["call"] = sim["call_asked"] = np.inf
    sim["unsure_from"] = ALL_KNOWN
    return Simulation(
        sim=sim,
        tasks=tasks,
        completed=np.zeros(jobs, np.int32),
        kills=np.zeros(jobs, np.int32),
        submit=np.ascontiguousarray(workload.submit, np.float64),
    )


def fill_tasks(rows: Records, workload: Workload) -> None:
    """Write what the jobs of a workload need into rows of tasks that have not begun."""
    rows["ops"], rows["delay"], rows["walltime"] = workload.ops, workload.delay, workload.walltime
    rows["start"] = rows["finish"] = np.nan
