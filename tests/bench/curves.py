"""Draw the learning curves of searches: what the best candidate costs by its own validation windows.

``python tests/bench/curves.py runs/cold/1 runs/cold/2 --save docs/searches.svg``
"""

import argparse
import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

BROKEN = 100.0  # cost from which on a candidate breaks a constraint


def curves(run: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return generations, the least cost of each one's candidates, and that of its choice by validation.

    The least cost is NaN where all candidates break a constraint, that of the choice where nothing was validated.
    """
    rows = [json.loads(line) for line in (run / "costs.jsonl").read_text().splitlines()]
    least = np.array([min(row["costs"]) for row in rows])
    validated = np.array([row.get("validation", np.nan) for row in rows])
    least[least >= BROKEN] = np.nan
    return np.array([row["generation"] for row in rows]), least, validated


def main() -> None:
    """Draw one panel with a line for each search."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    options.add_argument("--save", required=True, type=Path, metavar="FILE.svg")
    given = options.parse_args()
    mpl.rcParams["svg.hashsalt"] = "curves"
    figure = Figure(figsize=(6.5, 3.2), layout="constrained")
    axes = figure.subplots()
    for number, run in enumerate(given.runs):
        generation, least, validated = curves(run)
        colour = f"C{number}"
        axes.plot(generation, least, color=colour, linewidth=0.8, alpha=0.5)
        kept, broken = validated < BROKEN, validated >= BROKEN
        top = np.full(int(broken.sum()), 0.98 - 0.04 * number)
        axes.plot(generation[broken], top, "x", color=colour, transform=axes.get_xaxis_transform())
        axes.plot(generation[kept], validated[kept], "o-", color=colour, label=f"seed {run.name}")
    axes.set_xlabel("generation")
    axes.set_ylabel("ln of the ratio to fcfs+easy")
    axes.legend(ncols=len(given.runs), fontsize="x-small", loc="lower left", frameon=False)
    figure.savefig(given.save, metadata={"Date": None})


if __name__ == "__main__":
    main()
