"""A comparison as one HTML page, from the files in its folder."""

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.inputs import read_object, read_rows
from hdeeprm_like.results import html
from hdeeprm_like.results.html import Html
from hdeeprm_like.results.report import label
from hdeeprm_like.studies.compare.run import POLICY, RECORD, RESULTS, SUMMARY, TESTS, WINDOW, rows_in
from hdeeprm_like.studies.compare.statistics import RANKED_BY, Rows
from hdeeprm_like.studies.compare.text import difference_lines, known, p_value, summary_lines
from hdeeprm_like.values import Number

FIGURE = Number(-1e100, 1e100)  # no figure of a comparison comes near it, and axes can still be drawn
SHOWN = (RANKED_BY, f"{RANKED_BY}_difference", f"{RANKED_BY}_ratio", "wait_difference")  # with bounds, see `text`


def is_comparison(folder: Path) -> bool:
    """Return whether a folder holds a comparison."""
    return (folder / RECORD).exists()


def write_comparison_page(folder: Path, save: Path) -> None:
    """Write the report of a comparison into one file.

    Raises:
        ResultsError: the folder holds no finished comparison, or the file cannot be written.
    """
    missing = [name for name in (RECORD, RESULTS, SUMMARY, TESTS) if not (folder / name).exists()]
    if missing:
        raise ResultsError(f"{folder}: has no {missing[0]}; end the comparison with `hdeeprm-like compare`")
    summary, tests = read_summary(folder / SUMMARY), read_tests(folder / TESTS)
    record = read_record(folder / RECORD)
    energy = "platform" in record
    html.write_page(
        save,
        html.page(
            f"Comparison on {record['trace']}",
            html.paragraph(
                f"{windows_in_words(summary, record)} of {record['trace']} on {record['cores']:,} cores, "
                f"{record['clock']} clock; figures are means over them, maxima those of all."
            ),
            html.section("Figures", lines_as_table(summary_lines(summary, energy)), all_figures(summary)),
            differences(summary),
            pictures(read_results(folder / RESULTS, summary)),
            html.section("Tests", html.details("All tests of all pairs", tests_as_table(tests))),
        ),
    )


def read_record(path: Path) -> dict[str, Any]:
    """Return the record of a comparison.

    Raises:
        ResultsError: it is none.
    """
    record = read_object(path, ResultsError)
    for name, kind in (("trace", str), ("clock", str), ("cores", int), ("jobs", int)):
        if type(record.get(name)) is not kind:
            raise ResultsError(f"{path}: {name}: is {record.get(name)!r:.40}; this is no record of a comparison")
    return record


def pictures(results: Rows) -> Html:
    """Return the pictures of the spread over windows, drawn for the page."""
    import pandas as pd

    from hdeeprm_like.studies.compare.pictures import draw_boxes, draw_ranking

    table = pd.DataFrame(results)
    with tempfile.TemporaryDirectory() as place:
        boxes, ranking = Path(place) / "boxplot.png", Path(place) / "ranking.png"
        draw_boxes(table, boxes)
        draw_ranking(table, ranking)
        return html.section(
            "Windows",
            html.picture_of(boxes, "Spread over the windows; each box holds the middle half of them."),
            html.picture_of(ranking, "Mean rank of each policy over the windows; 1 is the best."),
        )


def read_results(path: Path, summary: Rows) -> Rows:
    """Return the results of the policies of a summary, on each window.

    Raises:
        ResultsError: they are none, or some are missing.
    """
    policies = {row[POLICY] for row in summary}
    rows = [row for row in rows_in(path) if row[POLICY] in policies]
    found = {(row[POLICY], row[WINDOW]) for row in rows}
    if not len(rows) == len(found) == len(policies) * len({window for _, window in found}) > 0:
        raise ResultsError(f"{path}: does not have each policy once on each window; run the comparison again")
    odd = next((row for row in rows if not all(FIGURE.holds(row[name]) for name in FIGURES)), None)
    if odd is not None:
        raise ResultsError(f"{path}: window {odd[WINDOW]} of {odd[POLICY]}: has a figure that no schedule has")
    return rows


def read_summary(path: Path) -> Rows:
    """Return the summary of a comparison, whose figures may be unknown.

    Raises:
        ResultsError: it is none.
    """
    bounds = [f"{name}{end}" for name in SHOWN for end in ("_low", "_high")]
    columns = (
        POLICY,
        "windows",
        "reference",
        *FIGURES,
        *SHOWN,
        *bounds,
        f"{RANKED_BY}_std",
        f"{RANKED_BY}_p",
        "wait_p",
    )
    rows = read_table(path, columns, words=(POLICY, "reference"))
    if not rows or not all(row[POLICY] and row["reference"] and math.isfinite(row["windows"]) for row in rows):
        raise ResultsError(f"{path}: has no row, or a row without a policy; run the comparison again")
    return [row | {"windows": int(row["windows"])} for row in rows]


def read_tests(path: Path) -> Rows:
    """Return the tests of a comparison.

    Raises:
        ResultsError: they are none.
    """
    words = ("figure", "first", "second", "test")
    rows = read_table(path, (*words, "difference", "p", "p_holm"), words)
    unknown = next((row["figure"] for row in rows if row["figure"] not in FIGURES), None)
    if unknown is not None:
        raise ResultsError(f"{path}: figure {unknown!r:.60} is not known; this is no table of tests")
    return rows


def read_table(path: Path, columns: Sequence[str], words: Sequence[str]) -> Rows:
    """Return the rows of a table of a comparison: words as text; all else as numbers, NaN where there is none.

    Raises:
        ResultsError: a column is missing, or something is no number.
    """
    return [
        {
            name: text if name in words else FIGURE.in_text(text, ResultsError, path, name) if text else math.nan
            for name, text in row.items()
        }
        for row in read_rows(path, columns, ResultsError)
    ]


def windows_in_words(summary: Rows, record: Mapping[str, Any]) -> str:
    """Return the number of compared windows or workloads and of their jobs, in words."""
    count = summary[0]["windows"]
    if "workloads" in record:
        return f"{count} workloads of up to {record['jobs']:,} jobs"
    return f"{count} windows of {record['jobs']:,} jobs"


def lines_as_table(lines: list[list[str]]) -> Html:
    """Return titles and lines of cells as a table."""
    return html.table(lines[0], lines[1:], numbers=range(1, len(lines[0])))


def all_figures(summary: Rows) -> Html:
    """Return every figure of every policy."""
    rows = [
        [html.explained(label(name), FIGURES[name].meaning), *(known(row[name], ",.5g") for row in summary)]
        for name in FIGURES
        if name in summary[0]
    ]
    titles = ["figure", *(row[POLICY] for row in summary)]
    return html.details("All figures", html.table(titles, rows, numbers=range(1, len(titles))))


def differences(summary: Rows) -> Html:
    """Return the differences of the policies to the reference, nothing for a single policy."""
    lines = difference_lines(summary)
    if len(lines) == 1:
        return Html()
    return html.section(
        f"Against {summary[0]['reference']}",
        lines_as_table(lines),
        html.paragraph(
            "Differences and ratios window by window, with intervals by the bootstrap over the windows; p is that of "
            "Wilcoxon's test, corrected by Holm's method."
        ),
    )


def tests_as_table(tests: Rows) -> Html:
    """Return the tests, a row each."""
    rows = [
        [
            FIGURES[row["figure"]].title,
            row["test"],
            f"{row['first']}, {row['second']}" if row["first"] else "all policies",
            known(row["difference"], "+,.5g"),
            p_value(row["p"]),
            p_value(row["p_holm"]),
        ]
        for row in tests
    ]
    titles = ["figure", "test", "of", "difference", "p", "p by Holm's method"]
    return html.table(titles, rows, numbers=(3, 4, 5))
