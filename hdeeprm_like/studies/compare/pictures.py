"""The pictures of a comparison: the spread over windows, and the ranks of the policies."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.results.pictures import COLOURS, GREY, LIGHT_BOXES, PAGE, Look, picture
from hdeeprm_like.studies.compare.figures import BOXES, RANKING, largest_of, scale_of, title_of, with_tails
from hdeeprm_like.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS = 4  # panels beside one another
MOST_TICKS = 5  # numbers of an axis that have room beside one another
MARKERS = "osD^vP*X"  # of the ranks, figure by figure


def draw_all(
    results: Sequence[dict[str, Any]], shown: Sequence[str], folder: Path, formats: Sequence[str], style: str = "screen"
) -> None:
    """Draw both pictures of the *shown* figures into a folder, in some formats and a style of `Look`."""
    table = pd.DataFrame(results)
    for ending in formats:
        draw_boxes(table, shown, folder / f"{BOXES}.{ending}", Look(style=style))
        draw_ranking(table, shown, folder / f"{RANKING}.{ending}", Look(style=style))


def look_of(look: Look, lines: int, width: float) -> Look:
    """Return the look of a picture with so many lines of text below one another, for a page of a paper if it is wide.

    Args:
        width: inches on a paper.
    """
    return replace(look, size=(width, 0.75 + 0.17 * lines)) if look.style == "paper" else look


def log_axis(axes: "Axes", values: Floats) -> None:
    """Give the horizontal axis a logarithmic scale with plain numbers."""
    axes.set_xscale("log")
    decades = range(int(np.floor(np.log10(values.min()))), int(np.ceil(np.log10(values.max()))) + 1)
    steps = (1,) if len(decades) > 3 else (1, 3) if len(decades) == 3 else (1, 2, 5)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    ticks = [tick for tick in ticks if 0.8 * values.min() <= tick <= 1.25 * values.max()]
    ticks = ticks[:: -(-len(ticks) // MOST_TICKS)] if ticks else []
    axes.set_xticks(ticks, [f"{tick:,.10g}" for tick in ticks])
    axes.xaxis.set_minor_formatter(lambda tick, place: "")


def draw_boxes(table: pd.DataFrame, shown: Sequence[str], save: Path, look: Look) -> None:
    """Draw figures and their tails over the windows, a panel each with a box per policy."""
    policies, panels = list(dict.fromkeys(table["policy"])), with_tails(shown)
    rows = -(-len(panels) // ACROSS)
    across = -(-len(panels) // rows)
    look = look_of(look, rows * (len(policies) + 2), PAGE[0])
    with picture(save, width=15.0, height=0.5 + rows * (1.5 + 0.38 * len(policies)), look=look) as figure:
        grid = figure.subplots(rows, across, sharey=True, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes, name in zip(grid.flat, panels, strict=False):
            scale, unit, _ = scale_of(name, largest_of(table[name].to_list()))
            values = [table.loc[table["policy"] == policy, name].to_numpy(np.float64) / scale for policy in policies]
            axes.boxplot(values, orientation="horizontal", **LIGHT_BOXES)
            title = title_of(name)
            axes.set_title(title[0].upper() + title[1:] + (f" ({unit.strip()})" if unit else ""), fontsize="medium")
            axes.grid(axis="y", visible=False)
            known = np.concatenate(values)
            known = known[np.isfinite(known)]
            if FIGURES[name].unit != "%" and len(known) and known.min() > 0.0:
                log_axis(axes, known)
        for axes in grid[:, 0]:
            axes.set_yticks(range(1, len(policies) + 1), policies)
        grid[0, 0].invert_yaxis()
        windows = table["window"].nunique()
        if look.style != "paper":
            text = f"over {windows} window{'s' if windows > 1 else ''}; boxes hold the middle half"
            figure.supxlabel(text, fontsize="small")


def draw_ranking(table: pd.DataFrame, shown: Sequence[str], save: Path, look: Look) -> None:
    """Draw the average rank of each policy over the windows by each figure, the best on top; 1 is the best."""
    ranks = {}
    for name in shown:
        wide = table.pivot(index="window", columns="policy", values=name)
        ranks[name] = wide.rank(axis=1, ascending=not FIGURES[name].more_is_better).mean()
    order = ranks[shown[0]].sort_values(kind="stable").index
    places, beside = np.arange(len(order)), np.linspace(-0.15, 0.15, len(shown)) if len(shown) > 1 else [0.0]
    height = 1.8 + 0.42 * len(order)
    with picture(save, width=9.0, height=height, look=look_of(look, len(order) + 3, PAGE[0] / 2)) as figure:
        axes = figure.subplots()
        for place, policy in enumerate(order):
            own = [float(ranks[name][policy]) for name in shown]
            axes.plot([min(own), max(own)], [place, place], color=GREY, linewidth=1.0, zorder=1)
        for number, (name, shift) in enumerate(zip(shown, beside, strict=True)):
            axes.scatter(  # beside one another, because equal ranks would hide all but one
                ranks[name][order],
                places + shift,
                color=COLOURS[number % len(COLOURS)],
                marker=MARKERS[number % len(MARKERS)],
                s=15 if look.style == "paper" else 55,
                label=title_of(name),
                zorder=2,
            )
        axes.set_yticks(places, list(order))
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.set_xlim(0.7, len(order) + 0.3)
        axes.set_xlabel("average rank over the windows (1 is the best)")
        figure.legend(loc="outside upper right", ncols=2 if look.style == "paper" else 4, fontsize="small")
