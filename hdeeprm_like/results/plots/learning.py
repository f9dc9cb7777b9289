"""How trainings went: a value for each episode, which actions the agent preferred, and several side by side.

Those that differ in nothing but the seed are one curve with a band.
"""

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.training_logs import EVALUATIONS, LOSSES, PROGRESS, REWARDS
from hdeeprm_like.inputs import read_object, read_text
from hdeeprm_like.results.pictures import BLUE, COLOURS, GREEN, legend_above, note
from hdeeprm_like.results.run_reader import Run
from hdeeprm_like.types import Floats

OPTIONS = "options.json"
POINTS = 100  # of a curve of single episodes, each the mean of those around it
LOGS = {"loss": (LOSSES, BLUE), "reward": (REWARDS, GREEN)}


def action_preferences(figure: Figure, run: Run) -> None:
    """Draw the probability of each action after each training episode."""
    axes = figure.subplots()
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


def episodes(figure: Figure, run: Run, what: str) -> None:
    """Draw the loss, or the reward, of each training episode."""
    log, colour = LOGS[what]
    axes = figure.subplots()
    values = run.log(log)
    axes.set(xlabel="episode", ylabel=what, xlim=(0, len(values) + 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if not len(values):
        note(axes, "no episodes")
        return
    numbers = np.arange(1, len(values) + 1)
    axes.plot(numbers, values, ".-", color=colour, linewidth=0.6, markersize=3, alpha=0.5, label="each episode")
    window = len(values) // 20
    if window > 1:
        mean = np.convolve(values, np.full(window, 1.0 / window), mode="valid")
        label = f"mean of the last {window} episodes"
        axes.plot(numbers[window - 1 :], mean, color="black", linewidth=1.8, label=label)
        legend_above(axes)


@dataclass(frozen=True)
class Panel:
    """What is drawn beside the other curves: a column of a log."""

    title: str
    log: str
    column: str


PANELS = (
    Panel("reward of an episode", PROGRESS, "reward"),
    Panel("decisions of an episode", PROGRESS, "decisions"),
    Panel("reward when evaluated", EVALUATIONS, "reward"),
    Panel("mean slowdown when evaluated", EVALUATIONS, "mean_slowdown"),
)


def alike(runs: Mapping[str, Run]) -> dict[str, list[Run]]:
    """Return trainings by the name of the first of those whose options differ in nothing but the seed."""
    names: dict[str, str] = {}
    found: dict[str, list[Run]] = {}
    for name, run in runs.items():
        options = read_object(run.path(OPTIONS), ResultsError)
        said = json.dumps(options | {"seed": None}, sort_keys=True)
        found.setdefault(names.setdefault(said, name), []).append(run)
    return found


def learning_curves(figure: Figure, runs: Mapping[str, Run]) -> None:
    """Draw means, and bands of one standard deviation, of the trainings that have left the logs of a panel."""
    shown = [panel for panel in PANELS if any(columns_of(run, panel) is not None for run in runs.values())]
    grid = np.atleast_1d(figure.subplots(1, max(len(shown), 1)))
    for place, (name, own) in enumerate(alike(runs).items()):
        colour = COLOURS[place % len(COLOURS)]
        label = name if len(own) == 1 else f"{name} and others, {len(own)} seeds"
        for axes, panel in zip(grid, shown, strict=False):
            curves = [curve for run in own if (curve := columns_of(run, panel)) is not None]
            if not curves:
                continue
            episodes, values = together(curves)
            mean, deviation = values.mean(axis=0), values.std(axis=0)
            axes.plot(episodes, mean, color=colour, label=label)
            if len(curves) > 1:
                axes.fill_between(episodes, mean - deviation, mean + deviation, color=colour, alpha=0.2, linewidth=0)
            axes.set_title(panel.title, fontsize="medium")
            axes.set_xlabel("episode")
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")


def columns_of(run: Run, panel: Panel) -> tuple[Floats, Floats] | None:
    """Return (E,) episodes and (E,) values of a log; None where the training has not left them."""
    if not run.has(panel.log):
        return None
    path = run.path(panel.log)
    names, *rows = [*csv.reader(read_text(path, ResultsError).splitlines())] or [[]]
    if not rows or panel.column not in names:
        return None
    try:
        columns = [
            np.array([float(row[names.index(name)]) for row in filter(None, rows)])
            for name in ("episode", panel.column)
        ]
    except (csv.Error, IndexError, ValueError) as error:
        raise ResultsError(f"{path}: column {panel.column}: {error}; numbers are needed") from error
    if panel.log == PROGRESS and len(rows) > 2 * POINTS:
        columns = [smoothed(values) for values in columns]
    return columns[0], columns[1]


def smoothed(values: Floats) -> Floats:
    """Return (POINTS,) means of consecutive values."""
    return np.array([part.mean() for part in np.array_split(values, POINTS)])


def together(curves: Iterable[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the episodes that all curves have come to, and (curves, episodes) values."""
    curves = list(curves)
    least = min(len(episodes) for episodes, _ in curves)
    return curves[0][0][:least], np.array([values[:least] for _, values in curves])
