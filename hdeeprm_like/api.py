"""The Python API: simulate and compare. ``import hdeeprm_like`` loads each function at its first use."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hdeeprm_like import experiment as experiments
from hdeeprm_like.cluster.links import with_network
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.decision.agent_names import agent_named
from hdeeprm_like.decision.names import case_of
from hdeeprm_like.engine.job_rows import countable
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.experiment import Experiment
from hdeeprm_like.formats import open as formats
from hdeeprm_like.formats.any_platform import AnyPlatform, platform_from
from hdeeprm_like.formats.shipped import Names, existing, listed
from hdeeprm_like.formats.windows import JobsBy, Window
from hdeeprm_like.jobs_in_files import jobs_and_machine, jobs_in
from hdeeprm_like.refusals import AGENT, SIMULATE, Case, refuse
from hdeeprm_like.run.schedules import jobs_that_ran, run_to_end, schedule_of
from hdeeprm_like.run.simulator import Clock, Simulator, check_clock
from hdeeprm_like.simulated import Schedule

if TYPE_CHECKING:
    from hdeeprm_like.studies.compare.table import Compared


def simulate(
    platform: AnyPlatform,
    workload: Workload | str | Path,
    policy: str,
    clock: Clock = "batsim",
    *,
    seed: int = 0,
    whole: bool = False,
    network: bool = False,
) -> Schedule:
    """Simulate jobs on a platform under one policy.

        >>> simulate(256, "lublin-1", "sjf+easy", clock="textbook").figures["bounded_slowdown"]

    Args:
        platform: a `Platform`, the name (see `examples`) or path of one, or the number of cores of a pool of equal
            cores, in which memory and GPUs are unlimited.
        workload: a `Workload`, or the name or path of a workload or trace; all its jobs run.
        policy: a policy pair such as ``"shortest-high_gflops"``, a baseline such as ``"sjf+easy"``, ``"agent:DIR"`` for
            an agent trained by ``train``, or ``"zoo:steady"`` or ``"scored:FILE.json"`` for a learned policy.
        clock: ``"batsim"``: Batsim's timing, to the nanosecond, as in the command ``launch``; ``"textbook"``: one
            decision for all events of one time, as in the command ``compare``; ``"one-by-one"``: the same, with a
            decision after each single event, as in RLScheduler.
        seed: of random policies, and of the properties of jobs that a trace lacks, as in an options file.
        whole: whether a baseline places each job on a single node; a job too large for every node does not run.
        network: whether the bytes that the cores of a job send each other (``com``) take time, on the links of the
            platform and shared with other jobs; on Batsim's clock.

    Raises:
        PlatformError: the platform cannot be used.
        WorkloadError: the jobs cannot be used, or none fits the platform.
        OptionsError: the policy or the clock is not known; the message names the nearest known one.
    """
    machine = platform_from(platform)
    if network:
        machine = with_network(machine)
    check_clock(clock)  # refuses one that is not known before anything is read
    case, play = _player(policy)
    refuse(case._replace(clock=clock).on(machine, whole))
    if isinstance(workload, Workload):
        window = Window(workload, 0.0)
    else:
        window = jobs_in(existing(workload, "trace", "workload"), machine, seed)
    jobs = window.workload
    simulator, again = play(machine, window, clock, experiments.seed_of_policies(seed), whole)
    ran = jobs_that_ran(simulator)
    if not ran.any():
        raise WorkloadError(f"{machine.name}: none of {len(jobs)} jobs fits this platform, so none has run")
    found = schedule_of(simulator, jobs)
    ids = np.array(jobs.ids, object) if not ran.all() else None
    return Schedule(
        **{field.name: getattr(found, field.name) for field in fields(found) if field.init},
        job=jobs.ids if ids is None else tuple(ids[ran]),
        not_run=() if ids is None else tuple(ids[~ran]),
        policy=policy,
        clock=clock,
        workload=jobs,
        _play=again,
    )


Play: TypeAlias = Callable[[Platform, Window, Clock, int, bool], tuple[Simulator, Callable[[], Simulator]]]
"""Runs jobs on a machine by a clock, with a seed, and each on one node if the last is true. Returns what moved the
cluster, and what returns the same with a log and the cores of each job."""


def _player(policy: str) -> tuple[Case, Play]:
    """Return a policy as the table of refusals looks it up, and what plays it."""
    agent = agent_named(policy)
    if agent is None:
        actions = PolicyActions([policy_named(policy, SIMULATE)])
        return case_of(actions.policies[0], SIMULATE), partial(_played, actions)
    from hdeeprm_like.launch.trained import play_trained

    def played(
        machine: Platform, jobs: Window, clock: Clock, seed: int, whole: bool
    ) -> tuple[Simulator, Callable[[], Simulator]]:
        simulator = play_trained(agent, machine, jobs.workload, clock, log=True)
        return simulator, lambda: simulator

    return Case(agent.name, AGENT, driver=SIMULATE), played


def _played(
    actions: PolicyActions, machine: Platform, jobs: Window, clock: Clock, seed: int, whole: bool
) -> tuple[Simulator, Callable[[], Simulator]]:
    """Play a pair or a baseline: without a log, and where equal cores can be counted without names for them."""
    begun = partial(State, machine, jobs.workload, seed, whole=whole, needs=actions.needs, epoch=jobs.epoch)
    if actions.built_in:
        counted = clock != "batsim" and not whole and countable(machine, jobs.workload)
        simulator = run_to_end(begun(log=False, named=not counted), actions, clock)
        return simulator, lambda: run_to_end(begun(), actions, clock)
    simulator = run_to_end(begun(), actions, clock)
    return simulator, lambda: simulator


def compare(
    trace: str | Path,
    policies: Sequence[str],
    windows: str | None = None,
    *,
    offsets: str | Path | None = None,
    reference: str | None = None,
    jobs_by: JobsBy = "file",
    seed: int = 1,
    clock: Clock = "textbook",
    platform: int | str | Path | None = None,
    output: str | Path | None = None,
    processes: int = 1,
    whole: bool = False,
    leave_out_larger: bool = False,
    figures: Sequence[str] = (),
    pictures: Sequence[str] = (),
    style: str | None = None,
) -> "Compared":
    """Compare policies on the same windows of a trace, as the command ``compare`` does.

        >>> compare("lublin-1", ["sjf+easy", "saf+easy"], "disjoint:9", reference="sjf+easy")

    Args:
        trace: its name (see `examples`) or file, SWF, plain or ``.gz``; or a workload, or a folder of workloads, in
            Batsim's JSON or KSU's CSV, each of which is simulated whole on the *platform*.
        policies: baselines such as ``"sjf+easy"``, ``"agent:DIR"``, ``"actual"`` for the schedule that the trace
            records.
        windows: number of windows and jobs of each: ``"10x1024"`` (the default) at random places,
            ``"disjoint:60x1024"`` spread evenly and sharing no job, ``"disjoint:60"`` the same, ``"all"`` the
            whole trace as one. Claims need windows that share no job: others are not independent samples.
        offsets: a CSV whose column ``start_index`` has the first job of each window, counted from 0 among the
            jobs of the trace. All are used, or the first N with *windows* ``"NxJ"``; 1024 jobs each by default.
        reference: the policy that each is compared with, one of *policies*; None for the best.
        jobs_by: order of jobs with one submission time: that of the file, or with ``"id"`` of their numbers.
        seed: of the places of random windows.
        clock: as for `simulate`.
        platform: the name or path of one, or the number of cores of a pool; None for a pool of the cores in the
            header of the trace.
        output: folder for the tables of all windows and tests; an interrupted comparison continues from it, and the
            command ``report`` makes a page of it. None keeps nothing.
        processes: most processes at a time. With more than one, a script needs the guard
            ``if __name__ == "__main__":`` of `multiprocessing`.
        whole: whether baselines place each job on a single node, as for `simulate`.
        leave_out_larger: as for `load_workload`.
        figures: that are shown and tested, as ``["bounded_slowdown", "energy"]``; the usual ones if empty. The first
            ranks.
        pictures: formats, as ``["svg", "pdf"]``, in which boxes and ranks are drawn into *output*.
        style: of the pictures, ``"screen"`` or ``"paper"``.

    Returns:
        A `pandas.DataFrame`, in a notebook shown as the command prints it. One row for each policy, in the order given:
        the mean of each figure, for those that are shown with its standard deviation and 95 % interval, the mean
        difference to the reference and the geometric mean of the ratios to it, both with theirs, and p; see
        `hdeeprm_like.studies.compare.statistics.summary_of`.

    Raises:
        OptionsError: a policy, the reference, the windows, the clock, the number of cores, a figure, or the format or
            style of a picture is invalid, or there are pictures without *output*.
        WorkloadError: the trace or the offsets cannot be used, or it has too few jobs.
        ResultsError: *output* holds another comparison.
    """
    from hdeeprm_like.decision.compared_policies import policies_named
    from hdeeprm_like.studies.compare.figures import figures_named
    from hdeeprm_like.studies.compare.inputs import Comparison
    from hdeeprm_like.studies.compare.sampling import windows_named
    from hdeeprm_like.studies.compare.table import compare as run

    comparison = Comparison(
        trace=existing(trace, "trace", "workload"),
        policies=policies_named(",".join([policies] if isinstance(policies, str) else policies)),
        windows=windows_named(windows, None if offsets is None else existing(offsets, "offsets")),
        seed=seed,
        cores=platform if isinstance(platform, int) else None,
        clock=clock,
        platform=None if platform is None or isinstance(platform, int) else existing(platform, "platform"),
        jobs_by=jobs_by,
        reference=reference,
        whole=whole,
        leave_out_larger=leave_out_larger,
        figures=figures_named(",".join(figures) if figures else None),
    )
    if pictures and output is None:
        raise OptionsError("compare: pictures need output, the folder to draw them into")
    with tempfile.TemporaryDirectory() if output is None else nullcontext(output) as folder:
        return run(comparison, Path(folder), processes, pictures, style)


def stream(
    trace: str | Path,
    policy: str,
    output: str | Path,
    cores: int | None = None,
    clock: Clock = "textbook",
    *,
    seed: int = 0,
    leave_out_larger: bool = False,
) -> dict[str, float]:
    """Simulate a trace of any length on a pool, some jobs at a time, as the command ``stream`` does.

        >>> stream("lublin-1", "fcfs+easy", "runs/streamed")["bounded_slowdown"]

    Memory holds only the waiting and running jobs. The schedule is that of `simulate`, bit for bit.

    Args:
        trace: name or file, SWF, plain or ``.gz``, in the order of submission.
        policy: a pair, or a baseline that does not use past jobs in the modes strict, greedy, easy, easyfcfs, easysjf,
            reserve and conservative.
        output: folder for ``out_jobs.csv``, with the jobs in the order in which they end, and ``figures.json``.
        cores: of the pool; None for those of the header.
        clock: ``"textbook"`` or ``"one-by-one"``.
        seed: of random policies.
        leave_out_larger: as for `load_workload`.

    Returns:
        The figures as in `Schedule.figures`; NaN for medians, percentiles and others that need all jobs.

    Raises:
        OptionsError: the policy or the clock cannot be streamed, or the number of cores is unknown.
        WorkloadError: the trace cannot be used, or is not in the order of submission.
        ResultsError: the folder cannot be written.
    """
    from hdeeprm_like.studies.stream import Streaming
    from hdeeprm_like.studies.stream import stream as run

    asked = Streaming(existing(trace, "trace"), policy, Path(output), cores, clock, seed, leave_out_larger)
    return run(asked, progress=False)


def load_platform(path: str | Path, types: Sequence[str | Path] = ()) -> Platform:
    """Read a platform: HDeepRM's JSON, our XML, SimGrid's XML, or KSU's table of machines.

        >>> load_platform("gaia").cores
        2280

    Args:
        path: the name (see `examples`) or the file of one.
        types: files or folders with further types of nodes and processors for a JSON.

    Raises:
        PlatformError: the name is not known, or the file cannot be used.
    """
    return formats.load_platform(existing(path, "platform"), [Path(one) for one in types])


def load_workload(
    path: str | Path,
    platform: AnyPlatform | None = None,
    *,
    jobs: int | None = None,
    skip: int = 0,
    seed: int = 0,
    leave_out_larger: bool = False,
) -> Workload:
    """Read the jobs of a file for a platform; ``Workload.account`` says what was left out, changed and guessed.

    Args:
        path: a name (see `examples`), or the file: Batsim's JSON, KSU's table of jobs, or a trace (SWF, plain or
            ``.gz``). On a pool the jobs of a trace keep their run times; for others they are converted as in HDeepRM.
        platform: as for `simulate`; None for the machine that belongs to a name, else for a pool of as many cores as
            the file itself names.
        jobs: of a trace: number of jobs; None for all.
        skip: of a trace: number of lines before the first.
        seed: of properties that jobs lack.
        leave_out_larger: whether jobs larger than the platform are left out; otherwise they are an error.

    Raises:
        PlatformError: the platform cannot be used.
        WorkloadError: the file cannot be used, or a job requests too many cores.
        OptionsError: *platform* is missing, for the header of a trace has no number of processors; or *jobs* or *skip*
            are given for jobs that are no trace.
    """
    if platform is None:
        return jobs_and_machine(path, seed, jobs, skip, leave_out_larger)[0]
    file = existing(path, "trace", "workload")
    return jobs_in(file, platform_from(platform), seed, jobs, skip, leave_out_larger).workload


def load_experiment(path: str | Path) -> Experiment:
    """Read an options file and all that it names.

        >>> gaia = load_experiment("gaia")
        >>> simulate(gaia.platform, gaia.workload, "shortest-high_gflops").figures["slowdown"]

    Args:
        path: the name (see `examples`) or the file of one.

    Returns:
        The experiment with `platform`, `workload`, `options` and the decision `space` of its agents, for instance
        for ``simulate(found.platform, found.workload, "sjf+easy", seed=found.options.seed)``.

    Raises:
        HDeepRMError: something is missing, malformed or does not fit together.
    """
    return experiments.load_experiment(existing(path, "options"))


def examples(kind: str | None = None) -> Names:
    """Return the shipped data; their names can be used in place of paths of their kind.

        >>> [one.name for one in examples("trace")]

    Args:
        kind: platform, trace, workload, options, agent, sweep, offsets, log or rates; None for all.

    Returns:
        A tuple that prints as a table; each entry has ``name``, ``kind``, ``what``, ``size``, ``source`` and ``path``.

    Raises:
        OptionsError: there is no such kind.
    """
    return listed(kind)
