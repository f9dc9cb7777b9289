"""How a training went: a value for each episode, and which actions the agent preferred."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hdeeprm_like.results.pictures import BLUE, COLOURS, GREEN, legend_above, note
from hdeeprm_like.results.run_reader import LOSSES, REWARDS, Run

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
