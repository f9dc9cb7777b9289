"""What the record of a training tells so that it can go on, and reading that again."""

import hashlib
import inspect
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.experiment import Experiment, Overrides, are_options_of, load_experiment
from hdeeprm_like.formats.open import has_ending_of
from hdeeprm_like.inputs import read_json
from hdeeprm_like.launch.in_process import RECORD
from hdeeprm_like.launch.learner import AgentChoice, Learner
from hdeeprm_like.learning.agents import LearningAgent
from hdeeprm_like.learning.training import CHECKPOINT, TrainingOptions


def origin(learner: Learner, how: TrainingOptions) -> dict[str, Any]:
    """Return the entry of ``run.json`` that a training is resumed by."""
    experiment = learner.experiment
    return {
        "resumable": {
            "options": str(experiment.options_path.resolve()),
            "platform": str(experiment.platform_path.resolve()),
            "workload": str(experiment.workload_path.resolve()),
            "agent": resolved_name(learner.choice.name),
            "code": code_hash(learner.agent),
            "device": learner.choice.device,
            "input_model": resolved_path(learner.choice.input_model),
            "output_model": resolved_path(learner.choice.output_model),
            "episodes": 0 if how.steps else how.episodes,
            "envs": how.envs,
        }
    }


def code_hash(agent: LearningAgent) -> str | None:
    """Return the SHA-256 of the file that an agent's class stands in; None for one without a file."""
    file = inspect.getsourcefile(type(agent))
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file is not None else None


def resolved_path(path: Path | None) -> str | None:
    """Return an absolute path for ``run.json``."""
    return None if path is None else str(path.resolve())


def resolved_name(name: str) -> str:
    """Return an agent's name, with the absolute path if it names a file."""
    place, colon, wanted = name.rpartition(":")
    if not colon or wanted.endswith(".py"):
        place, colon, wanted = name, "", ""
    return f"{Path(place).resolve()}{colon}{wanted}" if place.endswith(".py") else name


def resume_learner(output: Path, device: str | None, episodes: int | None) -> tuple[Learner, TrainingOptions]:
    """Return the agent of the training in a directory, and the options to continue it with.

    Args:
        device: None for that of the training. episodes: in all, None for as many as at first.

    Raises:
        ResultsError: the directory holds no training.
        OptionsError: the experiment or the agent's code has changed since it began.
    """
    if not (output / RECORD).exists():
        raise ResultsError(f"{output}: has no {RECORD}; there is no training to resume, begin one with --options")
    run = read_json(output / RECORD, ResultsError)
    before = run.get("resumable") if isinstance(run, dict) else None
    if not isinstance(before, dict):
        raise ResultsError(f"{output / RECORD}: belongs to no training; name the directory of one")
    source = Path(before["workload"])
    ready = has_ending_of(source, "workload")
    model = run["options"]["workload"]["model"] is not None
    overrides = Overrides(
        platform=Path(before["platform"]),
        trace=None if ready or model else source,
        workload=source if ready and not model else None,
        seed=run["seed"],
    )
    experiment = load_experiment(Path(before["options"]), overrides)
    if not are_options_of(run["options"], experiment):
        raise OptionsError(f"{before['options']}: has changed since the training in {output} began")
    models = {name: Path(before[name]) for name in ("input_model", "output_model") if before.get(name)}
    if (output / CHECKPOINT).exists():
        models.pop("input_model", None)  # the checkpoint holds what became of those weights
    learner = Learner(experiment, AgentChoice(before["agent"], device or before["device"], **models))
    if before.get("code", code_hash(learner.agent)) != code_hash(learner.agent):
        raise OptionsError(
            f"{before['agent']}: has changed since the training in {output} began; undo that, or begin another training"
        )
    return learner, training_options(experiment, episodes or before["episodes"] or None, before["envs"])


def training_options(experiment: Experiment, episodes: int | None, envs: int | None) -> TrainingOptions:
    """Return the options file's ``training`` section, with what the command line gives in place of its values."""
    section = experiment.options.training
    return TrainingOptions(
        episodes=episodes or section.episodes,
        envs=envs or section.envs,
        checkpoint_every=section.checkpoint_every,
        evaluate_every=section.evaluate_every,
        evaluation_episodes=section.evaluation_episodes,
        greedy=section.greedy,
        best=section.best,
        seed=experiment.options.seed,
        steps=section.steps if episodes is None else 0,
        n_steps=section.n_steps,
    )
