"""The results as lines of text and as one HTML page."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hdeeprm_like.inputs import sha256
from hdeeprm_like.results.html import write_page
from hdeeprm_like.studies.reproduction import claims
from hdeeprm_like.studies.reproduction.claims import QUOTED
from hdeeprm_like.studies.reproduction.experiment import DOCUMENTS, TIERS, Experiment, experiment, known_ids
from hdeeprm_like.studies.reproduction.place import Place, Scale, Settings
from hdeeprm_like.studies.reproduction.run import REPORT, RESULTS, TABLE, Result


def listed(experiments: Sequence[Experiment], settings: Settings) -> str:
    """Return one line for each experiment: id, document and figure, tier, CPU minutes, inputs."""
    lines = []
    for one in experiments:
        place = Place(one, settings)
        found = {name: place.trace(name) is not None for name in one.traces}
        inputs = ", ".join(f"{name} {'found' if there else 'missing'}" for name, there in found.items())
        line = f"{one.id}  {one.tier:<6}  {cost_of(one, settings.scale):>7}  {one.document} {one.shows}: {one.title}"
        lines.append(line + (f" ({inputs})" if inputs else ""))
    return "\n".join(lines) + "\n"


def cost_of(one: Experiment, scale: Scale) -> str:
    """Return the approximate CPU time of an experiment."""
    minutes = one.minutes[scale]
    return f"{minutes:g} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def described(result: Mapping[str, Any]) -> str:
    """Return one line for each published number of a result."""
    lines = []
    for row in result["numbers"]:
        published = f"published {row['published']}" if row["published"] else "ours alone"
        words = [
            f"{result['id']} {source_of(result, row)}",
            row["what"],
            published,
            f"ours {ours_of(row)}",
            row["verdict"],
        ]
        if row.get("allowed"):
            words[2] += f" (allowed: {row['allowed']})"
        if row.get("budget"):
            words[3] += f" ({row['budget']})"
        if row["verdict"] == QUOTED and row["note"]:
            words[-1] += f" ({row['note']})"
        lines.append("   ".join(words) + (f" (x {row['ratio']:.3g})" if row["ratio"] is not None else ""))
    return "\n".join(lines) + "\n"


def source_of(result: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Return where a number was published: the letter of its document and the place in it, e.g. ``T fig. 5.6``."""
    source: str = row["source"]
    has_letter = source[:1] in DOCUMENTS and source[1:2] == " "
    return source if has_letter else f"{experiment(result['id']).document[0]} {source}"


def ours_of(row: Mapping[str, Any]) -> str:
    """Return our result with its interval, deviation and number."""
    ours = row["ours"]
    if ours is None:
        return "-"
    if not isinstance(ours, float | int) or isinstance(ours, bool):
        return str(ours)
    text = short(ours)
    if row["low"] is not None:
        text += f" [{short(row['low'])}, {short(row['high'])}]"
    if row["n"] > 1:
        text += f" n={row['n']}"
    return text


def short(value: float) -> str:
    """Return a number with the digits that count."""
    size = abs(value)
    if value == round(value) and size < 1e9:
        return f"{value:,.0f}"
    if size >= 1e7:
        return f"{value:.6e}"
    if size >= 1000:
        return f"{value:,.1f}"
    return f"{value:.2f}" if size >= 10 else f"{value:.4g}"


COLOURS = {
    claims.EQUAL: "good",
    claims.CONFIRMED: "good",
    claims.DIRECTION: "fair",
    claims.NOT_SHOWN: "weak",
    claims.UNDEFINED: "plain",
    claims.CONTRADICTED: "bad",
    claims.DIFFERS: "bad",
    claims.QUOTED: "plain",
    claims.PRINTED: "plain",
}
MOST_NAMED = 2  # numbers that are named of each experiment
TITLE = "Published numbers of five documents on learned scheduling, measured again"
COLUMNS = ("", "verdict", "source", "what", "published", "allowed", "ours", "95 % interval", "std. dev.", "n", "ratio",
           "budget")  # fmt: skip
NUMBERS = (6, 7, 8, 9, 10)
TEMPLATE = "studies/reproduction/report.html"
ERRATA = Path(__file__).parent / "errata.json"


def write_report(results: Sequence[Result], folder: Path) -> None:
    """Write ``report.html`` into a folder of results.

    Raises:
        ResultsError: it cannot be written, or a picture cannot be read.
    """
    write_page(folder / REPORT, TEMPLATE, **content_of(results, folder))


def content_of(results: Sequence[Result], folder: Path) -> dict[str, Any]:
    """Return what the page shows."""
    anchors = [("findings", "What holds and what does not"), ("made", "What was run, and when")]
    anchors += [("summary", "All numbers")]
    anchors += [(result["id"], f"{result['id']}: {experiment(result['id']).title}") for result in results]
    anchors += [("not-run", "What could not be run"), ("errata", "Errata of the documents"), ("methods", "Methods")]
    counts = Counter(row["verdict"] for result in results for row in result["numbers"])
    faults = json.loads(ERRATA.read_text(encoding="utf-8"))
    return {
        "title": TITLE,
        "colours": COLOURS,
        "counted": counted(counts),
        "verdicts": [(verdict, counts[verdict]) for verdict in claims.VERDICTS if counts[verdict]],
        "findings": list(map(finding, results)),
        "anchors": anchors,
        **made_with(results),
        "meanings": claims.VERDICTS,
        "columns": list(COLUMNS),
        "numbers": NUMBERS,
        "own_numbers": [number - 1 for number in NUMBERS],
        "experiments": [details_of(result, folder) for result in results],
        "quoted": quoted(results),
        "left_out": left_out(results),
        "errata": [(DOCUMENTS[letter], entries) for letter, entries in faults.items()],
        "results_file": RESULTS,
        "table_file": TABLE,
    }


def counted(counts: Mapping[str, int]) -> dict[str, int]:
    """Return how many numbers agree, do not, or are not shown, of those that can be judged."""
    agree, otherwise = (sum(counts[verdict] for verdict in which) for which in (AGREE, OTHERWISE))
    return {
        "judged": agree + otherwise + counts[claims.NOT_SHOWN],
        "agree": agree,
        "direction": counts[claims.DIRECTION],
        "otherwise": otherwise,
        "not_shown": counts[claims.NOT_SHOWN],
    }


def made_with(results: Sequence[Result]) -> dict[str, Any]:
    """Return the origin of the results: experiments, machine, date, CPU time and documents."""
    machines = sorted({origin_of(result) for result in results})
    return {
        "minutes": sum(result["cpu_seconds"] for result in results) / 60,
        "scales": sorted({result["scale"] for result in results}),
        "tiers": [tier for tier in TIERS if any(experiment(result["id"]).tier == tier for result in results)],
        "machines": [
            f"{', '.join(result['id'] for result in results if origin_of(result) == made)}: {made}" for made in machines
        ],
        "documents": [f"{letter}: {name}" for letter, name in DOCUMENTS.items()],
    }


def origin_of(result: Result) -> str:
    """Return with what and when a result was made."""
    made = result["made"]
    return f"hdeeprm_like {made['version']}, Python {made['python']}, {made['machine']}, {made['date']}"


AGREE = (claims.EQUAL, claims.CONFIRMED, claims.DIRECTION)
OTHERWISE = (claims.CONTRADICTED, claims.DIFFERS)


def finding(result: Result) -> tuple[str, str, list[int], str]:
    """Return an experiment's id and title, how many numbers agree, are not shown or differ, and a list of the last."""
    counts = Counter(row["verdict"] for row in result["numbers"])
    otherwise = [row["what"] for row in result["numbers"] if row["verdict"] in OTHERWISE]
    more = len(otherwise) - MOST_NAMED
    listed = "; ".join([*otherwise[:MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])
    numbers = [sum(counts[verdict] for verdict in AGREE), counts[claims.NOT_SHOWN], len(otherwise)]
    return result["id"], f"{result['id']}: {experiment(result['id']).title}", numbers, listed or "nothing"


def row_of(result: Result, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of a number: those before ours, ours, its interval and those behind it."""
    numeric = isinstance(row["ours"], int | float)
    return {
        "verdict": row["verdict"],
        "first": [
            source_of(result, row),
            row["what"] + (f" ({row['unit']})" if row["unit"] and row["unit"] not in row["published"] else ""),
            row["published"] or "–",
            row.get("allowed", ""),
        ],
        "is_number": numeric or row["ours"] is None,
        "ours": short(row["ours"]) if numeric else "–" if row["ours"] is None else ours_of(row),
        "interval": "" if row["low"] is None else f"{short(row['low'])} to {short(row['high'])}",
        "last": [
            "" if row["std"] is None else short(row["std"]),
            row["n"] or "",
            "" if row["ratio"] is None else f"{row['ratio']:.3g}",
            row.get("budget", ""),
        ],
        "note": row["note"],
    }


def details_of(result: Result, folder: Path) -> dict[str, Any]:
    """Return what the section of an experiment shows."""
    one = experiment(result["id"])
    repetitions = "1 repetition" if result["seeds"] == 1 else f"{result['seeds']} repetitions"
    cost = f"{result['cpu_seconds'] / 60:.1f} CPU minutes, budget {result['scale']}, {repetitions}. {origin_of(result)}"
    return {
        "id": one.id,
        "title": one.title,
        "about": f"{one.document}, {one.shows}. Tier {one.tier}. {cost}.",
        "did": one.did,
        "own": one.ours,
        "deviations": one.deviations,
        "note": result["note"],
        "rows": [row_of(result, row) for row in result["numbers"]],
        "tables": result["tables"],
        "pictures": [
            (path, caption)
            for name, caption in one.pictures.items()
            if (path := folder / one.id / name).exists() and sha256(path) == result.get("pictures", {}).get(name)
        ],
        "commands": [f"hdeeprm-like reproduce {one.id}", *one.commands],
        "files": ", ".join(f"{one.id}/{name}" for name in ("result.json", "options/", "runs/")),
    }


def quoted(results: Sequence[Result]) -> list[tuple[str, list[str]]]:
    """Return what is only quoted, and why."""
    return [
        (result["id"], [row["what"], row["published"], row["note"]])
        for result in results
        for row in result["numbers"]
        if row["verdict"] == claims.QUOTED
    ]


def left_out(results: Sequence[Result]) -> list[str]:
    """Return the cost of the experiments that are not on the page."""
    there = {result["id"] for result in results}
    return [
        f"{one.id}, {one.title}: {cost_of(one, 'small')} of CPU time; {cost_of(one, 'full')} with --scale full"
        for one in map(experiment, known_ids())
        if one.id not in there
    ]
