"""When each job arrived, started and ended, and which cores it had meanwhile."""

import warnings

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hdeeprm_like.results.pictures import BLUE, GREEN, GREY, ORANGE, legend_above, note, time_axis
from hdeeprm_like.results.plots.charts import NO_JOBS, RASTER
from hdeeprm_like.results.plots.job_colours import Colouring, colouring_of
from hdeeprm_like.results.run_reader import Run, RunJobs
from hdeeprm_like.types import Floats

MANY = 100  # cores from which on each is thinner than a line
MOST_DISTINGUISHED = 200  # jobs whose life cycles can be distinguished
STAGES = (("arrived", BLUE, "o"), ("started", ORANGE, ">"), ("completed", GREEN, "s"))
DARK = 0.45  # lightness below which a name is written in white


def gantt(figure: Figure, run: Run, by: str) -> None:
    """Draw the cores of each job over its run time, with the numbers of the jobs that are large enough."""
    draw_named(figure.subplots(), run, by)


def draw_named(axes: Axes, run: Run, by: str) -> None:
    """Draw the same on some axes."""
    if not run.jobs.ran.any():
        draw_gantt(axes, run, Colouring(np.zeros((0, 3))))
        return
    found = colouring_of(run, by)
    seconds = draw_gantt(axes, run, found)
    named = _label_jobs(axes, run.jobs, seconds, found.colours)
    if named < run.jobs.ran.sum():
        text = f"{named} of {run.jobs.ran.sum()} jobs are large enough to name"
        axes.set_title(text, loc="left", fontsize="small", color=GREY)


def gantt_no_label(figure: Figure, run: Run, by: str) -> None:
    """Draw the cores of each job over its run time."""
    draw_gantt(figure.subplots(), run, colouring_of(run, by) if run.jobs.ran.any() else Colouring(np.zeros((0, 3))))


def draw_gantt(axes: Axes, run: Run, colouring: Colouring) -> float:
    """Draw the cores of each job over its run time, by evalys, and return the seconds per unit of the axis.

    The labels of evalys are not used: they name a job again on each stretch of its cores, on top of one another. Here
    a job is named once, on its widest stretch, if the name fits in.
    """
    jobs = run.jobs
    seconds = time_axis(axes, run.end)
    axes.set_ylabel("core")
    axes.set_ylim(0.0, run.cores)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    if not jobs.ran.any():
        note(axes, NO_JOBS)
        return seconds
    limits, unit = axes.get_xlim(), axes.get_xlabel()
    _draw_by_evalys(axes, jobs, run.cores, seconds, colouring.colours)
    if run.cores > MANY:  # black outlines would hide the jobs, snapping would lose them
        for rectangle in axes.patches:
            rectangle.set(snap=False, linewidth=0.25, edgecolor=rectangle.get_facecolor())
    axes.set(title="", xlim=limits, ylim=(0.0, run.cores), xlabel=unit, ylabel="core")
    axes.grid(False)
    axes.set_rasterization_zorder(RASTER)
    colouring.explain(axes)
    return seconds


def _draw_by_evalys(axes: Axes, jobs: RunJobs, cores: int, seconds: float, colours: Floats) -> None:
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
        names = frame.workload_name + "!" + frame.job_id
        colour_of = {name: tuple(colour) for name, colour in zip(names, colours[rows].tolist(), strict=True)}
        plot_gantt(
            jobset,
            ax=axes,
            labels=False,
            palette=["black"],
            color_function=lambda job, palette: colour_of[f"{job['workload_name']}!{job['jobID']}"],
            alpha=1.0,
        )


def _label_jobs(axes: Axes, jobs: RunJobs, seconds: float, colours: Floats) -> int:
    """Write job numbers on the stretches of cores where they fit; return how many did."""
    figure_width, figure_height = axes.get_figure(root=True).get_size_inches() * 72  # type: ignore[union-attr]
    points_x = 0.8 * figure_width / np.ptp(axes.get_xlim())  # per unit of time, about
    points_y = 0.8 * figure_height / np.ptp(axes.get_ylim())  # per core, about
    width = jobs.blocks[:, 2] - jobs.blocks[:, 1] + 1
    named = 0
    widest = {int(jobs.blocks[block, 0]): block for block in np.argsort(width, kind="stable")}
    for row, block in widest.items():
        number = jobs.ids[row].rpartition("!")[2]
        size = min(10.0, 0.9 * points_y * width[block])
        points = (jobs.finish[row] - jobs.start[row]) / seconds * points_x
        if size >= 4.0 and 0.65 * size * len(number) <= points:
            middle = (jobs.blocks[block, 1] + jobs.blocks[block, 2] + 1) / 2
            light = float(colours[row] @ (0.299, 0.587, 0.114))
            axes.text((jobs.start[row] + jobs.finish[row]) / 2 / seconds, middle, number, fontsize=size,
                      color="white" if light < DARK else "black",
                      ha="center", va="center_baseline", zorder=RASTER + 1)  # fmt: skip
            named += 1
    return named


def lifecycle(figure: Figure, run: Run) -> None:
    """Draw three bands, one per stage of a job, with a line through the stages of each job.

    Of more than `MOST_DISTINGUISHED` jobs only the waits are drawn as lines.

    Not by evalys 4.0.7: it takes the size from the cores that a job got, so a rejected job has none, and its two
    patches per job take seconds for 1000 jobs.
    """
    axes = figure.subplots()
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
    if len(lines) <= MOST_DISTINGUISHED:
        axes.add_collection(LineCollection(list(lines), colors=GREY, linewidths=0.5, alpha=0.4, zorder=1.0))
    else:  # lines of all would be a grey tangle: those of the waits show what the policy did
        waits = lines[jobs.wait[jobs.ran] > 0.0, :2]
        faint = float(np.clip(40.0 / max(len(waits), 1), 0.05, 0.4))
        axes.add_collection(LineCollection(list(waits), colors=ORANGE, linewidths=0.7, alpha=faint, zorder=1.0))
    for place, (stage, colour, marker) in enumerate(STAGES):
        label = f"{stage}: {np.isfinite(times[:, place]).sum():,}"
        axes.plot(
            times[:, place], heights[:, place], marker, color=colour, markersize=4, alpha=0.6, label=label, zorder=1.5
        )
        axes.axhline(place * band, color="black", linewidth=0.8, zorder=RASTER)
    axes.set_rasterization_zorder(RASTER)
    most = int(jobs.size.max())
    ticks = [int(tick) for tick in MaxNLocator(3, integer=True).tick_values(0, most) if 0 <= tick <= most]
    axes.set_yticks([place * band + tick for place in range(3) for tick in ticks], [str(tick) for tick in ticks] * 3)
    axes.set_ylim(0.0, 3 * band)
    axes.set_ylabel("requested cores, per stage")
    legend_above(axes, reverse=True)
