"""Running experiments: each result appears whole or not at all, so whatever is killed goes on where it was."""

import os
import platform
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.formats.files import alone_in, write_csv, write_json
from hdeeprm_like.inputs import sha256
from hdeeprm_like.run.workers import workers
from hdeeprm_like.studies.reproduction.claims import CONTRADICTED, DIFFERS, judged
from hdeeprm_like.studies.reproduction.experiment import Experiment, Number, known_ids
from hdeeprm_like.studies.reproduction.place import RESULT, Findings, Place, Settings, kept_result, measure_of
from hdeeprm_like.version import __version__

RESULTS, TABLE, REPORT = "results.json", "results.csv", "report.html"
COLUMNS = (
    *("id", "key", "source", "what", "published", "unit", "ours", "low", "high", "std", "n", "ratio"),
    *("claim", "allowed", "budget", "verdict", "note", "cpu_seconds"),
)

Result = Mapping[str, Any]
OnResult = Callable[[Result], None]


def reproduce(
    experiments: Sequence[Experiment],
    settings: Settings,
    *,
    resume: bool = False,
    processes: int = 1,
    report: OnResult = lambda result: None,
) -> list[Result]:
    """Run experiments and write their folders, ``results.json`` and ``results.csv``.

    Args:
        resume: whether finished results in the output folder are kept, and its other ones shown beside them.
        processes: most experiments at a time. report: called with each result.

    Returns:
        All results in the folder, in the order of their ids.

    Raises:
        ResultsError: the folder holds results and *resume* is false, another command writes there, or it is not
        writable.
        OptionsError: an experiment learns, and torch is not installed.
    """
    there = [name for name in known_ids() if (settings.output / name / RESULT).exists()]
    if there and not resume:
        raise ResultsError(f"{settings.output}: holds results of {', '.join(there)}; keep them with --resume, or "
                           "choose another folder")  # fmt: skip
    check_learning(experiments)
    with alone_in(settings.output):
        for result in results_of(experiments, settings, processes):
            report(result)
        results = [found for name in known_ids() if (found := kept_result(settings.output / name))]
        write_json(settings.output / RESULTS, {"made": origin(settings), "results": results})
        rows = ({**result, **row} for result in results for row in result["numbers"])
        write_csv(settings.output / TABLE, COLUMNS, rows)
    return results


def results_of(experiments: Sequence[Experiment], settings: Settings, processes: int) -> Iterator[Result]:
    """Yield the results of experiments in their order."""
    if processes == 1 or len(experiments) == 1:
        yield from (result_of(one, settings) for one in experiments)
        return
    with workers(min(processes, len(experiments))) as pool:
        yield from pool.map(result_of, experiments, [settings] * len(experiments))


def result_of(experiment: Experiment, settings: Settings) -> Result:
    """Return the result of an experiment: the one in its folder if it is still true, else measured now."""
    place = Place(experiment, settings)
    kept = kept_result(place.folder)
    if kept and kept["key"] == place.key():
        return kept
    place.prepare()
    before = cpu_seconds() - place.cpu_seconds_of_trainings()
    findings = measure_of(experiment)(place)
    result = {
        "id": experiment.id,
        "key": place.key(),
        "made": origin(settings),
        "scale": settings.scale,
        "seeds": len(place.seeds),
        "cpu_seconds": round(cpu_seconds() - before, 1),
        "missing": [name for name in experiment.traces if place.trace(name) is None],
        "numbers": rows_of(place, findings),
        "note": findings.notes.get("", ""),
        "tables": findings.tables,
        "pictures": {name: sha256(path) for name in experiment.pictures if (path := place.folder / name).exists()},
    }
    write_json(place.folder / RESULT, result)
    return result


def rows_of(place: Place, findings: Findings) -> list[dict[str, Any]]:
    """Return what is found of each published number.

    Raises:
        KeyError: something was measured that the experiment does not name, which is a fault of ours.
    """
    experiment = place.experiment
    unknown = findings.values.keys() - {number.key for number in experiment.numbers}
    if unknown:
        raise KeyError(f"{experiment.id}: measures {sorted(unknown)}, which its file does not name")
    rows = []
    for number in experiment.numbers:
        value = findings.values.get(number.key)
        note = findings.notes.get(number.key, "") or number.reason
        if value is None:
            note = missing(place, number) or note
        fixed = {"key": number.key, "source": number.source or experiment.shows, "what": number.what}
        fixed |= {"published": number.published, "unit": number.unit, "claim": number.claim["kind"]}
        verdict = judged(number, value, note, number.key in findings.reduced or is_reduced(place))
        budget = "" if value is None else findings.budgets.get(number.key) or budget_of(place)
        rows.append({**fixed, **verdict.as_json(), "budget": budget, "expected": number.expected})
    return rows


def is_reduced(place: Place) -> bool:
    """Return whether an experiment is measured with less than the document's budget: a smaller one, or fewer seeds."""
    minutes, seeds = place.experiment.minutes, place.experiment.seeds
    return (not place.full and minutes["small"] < minutes["full"]) or len(place.seeds) < seeds["full"]


def budget_of(place: Place) -> str:
    """Return on how much the numbers of an experiment are measured, in words."""
    seeds = "1 seed" if len(place.seeds) == 1 else f"{len(place.seeds)} seeds"
    minutes = place.experiment.minutes
    scale = "" if minutes["small"] == minutes["full"] else f"{place.settings.scale} budget, "
    return f"{scale}{seeds}"


def missing(place: Place, number: Number) -> str:
    """Return how to get the trace that a number lacks, empty if it lacks none or is quoted for a reason of its own."""
    needed = number.needs or ("" if number.reason else "".join(place.experiment.traces[:1]))
    lacks = needed and place.trace(needed) is None
    return f"input missing: hdeeprm-like fetch-trace {needed}" if lacks else ""


def surprises(results: Sequence[Result]) -> list[str]:
    """Return the numbers that are contradicted, or differ, although we expected them to agree."""
    return [
        f"{result['id']} {row['key']}: {row['verdict']}"
        for result in results
        for row in result["numbers"]
        if row["verdict"] in (CONTRADICTED, DIFFERS) and row["expected"] not in (CONTRADICTED, DIFFERS)
    ]


def origin(settings: Settings) -> dict[str, Any]:
    """Return what the results were made with."""
    return {
        "version": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "scale": settings.scale,
    }


def cpu_seconds() -> float:
    """Return the CPU time of this process and of the children that have ended, in s."""
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def check_learning(experiments: Sequence[Experiment]) -> None:
    """Raise an OptionsError if an experiment learns and torch is not there."""
    import importlib.util

    if importlib.util.find_spec("torch") is None and (ids := [one.id for one in experiments if one.needs_learning]):
        raise OptionsError(f"{', '.join(ids)}: needs PyTorch; install it with: pip install 'hdeeprm_like[learn]'")
