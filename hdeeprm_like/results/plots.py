"""Pictures of finished runs (thesis 4.3, 5.2 to 5.4, E.2).

| kind | shows | needs |
|---|---|---|
| queue_size | cores that the waiting jobs ask for | out_jobs.csv |
| job_load | how many jobs wait, and the core hours that they ask for | out_jobs.csv, workload.json |
| utilization | cores that run jobs | out_jobs.csv |
| lifecycle | when jobs of each size arrived, started, completed | out_jobs.csv |
| gantt, gantt_no_label | which cores ran which job | out_jobs.csv |
| core_bubbles, mem_bubbles | when a job could not start for want of cores or memory | overutilizations.json |
| mem_bw_overutilization | when which processor's memory bandwidth was oversubscribed | overutilizations.json |
| losses, rewards | one value per training episode | losses.log, rewards.log |
| action_preferences | the probability of each action, per training episode | probs.json |
"""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hdeeprm_like.cluster import metrics
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.results.pictures import (
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    ORANGE,
    RED,
    check_format,
    from_zero,
    legend_above,
    note,
    picture,
    shortened,
    time_axis,
    unit_of_time,
)
from hdeeprm_like.results.run_reader import LOSSES, REWARDS, Run, RunJobs, open_run, open_runs
from hdeeprm_like.types import Floats, Ints

NO_JOBS = "no job ran"
RASTER = 2.0  # z-order under which charts with thousands of parts are drawn as one image, even in SVG and PDF
STAGES = (("arrived", BLUE, "o"), ("started", ORANGE, ">"), ("completed", GREEN, "s"))


def draw(kind: str, run: Path, save: Path | None = None) -> None:
    """Draw one picture of a finished run into a file, or in a window without *save*.

    Args:
        kind: a name in KINDS.
        run: the run's directory.
        save: a .png, .svg or .pdf; it appears whole or not at all.

    Raises:
        OptionsError: the kind or the file's suffix is not known.
        ResultsError: the run lacks the file that the picture needs, or there is no display for a window.
    """
    if kind not in KINDS:
        raise OptionsError(f"there is no picture {kind!r}{did_you_mean(kind, KINDS)}")
    check_format(save)
    opened = open_run(run)
    with picture(save) as figure:
        KINDS[kind](figure, opened)


def compare(runs: Sequence[Path], save: Path | None = None) -> None:
    """Draw utilization and queue size of several runs above one another, on common axes.

    Raises:
        OptionsError, ResultsError: as for `draw`.
    """
    check_format(save)
    opened = open_runs(runs)
    with picture(save, width=13.0, height=1.6 + 1.9 * len(opened)) as figure:
        figure.suptitle("Utilization and queue size")
        grid = figure.subplots(len(opened), 2, sharex=True, sharey="col", squeeze=False)
        seconds, unit = unit_of_time(max(run.end for run in opened.values()))
        for (name, run), (left, right) in zip(opened.items(), grid, strict=True):
            _draw_utilization(left, run, seconds)
            _draw_queue(right, run, seconds)
            left.set_title(shortened(name, 40), loc="left", fontsize=11)
            left.set_ylabel("busy cores")
            right.set_ylabel("queued cores")
        for axes in grid[-1]:
            axes.set_xlabel(f"time ({unit})")
            axes.set_xlim(left=0.0)
            from_zero(axes)


def _utilization(figure: Figure, run: Run) -> None:
    axes = _one_chart(figure, "Utilization", run)
    _draw_utilization(axes, run, time_axis(axes, run.end))
    from_zero(axes)
    axes.set_ylabel("busy cores")


def _queue_size(figure: Figure, run: Run) -> None:
    axes = _one_chart(figure, "Queue size", run)
    _draw_queue(axes, run, time_axis(axes, run.end))
    from_zero(axes)
    axes.set_ylabel("cores requested by waiting jobs")


def _job_load(figure: Figure, run: Run) -> None:
    """Draw length and load of the queue over time, L(t) and D(t) of Deep Back-Filling, section II.A."""
    above, below = _two_charts(figure, "Length and load of the queue", run, heights=(1, 1))
    seconds = time_axis(below, run.end)
    above.set_ylabel("waiting jobs")
    below.set_ylabel("core hours that they ask for")
    jobs, ran, requested = run.jobs, run.jobs.ran, run.requests.time
    if not ran.any():
        note(above, NO_JOBS)
        return
    times, waiting = metrics.queue_length(jobs.submit[ran], jobs.start[ran])
    _draw_load(above, times / seconds, waiting, ORANGE)
    if requested is None:
        note(below, "no workload.json tells the requested times")
    else:
        times, load = metrics.job_load(jobs.submit[ran], jobs.start[ran], jobs.size[ran], requested[ran])
        _draw_load(below, times / seconds, load / 3600.0, BLUE)
    for axes in (above, below):
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
    _draw_load(axes, times / seconds, busy, BLUE)
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
    _draw_load(axes, times / seconds, queued, ORANGE)
    mean = float(np.sum((jobs.start - jobs.submit)[ran] * jobs.size[ran])) / max(run.end - jobs.submit.min(), 1e-9)
    label = f"mean {mean:,.0f}, most {queued.max():,}"
    axes.plot(np.array([jobs.submit.min(), run.end]) / seconds, [mean, mean], "--", color="black", label=label)
    if not ran.all():
        axes.plot([], [], " ", label=f"{np.sum(~ran):,} jobs that never ran are left out")
    legend_above(axes)


def _lifecycle(figure: Figure, run: Run) -> None:
    """Draw three bands, one per stage of a job, with a line through the stages of each job (thesis figure 5.1).

    Not by evalys 4.0.7: it takes the size from the cores that a job got, so a rejected job has none, and its two
    patches per job take seconds for 1000 jobs.
    """
    axes = _one_chart(figure, "Job life cycles", run)
    jobs = run.jobs
    seconds = time_axis(axes, max(run.end, float(jobs.submit.max(initial=0.0))))
    axes.set_yticks([])
    if not len(jobs):
        note(axes, "no jobs")
        return
    band = 1.15 * jobs.size.max()  # height of a band in cores
    times = np.stack([jobs.submit, jobs.start, jobs.finish], axis=1) / seconds  # (J, 3)
    heights = jobs.size[:, None] + band * np.arange(3)  # (J, 3)
    lines = np.stack([times, heights], axis=2)[jobs.ran]  # (J, 3, 2)
    axes.add_collection(LineCollection(list(lines), colors=GREY, linewidths=0.5, alpha=0.25, zorder=1.0))
    for place, (stage, colour, marker) in enumerate(STAGES):
        label = f"{stage}: {np.isfinite(times[:, place]).sum():,}"
        axes.plot(
            times[:, place], heights[:, place], marker, color=colour, markersize=4, alpha=0.6, label=label, zorder=1.5
        )
        axes.axhline(place * band, color="black", linewidth=0.8, zorder=RASTER)
    axes.set_rasterization_zorder(RASTER)
    ticks = _ticks(int(jobs.size.max()))
    axes.set_yticks([place * band + tick for place in range(3) for tick in ticks], [str(tick) for tick in ticks] * 3)
    axes.set_ylim(0.0, 3 * band)
    axes.set_ylabel("requested cores, per stage")
    legend_above(axes, reverse=True)


def _gantt(figure: Figure, run: Run, labels: bool) -> None:
    """Draw the cores of each job over its run time, by evalys.

    Its labels are not used: they name a job again on each stretch of its cores, on top of one another. Here a job is
    named once, on its widest stretch, if the name fits in.
    """
    axes = _one_chart(figure, "Gantt chart", run)
    jobs = run.jobs
    seconds = time_axis(axes, run.end)
    axes.set_ylabel("core")
    axes.set_ylim(0.0, run.cores)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    if not jobs.ran.any():
        note(axes, NO_JOBS)
        return
    limits = axes.get_xlim()
    _draw_gantt_by_evalys(axes, jobs, run.cores, seconds)
    if run.cores > 100:  # cores thinner than a pixel: black outlines would hide the jobs, snapping would lose them
        for rectangle in axes.patches:
            rectangle.set(snap=False, linewidth=0.25, edgecolor=rectangle.get_facecolor())
    axes.set(title="", xlim=limits, ylim=(0.0, run.cores), ylabel="core")
    axes.grid(False)
    axes.set_rasterization_zorder(RASTER)
    if labels:
        named = _label_jobs(axes, jobs, seconds)
        if named < jobs.ran.sum():
            axes.set_title(
                f"{named} of {jobs.ran.sum()} jobs are large enough to name", loc="center", fontsize=9, color=GREY
            )


def _draw_gantt_by_evalys(axes: Axes, jobs: RunJobs, cores: int, seconds: float) -> None:
    rows = np.flatnonzero(jobs.ran)
    with warnings.catch_warnings():
        # evalys and what it imports were written for older pandas and numpy; their warnings are not the user's
        warnings.filterwarnings("ignore", module=r".*(evalys|procset|seaborn)")
        from evalys.jobset import JobSet
        from evalys.visu.legacy import plot_gantt
        from procset import ProcInt, ProcSet

        stretches = np.split(jobs.blocks[:, 1:], np.searchsorted(jobs.blocks[:, 0], np.arange(1, len(jobs))))
        frame = pd.DataFrame(
            {
                "job_id": [jobs.ids[row].rpartition("!")[2] for row in rows],
                "workload_name": [jobs.ids[row].rpartition("!")[0] for row in rows],
                "submission_time": jobs.submit[rows] / seconds,
                "starting_time": jobs.start[rows] / seconds,
                "execution_time": (jobs.finish - jobs.start)[rows] / seconds,
                "finish_time": jobs.finish[rows] / seconds,
                "waiting_time": jobs.wait[rows] / seconds,
                "allocated_resources": [ProcSet(*(ProcInt(*pair) for pair in stretches[row].tolist())) for row in rows],
            }
        )
        # its default precision of 6 digits would round days to a tenth of a second
        jobset = JobSet(frame, resource_bounds=(0, cores - 1), float_precision=12)
        plot_gantt(jobset, ax=axes, labels=False, palette=COLOURS[:-1], alpha=1.0)


def _label_jobs(axes: Axes, jobs: RunJobs, seconds: float) -> int:
    """Write job numbers on the stretches of cores where they fit; return how many did."""
    figure_width, figure_height = axes.get_figure(root=True).get_size_inches() * 72  # type: ignore[union-attr]
    points_x = 0.85 * figure_width / np.ptp(axes.get_xlim())  # per unit of time, about
    points_y = 0.8 * figure_height / np.ptp(axes.get_ylim())  # per core, about
    width = jobs.blocks[:, 2] - jobs.blocks[:, 1] + 1
    named = 0
    widest = {int(jobs.blocks[block, 0]): block for block in np.argsort(width, kind="stable")}
    for row, block in widest.items():
        number = jobs.ids[row].rpartition("!")[2]
        size = min(10.0, 0.9 * points_y * width[block])
        room = (jobs.finish[row] - jobs.start[row]) / seconds * points_x
        if size >= 4.0 and 0.65 * size * len(number) <= room:
            middle = (jobs.blocks[block, 1] + jobs.blocks[block, 2] + 1) / 2
            axes.text((jobs.start[row] + jobs.finish[row]) / 2 / seconds, middle, number, fontsize=size,
                      ha="center", va="center_baseline", zorder=RASTER + 1)  # fmt: skip
            named += 1
    return named


def _bubbles(figure: Figure, run: Run, resource: str, conflicts: Callable[[Run], Floats]) -> None:
    """Draw when the next job could not start for want of a resource, and how that adds up.

    The original records a time at each decision that failed, ours the span in which none could succeed.
    """
    values = conflicts(run)
    begins, ends = (values, values) if values.ndim == 1 else (values[:, 0], values[:, 1])
    above, below = _two_charts(figure, f"Bubbles: when the next job waits for {resource}", run)
    seconds = time_axis(below, max(run.end, float(ends.max(initial=0.0))))
    above.set_yticks([])
    above.grid(False)
    if not len(values):
        below.set_yticks([])
        note(below, f"no job had to wait for {resource}")
        return
    order = np.argsort(begins, kind="stable")
    if values.ndim == 1:
        above.vlines(begins / seconds, 0.0, 1.0, color=RED, linewidth=0.6, alpha=0.6)
        below.step(begins[order] / seconds, np.arange(1, len(values) + 1), where="post", color=RED)
        below.set_ylabel("failed starts so far")
    else:
        above.add_collection(
            PolyCollection(_boxes(begins / seconds, ends / seconds, np.zeros(len(values)), 1.0), color=RED)
        )
        total = np.cumsum((ends - begins)[order])  # s
        per, unit = unit_of_time(float(total[-1]))
        times = np.stack([begins[order], ends[order]], axis=1).ravel() / seconds
        below.plot(times, np.stack([total - (ends - begins)[order], total], axis=1).ravel() / per, color=RED)
        below.set_ylabel(f"{unit} in bubbles so far")
    above.set_ylim(0.0, 1.0)
    below.set_ylim(bottom=0.0)  # not from_zero: a total may stay under one unit


def _mem_bw_overutilization(figure: Figure, run: Run) -> None:
    """Draw a bar over each span in which a processor's memory bandwidth was oversubscribed (thesis figure 5.9)."""
    told = run.overutilizations
    above, below = _two_charts(figure, "Memory bandwidth overutilization", run, heights=(3, 1))
    finite = told.bandwidth[np.isfinite(told.bandwidth)]
    end = max(run.end, float(finite.max(initial=0.0)))
    seconds = time_axis(below, end)
    above.set_ylim(0, told.processors)
    above.set_ylabel("processor")
    above.yaxis.set_major_locator(MaxNLocator(integer=True))
    below.set_ylabel("processors\nat once")
    below.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    if not len(told.bandwidth):
        note(above, "no processor was oversubscribed")
        return
    begins, ends = told.bandwidth[:, 0], np.minimum(told.bandwidth[:, 1], end)
    height = 0.9 if told.processors <= 100 else 1.0  # no gaps where a processor is thinner than a few pixels
    boxes = _boxes(begins / seconds, ends / seconds, told.bandwidth_processor, height)
    above.add_collection(PolyCollection(boxes, facecolor=RED, edgecolor="none", zorder=1.0))
    above.set_rasterization_zorder(RASTER)
    times, count = metrics.load(begins, ends, np.ones(len(begins), dtype=np.int64))
    _draw_load(below, times / seconds, count, RED)
    from_zero(below)


def _per_episode(figure: Figure, run: Run, what: str, log: str, colour: str) -> None:
    axes = _one_chart(figure, f"{what} per episode", run)
    values = run.log(log)
    axes.set(xlabel="episode", ylabel=what.lower(), xlim=(0, len(values) + 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if not len(values):
        note(axes, "no episodes")
        return
    episodes = np.arange(1, len(values) + 1)
    axes.plot(episodes, values, ".-", color=colour, linewidth=0.6, markersize=3, alpha=0.5, label="each episode")
    window = len(values) // 20
    if window > 1:
        mean = np.convolve(values, np.full(window, 1.0 / window), mode="valid")
        label = f"mean of the last {window} episodes"
        axes.plot(episodes[window - 1 :], mean, color="black", linewidth=1.8, label=label)
        legend_above(axes)


def _action_preferences(figure: Figure, run: Run) -> None:
    axes = _one_chart(figure, "Action preferences", run)
    probabilities = run.preferences()  # (A, E)
    axes.set(xlabel="episode", ylabel="probability", ylim=(0.0, 1.0))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if not probabilities.size:
        note(axes, "no episodes")
        return
    names = run.action_names(len(probabilities))
    episodes = np.arange(1, probabilities.shape[1] + 1)
    ranked = np.argsort(-probabilities[:, -1], kind="stable")
    for place, action in enumerate(ranked.tolist()):
        among_first = place < len(COLOURS)
        label = names[action] if among_first else "others" if place == len(COLOURS) else None
        colour = COLOURS[place] if among_first else "#BBBBBB"
        marker = "." if len(episodes) == 1 else None
        axes.plot(episodes, probabilities[action], marker=marker, color=colour, label=label, zorder=3 - place / 99)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="most probable last")


def _one_chart(figure: Figure, title: str, run: Run) -> Axes:
    axes = figure.subplots()
    figure.suptitle(f"{title}\n{shortened(run.name)}", fontsize=13)
    return axes


def _two_charts(figure: Figure, title: str, run: Run, heights: tuple[int, int] = (1, 3)) -> tuple[Axes, Axes]:
    above, below = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": heights})
    figure.suptitle(f"{title}\n{shortened(run.name)}", fontsize=13)
    return above, below


def _draw_load(axes: Axes, times: Floats, amount: Floats | Ints, colour: str) -> None:
    axes.fill_between(times, amount, step="post", color=colour, alpha=0.35, linewidth=0.0)
    axes.step(times, amount, where="post", color=colour, linewidth=1.0)


def _boxes(begins: Floats, ends: Floats, bottoms: Floats | Ints, height: float) -> Any:
    """Return the corners of one box per span: (n, 4, 2)."""
    xs = np.stack([begins, ends, ends, begins], axis=1)
    ys = np.stack([bottoms, bottoms, bottoms + height, bottoms + height], axis=1)
    return np.stack([xs, ys], axis=2)


def _ticks(most: int) -> list[int]:
    """Return a few round numbers of cores from 0 to *most*."""
    return [int(tick) for tick in MaxNLocator(3, integer=True).tick_values(0, most) if 0 <= tick <= most]


KINDS: dict[str, Callable[[Figure, Run], None]] = {
    "queue_size": _queue_size,
    "job_load": _job_load,
    "utilization": _utilization,
    "lifecycle": _lifecycle,
    "gantt": partial(_gantt, labels=True),
    "gantt_no_label": partial(_gantt, labels=False),
    "core_bubbles": partial(_bubbles, resource="cores", conflicts=lambda run: run.overutilizations.core),
    "mem_bubbles": partial(_bubbles, resource="memory", conflicts=lambda run: run.overutilizations.memory),
    "mem_bw_overutilization": _mem_bw_overutilization,
    "losses": partial(_per_episode, what="Loss", log=LOSSES, colour=BLUE),
    "rewards": partial(_per_episode, what="Reward", log=REWARDS, colour=GREEN),
    "action_preferences": _action_preferences,
}
