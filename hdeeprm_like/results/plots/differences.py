"""What differs between two schedules of the same jobs."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure

from hdeeprm_like.cluster import metrics
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.results.pictures import note, shortened
from hdeeprm_like.results.plots.charts import NO_JOBS
from hdeeprm_like.results.plots.gantt import draw_gantt
from hdeeprm_like.results.plots.job_colours import MINUTE, Colouring
from hdeeprm_like.results.run_reader import Run
from hdeeprm_like.results.units import DURATIONS
from hdeeprm_like.types import Floats

GREYED = (0.82, 0.82, 0.82)  # jobs that start at the same second, or are in one run only


def difference(figure: Figure, names: Sequence[str], runs: Sequence[Run]) -> None:
    """Draw the second of two runs, each job coloured by how much later it starts than in the first, and both queues."""
    first, second = runs
    above, below = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 1)})
    if not second.jobs.ran.any() or not first.jobs.ran.any():
        note(above, NO_JOBS)
        return
    later = start_differences(first, second)
    most = max(float(np.nanmax(np.abs(later))), MINUTE)
    mappable = ScalarMappable(SymLogNorm(MINUTE, vmin=-most, vmax=most), matplotlib.colormaps["PuOr_r"])
    colours = np.where(~(np.abs(later) >= 1.0)[:, None], GREYED, mappable.to_rgba(np.nan_to_num(later))[:, :3])
    seconds = draw_gantt(above, second, Colouring(colours))
    bar = figure.colorbar(mappable, ax=above, label="starts later by", pad=0.01, aspect=20)
    marks = [(name, at) for name, at in DURATIONS.items() if MINUTE <= at <= most][-3:]
    bar.set_ticks([-at for _, at in reversed(marks)] + [0.0] + [at for _, at in marks])
    bar.set_ticklabels([f"-{name}" for name, _ in reversed(marks)] + ["0"] + [name for name, _ in marks])
    bar.minorticks_off()
    earlier, behind = int(np.sum(later < 0.0)), int(np.sum(later > 0.0))
    text = f"{shortened(names[1], 30)}: {earlier:,} jobs start earlier than under {shortened(names[0], 30)}, "
    text += f"{behind:,} later; grey: as before"
    above.set_title(text, loc="left", fontsize="small")
    for name, run, line in zip(names, runs, ("--", "-"), strict=True):
        jobs, ran = run.jobs, run.jobs.ran
        times, queued = metrics.load(jobs.submit[ran], jobs.start[ran], jobs.size[ran])
        how = {"where": "post", "color": "black", "alpha": 0.8, "linewidth": 0.9, "label": shortened(name, 30)}
        below.step(times / seconds, queued, line, **how)
    below.set(
        xlabel=above.get_xlabel(), ylabel="queued cores", xlim=(0.0, 1.01 * max(run.end for run in runs) / seconds)
    )
    below.set_ylim(bottom=0.0)
    above.set_xlabel("")
    below.legend(fontsize="small", loc="upper right")


def start_differences(first: Run, second: Run) -> Floats:
    """Return (J,) s that each job of the second run starts later than in the first; NaN where one did not start it.

    Raises:
        ResultsError: they have no job in common.
    """
    starts = dict(zip(first.jobs.ids, first.jobs.start.tolist(), strict=True))
    later = second.jobs.start - np.array([starts.get(job, np.nan) for job in second.jobs.ids], np.float64)
    if np.isnan(later).all():
        raise ResultsError(f"{second.folder}: has no job that ran in {first.folder} too; compare runs of the same jobs")
    return later
