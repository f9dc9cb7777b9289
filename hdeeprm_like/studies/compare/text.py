"""A comparison as text."""

from typing import Any

import pandas as pd

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.results.report import format_table, labelled, unit_of_energy
from hdeeprm_like.studies.compare.run import POLICY


def format_summary(summary: pd.DataFrame) -> str:
    """Return the main figures of a summary as text; mean and tail stand side by side, so that starvation shows."""
    titles = [
        "policy",
        "bounded slowdown",
        "95 % interval",
        "p95",
        "max",
        "mean wait",
        "p95 wait",
        "max wait",
        "utilization",
        "energy",
    ]
    lines = [titles]
    rows: list[dict[str, Any]] = summary.to_dict("records")  # type: ignore[assignment]
    scale, unit = unit_of_energy(summary["energy"].max())
    for row in rows:
        low, high = row["bounded_slowdown_low"], row["bounded_slowdown_high"]
        lines.append(
            [
                row[POLICY],
                f"{row['bounded_slowdown']:,.2f}",
                f"{low:,.2f} to {high:,.2f}",
                f"{row['bounded_slowdown_p95']:,.1f}",
                f"{row['bounded_slowdown_max']:,.1f}",
                *(f"{row[name] / 3600:,.2f} h" for name in ("wait", "wait_p95", "wait_max")),
                f"{100 * row['utilization']:.1f} %",
                f"{row['energy'] / scale:,.2f} {unit}",
            ]
        )
    widths = [max(len(line[place]) for line in lines) for place in range(len(titles))]
    return "".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True))]
        )
        + "\n"
        for line in lines
    )


def format_all(summary: pd.DataFrame) -> str:
    """Return all figures of a summary as text, a row each, with the difference to the first policy."""
    return format_table(labelled(summary.set_index(POLICY)[list(FIGURES)].T))
