"""Format a comparison as text."""

import math
from collections.abc import Sequence
from typing import Any

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.results.report import format_table, labelled, unit_of_energy
from hdeeprm_like.studies.compare.run import POLICY
from hdeeprm_like.studies.compare.statistics import ONE_SAMPLE, RANKED_BY, Rows

PER_HOUR = 3600.0
SHOWN_P = 0.0001  # smaller ones are shown as "< 0.0001"


def format_summary(summary: Rows, energy: bool = False) -> str:
    """Return the main figures of a summary as text; *energy* is that of `summary_lines`."""
    return aligned(summary_lines(summary, energy))


def summary_lines(summary: Rows, energy: bool = False) -> list[list[str]]:
    """Return titles and then a line for each policy; tails are beside means, so that starvation is visible.

    Args:
        energy: whether to show it; on a pool of cores it follows from the utilization.
    """
    titles = ["policy", "bounded slowdown", "95 % interval", "std. dev.", "p95", "max", "mean wait", "p95 wait"]
    titles += ["max wait", "AWRT", "utilization"]
    hours = ("wait", "wait_p95", "wait_max", "area_weighted_response_time")
    lines = [titles + ["energy"] * energy]
    known_energy = [row["energy"] for row in summary if not math.isnan(row["energy"])]
    scale, unit = unit_of_energy(max(known_energy, default=math.nan))
    for row in summary:
        line = [
            row[POLICY],
            f"{row[RANKED_BY]:,.2f}",
            interval(row, RANKED_BY),
            known(row[f"{RANKED_BY}_std"], ",.2f"),
            f"{row['bounded_slowdown_p95']:,.1f}",
            f"{row['bounded_slowdown_max']:,.1f}",
            *(f"{row[name] / PER_HOUR:,.2f} h" for name in hours),
            f"{100 * row['utilization']:.1f} %",
        ]
        lines.append(line + [f"{known(row['energy'] / scale, ',.2f')} {unit}"] * energy)
    return lines


def format_differences(summary: Rows, tests: Rows, named: bool) -> str:
    """Return the differences of the policies to the reference as text, and whether any differ at all.

    Args:
        tests: of `statistics.p_values_of`.
        named: whether the user has named the reference.
    """
    lines = difference_lines(summary)
    if len(lines) == 1:
        return ""
    why = "" if named else ", which has the lowest mean bounded slowdown"
    pairs = "pairs with the reference" if named else "all pairs"
    text = f"against {summary[0]['reference']}{why}:\n{aligned(lines)}"
    if summary[0]["windows"] > 1:
        text += f"intervals by the bootstrap over the windows; p of Wilcoxon's test, by Holm's method over {pairs}\n"
    over_all = [row for row in tests if row["test"] == "Friedman" and not math.isnan(row["p"])]
    words = [f"{FIGURES[row['figure']].title.lower()} {p_value(row['p'])}" for row in over_all]
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


def difference_lines(summary: Rows) -> list[list[str]]:
    """Return titles and then a line for each policy but the reference."""
    titles = ["bounded slowdown", "95 % interval", "ratio", "95 % interval", "p", "mean wait", "95 % interval", "p"]
    lines = [["policy", *titles]]
    for row in summary:
        if row[POLICY] == row["reference"]:
            continue
        lines.append(
            [
                row[POLICY],
                f"{row[f'{RANKED_BY}_difference']:+,.2f}",
                interval(row, f"{RANKED_BY}_difference"),
                known(row[f"{RANKED_BY}_ratio"], ",.3f"),
                interval(row, f"{RANKED_BY}_ratio", digits=3),
                p_value(row[f"{RANKED_BY}_p"]),
                f"{row['wait_difference'] / PER_HOUR:+,.2f} h",
                interval(row, "wait_difference", PER_HOUR),
                p_value(row["wait_p"]),
            ]
        )
    return lines


def interval(row: dict[str, Any], name: str, scale: float = 1.0, digits: int = 2) -> str:
    """Return the bounds of an interval."""
    low, high = row[f"{name}_low"] / scale, row[f"{name}_high"] / scale
    return "-" if math.isnan(low) else f"{low:,.{digits}f} to {high:,.{digits}f}"


def known(value: float, form: str) -> str:
    """Return a number, or a dash where it is not known."""
    return "-" if math.isnan(value) else format(value, form)


def p_value(p: float) -> str:
    """Return a p-value with two significant digits."""
    return f"< {SHOWN_P:.4f}" if p < SHOWN_P else known(p, ".4f")


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Return lines of cells, the first cell of each on the left and the others on the right of their columns."""
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return "".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True))]
        )
        + "\n"
        for line in lines
    )


def format_all(summary: Rows) -> str:
    """Return all figures of a summary as text, one row each, with the difference to the first policy."""
    import pandas as pd

    return format_table(labelled(pd.DataFrame(summary).set_index(POLICY)[list(FIGURES)].T))
