"""Slurm's accounting, as ``sacct -P`` prints it, made into jobs.

Any version from 20 to 25 and any choice and order of columns is read, as long as there is what a job needs: a number,
times, and CPUs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.importers import fields
from hdeeprm_like.importers.fields import STATE_NUMBER, JobNumber, Memory, Resources
from hdeeprm_like.importers.jobs import JobStore, Rows
from hdeeprm_like.importers.records import Chunk, Records, open_text, uncollected
from hdeeprm_like.importers.sacct_columns import columns_of, find_header
from hdeeprm_like.importers.times import Moments, WallClock
from hdeeprm_like.types import Floats, Ints

FORMAT = (
    *("JobID", "JobIDRaw", "Cluster", "User", "Account", "QOS", "Partition", "State", "Submit", "Eligible", "Start"),
    *(
        "End",
        "Elapsed",
        "Suspended",
        "TotalCPU",
        "Timelimit",
        "NCPUS",
        "ReqCPUS",
        "NNodes",
        "ReqMem",
        "AllocTRES",
        "ReqTRES",
    ),
    *("Reservation", "Constraints", "JobName"),
)
COMMAND = f"SLURM_TIME_FORMAT=%s sacct -a -X -P -S now-30days -E now --format={','.join(FORMAT)} > sacct.txt"
"""The command that lists the jobs of the last 30 days; times in s since 1970 need no time zone."""

LONGEST_NUMBER = 18  # digits of a job's number
MOST_CPUS = 2**31 - 1


@dataclass(frozen=True)
class Reading:
    """How a log is read.

    Attributes:
        separator: between columns.
        zone: time zone of times that have none of their own; None for UTC.
        form: of times that are neither ISO nor seconds, as `time.strptime` has it.
        requeues: ``"last"``, ``"one"`` or ``"all"`` runs of jobs that were put back into the queue.
        arrival: ``"eligible"``, or ``"submit"`` for jobs that arrive when they are submitted although they are held.
        limit: s taken where a time limit is UNLIMITED or the partition's, or missing; -1 leaves it unknown.
        limits: the same by partition, as s.
    """

    separator: str = "|"
    zone: str | None = None
    form: str | None = None
    requeues: str = "last"
    arrival: str = "eligible"
    limit: float = -1.0
    limits: tuple[tuple[str, float], ...] = ()


def read_sacct(path: Path, reading: Reading, report: Account | None = None) -> JobStore:
    """Read a log; it may be packed, and of any length.

    Raises:
        WorkloadError: the file is no such log, or no job of it ran.
        OptionsError: the time zone does not exist.
    """
    report = report or Account(str(path), form="Slurm's sacct")
    store = JobStore(report)
    clock = WallClock(reading.zone, reading.form, report)
    with open_text(path) as lines, uncollected():
        header, number = find_header(lines, path, reading.separator)
        columns = columns_of(header, reading.separator, path)
        records = Records(lines, columns, reading.separator, report, number + 1, header)
        table = Accounted(columns.names, reading, clock, store)
        for chunk in records.chunks():
            table.take(chunk)
        report.lines = records.line
    if number > 1:
        report.note(f"{number - 1} lines stand before that of the names")
    if records.repeated_headers:
        report.note(f"the line of names is there {records.repeated_headers} more times, as in logs that were joined")
    if records.joined:
        report.note(f"{records.joined:,} records hold separators or line ends inside names; they were put together")
    if not table.taken and (misread := report.entries.get("Submit")):
        raise WorkloadError(
            f"{path}: Submit: {misread.example!r} is no time; SLURM_TIME_FORMAT=%s or --time-format helps"
        )
    if clock.local and reading.zone is None:
        report.note("times were read as UTC; set their time zone by --timezone")
    if table.suspended:
        time = timedelta(seconds=round(table.suspended_time))
        report.note(f"{table.suspended:,} jobs were suspended, {time} h in all; run times do not include that")
    store.settle(reading.requeues)
    return store


NO_MEMORY, NO_RESOURCES, NO_JOB = Memory(-1.0, ""), Resources(-1, -1.0, -1, -1.0, ""), JobNumber(-1, -1, -1)


class Accounted(Rows):
    """Makes jobs of records, some thousand at a time, column by column.

    Attributes:
        taken: how many jobs it has taken whose submission is known.
        suspended: how many were suspended. suspended_time: for how many s in all.
    """

    def __init__(self, names: tuple[str, ...], reading: Reading, clock: WallClock, store: JobStore) -> None:
        """Begin; *names* are those of the columns, in small letters."""
        super().__init__(store, CALLED)
        self.place = {name: place for place, name in reversed(list(enumerate(names)))}
        self.reading, self.clock = reading, clock
        self.taken, self.suspended, self.suspended_time = 0, 0, 0.0
        self.id = "jobid" if "jobid" in self.place else "jobidraw"
        self._limits = dict(reading.limits)

    def take(self, chunk: Chunk) -> None:
        """Take some records: steps are left out, the others are jobs."""
        self.report.jobs += len(chunk.lines)
        job = self.place[self.id]
        rows = [row for row, values in enumerate(chunk.values) if "." not in values[job]]
        lines, jobs = np.array(chunk.lines), chunk.values
        if len(rows) < len(jobs):
            first = next(line for line, values in zip(chunk.lines, jobs, strict=True) if "." in values[job])
            self.report.leave_out("steps of jobs", len(jobs) - len(rows), first)
            lines, jobs = lines[rows], [jobs[row] for row in rows]
        if not jobs:
            return
        texts = list(zip(*jobs, strict=True))
        self.texts = {name: texts[place] for name, place in self.place.items()}
        self.count = len(jobs)
        elapsed = self._spans(("elapsedraw", "elapsed"), fields.duration)  # Slurm leaves out what was suspended
        suspended = np.nan_to_num(self._spans(("suspended",), fields.duration))
        self.suspended += int((suspended > 0).sum())
        self.suspended_time += float(suspended.sum())
        columns = self._numbers(elapsed)
        moments = self._moments()
        self.taken += int((~np.isnan(moments["submit"].first)).sum())
        self.store.admit(columns, moments, elapsed, lines, suspended)

    def _different(self, column: str, meaning: Callable[[str], Any], unknown: Any) -> tuple[list[Any], Ints]:
        """Return what the different texts of a column mean, and (n,) which of these each job has."""
        texts = self.texts.get(column)
        if texts is None:
            return [unknown], np.zeros(self.count, np.int64)
        places: dict[str, int] = {}
        which = np.array([places.setdefault(text, len(places)) for text in texts])
        meanings = self.meanings(column, meaning, unknown)
        told = []
        for text, place in places.items():
            told.append(meanings[text])
            if text not in meanings:  # not understood: each of them counts
                self.report.misunderstood(meanings.column, text, int((which == place).sum()) - 1)
        return told, which

    def _jobs(self) -> tuple[Ints, Ints, Ints]:
        """Return (n,) numbers of the jobs, of the tasks of arrays, and of the components of heterogeneous jobs."""
        texts = self.texts[self.id]
        job = np.array(
            [int(text) if text.isdecimal() and len(text) < LONGEST_NUMBER else -1 for text in texts], np.int64
        )
        task, component = np.full(len(texts), -1), np.full(len(texts), -1)
        for row in np.flatnonzero(job < 0).tolist():
            job[row], task[row], component[row] = self._job(texts[row])
        return job, task, component

    def _job(self, text: str) -> JobNumber:
        try:
            return fields.job_number(text.strip())
        except ValueError:
            self.report.misunderstood(CALLED[self.id], text)
            return NO_JOB

    def _first(self, columns: Sequence[str], meaning: Callable[[str], Any], unknown: Any) -> Any:
        """Return (n,) the first known value of several columns."""
        values = np.full(self.count, unknown)
        for column in reversed(columns):
            if column in self.texts:
                told = np.array(self.read(column, meaning, unknown))
                values = np.where(told >= 0, told, values)
        return values

    def _spans(self, columns: Sequence[str], meaning: Callable[[str], float]) -> Floats:
        values: Floats = self._first(columns, meaning, -1.0).astype(np.float64)
        return np.where(values < 0, np.nan, values)

    def _moments(self) -> dict[str, Moments]:
        told: dict[str, Moments] = {
            name: self.clock.read(self.texts[name], CALLED[name])
            for name in ("submit", "eligible", "start", "end")
            if name in self.texts
        }
        unknown = np.full(self.count, np.nan)
        if "submit" not in told:
            told["submit"] = told["eligible"]
        if self.reading.arrival == "submit":
            told["eligible"] = Moments(unknown, unknown)
        return told

    def _numbers(self, elapsed: Floats) -> dict[str, Any]:
        allocated, requested = self._resources("alloc"), self._resources("req")
        cpus = _known(self._first(("alloccpus", "ncpus"), fields.count, -1), allocated["cpus"])
        asked = _known(self._first(("reqcpus",), fields.count, -1), requested["cpus"])
        nodes = self._first(("nnodes", "allocnodes", "reqnodes"), fields.count, -1)
        nodes = _known(nodes, _known(allocated["nodes"], requested["nodes"]))
        # for a job without an allocation Slurm shows its request elsewhere, but not here
        if "alloctres" in self.texts:
            empty = np.array([not text.strip() for text in self.texts["alloctres"]])
            cpus = np.where(empty & (elapsed == 0), 0, cpus)
        used = np.where(asked > 0, asked, cpus)
        memory = self._memory(used, nodes)
        for amount, of in ((requested["memory"], used), (allocated["memory"], cpus)):
            memory = _known(memory, np.where((amount > 0) & (of > 0), amount / np.maximum(of, 1), -1.0))
        job, task, component = self._jobs()
        return {
            "job": job,
            "task": task,
            "component": component,
            "cpus": np.minimum(cpus, MOST_CPUS),
            "requested_cpus": np.minimum(asked, MOST_CPUS),
            "nodes": np.minimum(nodes, MOST_CPUS),
            "gpus": np.maximum(allocated["gpus"], requested["gpus"]),
            "memory": memory,
            "requested_time": self._requested_time(),
            "cpu_time": self._first(("totalcpu",), fields.duration, -1.0),
            "state": self.read("state", fields.state, STATE_NUMBER["UNKNOWN"]),
            "gres": allocated["gres"],
            **self.names(NAMED),  # who submitted a job may be known by a number only
        }

    def _resources(self, prefix: str) -> dict[str, Any]:
        """Return what was allocated or requested, by TRES, or by the GRES of an old Slurm."""
        tres, of_tres = self._different(f"{prefix}tres", fields.resources, NO_RESOURCES)
        gres, of_gres = self._different(f"{prefix}gres", fields.resources, NO_RESOURCES)
        number = self.store.numbers["gres"]
        names = [np.array([number[one.gres] for one in different]) for different in (tres, gres)]
        gpus = [np.array([one.gpus for one in different]) for different in (tres, gres)]
        return {
            "cpus": np.array([one.cpus for one in tres])[of_tres],
            "memory": np.array([one.memory for one in tres])[of_tres],
            "nodes": np.array([one.nodes for one in tres])[of_tres],
            "gpus": np.maximum(gpus[0][of_tres], gpus[1][of_gres]),
            "gres": _known(names[0][of_tres], names[1][of_gres]),
        }

    def _memory(self, cpus: Any, nodes: Any) -> Floats:
        """Return (n,) KB for each requested CPU, -1 where unknown."""
        told, which = self._different("reqmem", fields.memory, NO_MEMORY)
        amount = np.array([one.amount for one in told])[which]
        of = np.array([one.of or " " for one in told])[which]
        share = np.where(of == "c", 1.0, np.where(of == "n", np.maximum(nodes, 1), 1.0) / np.maximum(cpus, 1))
        return np.where((amount > 0) & ((of == "c") | (cpus > 0)), amount * share, -1.0)

    def _requested_time(self) -> Floats:
        told: Floats = self._first(("timelimit", "timelimitraw"), fields.time_limit, -1.0).astype(np.float64)
        unknown = ~(told > 0)
        if unknown.any():
            names = self.texts.get("partition", ("",) * self.count)
            default = self.reading.limit
            told[unknown] = [self._limits.get(names[row], default) for row in np.flatnonzero(unknown).tolist()]
        return np.where(told > 0, told, -1.0)


NAMED = {
    "user": ("user", "uid"),
    "account": ("account", "group", "gid"),
    "name": ("jobname",),
    "qos": ("qos",),
    "partition": ("partition",),
    "constraints": ("constraints",),
    "reservation": ("reservation",),
    "cluster": ("cluster",),
}
CALLED = {
    name.lower(): name
    for name in (*FORMAT, "AllocCPUS", "ElapsedRaw", "TimelimitRaw", "AllocGRES", "ReqGRES", "AllocNodes", "ReqNodes")
}


def _known(column: Any, otherwise: Any) -> Any:
    """Return *column*, and *otherwise* where that is unknown."""
    return np.where(column > 0, column, otherwise)
