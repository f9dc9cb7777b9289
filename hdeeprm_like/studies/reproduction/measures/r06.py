"""R06: REINFORCE learns the optimal actions of the thesis' learning example."""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.experiment import Overrides, load_experiment
from hdeeprm_like.formats.shipped import examples_folder
from hdeeprm_like.inputs import read_json, read_text
from hdeeprm_like.results.pictures import BLUE, COLOURS, GREY, ORANGE, legend_above, picture
from hdeeprm_like.studies.reproduction.place import Findings, Place

OPTIMAL, BEST = "high_mem_bw", 8.4  # core policy of the optimal actions, and their reward in GFLOP/s
SURE = 0.9  # probability from which on a policy counts as having converged
LAST = 50  # episodes
CHANGE = 200  # episode from which on the thesis sees low_power become less likely
COUNTED = ("shortest-high_gflops", "first-high_mem_bw", "shortest-high_mem_bw")


def measure(place: Place) -> Findings:
    """Train with each seed and either number of simulations in an update."""
    place.example("workloads/learning.json", "learning_jobs.json")
    place.example("platforms/learning.json", "learning_platform.json")
    seeds = {"two": place.seeds, "one": place.seeds[: (len(place.seeds) + 1) // 2]}
    runs = {
        name: [place.part(f"{name}-{seed}", trained, place, name, seed) for seed in own] for name, own in seeds.items()
    }
    two = runs["two"]
    good = {name: [bool(row_of(run, OPTIMAL)[-1] > SURE) for run in found] for name, found in runs.items()}
    sure = [first_sure(run) for run, converged in zip(two, good["two"], strict=True) if converged]
    low = [row_of(run, "low_power") for run in two]
    counts = [float(np.median([run["chosen"].get(name, 0) for run in two])) for name in COUNTED]
    found = Findings(
        {
            "rewards": ", ".join(f"{value:g}" for value in sorted({r for run in two for r in run["rewards"]})),
            "converged_two": sum(good["two"]) / len(two),
            "converged_one": f"{sum(good['one'])} of {len(seeds['one'])}",
            "divergence": float(np.median(sure)) if sure else None,
            "low_power": [float(row[CHANGE:].mean() - row[:CHANGE].mean()) for row in low],
            "last_rewards": float(np.median([np.mean(np.array(run["rewards"][-LAST:]) == BEST) for run in two])),
            "selected": ", ".join(f"{count:g}" for count in counts),
        },
        notes={"divergence": f"median over the seeds that converge; from {min(sure)} to {max(sure)}" if sure else ""},
    )
    draw(place, two)
    return found


def trained(place: Place, name: str, seed: int) -> dict[str, Any]:
    """Return what a training leaves: rewards, mean probabilities of the actions, and how often each was chosen."""
    from hdeeprm_like.launch.learner import AgentChoice, Learner
    from hdeeprm_like.learning.training import Played, Training

    experiment = load_experiment(place.options(name), Overrides(seed=seed))
    learner = Learner(experiment, AgentChoice(str(examples_folder() / "agents" / "reinforce.py")))
    new_play, chosen = learner.plays(lambda number: experiment.workload), []

    def remembered(number: int) -> Any:  # in place of a batch, which would keep its actions to itself
        chosen.append(new_play(number))
        return chosen[-1]

    with tempfile.TemporaryDirectory() as folder:
        played = Played(remembered, learner.actions.names)
        Training(learner.agent, played, Path(folder), learner.training).run(quiet=True, callbacks=())
        rewards = [round(float(line), 6) for line in read_text(Path(folder) / "rewards.log", ResultsError).split()]
        probabilities = read_json(Path(folder) / "probs.json", RuntimeError)["probs"]  # type: ignore[arg-type]
    taken = Counter(int(action) for play in chosen for action in play.episode.actions)
    names = list(learner.actions.names)
    return {
        "rewards": rewards,
        "names": names,
        "probabilities": [[round(value, 5) for value in row] for row in probabilities],
        "chosen": {names[action]: count for action, count in taken.items()},
    }


def row_of(run: dict[str, Any], part: str) -> np.ndarray:
    """Return (E,) the probability of all actions whose name holds a part."""
    rows = [row for name, row in zip(run["names"], run["probabilities"], strict=True) if part in name]
    found: np.ndarray = np.sum(np.array(rows), axis=0)
    return found


def first_sure(run: dict[str, Any]) -> int:
    """Return the episode from which on the optimal actions have all but all of the probability."""
    unsure = np.flatnonzero(row_of(run, OPTIMAL) <= SURE)
    return int(unsure[-1]) + 2 if len(unsure) else 1


def draw(place: Place, runs: list[dict[str, Any]]) -> None:
    """Draw the first seed as the thesis does, and the probability of the optimal actions over all."""
    run = runs[0]
    with picture(place.folder / "learning.svg", height=7.0) as figure:
        above, below = figure.subplots(2, 1, sharex=True)
        above.plot(run["rewards"], ".", color=BLUE, markersize=3)
        above.set_ylabel("reward (GFLOP/s)")
        for name, row, colour in zip(run["names"], run["probabilities"], COLOURS, strict=False):
            below.plot(row, color=colour, label=name)
        below.set_ylabel("probability")
        below.set_xlabel("episode")
        below.legend(fontsize=8, loc="upper left")
    with picture(place.folder / "seeds.svg", height=4.0) as figure:
        axes = figure.subplots()
        rows = np.array([row_of(run, OPTIMAL) for run in runs])
        axes.plot(rows.T, color=GREY, linewidth=0.6, alpha=0.6)
        axes.plot(np.median(rows, axis=0), color=ORANGE, linewidth=2.0, label="median")
        axes.axhline(SURE, color="black", linewidth=0.8, linestyle="--")
        axes.set_xlabel("episode")
        axes.set_ylabel("probability of the optimal actions")
        legend_above(axes)
