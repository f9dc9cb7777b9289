"""Scheduling policies side by side: all on the same windows of a trace, with how sure the differences are.

The folder holds `RESULTS` (one line per policy and window, written as soon as it is known, so that an interrupted
comparison goes on where it stopped), `SUMMARY`, `TESTS`, `RECORD` and two pictures.
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

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.schedule import FIGURES, figures
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.experiment import platform_from
from hdeeprm_like.formats.files import read_json, replacing, write_json
from hdeeprm_like.formats.open import load_platform, load_trace
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_cuts import take, window_begins
from hdeeprm_like.formats.windows import Window, sizes, usable, window
from hdeeprm_like.run.simulator import Clock
from hdeeprm_like.studies.compare.policies import Policy, Trained
from hdeeprm_like.studies.compare.windows import schedule

RESULTS, SUMMARY, TESTS, RECORD = "results.csv", "summary.csv", "tests.csv", "compare.json"
POLICY, WINDOW = "policy", "window"
SMALL = 500_000  # jobs to schedule up to which starting processes does not pay


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    Attributes:
        trace: the file. policies: what is compared. windows, jobs: how many windows of how many jobs each.
        seed: of the places where windows begin. cores: of the pool; None for what the header of the trace says.
        clock: one of `run.simulator.CLOCKS`. platform: the file of a machine, in place of a pool.
    """

    trace: Path
    policies: tuple[Policy, ...]
    windows: int
    jobs: int
    seed: int
    cores: int | None = None
    clock: Clock = "textbook"
    platform: Path | None = None


def windows_named(text: str) -> tuple[int, int]:
    """Return how many windows of how many jobs ``"10x1024"`` means.

    Raises:
        OptionsError: it means nothing.
    """
    match = re.fullmatch(r"([1-9]\d{0,8})x([1-9]\d{0,8})", text, re.ASCII)
    if not match:
        raise OptionsError(f"windows: {text!r}: two numbers are needed, windows and jobs of each, as 10x1024")
    return int(match[1]), int(match[2])


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
            match = re.match(rf"{key}:\s*(\d+)", line)
            if match and int(match[1]) > 0:
                return int(match[1])
    return int(sizes(trace).max())


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
    from hdeeprm_like.studies.compare.pictures import draw_boxes, draw_ranking
    from hdeeprm_like.studies.compare.statistics import p_values_of, summary_of

    trace = usable(load_trace(comparison.trace))
    machine = machine_of(comparison, trace)
    begins = window_begins(trace, comparison.jobs, comparison.windows, np.random.default_rng(comparison.seed))
    check_agents(comparison, machine, cut_out(trace, begins[0], comparison.jobs))
    record = description(comparison, machine, begins)
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
        windows = (
            (number, jobs_of(cut_out(trace, begins[number], comparison.jobs), machine, comparison), own)
            for number, own in work
        )
        for found in run_all(windows, machine, comparison, total, processes):
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


def cut_out(trace: Trace, begin: int, jobs: int) -> Trace:
    """Return consecutive jobs of a trace."""
    return take(trace, np.arange(begin, begin + jobs))


def jobs_of(trace: Trace, machine: Platform, comparison: Comparison) -> Window:
    """Return a window for the machine of a comparison."""
    return window(trace, machine.cores, None if comparison.platform is None else machine)


def check_agents(comparison: Comparison, machine: Platform, trace: Trace) -> None:
    """Refuse agents that cannot be loaded or do not fit the machine, before anything is run."""
    agents = [policy for policy in comparison.policies if isinstance(policy, Trained)]
    if agents:
        from hdeeprm_like.studies.compare.trained import system_of

        for policy in agents:
            system_of(policy, machine, jobs_of(trace, machine, comparison).workload)


def schedule_window(
    number: int, jobs: Window, policies: Sequence[Policy], machine: Platform, clock: Clock
) -> list[dict[str, Any]]:
    """Return one row of results per policy."""
    return [
        {POLICY: policy.name, WINDOW: number, **figures(schedule(machine, jobs, policy, clock))} for policy in policies
    ]


def run_all(
    windows: Iterator[tuple[int, Window, list[Policy]]],
    machine: Platform,
    comparison: Comparison,
    schedules: int,
    processes: int | None,
) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each window as they come in: in other processes if that pays."""
    workers = min(processes or os.cpu_count() or 1, comparison.windows)
    if workers == 1 or (processes is None and schedules * comparison.jobs <= SMALL):
        for number, jobs, policies in windows:
            yield schedule_window(number, jobs, policies, machine, comparison.clock)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
        running: set[Future[list[dict[str, Any]]]] = set()
        try:
            for number, jobs, policies in windows:
                running.add(executor.submit(schedule_window, number, jobs, policies, machine, comparison.clock))
                if len(running) > 2 * workers:
                    finished, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in finished)
            while running:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        finally:
            executor.shutdown(cancel_futures=True)


def description(comparison: Comparison, machine: Platform, begins: list[int]) -> dict[str, Any]:
    """Return what decides the results, the names of policies apart."""
    found = {
        "trace": comparison.trace.name,
        "sha256": digest(comparison.trace),
        "cores": machine.cores,
        "clock": comparison.clock,
        "jobs": comparison.jobs,
        "seed": comparison.seed,
        "begins": begins,
    }
    if comparison.platform is not None:
        found["platform"] = digest(comparison.platform)
    return found | {"agents": agents_of(comparison)}


def agents_of(comparison: Comparison) -> dict[str, str]:
    """Return a digest of the weights of each trained agent by its name; one that has learned more has another."""
    agents = [policy for policy in comparison.policies if isinstance(policy, Trained)]
    if not agents:
        return {}
    from hdeeprm_like.studies.compare.trained import weights_in

    return {policy.name: digest(weights_in(policy)) for policy in agents}


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, which differs for every other content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_results(output: Path, record: dict[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the rows of a comparison that was begun before, by policy and window.

    Those of agents that have learned more since are left out; what is known of other agents goes into *record*.

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
