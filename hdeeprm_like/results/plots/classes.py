"""Waits, slowdowns and energy of jobs by class: of size, of run time or of user."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hdeeprm_like.cluster.metrics import bounded_slowdown
from hdeeprm_like.results.pictures import BLUE, COLOURS, GREY, log_scale, note, shortened
from hdeeprm_like.results.plots.charts import NO_JOBS, RASTER
from hdeeprm_like.results.run_parts import users_of
from hdeeprm_like.results.run_reader import JOBS, Run
from hdeeprm_like.results.run_values import table_of
from hdeeprm_like.results.units import DURATIONS, names_of_spans
from hdeeprm_like.types import Floats, Ints
from hdeeprm_like.values import FINITE

SIZES = (1, 2, 9, 65, 513)  # cores at which a class begins
TIMES = {"1 min": 60.0, "1 h": 3600.0, "6 h": 21600.0}  # s of run time at which a class begins
USERS = 5  # with the most core time
WHISKERS = (5, 95)  # percentiles
KILOWATT_HOUR = 3.6e6  # J
MOST_POINTS = 2000  # points of a curve


def classes_of(run: Run, by: str) -> tuple[list[str], Ints]:
    """Return the names of the classes that occur, and (R,) the class of each job that ran.

    Args:
        by: one of `plots.CLASSES`.

    Raises:
        ResultsError: by user, and the users are not known.
    """
    jobs, ran = run.jobs, run.jobs.ran
    if by == "size":
        names = [f"{name} core{'s' * (name != '1')}" for name in names_of_spans(SIZES, "from {}")]
        own = np.searchsorted(SIZES, jobs.size[ran], side="right") - 1
    elif by == "time":
        bounds = list(TIMES)
        middle = [f"{low} to {high}" for low, high in pairwise(bounds)]
        names = [f"below {bounds[0]}", *middle, f"from {bounds[-1]}"]
        own = np.searchsorted(list(TIMES.values()), jobs.run[ran], side="right")
    else:
        users, place = np.unique(np.array(users_of(run))[ran], return_inverse=True)
        work = np.bincount(place, weights=(jobs.run * jobs.held)[ran], minlength=len(users))
        most = np.argsort(-work, kind="stable")[:USERS].tolist()
        rank = np.full(len(users), len(most))
        rank[most] = np.arange(len(most))
        own, names = rank[place], [*(f"user {shortened(str(users[user]), 12)}" for user in most), "all others"]
    kept, own = np.unique(np.maximum(own, 0), return_inverse=True)
    return [names[one] for one in kept.tolist()], own


def ecdf(figure: Figure, run: Run, by: str) -> None:
    """Draw which share of the jobs of each class waits, or is slowed down, at most so much."""
    left, right = figure.subplots(1, 2, sharey=True)
    if not run.jobs.ran.any():
        note(left, NO_JOBS)
        return
    names, own = classes_of(run, by)
    for axes, values in ((left, waits_of(run)), (right, slowdowns_of(run))):
        for place, name in enumerate(names):
            draw_shares(axes, values[own == place], COLOURS[place], f"{name} ({np.sum(own == place):,})")
        if len(names) > 1:
            draw_shares(axes, values, COLOURS[-1], f"all ({len(values):,})", "--")
        axes.set_ylim(0.0, 1.02)
    wait_axis(left, "x")
    log_scale(right, "x")
    left.set(ylabel="share of the jobs")
    right.set(xlabel="bounded slowdown")
    right.legend(loc="lower right", fontsize="small")


def boxes(figure: Figure, run: Run, by: str) -> None:
    """Draw the waits and bounded slowdowns of each class as boxes: quartiles, 5th and 95th percentile, and the mean."""
    above, below = figure.subplots(2, 1, sharex=True)
    if not run.jobs.ran.any():
        note(above, NO_JOBS)
        return
    names, own = classes_of(run, by)
    for axes, values in ((above, waits_of(run)), (below, slowdowns_of(run))):
        drawn = axes.boxplot(
            [values[own == place] for place in range(len(names))],
            whis=WHISKERS,
            showfliers=False,
            showmeans=True,
            patch_artist=True,
            medianprops={"color": "black"},
            meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": "black", "markersize": 4},
        )
        for box, colour in zip(drawn["boxes"], COLOURS, strict=False):
            box.set(facecolor=colour, alpha=0.6)
        axes.grid(axis="x", visible=False)
    wait_axis(above, "y")
    log_scale(below, "y")
    below.set_ylabel("bounded slowdown")
    labels = [f"{name}\n{np.sum(own == place):,} jobs" for place, name in enumerate(names)]
    below.set_xticks(np.arange(1, len(names) + 1), labels)
    above.set_title("box: quartiles; whiskers: 5 to 95 %; diamond: mean", loc="left", fontsize="small", color=GREY)


def energy_by_job(figure: Figure, run: Run) -> None:
    """Draw the energy of each job over its core hours, and how much the jobs that use most have of the whole."""
    left, right = figure.subplots(1, 2)
    ran = run.jobs.ran
    cells = table_of(run.path(JOBS), ("consumed_energy",))["consumed_energy"] if ran.any() else ()
    energy = np.array([FINITE.in_text_or(text, np.nan) for text in cells], np.float64)[ran]
    known = energy > 0.0  # -1 where it was not measured
    if not known.any():
        note(left, "no job has a measured energy" if ran.any() else NO_JOBS)
        return
    hours = (run.jobs.run * run.jobs.held)[ran][known] / 3600.0
    joules = energy[known] / KILOWATT_HOUR
    left.plot(np.maximum(hours, 1e-3), joules, "o", color=BLUE, alpha=0.35, markersize=3, zorder=1.0)
    left.set_rasterization_zorder(RASTER)
    log_scale(left, "x")
    log_scale(left, "y")
    left.set(xlabel="core hours", ylabel="energy of the job (kWh)")
    shares = np.cumsum(np.sort(joules)[::-1]) / joules.sum()
    some = places_of(len(shares))
    right.plot((some + 1) / len(shares), shares[some], color=BLUE)
    tenth = shares[max(len(shares) // 10 - 1, 0)]
    right.set(xlabel="share of the jobs, those that use most first", ylabel="share of the energy", ylim=(0.0, 1.02))
    right.set_title(
        f"a tenth of the jobs uses {tenth:.0%} of {joules.sum():,.0f} kWh", loc="left", fontsize="small", color=GREY
    )


def waits_of(run: Run) -> Floats:
    """Return the waits of the jobs that ran, in s, at least 1, as logarithmic axes have no 0."""
    return np.maximum(run.jobs.wait[run.jobs.ran], 1.0)


def slowdowns_of(run: Run) -> Floats:
    """Return the bounded slowdowns of the jobs that ran."""
    return bounded_slowdown(run.jobs.wait[run.jobs.ran], run.jobs.run[run.jobs.ran])


def wait_axis(axes: Axes, which: str) -> None:
    """Give an axis of waits a logarithmic scale with marks at usual durations."""
    axes.set(**{f"{which}scale": "log", f"{which}label": "wait (at least 1 s)"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    marks: Sequence[tuple[str, float]] = [(name, at) for name, at in DURATIONS.items() if low <= at <= high]
    axis.set_ticks([at for _, at in marks], [name for name, _ in marks])
    axis.set_ticks([], minor=True)
    if which == "x":
        axis.set_tick_params(rotation=45)


def draw_shares(axes: Axes, values: Floats, colour: str, label: str, line: str = "-", width: float = 1.2) -> None:
    """Draw which share of some values is at most so large, as steps."""
    shares = np.arange(1, len(values) + 1) / len(values)
    some = places_of(len(values))
    axes.step(np.sort(values)[some], shares[some], line, where="post", color=colour, label=label, linewidth=width)


def places_of(count: int) -> Ints:
    """Return which of so many points a curve has, at most `MOST_POINTS`, the first and the last among them."""
    return np.unique(np.linspace(0, max(count - 1, 0), MOST_POINTS).astype(np.int64))[:count]
