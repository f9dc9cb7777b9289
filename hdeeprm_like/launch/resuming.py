"""Write and read the record from which a training continues."""

import inspect
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.experiment import Overrides, are_options_of, load_experiment
from hdeeprm_like.formats.open import has_ending_of
from hdeeprm_like.inputs import read_object, sha256
from hdeeprm_like.launch.learner import AgentChoice, Learner
from hdeeprm_like.launch.run_folder import RECORD
from hdeeprm_like.learning.agents import LearningAgent
from hdeeprm_like.learning.checkpoint import CHECKPOINT
from hdeeprm_like.limits import ENVS, EPISODES

PATH, NUMBER, MAYBE_PATH = (str, "a path"), (int, "a whole number"), ((str, type(None)), "a path or null")
RESUMABLE: dict[str, tuple[Any, str]] = {
    "options": PATH,
    "platform": PATH,
    "workload": PATH,
    "agent": (str, "the name of an agent"),
    "device": (str, "the name of a device"),
    "episodes": NUMBER,
    "envs": NUMBER,
    "code": ((str, type(None)), "a digest or null"),
    "input_model": MAYBE_PATH,
    "output_model": MAYBE_PATH,
}
"""What the entry of the record that `origin` writes holds, and how it is called; what may be null may be missing."""


def origin(learner: Learner) -> dict[str, Any]:
    """Return the entry of ``run.json`` that a training is resumed by."""
    experiment, how = learner.experiment, learner.training
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
    return sha256(Path(file)) if file is not None else None


def resolved_path(path: Path | None) -> str | None:
    """Return an absolute path for ``run.json``."""
    return None if path is None else str(path.resolve())


def resolved_name(name: str) -> str:
    """Return an agent's name, with the absolute path if it names a file."""
    place, colon, wanted = name.rpartition(":")
    if not colon or wanted.endswith(".py"):
        place, colon, wanted = name, "", ""
    return f"{Path(place).resolve()}{colon}{wanted}" if place.endswith(".py") else name


def resume_learner(output: Path, device: str | None = None, episodes: int | None = None) -> Learner:
    """Return the agent of the training in a directory, which goes on with it.

    Args:
        device: None for that of the training. episodes: in all, None for as many as at first.

    Raises:
        ResultsError: the directory holds no training.
        OptionsError: the experiment or the agent's code has changed since it began.
    """
    if not (output / RECORD).exists():
        raise ResultsError(f"{output}: has no {RECORD}; there is no training to resume, begin one with --options")
    run, before = record_of(output / RECORD)
    source = Path(before["workload"])
    ready = has_ending_of(source, "workload")
    model = run["options"]["workload"].get("model") is not None
    pool = run["options"].get("platform_file_path")  # a number of cores, unless --platform replaced it
    cores = pool if isinstance(pool, int) and Path(before["platform"]).name == str(pool) else None
    overrides = Overrides(
        platform=Path(before["platform"]) if cores is None else None,
        cores=cores,
        leave_out_larger=True,  # where there are such jobs, they were left out when it began
        trace=None if ready or model else source,
        workload=source if ready and not model else None,
        seed=run["seed"],
    )
    experiment = load_experiment(Path(before["options"]), overrides)
    if not are_options_of(run["options"], experiment):
        raise OptionsError(f"{before['options']}: has changed since the training in {output} began")
    begin, end = (Path(before[name]) if before.get(name) else None for name in ("input_model", "output_model"))
    if (output / CHECKPOINT).exists():
        begin = None  # the checkpoint holds what became of those weights
    choice = AgentChoice(before["agent"], device or before["device"], begin, end)
    learner = Learner(experiment, choice, episodes or before["episodes"], before["envs"])
    if before.get("code", code_hash(learner.agent)) != code_hash(learner.agent):
        raise OptionsError(
            f"{before['agent']}: has changed since the training in {output} began; undo that, or begin another training"
        )
    return learner


def record_of(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the record of a training, and the part of it that `origin` has written.

    Raises:
        ResultsError: it cannot be read, or something in it is of another kind than `origin` writes.
    """
    run = read_object(path, ResultsError)
    before = run.get("resumable")
    if not isinstance(before, dict):
        raise ResultsError(f"{path}: belongs to no training; name the directory of one")
    for name, (kinds, wanted) in RESUMABLE.items():
        if not isinstance(before.get(name), kinds) or isinstance(before.get(name), bool):
            raise ResultsError(f"{path}: resumable.{name}: is {before.get(name)!r:.40}; {wanted} is needed")
        if "\0" in str(before.get(name)):
            raise ResultsError(f"{path}: resumable.{name}: is {before[name]!r:.40}; {wanted} is needed")
    for name, least, most in (("episodes", 0, EPISODES.most), ("envs", 1, ENVS.most)):
        if not least <= before[name] <= most:
            raise ResultsError(f"{path}: resumable.{name}: is {before[name]!r:.40}; {least} to {most} are possible")
    options, seed = run.get("options"), run.get("seed")
    if not isinstance(options, dict) or not isinstance(options.get("workload"), dict):
        raise ResultsError(f"{path}: options: those of the training are needed, with their section workload")
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise ResultsError(f"{path}: seed: is {seed!r:.40}; a whole number from 0 to 2^63-1 is needed")
    return run, before
