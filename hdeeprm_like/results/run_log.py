"""What a simulation leaves behind: Batsim's output files and the over-utilization spans, made from its log."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pstates import P3
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import (
    LOG_END,
    LOG_PSTATE,
    LOG_REJECT,
    LOG_REQUEST,
    LOG_START,
    PSTATE_BITS,
    PSTATE_MASK,
    REJECTED,
)
from hdeeprm_like.engine.tasks import SHORTEST_RUN, SUCCESS
from hdeeprm_like.engine.words import STRETCH
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.results.batsim_files import (
    EnergyRow,
    JobRow,
    MachineStateRow,
    PstateRow,
    schedule_summary,
    write_consumed_energy,
    write_job_lines,
    write_jobs,
    write_machine_states,
    write_pstate_changes,
    write_schedule,
)
from hdeeprm_like.results.core_intervals import CoreIntervals, interval_text, interval_texts, joined
from hdeeprm_like.results.job_lines import FINAL_STATES, JobColumns, intervals, job_lines, texts_of
from hdeeprm_like.results.overutilization import Spans, blocked_spans, overutilizations
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.types import Floats, Ints, Records

AT_ONCE = 20_000  # lines of ``out_jobs.csv``
MANY = 20_000  # jobs; fewer are written before what writes more is compiled, or found on disk


@dataclass(frozen=True)
class PowerCurve:
    """Power over time, constant between the P-state changes.

    Attributes:
        times: (K,) s, of the changes, beginning with 0.
        watts: (K,) W from each time on.
        joules: (K,) J until each time.
    """

    times: Floats
    watts: Floats
    joules: Floats

    def energy(self, times: Floats) -> Floats:
        """Return the energy in J used until each time."""
        k = np.searchsorted(self.times, times, side="right") - 1
        return np.asarray(self.joules[k] + self.watts[k] * (times - self.times[k]))


class Record:
    """The log of a finished simulation, read back into tables."""

    def __init__(self, simulator: Simulator, workload: Workload) -> None:
        self.state: State = simulator.state
        self.platform: Platform = self.state.platform
        self.workload = workload
        self.tasks: Records = simulator.simulation.tasks
        self.sim = simulator.simulation.sim[0]
        self.log: Records = self.state.tables.log[: int(self.state.tables.clock["logged"][0])]

    def entries(self, *kinds: int) -> Records:
        """Return the log entries of some kinds, in order."""
        return self.log[np.isin(self.log["kind"], kinds)]

    @cached_property
    def job_rows(self) -> list[JobRow]:
        """The jobs that ended or were rejected, in the order in which the server saw it."""
        workload, order = self.workload, self.entries(LOG_END, LOG_REJECT)["row"]
        tasks, rejected = self.tasks[order], self.state.tables.jobs["status"][order] == REJECTED
        start, run = (
            tasks["start"].tolist(),
            [run or SHORTEST_RUN for run in (tasks["finish"] - tasks["start"]).tolist()],
        )
        walltime = np.where(np.isfinite(workload.walltime), workload.walltime, -1.0)[order]
        outcome = np.where(rejected, 0, tasks["outcome"]).tolist()
        texts, rows = self.intervals.texts(), order.tolist()
        names = [workload.ids[j].partition("!") for j in rows]
        columns = {
            "job_id": [job for _, _, job in names],
            "workload": [name for name, _, _ in names],
            "profile": [workload.profiles[j] for j in rows],
            "submission_time": workload.submit[order].tolist(),
            "size": workload.size[order].tolist(),
            "walltime": walltime.tolist(),
            "success": (tasks["outcome"] == SUCCESS).tolist(),
            "final_state": [FINAL_STATES[how] for how in outcome],
            "starting_time": [None if how == 0 else time for how, time in zip(outcome, start, strict=True)],
            "execution_time": [
                None if how == 0 else time or SHORTEST_RUN for how, time in zip(outcome, run, strict=True)
            ],
            "allocated": [texts[j] for j in rows],
            "energy": np.where(rejected, -1.0, tasks["joules"]).tolist(),
        }
        assert tuple(columns) == JobRow._fields[: len(columns)]
        return [JobRow(*values) for values in zip(*columns.values(), strict=True)]

    def write_jobs(self, path: Path, energy: bool = True, many: int = MANY) -> None:
        """Write ``out_jobs.csv``.

        Args:
            energy: whether that of each job is told. many: from so many jobs on compiled code writes them, the same
                bytes.
        """
        order = self.entries(LOG_END, LOG_REJECT)["row"]
        if len(order) < many:
            rows = self.job_rows
            write_jobs(path, rows if energy else (row._replace(energy=-1.0) for row in rows))
            return
        write_job_lines(path, (self._lines(order[at : at + AT_ONCE], energy) for at in range(0, len(order), AT_ONCE)))

    def _lines(self, rows: Ints, energy: bool) -> bytes:
        """Return the lines of some jobs."""
        workload, tasks = self.workload, self.tasks[rows]
        rejected = self.state.tables.jobs["status"][rows] == REJECTED
        heads = []
        for j in rows.tolist():
            name, _, job = workload.ids[j].partition("!")
            heads.append(f"{job},{name},{workload.profiles[j]},")
        run, walltime = tasks["finish"] - tasks["start"], workload.walltime[rows]
        return job_lines(
            JobColumns(
                heads=texts_of(heads),
                times=np.array(
                    [
                        workload.submit[rows],
                        np.where(np.isfinite(walltime), walltime, -1.0),
                        tasks["start"],
                        np.where(run == 0.0, SHORTEST_RUN, run),
                        tasks["joules"] if energy else np.full(len(rows), -1.0),
                    ]
                ),
                size=workload.size[rows],
                outcome=np.where(rejected, 0, tasks["outcome"]),
                cores=intervals(rows, self.intervals.begins, self.intervals.first, self.intervals.last),
            )
        )

    @cached_property
    def intervals(self) -> CoreIntervals:
        """The cores of the jobs."""
        return CoreIntervals(self.state.tables)

    @cached_property
    def power(self) -> PowerCurve:
        """Power and energy of all cores over time."""
        changes = self.entries(LOG_PSTATE)
        times = np.concatenate([[0.0], changes["time"]])
        watts = self.idle_watts + np.concatenate([[0.0], np.cumsum(self.watt_changes(changes))])
        joules = np.concatenate([[0.0], np.cumsum(watts[:-1] * np.diff(times))])
        return PowerCurve(times, watts, joules)

    @cached_property
    def idle_watts(self) -> float:
        """Power of the idle platform in W."""
        return float(np.sum(self.platform.processor_watts[:, P3] * self.platform.processor_cores))

    def watt_changes(self, changes: Records) -> Floats:
        """Return by how many W each P-state change of neighbouring cores alters the power."""
        before, now = changes["value"] >> PSTATE_BITS, changes["value"] & PSTATE_MASK
        processors, watts = self.platform.core_processor[changes["row"]], self.platform.processor_watts
        return np.asarray(changes["cores"] * (watts[processors, now] - watts[processors, before]))

    @cached_property
    def consumed_joules(self) -> float:
        """Energy from the first submission to the end of the last job in J, as Batsim counts it."""
        finish = self.tasks["finish"]
        if not np.isfinite(finish).any():
            return 0.0
        until = np.array([np.nanmax(finish), self.workload.submit.min()])
        last, first = self.power.energy(until)
        return float(last - first)

    def machine_seconds(self) -> dict[str, float]:
        """Return the seconds that all cores computed and idled, each up to its last change as Batsim counts."""
        last, ends = np.zeros(self.platform.cores), self.entries(LOG_END)
        for j, time in zip(ends["row"].tolist(), ends["time"].tolist(), strict=True):
            for low, high in self.intervals.of(j):
                last[low : high + 1] = time
        tasks = self.tasks[ends["row"]]
        computing = float(sum((self.workload.size[ends["row"]] * (tasks["finish"] - tasks["start"])).tolist()))
        return {"computing": computing, "idle": float(last.sum()) - computing}

    def schedule(self, scheduling_time: float, simulation_time: float) -> dict[str, str | int | float]:
        """Return the columns of ``out_schedule.csv``; the arguments are s of wall clock."""
        return schedule_summary(
            self.job_rows,
            machines=self.platform.cores,
            consumed_joules=self.consumed_joules,
            machine_seconds=self.machine_seconds(),
            grouped_switches=int(self.sim["grouped_switches"]),
            machine_switches=int(self.sim["machine_switches"]),
            scheduling_time=scheduling_time,
            simulation_time=simulation_time,
        )

    def machine_states(self) -> Iterator[MachineStateRow]:
        """Yield how many cores idle and compute, after each start, end and change of P-states."""
        entries = self.entries(LOG_START, LOG_END, LOG_REQUEST)
        sizes = np.where(entries["kind"] == LOG_REQUEST, 0, self.workload.size[entries["row"] % len(self.tasks)])
        computing = np.cumsum(np.where(entries["kind"] == LOG_END, -sizes, sizes))
        idle = self.platform.cores - computing
        for time, idling, serving in zip(entries["time"].tolist(), idle.tolist(), computing.tolist(), strict=True):
            yield time, 0, 0, 0, idling, serving

    def requests(self) -> Iterator[tuple[float, str, int]]:
        """Yield the time, the cores as an interval set and the P-state of each SET_RESOURCE_STATE."""
        rows = np.flatnonzero(self.log["kind"] == LOG_REQUEST)
        counts = self.log["row"][rows]
        groups = np.repeat(np.arange(len(rows)), counts)
        changes = self.entries(LOG_PSTATE)
        stretches = np.zeros(len(changes), STRETCH)
        stretches["first"], stretches["cores"] = changes["row"], changes["cores"]
        texts = interval_texts(*joined(groups, stretches, len(rows)))
        yield from zip(self.log["time"][rows].tolist(), texts, self.log["value"][rows].tolist(), strict=True)

    def pstate_changes(self) -> Iterator[PstateRow]:
        """Yield the P-states at time 0, and the request and completion of each change."""
        yield 0.0, interval_text(0, self.platform.cores - 1), P3
        for time, machines, pstate in self.requests():
            yield time, machines, -1
            yield time, machines, pstate

    def consumed_energy(self) -> Iterator[EnergyRow]:
        """Yield the energy used until each start ("s"), end ("e") and change of P-states ("p", before and after)."""
        letters = {LOG_START: "s", LOG_END: "e", LOG_REQUEST: "p"}
        entries = self.entries(LOG_START, LOG_END, LOG_REQUEST)
        joules = self.power.energy(entries["time"]).tolist()
        changes = self.entries(LOG_PSTATE)
        steps = np.concatenate([[0.0], np.cumsum(self.watt_changes(changes))])
        done = 0
        time_before, joules_before = 0.0, 0.0
        for (time, kind, row, *_), used in zip(entries.tolist(), joules, strict=True):
            elapsed = time - time_before
            watts = self.idle_watts + float(steps[done])
            yield time, used, letters[kind], watts, (used - joules_before) / elapsed if elapsed > 0 else None
            if kind == LOG_REQUEST:
                done += row
                yield time, used, "p", self.idle_watts + float(steps[done]), None
            time_before, joules_before = time, used

    def blocked_spans(self, lack: int) -> Spans:
        """Return the spans in which the selected job lacked something."""
        return blocked_spans(self.state, lack)

    def write(self, folder: Path, schedule: Mapping[str, str | int | float]) -> None:
        """Write Batsim's five files, with *schedule* as ``out_schedule.csv``, and ``overutilizations.json``."""
        self.write_jobs(folder / "out_jobs.csv")
        write_machine_states(folder / "out_machine_states.csv", self.machine_states())
        write_pstate_changes(folder / "out_pstate_changes.csv", self.pstate_changes())
        write_consumed_energy(folder / "out_consumed_energy.csv", self.consumed_energy())
        write_schedule(folder / "out_schedule.csv", schedule)
        write_json(folder / "overutilizations.json", overutilizations(self.state), indent=None)
