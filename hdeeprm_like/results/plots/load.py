"""How many jobs wait and how many cores are busy over time, on the whole machine and on each node."""

from collections.abc import Mapping

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hdeeprm_like.cluster import metrics
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.results.core_intervals import spread
from hdeeprm_like.results.pictures import (
    BLUE,
    ORANGE,
    RED,
    from_zero,
    legend_above,
    note,
    shortened,
    time_axis,
    unit_of_time,
)
from hdeeprm_like.results.plots.charts import NO_JOBS, draw_steps
from hdeeprm_like.results.power import consumed
from hdeeprm_like.results.run_reader import Run
from hdeeprm_like.types import Floats, Ints

PLATFORM = "platform.xml"
STRETCHES = 600  # of time: columns of the picture
GROUPS = 64  # of cores, where the nodes are not known


def utilization(figure: Figure, run: Run) -> None:
    """Draw the busy cores over time."""
    axes = figure.subplots()
    _draw_utilization(axes, run, time_axis(axes, run.end))
    from_zero(axes)
    axes.set_ylabel("busy cores")


def queue_size(figure: Figure, run: Run) -> None:
    """Draw the cores that the waiting jobs ask for over time."""
    axes = figure.subplots()
    _draw_queue(axes, run, time_axis(axes, run.end))
    from_zero(axes)
    axes.set_ylabel("cores requested by waiting jobs")


def job_load(figure: Figure, run: Run) -> None:
    """Draw length and load of the queue over time, L(t) and D(t) of Deep Back-Filling, section II.A."""
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1))
    seconds = time_axis(below, run.end)
    above.set_ylabel("waiting jobs")
    below.set_ylabel("core hours that they ask for")
    jobs, ran, requested = run.jobs, run.jobs.ran, run.requests.time
    if not ran.any():
        note(above, NO_JOBS)
        return
    times, waiting = metrics.queue_length(jobs.submit[ran], jobs.start[ran])
    draw_steps(above, times / seconds, waiting, ORANGE)
    if requested is None:
        note(below, "no workload.json gives the requested times")
    else:
        times, load = metrics.job_load(jobs.submit[ran], jobs.start[ran], jobs.size[ran], requested[ran])
        draw_steps(below, times / seconds, load / 3600.0, BLUE)
    for axes in (above, below):
        from_zero(axes)


def power(figure: Figure, run: Run) -> None:
    """Draw the power of all cores over time."""
    used = consumed(run)
    axes = figure.subplots()
    seconds = time_axis(axes, run.end)
    if not len(used.times):
        note(axes, NO_JOBS)
        return
    scale, unit = scaled(float(used.watts.max()))
    draw_steps(axes, used.times / seconds, used.watts / scale, BLUE)
    span = float(used.times[-1] - used.times[0])
    mean = float(used.joules[-1] - used.joules[0]) / span if span > 0.0 else float(used.watts[-1])
    axes.axhline(mean / scale, linestyle="--", color="black", label=f"mean {mean / scale:.4g} {unit}")
    axes.plot(
        [], [], " ", label=f"most {used.watts.max() / scale:.4g} {unit}, least {used.watts.min() / scale:.4g} {unit}"
    )
    from_zero(axes)
    axes.set_ylabel(f"power ({unit})")
    legend_above(axes)


def scaled(watts: float) -> tuple[float, str]:
    """Return the unit of a power in W, and its name."""
    return next(((size, name) for size, name in ((1e6, "MW"), (1e3, "kW")) if watts >= size), (1.0, "W"))


def side_by_side(figure: Figure, runs: Mapping[str, Run]) -> None:
    """Draw utilization and queue size of several runs above one another, on common axes."""
    grid = figure.subplots(len(runs), 2, sharex=True, sharey="col", squeeze=False)
    seconds, unit = unit_of_time(max(run.end for run in runs.values()))
    for (name, run), (left, right) in zip(runs.items(), grid, strict=True):
        _draw_utilization(left, run, seconds)
        _draw_queue(right, run, seconds)
        left.set_title(shortened(name, 40), loc="left", fontsize="medium")
        left.set_ylabel("busy cores")
        right.set_ylabel("queued cores")
    for axes in grid[-1]:
        axes.set_xlabel(f"time ({unit})")
        axes.set_xlim(left=0.0)
        from_zero(axes)


def _draw_utilization(axes: Axes, run: Run, seconds: float) -> None:
    """Draw the busy cores.

    Not by evalys 4.0.7: it adds up rounded times (start = submission + waiting), so jobs that follow one another on
    a core overlap; it shows 2333 busy cores of 2280 for the 1000 recorded Gaia jobs.
    """
    jobs, ran = run.jobs, run.jobs.ran
    if not ran.any():
        note(axes, NO_JOBS)
        return
    times, busy = metrics.load(jobs.start[ran], jobs.finish[ran], jobs.held[ran])
    draw_steps(axes, times / seconds, busy, BLUE)
    mean = float(np.sum((jobs.finish - jobs.start)[ran] * jobs.held[ran])) / max(times[-1] - jobs.submit.min(), 1e-9)
    axes.axhline(run.cores, color=RED, linewidth=1.2)
    label = f"mean {mean / run.cores:.1%} of {run.cores:,} cores"
    axes.plot(np.array([jobs.submit.min(), run.end]) / seconds, [mean, mean], "--", color="black", label=label)
    legend_above(axes)


def _draw_queue(axes: Axes, run: Run, seconds: float) -> None:
    """Draw the cores that waiting jobs request; rejected jobs leave no trace of when they left the queue.

    Not by evalys 4.0.7, for the reason given at utilization.
    """
    jobs, ran = run.jobs, run.jobs.ran
    if not ran.any():
        note(axes, NO_JOBS)
        return
    times, queued = metrics.load(jobs.submit[ran], jobs.start[ran], jobs.size[ran])
    draw_steps(axes, times / seconds, queued, ORANGE)
    mean = float(np.sum((jobs.start - jobs.submit)[ran] * jobs.size[ran])) / max(run.end - jobs.submit.min(), 1e-9)
    label = f"mean {mean:,.0f}, most {queued.max():,}"
    axes.plot(np.array([jobs.submit.min(), run.end]) / seconds, [mean, mean], "--", color="black", label=label)
    if not ran.all():
        axes.plot([], [], " ", label=f"{np.sum(~ran):,} jobs that never ran are left out")
    legend_above(axes)


def nodes(figure: Figure, run: Run) -> None:
    """Draw the busy share of the cores of each node over time, white where all are idle."""
    axes = figure.subplots()
    seconds = time_axis(axes, run.end)
    if not run.jobs.ran.any():
        note(axes, NO_JOBS)
        return
    node, name = nodes_of(run)
    share = busy_shares(run, node, STRETCHES)
    ramp = matplotlib.colormaps["cividis_r"].with_extremes(under="white")
    norm = Normalize(1e-6, 1.0)
    axes.imshow(
        share,
        cmap=ramp,
        norm=norm,
        aspect="auto",
        origin="lower",
        interpolation="none",
        extent=(0.0, run.end / seconds, 0.0, len(share)),
    )
    axes.set(xlabel=axes.get_xlabel(), ylabel=name)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(False)
    bar = figure.colorbar(ScalarMappable(norm, ramp), ax=axes, label="busy share of the cores", pad=0.01, aspect=30)
    bar.set_ticks([0.25, 0.5, 0.75, 1.0])


def nodes_of(run: Run) -> tuple[Ints, str]:
    """Return (C,) the node of each core, and what to call such a row; groups of cores where the nodes are not known."""
    cores = run.cores
    if run.has(PLATFORM):
        try:
            platform = load_platform(run.path(PLATFORM))
        except PlatformError:  # of another program, which does not list the nodes
            platform = None
        if platform is not None and platform.cores == cores:
            return np.asarray(platform.processor_node[platform.core_processor]), "node"
    wide = -(-cores // GROUPS)
    return np.arange(cores) // wide, "core" if wide == 1 else f"{wide} cores"


def busy_shares(run: Run, node: Ints, stretches: int) -> Floats:
    """Return the mean busy share of the cores of each node in each of equal stretches of time: (N, stretches).

    Args:
        node: (C,) of each core, never decreasing.
    """
    jobs, count = run.jobs, int(node[-1]) + 1
    blocks = jobs.blocks[jobs.ran[jobs.blocks[:, 0]]]
    low, high = node[blocks[:, 1]], node[blocks[:, 2]]
    block = np.repeat(np.arange(len(blocks)), high - low + 1)
    own = spread(low, high - low + 1)
    begins = np.searchsorted(node, np.arange(count + 1))
    cores = np.minimum(begins[own + 1], blocks[block, 2] + 1) - np.maximum(begins[own], blocks[block, 1])
    row, width = blocks[block, 0], max(run.end, 1e-9) / stretches
    change = np.zeros((count, stretches + 2))
    for times, sign in ((jobs.start[row], 1.0), (jobs.finish[row], -1.0)):
        place = np.minimum((times / width).astype(np.int64), stretches)
        rest = place + 1 - times / width  # share of that stretch which comes after it
        np.add.at(change, (own, place), sign * cores * rest)
        np.add.at(change, (own, place + 1), sign * cores * (1.0 - rest))
    busy = np.cumsum(change, axis=1)[:, :stretches] / np.diff(begins)[:, None]
    return np.clip(np.where(busy < 1e-9, 0.0, busy), 0.0, 1.0)
