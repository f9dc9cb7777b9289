"""Compare scheduling policies on the same windows of a trace, with intervals and tests of the differences.

The folder holds `RESULTS` (one line per policy and window, written at once, so that an interrupted comparison continues
where it stopped), `SUMMARY`, `TESTS` and `RECORD`; and pictures if requested.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.schedule import FIGURES, UNKNOWN, figures
from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.decision.compared_policies import Policy, reference_named
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.files import alone_in, write_csv, write_json
from hdeeprm_like.formats.windows import Window
from hdeeprm_like.inputs import read_json, read_rows
from hdeeprm_like.progress import progress_bar
from hdeeprm_like.studies.compare.figures import BOXES
from hdeeprm_like.studies.compare.inputs import Comparison, Inputs, description, inputs_of
from hdeeprm_like.studies.compare.statistics import OF_TESTS, Rows, p_values_of, summary_of
from hdeeprm_like.studies.compare.windows import schedules

RESULTS, SUMMARY, TESTS, RECORD = "results.csv", "summary.csv", "tests.csv", "compare.json"
SHOWN = "shown"  # key of the record: how results are shown, which they do not depend on
POLICY, WINDOW = "policy", "window"
SMALL = 500_000  # jobs to schedule up to which starting processes does not pay
TOGETHER = 32  # windows that an agent plays in parallel
SLOWER = 100  # time of an agent for a job, over that of a baseline


def run_comparison(
    comparison: Comparison,
    output: Path,
    processes: int | None = None,
    progress: bool = True,
    pictures: Sequence[str] = (),
    style: str | None = None,
) -> tuple[Rows, Rows]:
    """Run or continue a comparison, and write its folder.

    Args:
        processes: most processes at a time; None for one per processor of this computer.
        pictures: formats to draw `BOXES` and `RANKING` in, which takes longer than ten policies on ten windows;
        existing pictures are always drawn again.
        style: of `results.pictures.STYLES`; None for that of existing pictures.

    Returns:
        The summary and the tests, see `statistics`.

    Raises:
        HDeepRMError: the trace cannot be used, the folder holds another comparison, or a format or style is unknown.
    """
    if pictures:
        from hdeeprm_like.results.pictures import Look, check_format

        Look(style=style or "screen")
        for suffix in pictures:
            check_format(output / f"{BOXES}.{suffix}")
    reference = None if comparison.reference is None else reference_named(comparison.reference, comparison.policies)
    inputs = inputs_of(comparison)
    record = description(inputs) | {SHOWN: {"figures": comparison.shown, "style": style}}
    with alone_in(output):
        done = read_results(output, record)
        write_json(output / RECORD, record)
        table = results_of(inputs, done, output / RESULTS, processes, progress)
        tests = p_values_of(table, comparison.tests == "anova", comparison.published, comparison.shown)
        summary = summary_of(table, tests, reference, comparison.shown)
        write_rows(output / SUMMARY, tuple(summary[0]), summary)
        write_rows(output / TESTS, OF_TESTS, tests)
        formats = {*pictures, *(path.suffix[1:] for path in output.glob(f"{BOXES}.*"))}  # old ones show what was before
        if formats:
            from hdeeprm_like.studies.compare.pictures import draw_all

            draw_all(table, comparison.shown, output, sorted(formats), record[SHOWN]["style"] or "screen")
    return summary, tests


def results_of(
    inputs: Inputs, done: dict[tuple[str, int], dict[str, Any]], save: Path, processes: int | None, progress: bool
) -> list[dict[str, Any]]:
    """Return the rows of all policies and windows in that order; run the missing ones, and save each at once.

    Args:
        done: known rows, by policy and window.
    """
    names = [policy.name for policy in inputs.comparison.policies]
    numbers = range(inputs.count)
    missing = [(number, [p for p in inputs.comparison.policies if (p.name, number) not in done]) for number in numbers]
    work = [(number, policies) for number, policies in missing if policies]
    rows = [done[name, number] for name in names for number in numbers if (name, number) in done]

    def ranks(row: dict[str, Any]) -> tuple[int, int]:
        return names.index(row[POLICY]), row[WINDOW]

    total = sum(len(policies) for _, policies in work)
    known = len(rows)
    with progress_bar(total, progress, " schedules", "comparing") as show:
        for found in run_all(inputs, work, processes, progress):
            rows += found
            write_rows(save, (POLICY, WINDOW, *FIGURES), sorted(rows, key=ranks), unknown="nan")
            show(len(rows) - known)
    return sorted(rows, key=ranks)


def schedule_windows(
    windows: Mapping[int, Window], policies: Sequence[Policy], machine: Platform, comparison: Comparison
) -> list[dict[str, Any]]:
    """Return one row of results per policy and window, without the energy of a pool, whose power is not measured.

    Args:
        windows: by their numbers.
    """
    clock, whole = comparison.clock, comparison.whole
    rows = []
    for policy in policies:
        for number, found in zip(windows, schedules(machine, [*windows.values()], policy, clock, whole), strict=True):
            row = found if comparison.platform else replace(found, energy=UNKNOWN)
            rows.append({POLICY: policy.name, WINDOW: number, **figures(row)})
    return rows


def tasks_of(work: list[tuple[int, list[Policy]]], processes: int) -> Iterator[tuple[list[int], list[Policy]]]:
    """Yield units of work: a window under all policies but agents, up to `TOGETHER` windows under an agent."""
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
    inputs: Inputs, work: list[tuple[int, list[Policy]]], processes: int | None, progress: bool
) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each window as they are finished; use other processes if that pays.

    Args:
        work: the numbers of windows, and the policies to run on each.
        progress: whether a line says that they run as plain Python.
    """
    machine, comparison = inputs.machine, replace(inputs.comparison, policies=())  # not to each process
    count = min(processes or os.cpu_count() or 1, len(work))
    cost = inputs.jobs * sum(SLOWER if isinstance(policy, Trained) else 1 for _, some in work for policy in some)
    alone = count <= 1 or (processes is None and cost <= SMALL)
    found = tasks_of(work, 1 if alone else count)
    tasks = (({number: inputs.window(number) for number in numbers}, policies) for numbers, policies in found)
    if alone:
        for windows, policies in tasks:
            yield schedule_windows(windows, policies, machine, comparison)
        return
    from hdeeprm_like.run.workers import workers  # loads the modules for processes

    with workers(count) as executor:
        running: set[Future[list[dict[str, Any]]]] = set()
        for windows, policies in tasks:
            running.add(executor.submit(schedule_windows, windows, policies, machine, comparison))
            if len(running) > 2 * count:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)


def read_results(output: Path, record: dict[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the rows of a comparison that was begun before, by policy and window.

    Rows of policies with further training since are left out; the state of other policies, and how results were shown,
    is added to *record*.

    Raises:
        ResultsError: the folder holds another comparison, or its rows cannot be read.
    """
    if not (output / RECORD).exists():
        return {}
    before = read_json(output / RECORD, ResultsError)
    before = before if isinstance(before, dict) else {}
    if record[SHOWN]["style"] is None and isinstance(before.get(SHOWN), dict):
        record[SHOWN]["style"] = "paper" if before[SHOWN].get("style") == "paper" else None
    free = ("agents", SHOWN)
    other = [key for key in {**record, **before} if key not in free and before.get(key) != record.get(key)]
    if other:
        raise ResultsError(f"{output}: holds a comparison with another {other[0]}; name another folder")
    agents = before.get("agents", {})
    changed = {name for name, own in record["agents"].items() if agents.get(name) != own}
    record["agents"] = agents | record["agents"]
    path = output / RESULTS
    if not path.exists():
        return {}
    rows = rows_in(path)
    return {(str(row[POLICY]), int(row[WINDOW])): row for row in rows if row[POLICY] not in changed}


def rows_in(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a table of results.

    Raises:
        ResultsError: it cannot be read, or is another table.
    """
    try:
        return [
            {POLICY: row[POLICY], WINDOW: int(row[WINDOW]), **{name: float(row[name]) for name in FIGURES}}
            for row in read_rows(path, (POLICY, WINDOW, *FIGURES), ResultsError)
        ]
    except ValueError as error:
        raise ResultsError(f"{path}: is no table of results ({error}); delete it to start again") from error


def write_rows(path: Path, columns: Sequence[str], rows: Rows, unknown: str = "") -> None:
    """Write a table, atomically.

    Args:
        unknown: text for an unknown number.
    """
    shown = ({name: unknown if row[name] != row[name] else row[name] for name in columns} for row in rows)
    write_csv(path, columns, shown)
