"""Format a comparison as text."""

import math
from collections.abc import Sequence

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.results.report import format_table, labelled
from hdeeprm_like.studies.compare.figures import largest_of, scale_of, tails_of, title_of
from hdeeprm_like.studies.compare.run import POLICY
from hdeeprm_like.studies.compare.statistics import ONE_SAMPLE, Rows

SHOWN_P = 0.0001  # smaller ones are shown as "< 0.0001"


def summary_lines(summary: Rows, shown: Sequence[str]) -> list[list[str]]:
    """Return titles and then a line for each policy: figures with their tails, the first one with its interval, too."""
    columns = [["policy", *(row[POLICY] for row in summary)]]
    for name in shown:
        columns.append([title_of(name), *numbers(summary, name, name)])
        if name == shown[0]:
            columns.append(["95 % interval", *intervals(summary, name, name)])
            columns.append(["std. dev.", *numbers(summary, f"{name}_std", name)])
        for tail in tails_of(name, shown):
            columns.append([tail.rpartition("_")[2], *numbers(summary, tail, tail)])
    return [list(line) for line in zip(*columns, strict=True)]


def numbers(rows: Rows, column: str, figure: str, sign: str = "") -> list[str]:
    """Return the cells of a column, which all have the unit that suits the largest value of their figure."""
    scale, unit, digits = scale_of(figure, largest_of([row[figure] for row in rows]))
    return [known(row[column] / scale, f"{sign},.{digits}f", unit) for row in rows]


def format_differences(summary: Rows, tests: Rows, named: bool, shown: Sequence[str]) -> str:
    """Return the differences of the policies to the reference as text, and whether any differ at all.

    Args:
        tests: of `statistics.p_values_of`.
        named: whether the user has named the reference. shown: figures.
    """
    lines = difference_lines(summary, shown)
    if len(lines) == 1:
        return ""
    best = "highest" if FIGURES[shown[0]].more_is_better else "lowest"
    why = "" if named else f", which has the {best} mean {title_of(shown[0])}"
    pairs = "pairs with the reference" if named else "all pairs"
    text = f"against {summary[0]['reference']}{why}:\n{aligned(lines, left=2)}"
    if summary[0]["windows"] > 1:
        text += f"intervals by the bootstrap over the windows; p of Wilcoxon's test, by Holm's method over {pairs}\n"
    over_all = [row for row in tests if row["test"] == "Friedman" and not math.isnan(row["p"])]
    words = [f"{title_of(row['figure'])} {p_value(row['p'])}" for row in over_all]
    return text + (f"p of Friedman's test over all policies: {', '.join(words)}\n" if words else "")


def format_published(tests: Rows) -> str:
    """Return the differences of the means of the policies to published ones as text, empty if there are none."""
    rows = [row for row in tests if row["test"] == ONE_SAMPLE]
    if not rows:
        return ""
    lines = [["policy", "figure", "published", "difference", "p"]]
    for row in rows:
        title = FIGURES[row["figure"]].title.lower()
        lines.append([row["first"], title, row["second"], known(row["difference"], "+,.5g"), p_value(row["p"])])
    return f"against published means; p of Student's one-sample t-test over the windows:\n{aligned(lines)}"


def difference_lines(summary: Rows, shown: Sequence[str]) -> list[list[str]]:
    """Return titles and then a line for each figure and each policy but the reference."""
    lines = [["figure", "policy", "difference", "95 % interval", "ratio", "95 % interval", "p"]]
    for name in shown:
        columns = [
            [title_of(name)] * len(summary),
            [row[POLICY] for row in summary],
            numbers(summary, f"{name}_difference", name, "+"),
            intervals(summary, f"{name}_difference", name),
            [known(row[f"{name}_ratio"], ",.3f") for row in summary],
            intervals(summary, f"{name}_ratio"),
            [p_value(row[f"{name}_p"]) for row in summary],
        ]
        lines += [list(line) for line in zip(*columns, strict=True) if line[1] != summary[0]["reference"]]
    return lines


def intervals(rows: Rows, column: str, figure: str = "") -> list[str]:
    """Return the bounds of intervals in the unit of a column of `numbers`, or of ratios where there is no figure."""
    scale, _, digits = scale_of(figure, largest_of([row[figure] for row in rows])) if figure else (1.0, "", 3)
    bounds = [(row[f"{column}_low"] / scale, row[f"{column}_high"] / scale) for row in rows]
    return ["-" if math.isnan(low) else f"{low:,.{digits}f} to {high:,.{digits}f}" for low, high in bounds]


def known(value: float, form: str, unit: str = "") -> str:
    """Return a number, or a dash where it is not known."""
    return "-" if math.isnan(value) else format(value, form) + unit


def p_value(p: float) -> str:
    """Return a p-value with two significant digits."""
    return f"< {SHOWN_P:.4f}" if p < SHOWN_P else known(p, ".4f")


def aligned(lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return lines of cells, the first *left* ones on the left and the others on the right of their columns."""
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    sides = [str.ljust] * left + [str.rjust] * (len(widths) - left)
    rows = (zip(sides, line, widths, strict=True) for line in lines)
    return "".join("  ".join(side(text, width) for side, text, width in row) + "\n" for row in rows)


def format_all(summary: Rows) -> str:
    """Return all figures of a summary as text, one row each, with the difference to the first policy."""
    import pandas as pd

    return format_table(labelled(pd.DataFrame(summary).set_index(POLICY)[list(FIGURES)].T))
