"""What becomes of the jobs of a log under one policy, on the machine that there is or on a changed one."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hdeeprm_like.cluster import metrics
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.modes import SLURM
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.limit_rows import JOB_LIMITS
from hdeeprm_like.decision.policies.preemption_rows import PREEMPTION, SUSPEND
from hdeeprm_like.decision.policies.slurm_settings import END_LATENCY, TICK
from hdeeprm_like.engine.job_rows import countable
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.studies.whatif.changes import Change
from hdeeprm_like.studies.whatif.configuration import with_power_cap, with_settings
from hdeeprm_like.studies.whatif.inputs import Log, asking_for_all, in_one_partition
from hdeeprm_like.studies.whatif.job_limits import beyond, of_some
from hdeeprm_like.studies.whatif.windows import with_nodes
from hdeeprm_like.types import Bools, Floats, Ints
from hdeeprm_like.values import NUMBER

MOST_SINGLE_NODES = 4096  # cores of a pool that may be nodes of their own
WITHOUT_EPILOG = 0.08  # s that the nodes of a job need to be clean again, where they run no script; with its launch
WITH_EPILOG = 1.0  # s, where they do
USUAL_TICK = 1.002  # s between two looks of Slurm's main thread, which sleeps for a second and then works
LOOKS = (
    "main_phase",
    "backfill_phase",
    "first_full",
    "first_calc",
)  # settings of a platform: s, when the threads look first


@dataclass(frozen=True)
class Overheads:
    """What a Slurm loses besides its decisions; None for what is taken from the platform, or usual.

    No configuration names these seconds; `calibration` fits them to a log.

    Attributes:
        end_latency: s from the end of a job until its nodes take others.
        main_phase, backfill_phase, first_full: s after the time 0 of the log when the main scheduler looks, when
            backfill does, and when the main scheduler looks at the full queue, the first time.
        first_calc: the same of the first computation of all priorities, each PriorityCalcPeriod.
    """

    end_latency: float | None = None
    main_phase: float | None = None
    backfill_phase: float | None = None
    first_full: float | None = None
    first_calc: float | None = None

    def of_machine(self, machine: Platform) -> Platform:
        """Return a machine with partitions that has them."""
        assert machine.partitions is not None
        settings = machine.partitions.settings
        told: dict[str, Any] = {name: getattr(self, name) for name in LOOKS if getattr(self, name) is not None}
        told[TICK] = settings.get(TICK, USUAL_TICK)
        told[END_LATENCY] = usual_latency(settings) if self.end_latency is None else self.end_latency
        return replace(machine, partitions=replace(machine.partitions, settings={**settings, **told}))


def usual_latency(settings: Mapping[str, Any]) -> float:
    """Return the s that the nodes of a job need to be clean again, as the platform has it, or as usual."""
    told = settings.get(END_LATENCY)
    if NUMBER.holds(told):
        return float(told)
    return WITH_EPILOG if settings.get("Epilog") else WITHOUT_EPILOG


USUAL = Overheads()  # as the platform has it, or as usual


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of the jobs of a log; (J,) in the order of the log, NaN for those that never ran.

    Attributes:
        policy, change: names; no change is an empty one. cores: of the machine. energy: J.
        submit, start, finish: s. run: s that each ran, without those for which it was suspended.
        size: cores that each had. notes: what a change did to the log.
    """

    policy: str
    change: str
    cores: int
    energy: float
    submit: Floats
    start: Floats
    finish: Floats
    run: Floats
    size: Ints
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The policy, and the change if there is one."""
        return f"{self.policy}, {self.change}" if self.change else self.policy

    @property
    def wait(self) -> Floats:
        """(J,) s."""
        return self.start - self.submit

    def slowdown(self, rows: Bools) -> Floats:
        """Return the bounded slowdowns of some jobs; the time for which one was suspended counts as a wait."""
        run = self.run[rows]
        return metrics.bounded_slowdown(np.maximum((self.finish - self.submit)[rows] - run, 0.0), run)

    def utilization(self, rows: Bools) -> float:
        """Return the share of the machine's core seconds in which some jobs ran; NaN where no time passes."""
        available = float(self.finish[rows].max() - self.submit[rows].min()) * self.cores
        busy = float(np.sum(np.minimum(self.size, self.cores)[rows] * self.run[rows]))
        return busy / available if available > 0.0 else float("nan")

    @property
    def used(self) -> Floats:
        """(J,) cores of the machine that each used on average from its start to its end."""
        between = np.maximum(self.finish - self.start, self.run)
        share = np.divide(self.run, between, out=np.ones(len(between)), where=between > 0.0)
        return np.minimum(self.size, self.cores) * share


def simulate(
    machine: Platform, log: Log, policy: Baseline, change: Change | None = None, overheads: Overheads = USUAL
) -> Outcome:
    """Return what becomes of a log under a policy and a change.

    Args:
        overheads: of the machine, where it is a Slurm.

    Raises:
        OptionsError: the policy needs nodes, and the machine is a large pool of cores; or the change makes no sense.
    """
    known = log.notes
    machine, log = prepared(machine, log, policy, change)
    if machine.partitions is not None:
        machine = overheads.of_machine(machine)
    whole = log.jobs
    machine, log, rows_of_log = without_stuck_jobs(machine, log)
    settings = {} if machine.partitions is None else machine.partitions.settings
    linger = float(settings.get(END_LATENCY, 0.0))
    jobs = replace(log.jobs, delay=log.jobs.delay + linger)
    named, policies = not countable(machine, jobs), PolicyActions([policy])
    state = State(machine, jobs, log=False, named=named, needs=policies.needs, epoch=log.epoch)
    simulator = run_to_end(state, policies, "textbook")
    tasks = simulator.simulation.tasks
    ran = np.isfinite(tasks["finish"])
    start, finish, run = (np.full(len(whole), np.nan) for _ in range(3))
    start[rows_of_log] = np.where(ran, tasks["start"], np.nan)
    finish[rows_of_log] = np.where(ran, tasks["finish"] - linger, np.nan)
    run[rows_of_log] = np.minimum(finish[rows_of_log] - start[rows_of_log], log.jobs.delay)
    size = whole.size.astype(np.int64)
    size[rows_of_log] = _sizes(simulator, settings)
    return Outcome(
        policy=policy.name,
        change="" if change is None else change.name,
        cores=machine.cores,
        energy=simulator.state.joules,
        submit=whole.submit,
        start=start,
        finish=finish,
        run=run,
        size=size,
        notes=log.notes[len(known) :],
    )


def _sizes(simulator: Simulator, settings: Mapping[str, Any]) -> Ints:
    """Return (J,) the cores that each job had, those that it borrowed of suspended ones included."""
    tables, rules = simulator.state.tables, settings.get(PREEMPTION)
    sizes: Ints = tables.jobs["size"][: len(simulator.simulation.tasks)].astype(np.int64)
    if rules is None or not (rules.mode == SUSPEND).any():
        return sizes
    sets = tables.node_sets
    until = np.concatenate([[0], np.cumsum(sets.hold_cores)])
    first = sets.demands["first_hold"]
    return np.asarray(until[first + sets.demands["held"]] - until[first])


def prepared(machine: Platform, log: Log, policy: Baseline, change: Change | None) -> tuple[Platform, Log]:
    """Return the machine and the log after a change, as a policy needs them.

    Raises:
        OptionsError: the policy needs nodes, and the machine is a large pool of cores; or the change makes no sense for
            this machine, this log or this policy.
        WorkloadError: the change names a partition that there is not.
    """
    if change is not None:
        if change.needs_slurm and policy.mode.name != SLURM:
            raise OptionsError(f"change {change.name[:80]!r}: is one of a Slurm, and {policy.name} is none; see --now")
        changed = change.of_machine(machine)
        log = change.of_log(log, machine)
        if note := change.size_note(machine, changed):
            log = replace(log, notes=(*log.notes, note))
        machine = changed
    if policy.mode.name == SLURM and machine.partitions is None:
        machine, log = _for_slurm(machine, policy), asking_for_all(log)
    if change is not None and change.power is not None and policy.mode.name != SLURM:
        machine = with_power_cap(machine, change)
    return (with_settings(machine, log, change) if policy.mode.name == SLURM else machine), log


def without_stuck_jobs(machine: Platform, log: Log) -> tuple[Platform, Log, Ints]:
    """Return a machine and a log without the jobs that exceed a limit alone, and which jobs those of it are.

    Slurm passes over them for ever; the simulation would not end.

    Raises:
        WorkloadError: there is no other job.
    """
    jobs, partitions = len(log.jobs), machine.partitions
    limits = None if partitions is None else partitions.settings.get(JOB_LIMITS)
    if partitions is None or limits is None:
        return machine, log, np.arange(jobs)
    rows = np.flatnonzero(~beyond(limits, jobs))
    if len(rows) == jobs:
        return machine, log, rows
    if len(rows) == 0:
        raise WorkloadError("every job of the log exceeds a limit alone, so none could run")
    settings = {**partitions.settings, JOB_LIMITS: of_some(limits, rows, jobs)}
    if (rules := settings.get(PREEMPTION)) is not None:
        settings[PREEMPTION] = replace(rules, of_job=rules.of_job[rows])
    return replace(machine, partitions=replace(partitions, settings=settings)), log.take(rows), rows


def _for_slurm(machine: Platform, policy: Baseline) -> Platform:
    if machine.nodes > 1:
        return in_one_partition(machine)
    if machine.cores > MOST_SINGLE_NODES:
        raise OptionsError(
            f"{policy.name}: reserves whole nodes, and of this machine only its {machine.cores:,} cores are known; "
            "give the platform that hdeeprm-like import slurm-conf makes"
        )
    return in_one_partition(with_nodes(pool(1), np.zeros(machine.cores, np.int64)))
