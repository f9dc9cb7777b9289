"""What several pictures of runs are made of: charts above one another, steps over time, boxes."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hdeeprm_like.types import Floats, Ints

NO_JOBS = "no job ran"
RASTER = 2.0  # z-order under which charts with thousands of parts are drawn as one image, even in SVG and PDF


def two_charts(figure: Figure, heights: tuple[int, int] = (1, 3)) -> tuple[Axes, Axes]:
    """Return two charts above one another with a common horizontal axis.

    Args:
        heights: the relative heights of both.
    """
    above, below = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": heights})
    return above, below


def draw_steps(axes: Axes, times: Floats, amount: Floats | Ints, colour: str) -> None:
    """Draw an amount that changes at some times, as a line over a filled area.

    Args:
        times: (T,) in units of the axis, increasing. amount: (T,) from each of them on.
    """
    axes.fill_between(times, amount, step="post", color=colour, alpha=0.35, linewidth=0.0)
    axes.step(times, amount, where="post", color=colour, linewidth=1.0)


def boxes(begins: Floats, ends: Floats, bottoms: Floats | Ints, height: float) -> Any:
    """Return the corners of one box for each span of time: (n, 4, 2).

    Args:
        begins, ends, bottoms: (n,) in units of the axes. height: of all.
    """
    xs = np.stack([begins, ends, ends, begins], axis=1)
    ys = np.stack([bottoms, bottoms, bottoms + height, bottoms + height], axis=1)
    return np.stack([xs, ys], axis=2)
