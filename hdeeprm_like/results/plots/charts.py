"""What several pictures of runs are made of: steps over time, boxes."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from hdeeprm_like.types import Floats, Ints

NO_JOBS = "no job ran"
MOST_STEPS = 4000  # of a line; with more it would be a solid block, so stretches of time are drawn
STRETCHES = 400  # of time, of equal length
RASTER = 2.0  # z-order under which charts with thousands of parts are drawn as one image, even in SVG and PDF


def draw_steps(axes: Axes, times: Floats, amount: Floats | Ints, colour: str) -> None:
    """Draw an amount that changes at some times, as a line over a filled area.

    Where it changes more often than `MOST_STEPS` the line is the mean of each of `STRETCHES` equal stretches of time,
    and a band reaches from the least to the most in each.

    Args:
        times: (T,) in units of the axis, increasing. amount: (T,) from each of them on.
    """
    if len(times) > MOST_STEPS:
        edges, mean, least, most = binned(times, np.asarray(amount, np.float64), STRETCHES)
        low, high, line = (np.append(values, values[-1]) for values in (least, most, mean))
        axes.fill_between(edges, low, high, step="post", color=colour, alpha=0.3, linewidth=0.0)
        axes.fill_between(edges, line, step="post", color=colour, alpha=0.25, linewidth=0.0)
        axes.step(edges, line, where="post", color=colour, linewidth=1.0)
        return
    axes.fill_between(times, amount, step="post", color=colour, alpha=0.35, linewidth=0.0)
    axes.step(times, amount, where="post", color=colour, linewidth=1.0)


def binned(times: Floats, amount: Floats, count: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the bounds of equal stretches of time, (count + 1,), and mean, least and most in each, (count,).

    Args:
        times: (T,) increasing; some may be equal. amount: (T,) from each of them on.
    """
    edges = np.linspace(times[0], times[-1], count + 1)
    total = np.concatenate([[0.0], np.cumsum(amount[:-1] * np.diff(times))])
    at = np.searchsorted(times, edges, side="right") - 1
    until = total[at] + amount[at] * (edges - times[at])
    mean = np.diff(until) / np.diff(edges)
    first, last = at[:-1], np.searchsorted(times, edges[1:], side="left")
    places = np.stack([first, np.maximum(last, first + 1)], axis=1).ravel()
    padded = np.append(amount, amount[-1])
    least, most = (reduced.reduceat(padded, places)[::2] for reduced in (np.minimum, np.maximum))
    return edges, mean, least, most


def boxes(begins: Floats, ends: Floats, bottoms: Floats | Ints, height: float) -> Any:
    """Return the corners of one box for each span of time: (n, 4, 2).

    Args:
        begins, ends, bottoms: (n,) in units of the axes. height: of all.
    """
    xs = np.stack([begins, ends, ends, begins], axis=1)
    ys = np.stack([bottoms, bottoms, bottoms + height, bottoms + height], axis=1)
    return np.stack([xs, ys], axis=2)
