"""When something was short: cores or memory for the next job, memory bandwidth for running ones."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hdeeprm_like.cluster import metrics
from hdeeprm_like.results.pictures import RED, from_zero, legend_above, note, time_axis, unit_of_time
from hdeeprm_like.results.plots.charts import RASTER, boxes, draw_steps
from hdeeprm_like.results.run_reader import Run, open_run
from hdeeprm_like.types import Floats

MANY, BINS = 200, 300  # spans that can be distinguished, and stretches of time in their place


def mem_bw_overutilization(figure: Figure, run: Run) -> None:
    """Draw a bar over each span in which a processor's memory bandwidth was oversubscribed (thesis figure 5.9)."""
    found = run.overutilizations
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    finite = found.bandwidth[np.isfinite(found.bandwidth)]
    end = max(run.end, float(finite.max(initial=0.0)))
    seconds = time_axis(below, end)
    above.set_ylim(0, found.processors)
    above.set_ylabel("processor")
    above.yaxis.set_major_locator(MaxNLocator(integer=True))
    below.set_ylabel("processors\nat once")
    below.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    if not len(found.bandwidth):
        note(above, "no processor was oversubscribed")
        return
    begins, ends = found.bandwidth[:, 0], np.minimum(found.bandwidth[:, 1], end)
    height = 0.9 if found.processors <= 100 else 1.0  # no gaps where a processor is thinner than a few pixels
    spans = boxes(begins / seconds, ends / seconds, found.bandwidth_processor, height)
    above.add_collection(PolyCollection(spans, facecolor=RED, edgecolor="none", zorder=1.0))
    above.set_rasterization_zorder(RASTER)
    times, count = metrics.load(begins, ends, np.ones(len(begins), dtype=np.int64))
    draw_steps(below, times / seconds, count, RED)
    from_zero(below)


def shares(begins: Floats, ends: Floats, end: float) -> tuple[Floats, Floats]:
    """Return (BINS + 1,) s, where stretches of equal length begin and end, and (BINS,) what share of each spans fill.

    Args:
        begins, ends: (n,) s of spans that do not overlap. end: s, of the last stretch.
    """
    edges = np.linspace(0.0, end, BINS + 1)
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], ends[order]
    done = np.concatenate([[0.0], np.cumsum(ends - begins)])
    place = np.searchsorted(begins, edges, side="right")
    last_end = np.concatenate([[0.0], ends])[place]
    filled = done[place] - np.maximum(last_end - edges, 0.0)
    return edges, np.clip(np.diff(filled) / (end / BINS), 0.0, 1.0)


def bubbles(figure: Figure, run: Run, resource: str) -> None:
    """Draw the cores that idled while the next job could not start for want of a resource, and how that adds up.

    Of more than `MANY` spans, what share of the time they fill is drawn in place of the cores. The original records a
    time at each decision that failed, ours the span in which none could succeed.
    """
    values = run.overutilizations.core if resource == "cores" else run.overutilizations.memory
    begins, ends = (values, values) if values.ndim == 1 else (values[:, 0], values[:, 1])
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 3))
    seconds = time_axis(below, max(run.end, float(ends.max(initial=0.0))))
    if not len(values) or values.ndim == 1:
        above.set_yticks([])
        above.grid(False)
    if not len(values):
        below.set_yticks([])
        note(below, f"no job had to wait for {resource}")
        return
    order = np.argsort(begins, kind="stable")
    if values.ndim == 1:
        above.vlines(begins / seconds, 0.0, 1.0, color=RED, linewidth=0.6, alpha=0.6)
        above.set_ylim(0.0, 1.0)
        below.step(begins[order] / seconds, np.arange(1, len(values) + 1), where="post", color=RED)
        below.set_ylabel("failed starts so far")
    else:
        if len(values) > MANY:  # spans thinner than a pixel would be one filled block
            times, share = shares(begins, ends, max(run.end, float(ends.max())))
            above.stairs(share, times / seconds, fill=True, color=RED)
            above.set_yticks([0.0, 1.0], ["0", "1"])
            above.set_ylabel("share of\nthe time", fontsize="small")
            above.set_ylim(0.0, 1.0)
        else:
            _idle_cores(above, run, begins[order], ends[order], seconds)
        total = np.cumsum((ends - begins)[order])  # s
        per, unit = unit_of_time(float(total[-1]))
        times = np.stack([begins[order], ends[order]], axis=1).ravel() / seconds
        below.plot(times, np.stack([total - (ends - begins)[order], total], axis=1).ravel() / per, color=RED)
        below.set_ylabel(f"{unit} in bubbles so far")
    below.set_ylim(bottom=0.0)  # not from_zero: a total may stay under one unit


def _idle_cores(axes: Axes, run: Run, begins: Floats, ends: Floats, seconds: float) -> None:
    """Draw how many cores of the machine idle in spans, and what share of it that is.

    Args:
        begins, ends: (n,) s of spans that do not overlap, in their order. seconds: in a unit of the axis.
    """
    whole = open_run(run.folder)  # cores that are busy with jobs of other users are not idle
    jobs, ran = whole.jobs, whole.jobs.ran
    times, busy = metrics.load(jobs.start[ran], jobs.finish[ran], jobs.held[ran])
    points = np.unique(np.concatenate([times, begins, ends]))
    last = np.searchsorted(begins, points, side="right")
    inside = points < np.concatenate([[-np.inf], ends])[last]
    free = whole.cores - np.concatenate([[0], busy])[np.searchsorted(times, points, side="right")]
    idle = np.where(inside, free, 0)
    draw_steps(axes, points / seconds, idle, RED)
    mean = float(np.sum(np.diff(points) * idle[:-1])) / max(float(np.sum(ends - begins)), 1e-9)
    axes.plot([], [], " ", label=f"mean {mean / whole.cores:.2%} of {whole.cores:,} cores")
    axes.set_ylabel("idle cores\nmeanwhile", fontsize="small")
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    from_zero(axes)
    legend_above(axes)
