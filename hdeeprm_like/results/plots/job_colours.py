"""Colours of jobs: by their wait, size, run time or user, with a colour bar or a legend, or just apart from neighbours.

All are of Okabe and Ito's palette or of viridis, whose colours differ in lightness: readers who see no hues, and
printers in grey, distinguish them.
"""

from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, SymLogNorm, to_rgb
from matplotlib.patches import Patch

from hdeeprm_like.results.pictures import COLOURS, GREY, legend_above, shortened
from hdeeprm_like.results.run_parts import users_of
from hdeeprm_like.results.run_reader import Run, RunJobs
from hdeeprm_like.results.units import DURATIONS
from hdeeprm_like.types import Floats, Ints

HUES = 61  # colours of jobs that only need to be distinguished
USERS = 7  # with a colour of their own: those with the most core time
RAMP = "viridis_r"  # the darkest is the most
MINUTE = 60.0
LABELS = {"wait": "wait", "size": "cores", "time": "run time"}


class Colouring(NamedTuple):
    """Colours of J jobs and what they mean.

    Attributes:
        colours: (J, 3) red, green and blue from 0 to 1.
        scale: of a colour bar, with its label; None where there is none.
        classes: name and colour of each entry of a legend.
    """

    colours: Floats
    scale: tuple[ScalarMappable, str] | None = None
    classes: tuple[tuple[str, Any], ...] = ()

    def explain(self, axes: Axes) -> None:
        """Draw the colour bar or the legend of what the colours mean."""
        if self.scale is not None:
            mappable, label = self.scale
            figure: Any = axes.get_figure(root=True)
            bar = figure.colorbar(mappable, ax=axes, label=label, pad=0.01, aspect=30)
            bar.minorticks_off()
            if label != LABELS["size"]:
                low, high = mappable.get_clim()  # 0 and the most
                shown = {"0": low} | {name: at for name, at in DURATIONS.items() if MINUTE <= at <= high}
                bar.set_ticks([*shown.values()], labels=[*shown])
            else:
                bar.formatter = lambda value, place: f"{value:,.0f}"
                bar.update_ticks()
        if self.classes:
            legend_above(axes, handles=[Patch(color=colour, label=name) for name, colour in self.classes])


def colouring_of(run: Run, by: str) -> Colouring:
    """Return the colours of the jobs of a run.

    Args:
        by: one of `plots.COLOURED_BY`.

    Raises:
        ResultsError: by user, and the users are not known.
    """
    jobs, ran = run.jobs, run.jobs.ran
    if by == "user":
        return by_user(run)
    if by == "job":
        return Colouring(np.array(many_colours())[colours_apart(jobs, run.cores)])
    values = {"wait": jobs.wait, "size": jobs.size.astype(np.float64), "time": jobs.run}[by]
    most = float(values[ran].max(initial=1.0))
    norm: Any = LogNorm(1.0, max(most, 2.0)) if by == "size" else SymLogNorm(MINUTE, vmin=0.0, vmax=max(most, MINUTE))
    mappable = ScalarMappable(norm, matplotlib.colormaps[RAMP])
    return Colouring(mappable.to_rgba(np.nan_to_num(values))[:, :3], (mappable, LABELS[by]))


def by_user(run: Run) -> Colouring:
    """Return a colour for each of the users with the most core time, and grey for all others."""
    jobs = run.jobs
    names, own = np.unique(np.array(users_of(run)), return_inverse=True)
    work = np.bincount(own, weights=np.nan_to_num(jobs.run) * jobs.held)
    most = np.argsort(-work, kind="stable")[:USERS]
    palette = np.tile(to_rgb(GREY), (len(names), 1))
    palette[most] = [to_rgb(colour) for colour in COLOURS[: len(most)]]
    classes = [(f"user {shortened(str(names[user]), 12)}", palette[user]) for user in most.tolist()]
    if len(names) > len(most):
        classes.append((f"{len(names) - len(most)} others", GREY))
    return Colouring(palette[own], classes=tuple(classes))


def colours_apart(jobs: RunJobs, cores: int) -> Ints:
    """Return (J,) the number of a colour below `HUES` for each job, another one than those of the jobs that it touches.

    Two jobs touch where one follows the other on a core, or runs beside it on the next one; boxes of one colour would
    merge there. A job that touches more jobs than there are colours takes the one that fewest of them have.
    """
    colours = np.zeros(len(jobs), np.int64)
    last = np.full(cores + 2, HUES)  # the colour of the last job on each core, with a free one at either end
    begins = np.searchsorted(jobs.blocks[:, 0], np.arange(len(jobs) + 1))
    for place, row in enumerate(np.argsort(jobs.start, kind="stable")):
        own = [slice(first + 1, end + 2) for _, first, end in jobs.blocks[begins[row] : begins[row + 1]].tolist()]
        if not own:
            continue
        beside = np.concatenate([last[part.start - 1 : part.stop + 1] for part in own])
        taken = np.bincount(beside, minlength=HUES + 1)[:HUES]
        colours[row] = (place + np.argmin(np.roll(taken, -place))) % HUES
        for part in own:
            last[part] = colours[row]
    return colours


def many_colours() -> list[tuple[float, float, float]]:
    """Return `HUES` colours of which any few that follow one another differ in lightness."""
    stride = 24  # of 61: any three steps lie a fifth of the ramp or so apart, also from the last to the first
    ramp = matplotlib.colormaps["viridis"]
    shades = (ramp(place * stride % HUES / (HUES - 1)) for place in range(HUES))
    return [(float(red), float(green), float(blue)) for red, green, blue, _ in shades]
