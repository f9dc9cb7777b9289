"""The results as one HTML page."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hdeeprm_like.inputs import sha256
from hdeeprm_like.results import html
from hdeeprm_like.results.html import Html
from hdeeprm_like.studies.reproduction import claims
from hdeeprm_like.studies.reproduction.experiment import DOCUMENTS, TIERS, Experiment, experiment, known_ids
from hdeeprm_like.studies.reproduction.run import REPORT, RESULTS, TABLE, Result
from hdeeprm_like.studies.reproduction.text import cost_of, ours_of, short, source_of

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
STYLE = """
.number div { text-align: left; }
.number span { white-space: nowrap; }
#summary table, #findings table { font-size: .82rem; }
#findings td { max-width: 44rem; }
#findings { margin: 0; }
@media print { #summary table { font-size: 7.6pt; } }
@media print, (min-width: 641px) { #summary td:nth-child(4) { min-width: 17em; } }
@media screen and (max-width: 640px) {
  #summary :is(th, td):is(:nth-child(3), :nth-child(6), :nth-child(n + 8)) { display: none; }
  #summary td { font-size: .74rem; overflow-wrap: anywhere; }
  #summary td:first-child { overflow-wrap: normal; }
  #summary .badge { white-space: normal; }
  #findings :is(th, td):nth-child(5) { display: none; }
}
"""  # where a phone has room for verdict, published and ours only; the table of each experiment has all
ERRATA = Path(__file__).parent / "errata.json"


def write_report(results: Sequence[Result], folder: Path) -> None:
    """Write ``report.html`` into a folder of results.

    Raises:
        ResultsError: it cannot be written, or a picture cannot be read.
    """
    html.write_page(folder / REPORT, report(results, folder))


def report(results: Sequence[Result], folder: Path) -> Html:
    """Return the page of some results, whose pictures lie in a folder."""
    anchors = [("findings", "What holds and what does not"), ("made", "What was run, and when")]
    anchors += [("summary", "All numbers")]
    anchors += [(result["id"], f"{result['id']}: {experiment(result['id']).title}") for result in results]
    anchors += [("not-run", "What could not be run"), ("errata", "Errata of the documents"), ("methods", "Methods")]
    return html.page(
        TITLE,
        header(results),
        findings(results),
        html.contents(anchors),
        made_with(results),
        summary(results),
        *(details_of(result, folder) for result in results),
        not_run(results),
        errata(),
        methods(),
        style=STYLE,
    )


def header(results: Sequence[Result]) -> Html:
    """Return a summary in one sentence, with the count of each verdict."""
    counts = Counter(row["verdict"] for result in results for row in result["numbers"])
    agree, otherwise = (sum(counts[verdict] for verdict in which) for which in (AGREE, OTHERWISE))
    judged = agree + otherwise + counts[claims.NOT_SHOWN]
    return html.joined(
        (
            html.paragraph(
                f"Of {judged} published numbers that were measured and can be judged, {agree} came out as published "
                f"({counts[claims.DIRECTION]} in direction only), {otherwise} otherwise, and for "
                f"{counts[claims.NOT_SHOWN]} the budget does not show it. Each stands beside ours below, with an "
                "interval, a budget and a verdict."
            ),
            html.paragraph(
                html.joined((of_verdict(verdict, counts) for verdict in claims.VERDICTS if counts[verdict]), " ")
            ),
        )
    )


def made_with(results: Sequence[Result]) -> Html:
    """Return the origin of the results: experiments, machine, date, CPU time and documents."""
    minutes = sum(result["cpu_seconds"] for result in results) / 60
    scales = sorted({result["scale"] for result in results})
    tiers = [tier for tier in TIERS if any(experiment(result["id"]).tier == tier for result in results)]
    machines = sorted({origin_of(result) for result in results})
    return html.section(
        "What was run, and when",
        html.paragraph(
            f"{len(results)} experiments in {minutes:.1f} CPU minutes; tiers: {', '.join(tiers)}; budgets: "
            f"{', '.join(scales)}; seeds from 1 on."
        ),
        html.items(
            f"{', '.join(result['id'] for result in results if origin_of(result) == made)}: {made}" for made in machines
        ),
        html.items(f"{letter}: {name}" for letter, name in DOCUMENTS.items()),
        anchor="made",
    )


def origin_of(result: Result) -> str:
    """Return with what and when a result was made."""
    made = result["made"]
    return f"hdeeprm_like {made['version']}, Python {made['python']}, {made['machine']}, {made['date']}"


def of_verdict(verdict: str, counts: Mapping[str, int] | None = None) -> Html:
    """Return a verdict as a badge, with its count."""
    return html.badge(verdict if counts is None else f"{counts[verdict]} {verdict}", COLOURS[verdict])


AGREE = (claims.EQUAL, claims.CONFIRMED, claims.DIRECTION)
OTHERWISE = (claims.CONTRADICTED, claims.DIFFERS)


def findings(results: Sequence[Result]) -> Html:
    """Return one line for each experiment: the numbers that agree, are not shown or differ, and a list of the last."""
    rows = []
    for result in results:
        counts = Counter(row["verdict"] for row in result["numbers"])
        otherwise = [row["what"] for row in result["numbers"] if row["verdict"] in OTHERWISE]
        more = len(otherwise) - MOST_NAMED
        listed = "; ".join([*otherwise[:MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])
        numbers = sum(counts[verdict] for verdict in AGREE), counts[claims.NOT_SHOWN], len(otherwise)
        title = f"{result['id']}: {experiment(result['id']).title}"
        rows.append([html.link(f"#{result['id']}", title), *numbers, listed or "nothing"])
    columns = ("experiment", "as published", "not shown", "otherwise", "what is otherwise")
    return html.section("What holds and what does not", html.table(columns, rows, numbers=(1, 2, 3)), anchor="findings")


def summary(results: Sequence[Result]) -> Html:
    """Return one table with a row for each published number."""
    rows = [
        [html.link(f"#{result['id']}", result["id"]), *cells(result, row)]
        for result in results
        for row in result["numbers"]
    ]
    meanings = html.items(
        html.joined((of_verdict(name), f": {meaning}"), "") for name, meaning in claims.VERDICTS.items()
    )
    table = html.table(COLUMNS, rows, numbers=NUMBERS)
    return html.section("All numbers", html.details("What the verdicts mean", meanings), table, anchor="summary")


def cells(result: Result, row: Mapping[str, Any]) -> list[object]:
    """Return the cells of a number after the first."""
    numeric = isinstance(row["ours"], int | float)
    interval = "" if row["low"] is None else html.element("span", f"{short(row['low'])} to {short(row['high'])}")
    return [
        of_verdict(row["verdict"]),
        source_of(result, row),
        row["what"] + (f" ({row['unit']})" if row["unit"] and row["unit"] not in row["published"] else ""),
        row["published"] or "–",
        row.get("allowed", ""),
        short(row["ours"]) if numeric else "–" if row["ours"] is None else html.element("div", ours_of(row)),
        interval,
        "" if row["std"] is None else short(row["std"]),
        row["n"] or "",
        "" if row["ratio"] is None else f"{row['ratio']:.3g}",
        row.get("budget", ""),
    ]


def details_of(result: Result, folder: Path) -> Html:
    """Return the section of an experiment."""
    one = experiment(result["id"])
    rows = [[*cells(result, row), row["note"]] for row in result["numbers"]]
    pictures = [
        html.picture_of(path, caption)
        for name, caption in one.pictures.items()
        if (path := folder / one.id / name).exists() and sha256(path) == result.get("pictures", {}).get(name)
    ]
    repetitions = "1 repetition" if result["seeds"] == 1 else f"{result['seeds']} repetitions"
    cost = f"{result['cpu_seconds'] / 60:.1f} CPU minutes, budget {result['scale']}, {repetitions}. {origin_of(result)}"
    parts = [
        html.paragraph(f"{one.document}, {one.shows}. Tier {one.tier}. {cost}."),
        html.section("What the document did", html.paragraph(one.did), level=3),
        html.section("What we did", html.paragraph(one.ours), level=3),
        html.section("Where that differs", html.items(one.deviations), level=3) if one.deviations else Html(),
        html.paragraph(result["note"]) if result["note"] else Html(),
        html.section("Numbers", html.table((*COLUMNS[1:], "remark"), rows, numbers=[n - 1 for n in NUMBERS]), level=3),
        *(html.table(table["columns"], table["rows"], table["title"]) for table in result["tables"]),
        html.section("Pictures", *pictures, level=3) if pictures else Html(),
        html.section("To run it by hand", *by_hand(one), level=3),
    ]
    return html.section(f"{one.id}: {one.title}", *parts, anchor=one.id)


def by_hand(one: Experiment) -> list[Html]:
    """Return the commands, which are run in the folder of the results, and the files."""
    lines = [f"hdeeprm-like reproduce {one.id}", *one.commands]
    files = ", ".join(f"{one.id}/{name}" for name in ("result.json", "options/", "runs/"))
    return [
        html.commands(lines),
        html.paragraph(f"In the folder of the results; {files} hold what was used and found."),
    ]


def not_run(results: Sequence[Result]) -> Html:
    """List what is only quoted, and why."""
    quoted = [
        [html.link(f"#{result['id']}", result["id"]), row["what"], row["published"], row["note"]]
        for result in results
        for row in result["numbers"]
        if row["verdict"] == claims.QUOTED
    ]
    table = html.table(("", "what", "published", "why"), quoted)
    return html.section(
        "What could not be run", table if quoted else html.paragraph("Nothing."), *left_out(results), anchor="not-run"
    )


def left_out(results: Sequence[Result]) -> list[Html]:
    """Return the cost of the experiments that are not on the page."""
    there = {result["id"] for result in results}
    others = [
        f"{one.id}, {one.title}: {cost_of(one, 'small')} of CPU time; {cost_of(one, 'full')} with --scale full"
        for one in map(experiment, known_ids())
        if one.id not in there
    ]
    return [html.paragraph("Not run, with their cost:"), html.items(others)] if others else []


def errata() -> Html:
    """List what is wrong in the documents themselves."""
    faults = json.loads(ERRATA.read_text(encoding="utf-8"))
    parts = [html.section(DOCUMENTS[letter], html.items(entries), level=3) for letter, entries in faults.items()]
    return html.section("Errata of the documents", *parts, anchor="errata")


def methods() -> Html:
    """Return the section on methods."""
    return html.section(
        "Methods",
        html.paragraph(
            "Jobs run on the embedded simulator: on Batsim's clock for the thesis, on the textbook's, with one "
            "decision for all events of one time, for the others. Repetitions are seeds from 1 on, or windows of a "
            "trace drawn with seed 1. Compared policies run on the same jobs, and differences and ratios are "
            "paired. Intervals are Student's at 95 %; where a document gives a mean over ten windows, the "
            "interval is that of the means of ten windows resampled from ours. No option was tuned on the test data "
            f"of an agent. {RESULTS} and {TABLE} beside this page hold every number with all digits."
        ),
        anchor="methods",
    )
