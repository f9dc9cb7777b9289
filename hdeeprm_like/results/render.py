"""Pictures of a run that goes on: which job has which cores, and the queue, until now."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hdeeprm_like.engine.state_view import cores_of
from hdeeprm_like.engine.tables import RUNNING, WAITING, Tables
from hdeeprm_like.results.pictures import ORANGE, STYLE, figure_on_display, from_zero, time_axis
from hdeeprm_like.types import Floats, Ints

MINUTE = 60.0  # s
WIDTH, HEIGHT, DPI = 8.0, 5.0, 100  # inches, inches, pixels per inch

Drawing = Callable[[Figure], None]


def draw_schedule(figure: Figure, t: Tables) -> None:
    """Draw the cores over time, the darker a job the longer it has waited, and below them what the queue asks for."""
    now, total = float(t.clock["now"][0]), int(t.processors["cores"].sum())
    known = t.jobs[: int(t.clock["submitted"][0])]
    above, below = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (2, 1)})
    seconds = time_axis(below, now)
    boxes, jobs = job_boxes(t, known, now)
    boxes[:, :, 0] /= seconds
    colours = wait_colours(known["start"] - known["submit"])[jobs]
    above.add_collection(PolyCollection(list(boxes), facecolors=colours, linewidths=0.3, edgecolors="white"))
    above.set(ylim=(0, total), ylabel="core", xlabel="")
    waiting, running = int(np.sum(known["status"] == WAITING)), int(np.sum(known["status"] == RUNNING))
    free = int(t.clock["free_cores"][0])
    above.set_title(f"{waiting} jobs wait, {running} run, {free} of {total} cores are free", loc="left")
    times, cores = queued_cores(known, now)
    below.fill_between(times / seconds, cores, step="post", color=ORANGE, alpha=0.35, linewidth=0.0)
    below.step(times / seconds, cores, where="post", color=ORANGE)
    below.set_ylabel("cores queued")
    from_zero(below)


def wait_colours(wait: Floats) -> Floats:
    """Return (J, 4) the colour of each job by its wait in s, the darkest for the longest; any for one that waits."""
    shades = np.log1p(np.nan_to_num(np.maximum(wait, 0.0)) / MINUTE)
    longest = float(shades.max(initial=0.0))
    return np.asarray(colormaps["viridis_r"](shades / longest if longest > 0.0 else shades))


def job_boxes(t: Tables, rows: NDArray[np.void], now: float) -> tuple[Floats, Ints]:
    """Return the corners of a box per job and stretch of adjacent cores, (B, 4, 2) s and cores, and its job, (B,)."""
    corners, owners = [], []
    for j in np.flatnonzero(np.isfinite(rows["start"])).tolist():
        begin, end = float(rows["start"][j]), float(rows["finish"][j])
        end = end if np.isfinite(end) else now
        cores = cores_of(t, j)
        for stretch in np.split(cores, np.flatnonzero(np.diff(cores) > 1) + 1):
            low, high = float(stretch[0]), float(stretch[-1]) + 1.0
            corners.append([(begin, low), (end, low), (end, high), (begin, high)])
            owners.append(j)
    return np.array(corners, np.float64).reshape(-1, 4, 2), np.array(owners, np.int64)


def queued_cores(jobs: NDArray[np.void], now: float) -> tuple[Floats, Floats]:
    """Return when the number of cores that waiting jobs ask for changed, (T,) s, and that number since then, (T,)."""
    waits = (jobs["status"] == WAITING) | np.isfinite(jobs["start"])
    submit, start, size = jobs["submit"][waits], jobs["start"][waits], jobs["size"][waits]
    left = np.isfinite(start)
    times = np.concatenate([[0.0], submit, start[left], [now]])
    change = np.concatenate([[0.0], size, -size[left], [0.0]])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(change[order])


def pixels(draw: Drawing) -> NDArray[np.uint8]:
    """Return a drawing as (height, width, 3) red, green and blue."""
    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI)
        canvas: Any = FigureCanvasAgg(figure)
        draw(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


class LiveWindow:
    """A window whose picture changes while a run goes on."""

    def __init__(self) -> None:
        """Open it.

        Raises:
            ResultsError: there is no display.
        """
        self._figure = figure_on_display(WIDTH, HEIGHT, "render_mode='rgb_array'")
        self._figure.show()

    def show(self, draw: Drawing) -> None:
        """Replace the picture."""
        with rc_context(STYLE):
            self._figure.clear()
            draw(self._figure)
            self._figure.canvas.draw_idle()
            self._figure.canvas.flush_events()

    def close(self) -> None:
        """Close the window."""
        from matplotlib import pyplot

        pyplot.close(self._figure)
