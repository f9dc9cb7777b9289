"""What checks of parts look at: small runs, and the same runs with another future."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from hdeeprm_like.cluster.platform import Platform, core_names, flops_by_pstate, watts_by_pstate
from hdeeprm_like.cluster.synthetic.models import Recipe, estimates_named, model_named
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.tables import REJECTED
from hdeeprm_like.errors import CheckError
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.types import Bools, Floats, Ints

LOAD = 1.3  # core-seconds that jobs ask for, over those that there are while they come: a queue builds up
MEMORY = 4000.0  # MB that a node has at least where it is asked for; a pool has none
SHORT = 1e-6  # s between two times that count as one
CHANGED = ("size", "requested_time", "requested_ops", "ops", "delay", "memory", "bandwidth", "walltime", "gpus", "user",
           "program")  # fmt: skip
CUTS = tuple(np.linspace(0.1, 0.9, 9).tolist())  # shares of the jobs after which another future is tried


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run as somebody sees it who knows the machine and the jobs.

    Attributes:
        start, finish: (J,) s, nan for jobs that never ran. cores: of each job. rejected: (J,) too large for it.
        decisions: how many. seconds: of the clock on the wall that they took all together.
    """

    start: Floats
    finish: Floats
    cores: tuple[Ints, ...]
    rejected: Bools
    decisions: int
    seconds: float

    @property
    def each(self) -> float:
        """Seconds of a decision."""
        return self.seconds / max(1, self.decisions)


Player: TypeAlias = Callable[[Platform, Workload, int], Run]
"""Plays jobs on a machine with a seed."""


def run_of(simulator: Simulator, decisions: int, seconds: float) -> Run:
    """Return what a finished simulation shows."""
    tasks, count = simulator.simulation.tasks, len(simulator.simulation.tasks)
    ran = np.isfinite(tasks["start"])
    none = np.zeros(0, np.int64)
    cores = tuple(simulator.state.cores_of(j) if ran[j] else none for j in range(count))
    rejected: Bools = simulator.state.tables.jobs["status"][:count] == REJECTED
    return Run(tasks["start"].copy(), tasks["finish"].copy(), cores, rejected, decisions, seconds)


def drawn_jobs(machine: Platform, count: int, seed: int) -> Workload:
    """Return jobs of Lublin's model for a machine, with requests that are no run times.

    On a machine whose nodes have memory they ask for memory and bandwidth, too, as HDeepRM's do.
    """
    columns = bool(machine.node_memory.max() >= MEMORY)
    recipe = Recipe(
        model_named("lublin", "whole", None, machine.cores),
        columns="hdeeprm" if columns else "model",
        estimates=estimates_named("tsafrir"),
    )
    jobs = recipe.jobs(count, np.random.default_rng(seed)).workload(machine.reference_flops)
    asked = float(np.sum(jobs.ops * jobs.size)) / machine.reference_flops / machine.cores
    span = float(jobs.submit[-1] - jobs.submit[0])
    return replace(jobs, submit=jobs.submit * (asked / LOAD / span)) if span > 0.0 else jobs


def small_machine() -> Platform:
    """Return a machine of three kinds of nodes: slow, fast with two processors, and with much memory."""
    kinds = ((4, 4.0, 20.0, 32.0), (2, 16.0, 80.0, 48.0), (2, 12.0, 50.0, 48.0), (4, 8.0, 35.0, 64.0))
    cores = np.repeat(np.arange(len(kinds)), [kind[0] for kind in kinds])
    return Platform(
        name="three kinds of nodes",
        cluster_names=("cluster",),
        node_cluster=np.zeros(3, np.int64),
        node_memory=np.array([32000.0, 32000.0, 128000.0]),
        node_types=("node",) * 3,
        processor_node=np.array([0, 1, 1, 2]),
        processor_bandwidth=np.array([kind[3] for kind in kinds]),
        processor_types=("processor",) * len(kinds),
        processor_flops=np.array([flops_by_pstate(kind[1]) for kind in kinds]),
        processor_watts=np.array([watts_by_pstate(kind[2]) for kind in kinds]),
        core_processor=cores,
        core_names=core_names(len(cores)),
    )


def another_future(jobs: Workload, run: Run, cut: float, seed: int) -> Workload:
    """Return the jobs with another future after *cut* (s): what came later comes in another order, and jobs that had
    not ended run longer, up to what they asked for."""
    rng = np.random.default_rng(seed)
    later = np.flatnonzero(jobs.submit > cut)
    order = rng.permutation(later)
    changed = {name: getattr(jobs, name).copy() for name in CHANGED}
    for name, column in changed.items():
        column[later] = getattr(jobs, name)[order]
    open_still = ~(run.finish <= cut)
    longer = np.maximum(changed["requested_ops"] - changed["ops"], 0.0) * rng.random(len(jobs))
    changed["ops"] = np.where(open_still, changed["ops"] + longer, changed["ops"])
    return replace(jobs, **changed)


def check_nothing_lost(machine: Platform, jobs: Workload, run: Run) -> None:
    """Refuse a run in which a job neither ran nor was too large."""
    ended = np.isfinite(run.finish)
    for j in np.flatnonzero(run.rejected).tolist():
        if room(machine, jobs, j) >= jobs.size[j]:
            told = f"job {jobs.ids[j]!r:.40} was rejected, and {machine.name!r:.40} can hold it"
            raise CheckError("nothing lost", told)
    lost = np.flatnonzero(~ended & ~run.rejected)
    if len(lost):
        raise CheckError(
            "nothing lost",
            f"{len(lost)} of {len(jobs)} jobs have not ended on {machine.name!r:.40}, job {jobs.ids[lost[0]]!r:.40} "
            "is the first; each job must run once the machine is free",
        )


def room(machine: Platform, jobs: Workload, j: int) -> float:
    """Return how many cores the empty machine has for a job, with the memory that each brings along."""
    cores = np.bincount(machine.processor_node[machine.core_processor], minlength=machine.nodes).astype(np.float64)
    if jobs.memory[j] > 0.0:
        cores = np.minimum(cores, np.floor(machine.node_memory / jobs.memory[j] + 1e-9))
    return float(cores.sum())


def check_conservation(machine: Platform, jobs: Workload, run: Run) -> None:
    """Refuse a run in which a job got other cores than it asked for, or something served twice."""
    ran: list[int] = np.flatnonzero(np.isfinite(run.start)).tolist()
    for j in ran:
        if len(np.unique(run.cores[j])) != jobs.size[j]:
            told = f"job {jobs.ids[j]!r:.40} held {len(np.unique(run.cores[j]))} cores and asked for {jobs.size[j]}"
            raise CheckError("conservation", told)
        if run.start[j] < jobs.submit[j] - SHORT:
            told = (
                f"job {jobs.ids[j]!r:.40} started at {run.start[j]:g} s, before its submission at {jobs.submit[j]:g} s"
            )
            raise CheckError("conservation", told)
    node = machine.processor_node[machine.core_processor]
    busy: dict[int, int] = {}
    memory = np.zeros(machine.nodes)
    events = sorted(
        [(run.finish[j], 0, j) for j in ran] + [(run.start[j], 1, j) for j in ran if run.start[j] < run.finish[j]]
    )
    for time, starts, j in events:
        taken = np.bincount(node[run.cores[j]], minlength=machine.nodes) * jobs.memory[j]
        if not starts:
            for core in run.cores[j].tolist():
                if busy.get(core) == j:
                    del busy[core]
            memory -= taken if run.start[j] < run.finish[j] else 0.0
            continue
        memory += taken
        for core in run.cores[j].tolist():
            if core in busy:
                other = jobs.ids[busy[core]]
                told = f"core {core} served jobs {other!r:.40} and {jobs.ids[j]!r:.40} at {time:g} s"
                raise CheckError("conservation", told)
            busy[core] = j
        full = np.flatnonzero(memory > machine.node_memory * (1 + 1e-9) + 1e-6)
        if len(full) and jobs.memory.any():
            told = f"node {full[0]} gave {memory[full[0]]:g} MB at {time:g} s and has {machine.node_memory[full[0]]:g}"
            raise CheckError("conservation", told)


def check_same(one: Run, other: Run) -> None:
    """Refuse two runs with one seed that differ."""
    differs = np.flatnonzero(~((one.start == other.start) | (np.isnan(one.start) & np.isnan(other.start))))
    if len(differs):
        j = differs[0]
        raise CheckError(
            "determinism",
            f"job {j} of the workload started at {one.start[j]:g} s and, with the same seed, at {other.start[j]:g} s; "
            "take random numbers from a generator that is made from the seed, and reset it before each run",
        )
    moved = next((j for j in range(len(one.cores)) if one.cores[j].tolist() != other.cores[j].tolist()), None)
    if moved is not None:
        raise CheckError("determinism", f"job {moved} of the workload got other cores with the same seed")


def check_no_future(play: Player, machine: Platform, jobs: Workload, run: Run, seed: int) -> None:
    """Refuse decisions that change when only what comes after them does."""
    for share in CUTS:
        cut = float(jobs.submit[int(share * (len(jobs) - 1))])
        other = play(machine, another_future(jobs, run, cut, seed), seed)
        before = (run.start <= cut) | (other.start <= cut)
        differs = np.flatnonzero(before & (run.start != other.start))
        if len(differs):
            j = differs[0]
            raise CheckError(
                "no look at the future",
                f"job {jobs.ids[j]!r:.40} starts at {run.start[j]:g} s, and {starts(other.start[j])} where only "
                f"jobs and run times after {cut:g} s are others; look at what waiting and running jobs request",
            )


def starts(time: float) -> str:
    """Return when a job starts in words."""
    return "never" if np.isnan(time) else f"at {time:g} s"
