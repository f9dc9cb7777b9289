"""The jobs inside the embedded simulator, on either clock: when each began and ended, and how."""

import numpy as np

from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import entry
from hdeeprm_like.engine.job_rows import columns_of
from hdeeprm_like.types import Floats, Ints, Records

SUCCESS, WALLTIME_REACHED, KILLED = 1, 2, 3  # outcome of a job, 0 while it has none

SHORTEST_RUN = 1e-5  # s, what Batsim reports for a job without work
ALL_KNOWN = 1 << 62  # larger than any row


TASK = np.dtype(
    [
        ("end", "f8"),  # s, when it ends unless its speed changes; Batsim's clock uses `actions` instead
        ("start", "f8"),  # s on the simulator's clock, nan before
        ("walltime", "f8"),  # s, infinite for none
        ("delay", "f8"),  # s, -1 for a job that computes
        ("ops", "f8"),  # flop per core
        ("bytes", "f8"),  # that each core sends to each other one, in a network
        ("finish", "f8"),  # s, nan before
        ("outcome", "i4"),
        ("lowest", "i4"),  # the lowest of its cores, which sends the message of its end
        ("stage", "i4"),  # stage of its actor, see `batsim_jobs`
        ("rounds", "i4"),  # rounds that its actor still yields
        ("marked", "i8"),  # 1 while its rate must be recomputed
        ("as_of", "f8"),  # s
        ("watts", "f8"),  # W of its cores since as_of, if a log is kept
        ("joules", "f8"),  # J of its cores from start to as_of
    ],
    align=True,
)

SIM = np.dtype(
    [
        ("clock", "f8"),  # s, exact; the decision system sees it rounded to microseconds
        ("now", "f8"),  # s, as the decision system sees it
        ("call", "f8"),  # s, the requested call, infinite for none
        ("call_requested", "f8"),  # s, a call requested in the current answer
        ("jobs", "i8"),  # jobs of the workload
        ("next_job", "i8"),  # jobs submitted so far
        (
            "unsure_from",
            "i8",
        ),  # row before whose submission the next part of the jobs must arrive, if jobs arrive in parts
        ("heap", "i8"),  # running jobs on the textbook's clock
        ("completed", "i8"),  # contents of the next message: completions, submissions, ...
        ("submitted", "i8"),
        ("called", "i8"),  # ... a call whose time has come
        ("over", "i8"),  # ... the end of submissions, 2 once reported
        ("no_more", "i8"),  # 1 if the decision system knows of the end of submissions
        ("opened", "i8"),  # 1 once the clock has begun
        ("deciding", "i8"),  # 1 from an instant until its decisions are applied
        ("kills", "i8"),  # jobs to kill in the current answer
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
        kills: (J,) jobs to kill in the current answer.
        submit: (J,) s, submit times of the first ``jobs`` of SIM.
    """

    sim: Records
    tasks: Records
    completed: Ints
    kills: Ints
    submit: Floats


def new_simulation(workload: Workload) -> Simulation:
    """Return the simulator's rows for a workload, before its first event."""
    jobs = len(workload)
    tasks = np.empty(jobs, TASK)
    fill_tasks(tasks, workload)
    sim = np.zeros(1, SIM)
    sim["jobs"] = jobs
    sim["call"] = sim["call_requested"] = np.inf
    sim["unsure_from"] = ALL_KNOWN
    return Simulation(
        sim=sim,
        tasks=tasks,
        completed=np.empty(jobs, np.int32),
        kills=np.empty(jobs, np.int32),
        submit=np.ascontiguousarray(workload.submit, np.float64),
    )


class Work(Bundle):
    """The columns of a workload that its tasks take, and the rows of these.

    Attributes:
        rows: (J,) TASK, written from (J,) all others.
    """

    rows: Records
    ops: Floats
    delay: Floats
    walltime: Floats
    bytes: Floats


def fill_tasks(rows: Records, workload: Workload) -> None:
    """Write the work of the jobs of a workload into rows of tasks that have not begun."""
    write_tasks(Work(rows=rows, **columns_of(workload, Work)))


@entry
def write_tasks(work: Work) -> None:
    """Write rows of tasks, as `job_rows.write_rows` does."""
    for j in range(len(work.rows)):
        task = work.rows[j]
        task.ops, task.delay, task.walltime, task.bytes = work.ops[j], work.delay[j], work.walltime[j], work.bytes[j]
        task.start = task.finish = np.nan
        task.end = task.as_of = task.watts = task.joules = 0.0
        task.outcome = task.lowest = task.stage = task.rounds = task.marked = 0
