"""What a simulation leaves behind: Batsim's output files and the over-utilization spans, made from its log."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pstates import P3
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.job_texts import Intervals, JobLines
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
    CONSUMED_ENERGY_COLUMNS,
    MACHINE_STATE_COLUMNS,
    PSTATE_CHANGE_COLUMNS,
    Ended,
    summary_of_ended,
    write_columns,
    write_job_lines,
    write_schedule,
)
from hdeeprm_like.results.core_intervals import interval_text, intervals_of, joined, last_times, spread
from hdeeprm_like.results.job_lines import interval_sets, job_lines, lines_of, names_of
from hdeeprm_like.results.overutilization import overutilizations
from hdeeprm_like.results.power import Consumed
from hdeeprm_like.results.run_files import SCHEDULE
from hdeeprm_like.results.run_reader import DIGIT, Requests, Run, RunJobs
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.types import Bools, Floats, Ints, Records

DECIMALS = 6  # that ``out_jobs.csv`` has of each time


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
        return self.log[self.of_kinds(*kinds)]

    def of_kinds(self, *kinds: int) -> Bools:
        """Return which log entries are of some kinds."""
        kind = self.log["kind"].copy()  # side by side they compare faster
        return np.asarray(np.logical_or.reduce([kind == wanted for wanted in kinds]))

    @cached_property
    def order(self) -> Ints:
        """The jobs that ended or were rejected, in the order in which the server saw it."""
        return np.asarray(self.log["row"][self.of_kinds(LOG_END, LOG_REJECT)])

    def write_jobs(self, path: Path, energy: bool = True) -> None:
        """Write ``out_jobs.csv``.

        Args:
            energy: whether that of each job is recorded.
        """
        write_job_lines(path, job_lines(self.lines, energy))

    @cached_property
    def lines(self) -> JobLines:
        """What the lines of ``out_jobs.csv`` are made of."""
        jobs = self.workload
        names = names_of(jobs.ids, ids=True), names_of(jobs.profiles)
        return lines_of(self.order, names, (jobs.submit, jobs.walltime, jobs.size), self.tasks, self.intervals)

    @cached_property
    def ended(self) -> Ended:
        """What ``out_schedule.csv`` counts of the jobs."""
        rows = self.order[self.state.tables.jobs["status"][self.order] != REJECTED]
        tasks = self.tasks[rows]
        run = tasks["finish"] - tasks["start"]
        return Ended(
            submit=self.workload.submit[rows].tolist(),
            start=tasks["start"].tolist(),
            run=np.where(run == 0.0, SHORTEST_RUN, run).tolist(),
            jobs=len(self.order),
            successes=int(np.sum(self.tasks["outcome"][self.order] == SUCCESS)),
        )

    @cached_property
    def intervals(self) -> Intervals:
        """The cores of the jobs."""
        return intervals_of(self.state.tables)

    @cached_property
    def power(self) -> Consumed:
        """Power and energy of all cores over time."""
        changes = self.entries(LOG_PSTATE)
        times = np.concatenate([[0.0], changes["time"]])
        watts = self.idle_watts + np.concatenate([[0.0], np.cumsum(self.watt_changes(changes))])
        joules = np.concatenate([[0.0], np.cumsum(watts[:-1] * np.diff(times))])
        return Consumed(times, joules, watts)

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
        ends = self.entries(LOG_END)
        last = last_times(self.intervals, ends["row"], ends["time"], self.platform.cores)
        tasks = self.tasks[ends["row"]]
        computing = float(sum((self.workload.size[ends["row"]] * (tasks["finish"] - tasks["start"])).tolist()))
        return {"computing": computing, "idle": float(last.sum()) - computing}

    def schedule(self, scheduling_time: float, simulation_time: float) -> dict[str, str | int | float]:
        """Return the columns of ``out_schedule.csv``; the arguments are s of wall clock."""
        return summary_of_ended(
            self.ended,
            machines=self.platform.cores,
            consumed_joules=self.consumed_joules,
            machine_seconds=self.machine_seconds(),
            switches=(int(self.sim["grouped_switches"]), int(self.sim["machine_switches"])),
            wall_clock=(scheduling_time, simulation_time),
        )

    def write_machine_states(self, path: Path) -> None:
        """Write how many cores idle and compute, after each start, end and change of P-states."""
        entries = self.entries(LOG_START, LOG_END, LOG_REQUEST)
        sizes = np.where(entries["kind"] == LOG_REQUEST, 0, self.workload.size[entries["row"] % len(self.tasks)])
        computing = np.cumsum(np.where(entries["kind"] == LOG_END, -sizes, sizes))
        columns = entries["time"], self.platform.cores - computing, computing
        write_columns(path, MACHINE_STATE_COLUMNS, "%g,0,0,0,%d,%d", *(column.tolist() for column in columns))

    def write_pstate_changes(self, path: Path) -> None:
        """Write the P-states at time 0, and the request (-1) and completion of each SET_RESOURCE_STATE."""
        rows = np.flatnonzero(self.log["kind"] == LOG_REQUEST)
        groups = np.repeat(np.arange(len(rows)), self.log["row"][rows])
        changes = self.entries(LOG_PSTATE)
        stretches = np.zeros(len(changes), STRETCH)
        stretches["first"], stretches["cores"] = changes["row"], changes["cores"]
        machines = [interval_text(0, self.platform.cores - 1)]
        for text in interval_sets(joined(groups, stretches, len(rows))):
            machines += [text, text]
        times = [0.0, *np.repeat(self.log["time"][rows], 2).tolist()]
        pstates = np.full(1 + 2 * len(rows), -1)
        pstates[0], pstates[2::2] = P3, self.log["value"][rows]
        write_columns(path, PSTATE_CHANGE_COLUMNS, "%g,%s,%d", times, machines, pstates.tolist())

    def write_consumed_energy(self, path: Path) -> None:
        """Write the energy used until each start ("s"), end ("e") and change of P-states ("p", before and after)."""
        entries = self.entries(LOG_START, LOG_END, LOG_REQUEST)
        times, requests = entries["time"], entries["kind"] == LOG_REQUEST
        joules = self.power.energy(times)
        steps = np.concatenate([[0.0], np.cumsum(self.watt_changes(self.entries(LOG_PSTATE)))])
        after = np.cumsum(np.where(requests, entries["row"], 0))  # P-state changes until each entry and with it
        before = after - np.where(requests, entries["row"], 0)
        elapsed, used = np.diff(times, prepend=0.0), np.diff(joules, prepend=0.0)
        mean = np.divide(used, elapsed, out=np.full(len(times), np.nan), where=elapsed > 0)
        lines = np.repeat(np.arange(len(times)), 1 + requests)  # two for each request
        second = np.zeros(len(lines), np.bool_)
        second[1:] = lines[1:] == lines[:-1]
        letter = np.select([entries["kind"] == LOG_START, requests], ["s", "p"], "e")[lines]
        watts = self.idle_watts + steps[np.where(second, after[lines], before[lines])]
        between = ["NA" if value != value else f"{value:f}" for value in np.where(second, np.nan, mean[lines]).tolist()]
        columns = (column.tolist() for column in (times[lines], joules[lines], letter, watts))
        write_columns(path, CONSUMED_ENERGY_COLUMNS, "%f,%f,%s,%f,%s", *columns, between)

    def as_run(self, folder: Path, schedule: Mapping[str, str | int | float]) -> Run:
        """Return what would be read of the run in the folder that it was written into, without what was asked for."""
        tasks, submit, begins = self.tasks[self.order], self.workload.submit[self.order], self.intervals.begins
        start, run = np.where(tasks["outcome"] == 0, np.nan, (tasks["start"], tasks["finish"] - tasks["start"]))
        run = np.where(run == 0.0, SHORTEST_RUN, run)
        finish, wait = np.round(start + run, DECIMALS), np.round(start - submit, DECIMALS)
        submit, start, run = (np.round(times, DECIMALS) for times in (submit, start, run))
        counts = begins[self.order + 1] - begins[self.order]
        which = spread(begins[self.order], counts)
        found = Run(folder, folder / SCHEDULE)
        found.__dict__["schedule"] = {name: value for name, value in schedule.items() if not isinstance(value, str)}
        found.__dict__["cores"], found.__dict__["requests"] = self.platform.cores, Requests()
        found.__dict__["jobs"] = RunJobs(
            ids=tuple(self.workload.ids[j] for j in self.order.tolist()),
            size=self.workload.size[self.order],
            submit=np.where((start < submit) & (start > submit - 2.0 * DIGIT), start, submit),
            start=start,
            finish=finish,
            wait=wait,
            run=run,
            blocks=np.transpose(
                [np.repeat(np.arange(len(counts)), counts), self.intervals.first[which], self.intervals.last[which]]
            ),
        )
        return found

    def write(self, folder: Path, schedule: Mapping[str, str | int | float]) -> None:
        """Write Batsim's five files, with *schedule* as ``out_schedule.csv``, and ``overutilizations.json``."""
        self.write_jobs(folder / "out_jobs.csv")
        self.write_machine_states(folder / "out_machine_states.csv")
        self.write_pstate_changes(folder / "out_pstate_changes.csv")
        self.write_consumed_energy(folder / "out_consumed_energy.csv")
        write_schedule(folder / "out_schedule.csv", schedule)
        write_json(folder / "overutilizations.json", overutilizations(self.state), indent=None)
