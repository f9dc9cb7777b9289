"""A comparison as one HTML page, from the files in its folder."""

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.inputs import read_object, read_rows
from hdeeprm_like.results.html import pieces, write_page
from hdeeprm_like.results.report import label
from hdeeprm_like.studies.compare.figures import BOXES, RANKING, figures_named
from hdeeprm_like.studies.compare.run import (
    POLICY,
    RECORD,
    RESULTS,
    SHOWN,
    SUMMARY,
    TESTS,
    WINDOW,
    rows_in,
)
from hdeeprm_like.studies.compare.statistics import BOUNDS, Rows
from hdeeprm_like.studies.compare.text import difference_lines, known, p_value, summary_lines
from hdeeprm_like.values import Number

FIGURE = Number(-1e100, 1e100)  # no figure of a comparison comes near it, and axes can still be drawn


def write_comparison_page(folder: Path, save: Path) -> None:
    """Write the report of a comparison into one file.

    Raises:
        ResultsError: the folder holds no finished comparison, or the file cannot be written.
    """
    missing = [name for name in (RECORD, RESULTS, SUMMARY, TESTS) if not (folder / name).exists()]
    if missing:
        raise ResultsError(f"{folder}: has no {missing[0]}; end the comparison with `hdeeprm-like compare`")
    from hdeeprm_like.studies.compare.pictures import draw_all

    record = read_record(folder / RECORD)
    shown = record[SHOWN]["figures"]
    summary, tests = read_summary(folder / SUMMARY, shown), read_tests(folder / TESTS)
    results = read_results(folder / RESULTS, summary)
    with tempfile.TemporaryDirectory() as place:
        draw_all(results, shown, Path(place), ["png"])
        write_page(
            save,
            "studies/compare/page.html",
            title=f"Comparison on {record['trace']}",
            record=record,
            accounts=accounts_in(record.get("account")),
            windows=windows_in_words(summary, record),
            summary=summary_lines(summary, shown),
            figures=all_figures(summary),
            reference=summary[0]["reference"],
            differences=difference_lines(summary, shown),
            boxes=Path(place) / f"{BOXES}.png",
            ranking=Path(place) / f"{RANKING}.png",
            tests=lines_of(tests),
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
    shown = record.get(SHOWN)
    names = shown.get("figures") if isinstance(shown, dict) else None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ResultsError(f"{path}: {SHOWN}: does not say which figures; run the comparison again")
    try:
        figures_named(",".join(names))
    except OptionsError as cause:
        raise ResultsError(f"{path}: {SHOWN}: {cause}") from cause
    return record


def accounts_in(account: Any) -> list[str]:
    """Return what a record says of the jobs that were left out, changed and guessed; one line for each workload."""
    if not isinstance(account, dict):
        return []
    if isinstance(summary := account.get("summary"), str):
        return [summary]
    return [f"{name}: {one['summary']}" for name, one in account.items() if isinstance(one, dict) and "summary" in one]


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
    odd = next((row for row in rows if any(abs(row[name]) > FIGURE.most for name in FIGURES)), None)  # NaN: unknown
    if odd is not None:
        raise ResultsError(f"{path}: window {odd[WINDOW]} of {odd[POLICY]}: has a figure that no schedule has")
    return rows


def read_summary(path: Path, shown: Sequence[str]) -> Rows:
    """Return the summary of a comparison that shows some figures, which may be unknown.

    Raises:
        ResultsError: it is none.
    """
    columns = (POLICY, "windows", "reference", *FIGURES, *(f"{name}{end}" for name in shown for end in BOUNDS))
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


def all_figures(summary: Rows) -> list[list[Any]]:
    """Return titles, and a line of every figure with its value for every policy."""
    explained = pieces().explained
    rows = [
        [explained(label(name), FIGURES[name].meaning), *(known(row[name], ",.5g") for row in summary)]
        for name in FIGURES
        if name in summary[0]
    ]
    return [["figure", *(row[POLICY] for row in summary)], *rows]


def lines_of(tests: Rows) -> list[list[str]]:
    """Return the tests, a line each."""
    return [
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
