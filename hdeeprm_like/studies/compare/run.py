"""Scheduling policies side by side: all on the same windows of a trace, with how sure the differences are.

The folder holds `RESULTS` (one line per policy and window, written as soon as it is known, so that an interrupted
comparison goes on where it stopped), `SUMMARY`, `TESTS`, `RECORD` and two pictures.
"""

import csv
import io
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from tqdm import tqdm

from hdeeprm_like.cluster import metrics
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.schedule import FIGURES, UNKNOWN, figures
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.errors import OptionsError, ResultsError, WorkloadError
from hdeeprm_like.experiment import platform_from
from hdeeprm_like.formats.files import alone_in, replacing, write_json
from hdeeprm_like.formats.open import load_platform, load_trace
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.windows import JobsBy, Window, run_times, sizes, usable, window, with_requested_times
from hdeeprm_like.inputs import read_json, sha256
from hdeeprm_like.run.simulator import Clock
from hdeeprm_like.run.workers import workers
from hdeeprm_like.studies.compare.policies import ACTUAL, Policy, Recorded, Trained, reference_named
from hdeeprm_like.studies.compare.sampling import Windows, places_of
from hdeeprm_like.studies.compare.windows import schedules

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

RESULTS, SUMMARY, TESTS, RECORD = "results.csv", "summary.csv", "tests.csv", "compare.json"
BOXES, RANKING = "boxplot.png", "ranking.png"
POLICY, WINDOW = "policy", "window"
Tests: TypeAlias = Literal["friedman", "anova"]
SMALL = 500_000  # jobs to schedule up to which starting processes does not pay
TOGETHER = 32  # windows that an agent plays side by side
SLOWER = 100  # times that an agent takes longer for a job than a baseline


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    Attributes:
        trace: the file. policies: what is compared. windows: on which jobs of it.
        seed: of the places where random windows begin. cores: of the pool; None for what the header of the trace says.
        clock: one of `run.simulator.CLOCKS`. platform: the file of a machine, in place of a pool.
        jobs_by: as of `formats.windows.window`.
        reference: the policy that all are compared with; None for the best, see `statistics.best_of`.
        tests: ``"anova"`` adds those that papers take to ``"friedman"`` and Wilcoxon's, see `statistics.p_values_of`.
        whole: whether baselines put each job whole on one node of the machine.
    """

    trace: Path
    policies: tuple[Policy, ...]
    windows: Windows
    seed: int
    cores: int | None = None
    clock: Clock = "textbook"
    platform: Path | None = None
    jobs_by: JobsBy = "file"
    reference: str | None = None
    tests: Tests = "friedman"
    whole: bool = False


def machine_of(comparison: Comparison, trace: Trace) -> Platform:
    """Return the machine of a comparison.

    Raises:
        HDeepRMError: its file cannot be used, the number of its cores is given, too, or a pool has none.
    """
    if comparison.platform is None:
        return platform_from(machine_size(trace) if comparison.cores is None else comparison.cores)
    if comparison.cores is not None:
        raise OptionsError(f"--cores: {comparison.platform} tells how many there are; leave one of the two out")
    return load_platform(comparison.platform)


def machine_size(trace: Trace) -> int:
    """Return the processors of a trace's machine: by its header, else those of its widest job."""
    for key in ("MaxProcs", "MaxNodes"):
        for line in trace.header:
            match = re.match(rf"{key}:\s*([0-9]{{1,18}})", line)
            if match and int(match[1]) > 0:
                return int(match[1])
    return int(sizes(trace).max())


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the policies of a comparison get: a machine, and windows of a trace.

    Attributes:
        trace: the jobs that can be used. begins: the place in it of the first job of each window. jobs: of each window.
    """

    comparison: Comparison
    trace: Trace
    machine: Platform
    begins: list[int]
    jobs: int

    def window(self, number: int) -> Window:
        """Return a window for the machine."""
        jobs = take(self.trace, np.arange(self.begins[number], self.begins[number] + self.jobs))
        platform = None if self.comparison.platform is None else self.machine
        return window(jobs, self.machine.cores, platform, self.comparison.jobs_by)


def inputs_of(comparison: Comparison) -> Inputs:
    """Read what a comparison needs, and refuse what its policies cannot use before anything is run.

    Raises:
        HDeepRMError: the trace or the machine cannot be used, or a policy does not fit them.
    """
    trace = usable(load_trace(comparison.trace))
    begins, jobs = places_of(comparison.windows, trace, comparison.seed)
    inputs = Inputs(comparison, trace, machine_of(comparison, trace), begins, jobs)
    if any(isinstance(policy, Recorded) for policy in comparison.policies):
        check_recorded(inputs)
    inputs = replace(inputs, trace=with_requested_times(trace))
    check_agents(inputs)
    return inputs


def compare(
    comparison: Comparison, output: Path, processes: int | None = None, progress: bool = True
) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Run a comparison, or what is left of it, and write its folder.

    Args:
        processes: at most so many at a time; None for one per processor of this computer.

    Returns:
        The summary and the tests, see `statistics`.

    Raises:
        HDeepRMError: the trace cannot be used, or the folder holds another comparison.
    """
    import pandas as pd  # takes 0.3 s, which processes that only simulate can do without

    from hdeeprm_like.studies.compare.pictures import draw_boxes, draw_ranking
    from hdeeprm_like.studies.compare.statistics import p_values_of, summary_of

    reference = None if comparison.reference is None else reference_named(comparison.reference, comparison.policies)
    inputs = inputs_of(comparison)
    record = description(inputs)
    with alone_in(output):
        done = read_results(output, record)
        write_json(output / RECORD, record)
        table = pd.DataFrame(results_of(inputs, done, output / RESULTS, processes, progress))
        tests = p_values_of(table, published=comparison.tests == "anova")
        summary = summary_of(table, tests, reference)
        for frame, name in ((summary, SUMMARY), (tests, TESTS)):
            with replacing(output / name) as file:
                frame.to_csv(file, index=False)
        draw_boxes(table, output / BOXES)
        draw_ranking(table, output / RANKING)
    return summary, tests


def results_of(
    inputs: Inputs, done: dict[tuple[str, int], dict[str, Any]], save: Path, processes: int | None, progress: bool
) -> list[dict[str, Any]]:
    """Return the rows of all policies and windows in that order; run those that are missing, and save each as it comes.

    Args:
        done: what is known already, by policy and window.
    """
    names = [policy.name for policy in inputs.comparison.policies]
    numbers = range(len(inputs.begins))
    missing = [(number, [p for p in inputs.comparison.policies if (p.name, number) not in done]) for number in numbers]
    work = [(number, policies) for number, policies in missing if policies]
    rows = [done[name, number] for name in names for number in numbers if (name, number) in done]

    def ranks(row: dict[str, Any]) -> tuple[int, int]:
        return names.index(row[POLICY]), row[WINDOW]

    total = sum(len(policies) for _, policies in work)
    with tqdm(total=total, unit=" schedules", desc="comparing", delay=1.0, disable=not progress, leave=False) as bar:
        for found in run_all(inputs, work, processes):
            rows += found
            write_rows(save, sorted(rows, key=ranks))
            bar.update(len(found))
    return sorted(rows, key=ranks)


def check_agents(inputs: Inputs) -> None:
    """Refuse agents that cannot be loaded or do not fit the machine."""
    agents = [policy for policy in inputs.comparison.policies if isinstance(policy, Trained)]
    if agents:
        from hdeeprm_like.studies.compare.trained import system_of

        for policy in agents:
            system_of(policy, inputs.machine, inputs.window(0).workload)


def check_recorded(inputs: Inputs) -> None:
    """Refuse the policy ``actual`` where the trace does not tell it; warn where more cores were busy than there are."""
    comparison = inputs.comparison
    if comparison.platform is not None:
        raise OptionsError(f"policy {ACTUAL}: was on the trace's own machine; compare it without --platform")
    rows = np.unique(np.concatenate([np.arange(begin, begin + inputs.jobs) for begin in inputs.begins]))
    jobs = take(inputs.trace, rows)
    unknown = jobs.wait < 0.0
    if unknown.any():
        raise WorkloadError(
            f"{comparison.trace}: tells no waiting time (field 3) of {unknown.sum()} of the {len(jobs)} jobs of the "
            f"windows, job {jobs.job[np.argmax(unknown)]} is the first; the policy {ACTUAL} needs those of all"
        )
    start = jobs.submit + jobs.wait
    busiest = int(metrics.load(start, start + run_times(jobs), sizes(jobs))[1].max())
    if busiest > inputs.machine.cores:
        log.warning(
            "%s: records up to %d busy cores of %d; the utilization of the policy %s counts no more than all",
            *(comparison.trace, busiest, inputs.machine.cores, ACTUAL),
        )


def schedule_windows(
    windows: Mapping[int, Window],
    policies: Sequence[Policy],
    machine: Platform,
    clock: Clock,
    invented: bool,
    whole: bool,
) -> list[dict[str, Any]]:
    """Return one row of results per policy and window.

    Args:
        windows: by their numbers.
        invented: whether the machine is a pool, whose cores take a power that nobody has measured: no energy is told.
        whole: of `Comparison`.
    """
    rows = []
    for policy in policies:
        for number, found in zip(windows, schedules(machine, [*windows.values()], policy, clock, whole), strict=True):
            told = replace(found, energy=UNKNOWN) if invented else found
            rows.append({POLICY: policy.name, WINDOW: number, **figures(told)})
    return rows


def tasks_of(work: list[tuple[int, list[Policy]]], processes: int) -> Iterator[tuple[list[int], list[Policy]]]:
    """Yield what is run in one go: a window under all policies but agents, up to `TOGETHER` windows under an agent."""
    for number, policies in work:
        others: list[Policy] = [policy for policy in policies if not isinstance(policy, Trained)]
        if others:
            yield [number], others
    agents = {policy.name: policy for _, policies in work for policy in policies if isinstance(policy, Trained)}
    for agent in agents.values():
        numbers = [number for number, policies in work if agent in policies]
        size = min(TOGETHER, -(-len(numbers) // processes))
        for first in range(0, len(numbers), size):
            yield numbers[first : first + size], [agent]


def run_all(
    inputs: Inputs, work: list[tuple[int, list[Policy]]], processes: int | None
) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each window as they come in: in other processes if that pays.

    Args:
        work: the numbers of windows, and the policies to run on each.
    """
    machine, clock, invented = inputs.machine, inputs.comparison.clock, inputs.comparison.platform is None
    whole = inputs.comparison.whole
    count = min(processes or os.cpu_count() or 1, len(work))
    cost = inputs.jobs * sum(SLOWER if isinstance(policy, Trained) else 1 for _, some in work for policy in some)
    alone = count <= 1 or (processes is None and cost <= SMALL)
    found = tasks_of(work, 1 if alone else count)
    tasks = (({number: inputs.window(number) for number in numbers}, policies) for numbers, policies in found)
    if alone:
        for windows, policies in tasks:
            yield schedule_windows(windows, policies, machine, clock, invented, whole)
        return
    with workers(count) as executor:
        running: set[Future[list[dict[str, Any]]]] = set()
        for windows, policies in tasks:
            running.add(executor.submit(schedule_windows, windows, policies, machine, clock, invented, whole))
            if len(running) > 2 * count:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)


def description(inputs: Inputs) -> dict[str, Any]:
    """Return what decides the results, the names of policies apart."""
    comparison = inputs.comparison
    found = {
        "trace": comparison.trace.name,
        "sha256": sha256(comparison.trace),
        "cores": inputs.machine.cores,
        "clock": comparison.clock,
        "jobs": inputs.jobs,
        "jobs_by": comparison.jobs_by,
        "seed": comparison.seed if comparison.windows.sampling == "random" else None,
        "begins": inputs.begins,
    }
    if comparison.platform is not None:
        found["platform"] = inputs.machine.digest()
    if comparison.whole:
        found["whole"] = True
    return found | {"agents": agents_of(comparison)}


def agents_of(comparison: Comparison) -> dict[str, str]:
    """Return a digest of what each learned policy has learned by its name; one that has learned more has another."""
    found = {policy.name: files_of(policy) for policy in comparison.policies}
    return {name: sha256(*files) for name, files in found.items() if files}


def files_of(policy: Policy) -> tuple[Path, ...]:
    """Return the files that decide what a policy does: weights and what they were learned with, scores, trees."""
    if isinstance(policy, Trained):
        from hdeeprm_like.studies.compare.trained import files_of_training

        return files_of_training(policy.folder)
    return policy.files if isinstance(policy, Baseline) else ()


def read_results(output: Path, record: dict[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the rows of a comparison that was begun before, by policy and window.

    Those of policies that have learned more since are left out; what is known of others goes into *record*.

    Raises:
        ResultsError: the folder holds another comparison, or its rows cannot be read.
    """
    if not (output / RECORD).exists():
        return {}
    before = read_json(output / RECORD, ResultsError)
    before = before if isinstance(before, dict) else {}
    other = [key for key in {**record, **before} if key != "agents" and before.get(key) != record.get(key)]
    if other:
        raise ResultsError(f"{output}: holds a comparison with another {other[0]}; name another folder")
    agents = before.get("agents", {})
    changed = {name for name, own in record["agents"].items() if agents.get(name) != own}
    record["agents"] = agents | record["agents"]
    path = output / RESULTS
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [
                {POLICY: row[POLICY], WINDOW: int(row[WINDOW]), **{name: float(row[name]) for name in FIGURES}}
                for row in csv.DictReader(file)
            ]
    except (KeyError, ValueError, TypeError) as error:
        raise ResultsError(f"{path}: is no table of results ({error}); delete it to begin anew") from error
    return {(str(row[POLICY]), int(row[WINDOW])): row for row in rows if row[POLICY] not in changed}


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the table of results, whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [POLICY, WINDOW, *FIGURES], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with replacing(path) as file:
        file.write(text.getvalue())
