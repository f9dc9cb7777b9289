"""Scheduling policies side by side: all on the same windows of a trace, with how sure the differences are.

The folder holds `RESULTS` (one line per policy and window, kept as they come in, so that a comparison goes on where it
stopped), `SUMMARY`, `TESTS`, `RECORD` and two pictures.
"""

import csv
import hashlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from hdeeprm_like.cluster import metrics
from hdeeprm_like.compare.windows import Schedule, Window, pool, schedule, sizes, usable, window
from hdeeprm_like.decision.baselines import Baseline, baseline
from hdeeprm_like.errors import OptionsError, ResultsError, WorkloadError
from hdeeprm_like.formats.files import read_json, replacing, write_json
from hdeeprm_like.formats.swf import Trace, read_swf
from hdeeprm_like.formats.swf_cuts import take

RESULTS, SUMMARY, TESTS, RECORD = "results.csv", "summary.csv", "tests.csv", "compare.json"
POLICY, WINDOW = "policy", "window"
FIGURES = {  # name: what it is; the first is what is ranked
    "bounded_slowdown": "mean bounded slowdown",
    "bounded_slowdown_median": "median of it",
    "bounded_slowdown_p95": "95th percentile of it",
    "bounded_slowdown_max": "maximum of it",
    "wait": "mean waiting time (s)",
    "wait_median": "median of it (s)",
    "wait_p95": "95th percentile of it (s)",
    "wait_max": "maximum of it (s)",
    "turnaround": "mean turnaround (s)",
    "slowdown": "mean slowdown",
    "per_processor_slowdown": "mean per-processor slowdown",
    "utilization": "work over machine, first submission to last finish",
    "steady_utilization": "the same between a tenth and nine tenths of the submissions",
    "makespan": "first submission to last finish (s)",
    "throughput": "finished jobs per hour",
    "queue_length": "jobs waiting, average over time",
    "fairness": "Jain's index of the users' mean bounded slowdowns",
    "worst_user": "largest of these over their average",
    "starving": "jobs that waited over two days",
}
SMALL = 500_000  # jobs to schedule up to which starting processes does not pay


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    Attributes:
        trace: the file. policies: baselines. windows, jobs: how many windows of how many jobs each.
        seed: of the places where windows begin. cores: of the machine; None for what the trace tells.
        clock: one of `windows.CLOCKS`.
    """

    trace: Path
    policies: tuple[Baseline, ...]
    windows: int
    jobs: int
    seed: int
    cores: int | None = None
    clock: str = "textbook"


def policies_named(text: str) -> tuple[Baseline, ...]:
    """Return the policies of ``"fcfs,sjf+easy"``.

    Raises:
        OptionsError: one is not known, or listed twice.
    """
    found: list[Baseline] = []
    for name in (part.strip() for part in text.split(",")):
        if name.startswith("agent:"):
            raise OptionsError(f"--policies: {name}: trained agents cannot be compared yet")
        policy = baseline(name)
        if policy in found:
            raise OptionsError(f"--policies: {policy.name} is listed twice")
        found.append(policy)
    return tuple(found)


def windows_named(text: str) -> tuple[int, int]:
    """Return how many windows of how many jobs ``"10x1024"`` means.

    Raises:
        OptionsError: it means nothing.
    """
    match = re.fullmatch(r"([1-9]\d{0,8})x([1-9]\d{0,8})", text, re.ASCII)
    if not match:
        raise OptionsError(f"--windows: {text!r}: two numbers are needed, windows and jobs of each, as 10x1024")
    return int(match[1]), int(match[2])


def machine_size(trace: Trace) -> int:
    """Return the processors of a trace's machine: by its header, else those of its widest job."""
    for key in ("MaxProcs", "MaxNodes"):
        for line in trace.header:
            match = re.match(rf"{key}:\s*(\d+)", line)
            if match and int(match[1]) > 0:
                return int(match[1])
    return int(sizes(trace).max())


def figures(found: Schedule, cores: int) -> dict[str, float]:
    """Return the figures of a schedule, in the order of `FIGURES`."""
    waiting, run = metrics.wait(found.submit, found.start), found.finish - found.start
    bounded = metrics.bounded_slowdown(waiting, run)
    slowdowns, waits = metrics.distribution(bounded), metrics.distribution(waiting)
    users = metrics.by_user(bounded, found.user)
    values = (
        *slowdowns,
        *waits,
        metrics.mean(waiting + run),
        metrics.mean(metrics.slowdown(waiting, run)),
        metrics.mean(metrics.per_processor_slowdown(waiting, run, found.size)),
        metrics.utilization(found.submit, found.start, found.finish, found.size, cores),
        metrics.steady_utilization(found.submit, found.start, found.finish, found.size, cores),
        float(found.finish.max() - found.submit.min()),
        3600.0 * metrics.throughput(found.submit, found.finish),
        metrics.time_average(*metrics.queue_length(found.submit, found.start)),
        metrics.jain(users),
        metrics.largest_over_mean(users),
        float(metrics.starving(waiting)),
    )
    return dict(zip(FIGURES, values, strict=True))


def compare(
    comparison: Comparison, output: Path, processes: int | None = None, progress: bool = True
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run a comparison, or what is left of it, and write its folder.

    Args:
        processes: at most so many at a time; None for one per processor of this computer.

    Returns:
        The summary and the tests, see `statistics`.

    Raises:
        HDeepRMError: the trace cannot be used, or the folder holds another comparison.
    """
    from hdeeprm_like.compare.pictures import draw_boxes, draw_ranking
    from hdeeprm_like.compare.statistics import p_values_of, summary_of

    trace = usable(read_swf(comparison.trace))
    cores = comparison.cores or machine_size(trace)
    begins = places(trace, comparison)
    record = description(comparison, cores, begins)
    done = read_results(output, record)
    write_json(output / RECORD, record)
    names = [policy.name for policy in comparison.policies]
    missing = [
        (number, [p for p in comparison.policies if (p.name, number) not in done]) for number in range(len(begins))
    ]
    work = [(number, policies) for number, policies in missing if policies]
    rows = [done[name, number] for name in names for number in range(len(begins)) if (name, number) in done]

    def ranks(row: dict[str, Any]) -> tuple[int, int]:
        return names.index(row[POLICY]), row[WINDOW]

    total = sum(len(policies) for _, policies in work)
    with tqdm(total=total, unit=" schedules", desc="comparing", delay=1.0, disable=not progress, leave=False) as bar:
        parts = ((number, window(cut_out(trace, begins[number], comparison.jobs), cores), own) for number, own in work)
        for found in run_all(parts, cores, comparison, total, processes):
            rows += found
            write_rows(output / RESULTS, sorted(rows, key=ranks))
            bar.update(len(found))
    rows.sort(key=ranks)
    table = pd.DataFrame(rows)
    summary, tests = summary_of(table), p_values_of(table)
    for frame, name in ((summary, SUMMARY), (tests, TESTS)):
        with replacing(output / name) as file:
            frame.to_csv(file, index=False)
    draw_boxes(table, output / "boxplot.png")
    draw_ranking(table, output / "ranking.png")
    return summary, tests


def places(trace: Trace, comparison: Comparison) -> list[int]:
    """Return the first job of each window, in the order in which they are drawn."""
    room = len(trace) - comparison.jobs
    if room < 0:
        raise WorkloadError(f"{trace.path}: windows of {comparison.jobs} jobs cannot be had from {len(trace)} jobs")
    rng = np.random.default_rng(comparison.seed)
    begins: list[int] = rng.integers(room + 1, size=comparison.windows).tolist()
    return begins


def cut_out(trace: Trace, begin: int, jobs: int) -> Trace:
    """Return consecutive jobs of a trace."""
    return take(trace, np.arange(begin, begin + jobs))


def schedule_window(
    number: int, jobs: Window, policies: Sequence[Baseline], cores: int, clock: str
) -> list[dict[str, Any]]:
    """Return one row of results per policy."""
    machine = pool(cores)
    return [
        {POLICY: policy.name, WINDOW: number, **figures(schedule(machine, jobs, policy, clock), cores)}
        for policy in policies
    ]


def run_all(
    parts: Iterator[tuple[int, Window, list[Baseline]]],
    cores: int,
    comparison: Comparison,
    schedules: int,
    processes: int | None,
) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each window as they come in: in other processes if that pays."""
    workers = min(processes or os.cpu_count() or 1, comparison.windows)
    if workers == 1 or (processes is None and schedules * comparison.jobs <= SMALL):
        for number, jobs, policies in parts:
            yield schedule_window(number, jobs, policies, cores, comparison.clock)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
        running: set[Future[list[dict[str, Any]]]] = set()
        try:
            for number, jobs, policies in parts:
                running.add(executor.submit(schedule_window, number, jobs, policies, cores, comparison.clock))
                if len(running) > 2 * workers:
                    finished, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in finished)
            while running:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        finally:
            executor.shutdown(cancel_futures=True)


def description(comparison: Comparison, cores: int, begins: list[int]) -> dict[str, Any]:
    """Return what decides the results, policies apart."""
    return {
        "trace": comparison.trace.name,
        "sha256": hashlib.sha256(comparison.trace.read_bytes()).hexdigest(),
        "cores": cores,
        "clock": comparison.clock,
        "jobs": comparison.jobs,
        "seed": comparison.seed,
        "begins": begins,
    }


def read_results(output: Path, record: dict[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the rows of a comparison that was begun before, by policy and window.

    Raises:
        ResultsError: the folder holds another comparison, or its rows cannot be read.
    """
    if not (output / RECORD).exists():
        return {}
    before = read_json(output / RECORD, ResultsError)
    if before != record:
        other = [key for key in record if not isinstance(before, dict) or before.get(key) != record[key]]
        raise ResultsError(
            f"{output}: holds a comparison with another {other[0] if other else 'content'}; name another folder"
        )
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
    return {(str(row[POLICY]), int(row[WINDOW])): row for row in rows}


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the table of results, whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [POLICY, WINDOW, *FIGURES], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with replacing(path) as file:
        file.write(text.getvalue())


def format_summary(summary: pd.DataFrame) -> str:
    """Return the main figures of a summary as text; mean and tail stand side by side, so that starvation shows."""
    titles = [
        "policy",
        "bounded slowdown",
        "95 % interval",
        "p95",
        "max",
        "mean wait",
        "p95 wait",
        "max wait",
        "utilization",
    ]
    lines = [titles]
    rows: list[dict[str, Any]] = summary.to_dict("records")  # type: ignore[assignment]
    for row in rows:
        low, high = row["bounded_slowdown_low"], row["bounded_slowdown_high"]
        lines.append(
            [
                row[POLICY],
                f"{row['bounded_slowdown']:,.2f}",
                f"{low:,.2f} to {high:,.2f}",
                f"{row['bounded_slowdown_p95']:,.1f}",
                f"{row['bounded_slowdown_max']:,.1f}",
                *(f"{row[name] / 3600:,.2f} h" for name in ("wait", "wait_p95", "wait_max")),
                f"{100 * row['utilization']:.1f} %",
            ]
        )
    widths = [max(len(line[place]) for line in lines) for place in range(len(titles))]
    return "".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True))]
        )
        + "\n"
        for line in lines
    )
