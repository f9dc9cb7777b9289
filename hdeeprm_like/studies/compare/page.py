"""A comparison as one HTML page, from the files in its folder."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.inputs import read_object, read_rows
from hdeeprm_like.results import html
from hdeeprm_like.results.html import Html
from hdeeprm_like.results.report import labelled
from hdeeprm_like.studies.compare.run import BOXES, POLICY, RANKING, RECORD, SUMMARY, TESTS
from hdeeprm_like.studies.compare.statistics import RANKED_BY
from hdeeprm_like.studies.compare.text import difference_lines, known, p_value, records, summary_lines

SHOWN = (RANKED_BY, f"{RANKED_BY}_difference", f"{RANKED_BY}_ratio", "wait_difference")  # with bounds, see `text`


def is_comparison(folder: Path) -> bool:
    """Return whether a folder holds a comparison."""
    return (folder / RECORD).exists()


def write_comparison_page(folder: Path, save: Path) -> None:
    """Write the report of a comparison into one file.

    Raises:
        ResultsError: the folder holds no finished comparison, or the file cannot be written.
    """
    missing = [name for name in (RECORD, SUMMARY, TESTS, BOXES, RANKING) if not (folder / name).exists()]
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
                f"{windows_told(summary, record)} of {record['trace']} on {record['cores']:,} cores, "
                f"{record['clock']} clock; figures are means over them, maxima those of all."
            ),
            html.section("Figures", lines_as_table(summary_lines(summary, energy)), all_figures(summary)),
            differences(summary),
            html.section(
                "Windows",
                html.picture_of(folder / BOXES, "How the windows spread; each box holds the middle half of them."),
                html.picture_of(folder / RANKING, "Mean rank of each policy over the windows; 1 is the best."),
            ),
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


def read_summary(path: Path) -> pd.DataFrame:
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
    frame = read_frame(path, columns, words=(POLICY, "reference"))
    if frame.empty or frame["windows"].isna().any() or frame[[POLICY, "reference"]].isna().any(axis=None):
        raise ResultsError(f"{path}: has no row, or a row without a policy; run the comparison again")
    return frame.astype({"windows": int})


def read_tests(path: Path) -> pd.DataFrame:
    """Return the tests of a comparison.

    Raises:
        ResultsError: they are none.
    """
    words = ("figure", "first", "second", "test")
    frame = read_frame(path, (*words, "difference", "p", "p_holm"), words)
    unknown = next((name for name in frame["figure"] if name not in FIGURES), None)
    if unknown is not None:
        raise ResultsError(f"{path}: figure {unknown!r:.60} is not known; this is no table of tests")
    return frame


def read_frame(path: Path, columns: Sequence[str], words: Sequence[str]) -> pd.DataFrame:
    """Return a table of a comparison: words as text, or NaN where there is none; all else as numbers, or NaN.

    Raises:
        ResultsError: a column is missing, or something is no number.
    """
    rows = read_rows(path, columns, ResultsError)
    found: dict[str, list[Any]] = {}
    for name in rows[0] if rows else columns:
        texts = [row[name] for row in rows]
        if name in words:
            found[name] = [text or math.nan for text in texts]
        else:
            try:
                found[name] = [float(text) if text else math.nan for text in texts]
            except ValueError as cause:
                raise ResultsError(f"{path}: column {name}: {cause}; numbers are needed") from cause
    return pd.DataFrame(found)


def windows_told(summary: pd.DataFrame, record: Mapping[str, Any]) -> str:
    """Return how many windows or workloads were compared, and how many jobs they have."""
    count = summary["windows"].iloc[0]
    if "workloads" in record:
        return f"{count} workloads of up to {record['jobs']:,} jobs"
    return f"{count} windows of {record['jobs']:,} jobs"


def lines_as_table(lines: list[list[str]]) -> Html:
    """Return titles and lines of cells as a table."""
    return html.table(lines[0], lines[1:], numbers=range(1, len(lines[0])))


def all_figures(summary: pd.DataFrame) -> Html:
    """Return every figure of every policy."""
    names = [name for name in FIGURES if name in summary]
    table = labelled(summary.set_index(POLICY)[names].T)
    rows = [
        [html.explained(title, FIGURES[name].meaning), *(known(value, ",.5g") for value in values)]
        for name, title, values in zip(names, table.index, table.to_numpy(), strict=True)
    ]
    shown = html.table(["figure", *table.columns], rows, numbers=range(1, 1 + len(table.columns)))
    return html.details("All figures", shown)


def differences(summary: pd.DataFrame) -> Html:
    """Return how the policies differ from the reference, nothing where there is but one."""
    lines = difference_lines(summary)
    if len(lines) == 1:
        return Html()
    return html.section(
        f"Against {summary['reference'].iloc[0]}",
        lines_as_table(lines),
        html.paragraph(
            "Differences and ratios window by window, with intervals by the bootstrap over the windows; p is that of "
            "Wilcoxon's test, corrected by Holm's method."
        ),
    )


def tests_as_table(tests: pd.DataFrame) -> Html:
    """Return the tests, a row each."""
    rows = [
        [
            FIGURES[row["figure"]].title,
            row["test"],
            "all policies" if pd.isna(row["first"]) else f"{row['first']}, {row['second']}",
            known(row["difference"], "+,.5g"),
            p_value(row["p"]),
            p_value(row["p_holm"]),
        ]
        for row in records(tests)
    ]
    titles = ["figure", "test", "of", "difference", "p", "p by Holm's method"]
    return html.table(titles, rows, numbers=(3, 4, 5))
