"""Inputs of a comparison: a machine, and windows of a trace or whole workloads."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from hdeeprm_like.cluster import metrics
from hdeeprm_like.cluster.account import Account
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.decision.compared_policies import Paired, Policy, Recorded
from hdeeprm_like.decision.names import Baseline, case_of
from hdeeprm_like.decision.policy_words import RECORDED
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.formats.any_platform import platform_from
from hdeeprm_like.formats.job_reading import Reading, larger_of, machine_size, read_jobs
from hdeeprm_like.formats.open import endings, has_ending_of, load_platform
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.windows import JobsBy, Window, window
from hdeeprm_like.inputs import sha256
from hdeeprm_like.plugins import python_files
from hdeeprm_like.refusals import COMPARE, refuse
from hdeeprm_like.studies.compare.figures import ON_A_MACHINE, USUAL
from hdeeprm_like.studies.compare.sampling import Windows, places_of

if TYPE_CHECKING:
    from hdeeprm_like.run.simulator import Clock  # with the engine, which takes most of a second to load

log = logging.getLogger(__name__)

Tests: TypeAlias = Literal["friedman", "anova"]


@dataclass(frozen=True)
class Comparison:
    """A comparison to run.

    Attributes:
        trace: a trace, a workload, or a folder of workloads, each of which is simulated whole.
        policies: to compare. windows: of the trace.
        seed: of the places of random windows. cores: of the pool; None for those in the header of the trace.
        clock: one of `run.simulator.CLOCKS`. platform: the file of a machine, in place of a pool.
        jobs_by: as for `formats.windows.window`.
        reference: the policy that all are compared with; None for the best, see `statistics.best_of`.
        tests: ``"anova"`` adds the tests common in papers to ``"friedman"`` and Wilcoxon's, see
        `statistics.p_values_of`.
        whole: whether baselines place each job on a single node of the machine.
        published: means of figures by name; those of each policy are tested against them.
        leave_out_larger: whether jobs larger than the machine are left out; otherwise they are an error.
        figures: that are shown and tested, the first ranks; empty for the usual ones.
    """

    trace: Path
    policies: tuple[Policy, ...]
    windows: Windows
    seed: int
    cores: int | None = None
    clock: "Clock" = "textbook"
    platform: Path | None = None
    jobs_by: JobsBy = "file"
    reference: str | None = None
    tests: Tests = "friedman"
    whole: bool = False
    published: Mapping[str, float] = field(default_factory=dict, hash=False)  # does not affect the simulations
    leave_out_larger: bool = False
    figures: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """The figures that are shown and tested."""
        return self.figures or (USUAL if self.platform is None else ON_A_MACHINE)


def machine_and_jobs(comparison: Comparison) -> tuple[Platform, Trace]:
    """Return the machine of a comparison on a trace, and the jobs of the trace.

    Raises:
        HDeepRMError: a file cannot be used, the number of cores is also given for a machine, or a pool has none.
    """
    larger = larger_of(comparison.leave_out_larger)
    if comparison.platform is not None:
        machine = machine_named(comparison)
        return machine, read_jobs(comparison.trace, Reading(machine.cores, larger))
    given = None if comparison.cores is None else platform_from(comparison.cores)
    jobs = read_jobs(comparison.trace, Reading(comparison.cores, larger, memory=False))
    return given or platform_from(machine_size(jobs)), jobs


def machine_named(comparison: Comparison) -> Platform:
    """Return the machine of a comparison that names its file.

    Raises:
        HDeepRMError: the file cannot be used, or the number of its cores is also given.
    """
    assert comparison.platform is not None
    if comparison.cores is not None:
        raise OptionsError(f"--cores: {comparison.platform} sets the cores; omit one of the two")
    return load_platform(comparison.platform)


@dataclass(frozen=True, eq=False)
class Inputs:
    """A machine, and windows of a trace; or workloads that are simulated whole, as KSU compares (004, section III.B).

    Attributes:
        count: of the windows. jobs: of each, or of the largest workload. window: returns that of a number.
        files: the trace, or the workloads. accounts: of these.
        begins: the place in the trace of the first job of each window; empty for workloads.
    """

    comparison: Comparison
    machine: Platform
    count: int
    jobs: int
    window: Callable[[int], Window]
    files: Sequence[Path] = ()
    accounts: Sequence[Account | None] = ()
    begins: Sequence[int] = ()


def windows_of(comparison: Comparison, machine: Platform, trace: Trace, begins: Sequence[int], jobs: int) -> Inputs:
    """Return the windows of a trace; the only one of all jobs is cut at once, which frees the memory of the trace."""

    def cut(number: int) -> Window:
        part = take(trace, slice(begins[number], begins[number] + jobs))
        platform = None if comparison.platform is None else machine
        return window(part, machine.cores, platform, comparison.jobs_by, named=False)

    found = [cut(0)].__getitem__ if comparison.windows.sampling == "all" else cut
    return Inputs(comparison, machine, len(begins), jobs, found, [comparison.trace], [trace.account], begins)


def is_workload(path: Path) -> bool:
    """Return whether the inputs are workloads, which are not cut into windows."""
    return path.is_dir() or has_ending_of(path, "workload")


def workloads_of(comparison: Comparison) -> Inputs:
    """Read workloads and their machine, the jobs as ``launch`` reads them.

    Raises:
        HDeepRMError: a file cannot be used, or the comparison has options that need a trace.
    """
    from hdeeprm_like.jobs_in_files import jobs_in

    source = comparison.trace
    if comparison.windows != Windows() or comparison.jobs_by != "file":
        raise OptionsError(f"{source}: workloads are simulated whole; --windows, --offsets and --jobs-by need a trace")
    if comparison.platform is None and comparison.cores is None:
        raise OptionsError(f"{source}: a workload names no machine; add --platform FILE or --cores N")
    if any(isinstance(policy, Recorded) for policy in comparison.policies):
        raise OptionsError(f"policy {RECORDED}: a workload does not record waits; compare it on a trace")
    machine = platform_from(comparison.cores or 0) if comparison.platform is None else machine_named(comparison)
    files = [source]
    if source.is_dir():
        files = sorted(path for path in source.iterdir() if has_ending_of(path, "workload"))
    if not files:
        raise WorkloadError(f"{source}: holds no workload; names that end in {', '.join(endings('workload'))} are")
    windows = [jobs_in(path, machine, leave_out_larger=comparison.leave_out_larger) for path in files]
    for path, one in zip(files, windows, strict=True):
        if len(one.workload) == 0:
            raise WorkloadError(f"{path}: holds no job")
    most, accounts = max(len(one.workload) for one in windows), [one.workload.account for one in windows]
    return Inputs(comparison, machine, len(windows), most, windows.__getitem__, files, accounts)


def inputs_of(comparison: Comparison) -> Inputs:
    """Read the inputs of a comparison, and refuse those that its policies cannot use before anything runs.

    Raises:
        HDeepRMError: the trace or the machine cannot be used, or a policy does not fit them.
    """
    if is_workload(comparison.trace):
        inputs = workloads_of(comparison)
    else:
        machine, trace = machine_and_jobs(comparison)
        begins, jobs = places_of(comparison.windows, trace, comparison.seed)
        if any(isinstance(policy, Recorded) for policy in comparison.policies):
            check_recorded(comparison, machine, trace, begins, jobs)
        inputs = windows_of(comparison, machine, trace, begins, jobs)
    check_policies(inputs)
    return inputs


def check_policies(inputs: Inputs) -> None:
    """Refuse policies that do not go with the machine or the clock, and agents that cannot be loaded."""
    comparison = inputs.comparison
    for policy in comparison.policies:
        if isinstance(policy, Baseline | Paired):
            case = case_of(policy.pair if isinstance(policy, Paired) else policy, COMPARE)
            refuse(case._replace(clock=comparison.clock).on(inputs.machine, comparison.whole))
    agents = [policy for policy in inputs.comparison.policies if isinstance(policy, Trained)]
    if agents:
        from hdeeprm_like.launch.trained import system_of

        for policy in agents:
            system_of(policy, inputs.machine, inputs.window(0).workload)


def check_recorded(
    comparison: Comparison, machine: Platform, trace: Trace, begins: Sequence[int], jobs_of_window: int
) -> None:
    """Refuse the policy ``actual`` if the trace does not record it; warn of jobs left out, and of too many busy cores.

    Raises:
        OptionsError: the machine is another one. WorkloadError: a window has no job whose wait is known.
    """
    if comparison.platform is not None:
        raise OptionsError(f"policy {RECORDED}: ran on the trace's own machine; compare it without --platform")
    rows = np.unique(np.concatenate([np.arange(begin, begin + jobs_of_window) for begin in begins]))
    jobs = take(trace, rows)
    known, first = jobs.wait >= 0.0, int(np.argmin(jobs.wait >= 0.0))
    if not known.all():
        unknown = f"has no waiting time (field 3) of {(~known).sum()} of the {len(jobs)} jobs of "
        unknown += f"the windows, first of job {jobs.job[first]}"
        of_window = trace.wait >= 0.0
        if not all(of_window[begin : begin + jobs_of_window].any() for begin in begins):
            raise WorkloadError(f"{comparison.trace}: {unknown}; the policy {RECORDED} needs some in each window")
        log.warning("%s: %s; the policy %s leaves them out", comparison.trace, unknown, RECORDED)
        jobs = take(jobs, np.flatnonzero(known))
    start = jobs.submit + jobs.wait
    busiest = int(metrics.load(start, start + jobs.run, jobs.processors)[1].max())
    if busiest > machine.cores:
        log.warning(
            "%s: records up to %d busy cores of %d; the utilization of the policy %s counts at most all cores",
            *(comparison.trace, busiest, machine.cores, RECORDED),
        )


def description(inputs: Inputs) -> dict[str, Any]:
    """Return the settings that decide the results, except the names of policies."""
    comparison = inputs.comparison
    found: dict[str, Any] = {
        "trace": comparison.trace.absolute().name,
        "cores": inputs.machine.cores,
        "clock": comparison.clock,
        "jobs": inputs.jobs,
    }
    accounts = {
        path.name: account and account.content() for path, account in zip(inputs.files, inputs.accounts, strict=True)
    }
    if is_workload(comparison.trace):
        found |= {"workloads": {path.name: sha256(path) for path in inputs.files}, "account": accounts}
    else:
        seed = comparison.seed if comparison.windows.sampling == "random" else None
        found |= {"sha256": sha256(comparison.trace), "jobs_by": comparison.jobs_by, "seed": seed}
        found |= {"begins": inputs.begins, "account": accounts[comparison.trace.name]}
    if comparison.platform is not None:
        found["platform"] = inputs.machine.digest()
    if comparison.whole:
        found["whole"] = True
    return found | {"agents": agents_of(comparison)}


def agents_of(comparison: Comparison) -> dict[str, str]:
    """Return a digest of the state of each learned policy by its name; further training changes it."""
    found = {policy.name: files_of(policy) for policy in comparison.policies}
    return {name: sha256(*files) for name, files in found.items() if files}


def files_of(policy: Policy) -> tuple[Path, ...]:
    """Return the files that decide the behaviour of a policy: weights and training inputs, scores, trees."""
    if isinstance(policy, Trained):
        from hdeeprm_like.launch.trained import files_of_agent

        return files_of_agent(policy)
    if isinstance(policy, Paired):
        return tuple(python_files(policy.name))
    return policy.files if isinstance(policy, Baseline) else ()
