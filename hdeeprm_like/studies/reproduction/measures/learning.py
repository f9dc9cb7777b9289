"""What the experiments with learning agents share: training that goes on when it was killed, and what it leaves."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.schedule import Schedule
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.formats.shipped import examples_folder
from hdeeprm_like.inputs import read_json
from hdeeprm_like.results.run_values import columns_of
from hdeeprm_like.run.schedules import schedule_of
from hdeeprm_like.run.simulator import Clock
from hdeeprm_like.studies.reproduction.place import CPU, PARTS, Place
from hdeeprm_like.studies.reproduction.run import cpu_seconds
from hdeeprm_like.studies.sweep.experiments import merged as merged

RECORD = "run.json"


def trained(place: Place, base: str, name: str, seed: int, agent: str = "ppo", /, **changes: Any) -> Trained:
    """Return an agent that has learned by an options file; what was trained before is not trained again.

    Args:
        base: the options file. name: of the variant, which is written out beside it. agent: the file of its class in
            ``agents/``. changes: what the variant says instead.

    Raises:
        ResultsError: an agent of that name and seed has learned by other options, as those of another budget.
    """
    from hdeeprm_like.launch.learned import train_learner

    return _trained(
        place, name, agent, merged(place.experiment.options[base], {"seed": seed, **changes}), train_learner
    )


def trained_each(
    place: Place, base: str, full: Mapping[str, Any], name: str = "", agent: str = "ppo", **changes: Any
) -> list[Trained]:
    """Return an agent for each seed, as `trained` does; *full* is what the full budget says besides."""
    more = {**changes, **full} if place.full else changes
    return [trained(place, base, name or base, seed, agent, **more) for seed in place.seeds]


def iterated(place: Place, name: str, seed: int, agent: str = "ppo") -> Trained:
    """Return an agent that has been improved by policy iteration; otherwise as `trained`."""
    from hdeeprm_like.launch.iterated import iterate_learner

    return _trained(place, name, agent, merged(place.experiment.options[name], {"seed": seed}), iterate_learner)


def _trained(place: Place, name: str, agent: str, content: dict[str, Any], learn: Callable[..., int]) -> Trained:
    """Return an agent that has learned by the content of an options file."""
    from hdeeprm_like.launch.learner import AgentChoice, Learner
    from hdeeprm_like.launch.resuming import resume_learner

    seed = content["seed"]
    folder, before = place.folder / "runs" / f"{name}-{seed}", place.folder / "options" / f"{name}-{seed}.json"
    if (folder / RECORD).exists() and read_json(before, ResultsError) != content:
        raise ResultsError(f"{folder}: has learned by other options, as of another budget; choose another folder")
    options, took = place.written(f"{name}-{seed}", content), cpu_file(place, f"{name}-{seed}")
    if is_complete(folder):
        return Trained(folder)
    if (folder / RECORD).exists():
        learn(resume_learner(folder), folder, resume=True, progress=False)
    else:
        took.unlink(missing_ok=True)  # of a training that was removed
        begun = cpu_seconds()
        learner = Learner(load_experiment(options), AgentChoice(str(examples_folder() / "agents" / f"{agent}.py")))
        learn(learner, folder, resume=False, progress=False)
        write_json(took, {"value": round(cpu_seconds() - begun, 1)}, indent=None)
    return Trained(folder)


def cpu_of_training(place: Place, agent: Trained) -> float:
    """Return the CPU time of a training in s, NaN for an interrupted and resumed one, whose first part is unknown."""
    path = cpu_file(place, agent.folder.name)
    took: float | None = read_json(path, ResultsError)["value"] if path.exists() else None
    return math.nan if took is None else took


def cpu_file(place: Place, name: str) -> Path:
    """Return the file of the CPU time of a training, which holds whatever else of the experiment is changed."""
    return place.folder / PARTS / f"{CPU}{name}.json"


def is_complete(folder: Path) -> bool:
    """Return whether a folder holds a finished training."""
    if not (folder / RECORD).exists():
        return False
    record = read_json(folder / RECORD, ResultsError)
    return bool(record.get("status") == "complete")


def progress(agent: Trained, column: str) -> np.ndarray:
    """Return (E,) a column of the log of a training, one value for each episode."""
    return columns_of(agent.folder / "progress.csv", [column])[0]


def evaluations(agent: Trained, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Return after how many episodes a training was evaluated, and a column of what was found then."""
    episodes, values = columns_of(agent.folder / "evaluations.csv", ["episode", column])
    return episodes, values


def played(agent: Trained, machine: Platform, jobs: Workload, clock: Clock = "textbook") -> Schedule:
    """Return the schedule that an agent makes of some jobs, each time by the action that it holds for the best."""
    from hdeeprm_like.launch.trained import play_trained

    return schedule_of(play_trained(agent, machine, jobs, clock), jobs)


def parameters(agent: Trained) -> int:
    """Return how many weights an agent has."""
    from hdeeprm_like.launch.trained import restored

    return sum(weights.numel() for weights in restored(agent).agent.parameters())


def held_out(agent: Trained, episodes: int) -> dict[str, list[float]]:
    """Return reward and figures of held-out episodes, which no agent has learned from or was chosen by."""
    from hdeeprm_like.experiment import episodes_of
    from hdeeprm_like.launch.learned import MEASURES
    from hdeeprm_like.launch.trained import restored
    from hdeeprm_like.learning.training import evaluate

    learner = restored(agent)
    _, _, jobs_of = episodes_of(learner.experiment)
    return evaluate(learner.agent, learner.plays(jobs_of), episodes, measures=MEASURES)
