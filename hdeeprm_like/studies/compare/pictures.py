"""The pictures of a comparison: the spread over windows, and the ranks of the policies."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.results.pictures import BLUE, GREEN, GREY, ORANGE, picture
from hdeeprm_like.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RANKED = {"bounded_slowdown": BLUE, "wait": ORANGE, "utilization": GREEN}  # figures and their colours


def log_axis(axes: "Axes", values: Floats) -> None:
    """Give the horizontal axis a logarithmic scale with plain numbers."""
    axes.set_xscale("log")
    decades = range(int(np.floor(np.log10(values.min()))), int(np.ceil(np.log10(values.max()))) + 1)
    steps = (1,) if len(decades) > 3 else (1, 3) if len(decades) == 3 else (1, 2, 5)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    ticks = [tick for tick in ticks if 0.8 * values.min() <= tick <= 1.25 * values.max()]
    axes.set_xticks(ticks, [f"{tick:,.10g}" for tick in ticks])
    axes.xaxis.set_minor_formatter(lambda tick, place: "")


def draw_boxes(table: pd.DataFrame, save: Path) -> None:
    """Draw bounded slowdowns, waits and the utilization of the windows, a box per policy."""
    policies = list(dict.fromkeys(table["policy"]))
    panels = {
        "bounded_slowdown": "Mean bounded slowdown",
        "bounded_slowdown_p95": "Its 95th percentile",
        "wait": "Mean wait (hours)",
        "wait_max": "Longest wait (hours)",
        "utilization": "Utilization (%)",
    }
    with picture(save, width=15.0, height=2.0 + 0.38 * len(policies)) as figure:
        grid = figure.subplots(1, len(panels), sharey=True)
        for axes, (name, title) in zip(grid, panels.items(), strict=True):
            scale = {"wait": 1 / 3600.0, "wait_max": 1 / 3600.0, "utilization": 100.0}.get(name, 1.0)
            values = [scale * table.loc[table["policy"] == policy, name].to_numpy(np.float64) for policy in policies]
            boxes = axes.boxplot(values, orientation="horizontal", widths=0.6, patch_artist=True)
            for box in boxes["boxes"]:
                box.set_facecolor("#CFE3F1")
            for median in boxes["medians"]:
                median.set_color(BLUE)
            axes.set_title(title, fontsize=11)
            axes.grid(axis="y", visible=False)
            if name != "utilization" and min(map(np.min, values)) > 0.0:
                log_axis(axes, np.concatenate(values))
        grid[0].set_yticks(range(1, len(policies) + 1), policies)
        grid[0].invert_yaxis()
        windows = table["window"].nunique()
        figure.supxlabel(f"over {windows} window{'s' if windows > 1 else ''}; boxes hold the middle half", fontsize=9)


def draw_ranking(table: pd.DataFrame, save: Path) -> None:
    """Draw the average rank of each policy over the windows, the best on top; 1 is the best."""
    ranks = {}
    for name in RANKED:
        wide = table.pivot(index="window", columns="policy", values=name)
        ranks[name] = wide.rank(axis=1, ascending=not FIGURES[name].more_is_better).mean()
    order = ranks["bounded_slowdown"].sort_values(kind="stable").index
    with picture(save, width=9.0, height=1.8 + 0.42 * len(order)) as figure:
        axes = figure.subplots()
        places = np.arange(len(order))
        for place, policy in enumerate(order):
            own = [float(ranks[name][policy]) for name in RANKED]
            axes.plot([min(own), max(own)], [place, place], color=GREY, linewidth=1.0, zorder=1)
        for (name, colour), marker, beside in zip(RANKED.items(), "osD", (-0.15, 0.0, 0.15), strict=True):
            axes.scatter(  # beside one another, because equal ranks would hide all but one
                ranks[name][order],
                places + beside,
                color=colour,
                marker=marker,
                s=55,
                label=FIGURES[name].title.lower(),
                zorder=2,
            )
        axes.set_yticks(places, list(order))
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.set_xlim(0.7, len(order) + 0.3)
        axes.set_xlabel("average rank over the windows (1 is the best)")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, fontsize=9, borderaxespad=0.1)
