"""When each job arrived, started and ended."""

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hdeeprm_like.results.pictures import BLUE, GREEN, GREY, ORANGE, legend_above, note, time_axis
from hdeeprm_like.results.plots.charts import RASTER
from hdeeprm_like.results.run_reader import Run

MOST_DISTINGUISHED = 200  # jobs whose life cycles can be distinguished
STAGES = (("arrived", BLUE, "o"), ("started", ORANGE, ">"), ("completed", GREEN, "s"))


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
