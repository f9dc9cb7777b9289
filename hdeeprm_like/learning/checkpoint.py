"""Checkpoints: weights, optimizer, random generators and counters of a training in one file, replaced atomically.

The file has torch's format and is read with ``weights_only=True``, so that loading one never runs code from it.
"""

import io
import math
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import torch

from hdeeprm_like import limits
from hdeeprm_like.errors import AgentError, HDeepRMError
from hdeeprm_like.formats.files import replacing_bytes
from hdeeprm_like.inputs import read_archive
from hdeeprm_like.learning.agents import LearningAgent
from hdeeprm_like.learning.python_state import check_readable, has_own_state, refuse_lost

FORMAT = 1
OF_PYTHON = "_extra_state"  # ends the names of what an agent puts in beside its weights
CHECKPOINT, BEST = "checkpoint.pt", "best.pt"  # of a training, in its folder


class Counters(TypedDict):
    """What a training counts: episodes and decisions learned from, the least cost of an evaluation, and two options."""

    episode: int
    best: float
    envs: int
    episodes: int
    decisions: int


def save_checkpoint(
    path: Path,
    agent: LearningAgent,
    actions: Sequence[str],
    counters: Mapping[str, int | float] | None = None,
    generators: Mapping[str, Any] | None = None,
    more: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Write a checkpoint atomically: if writing fails or is interrupted, the file that was at *path* is still there.

    Args:
        actions: names of the actions. counters: of the training.
        generators: states to save, see ``generator_states``; None for the present ones.
        more: weights of the same network beside the agent's own, or other entries, by what they are.

    Raises:
        ResultsError: the folder cannot be written.
    """
    content = {
        "format": FORMAT,
        "agent": type(agent).__name__,
        "actions": list(actions),
        "parameters": agent.state_dict(),
        "optimizer": agent.optimizer.state_dict(),
        "generators": dict(generators or generator_states(agent)),
        "counters": dict(counters or {}),
        **{name: dict(weights) for name, weights in (more or {}).items()},
    }
    packed = io.BytesIO()  # torch's own writer gives no reason for a full disk
    torch.save(content, packed)
    if has_own_state(agent):
        check_readable(agent, packed.getvalue())
    with replacing_bytes(path) as file:
        file.write(packed.getbuffer())
        file.flush()
        os.fsync(file.fileno())


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Return the content of a checkpoint.

    Raises:
        AgentError: there is no such file, or it is no checkpoint of this program.
    """
    if not path.exists():
        raise AgentError(f"{path}: no such file; a checkpoint is needed")
    with sound(path):
        content = torch.load(read_archive(path, AgentError), map_location="cpu", weights_only=True)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise AgentError(f"{path}: is no checkpoint of this program, format {FORMAT}")
    if not isinstance(content.get("agent"), str):
        raise AgentError(f"{path}: is a damaged checkpoint: it has no name of an agent")
    return content


@contextmanager
def sound(path: Path) -> Iterator[None]:
    """Turn whatever torch or Python raises because of the content of a checkpoint into one line.

    A file of flipped bytes raises nearly anything: it is damaged, whatever it was.
    """
    try:
        yield
    except HDeepRMError:
        raise
    except Exception as cause:
        raise AgentError(f"{path}: is no checkpoint, or a damaged one ({type(cause).__name__})") from cause


def counters_of(content: Mapping[str, Any], path: Path) -> Counters:
    """Return what a checkpoint counts.

    Raises:
        AgentError: it is the checkpoint of no training, or its numbers cannot be.
    """
    found = content.get("counters")
    if not isinstance(found, Mapping):
        raise AgentError(f"{path}: has no counters; it holds weights and no training")
    for name, least in (("episode", 0), ("envs", 1), ("episodes", 1)):
        value = found.get(name)
        if type(value) is not int or not least <= value <= limits.EPISODES.most:
            raise AgentError(f"{path}: counters: {name} is {value!r:.40}; a whole number from {least} on is needed")
    if found["episode"] > found["episodes"]:
        raise AgentError(f"{path}: counters: episode {found['episode']} is beyond the last, {found['episodes']}")
    best = found.get("best")
    if type(best) is not float or math.isnan(best):
        raise AgentError(f"{path}: counters: best is {best!r:.40}; a number is needed")
    decisions = found.get("decisions", 0)
    if type(decisions) is not int or decisions < 0:
        raise AgentError(f"{path}: counters: decisions is {decisions!r:.40}; a whole number from 0 on is needed")
    return Counters(
        episode=found["episode"], best=best, envs=found["envs"], episodes=found["episodes"], decisions=decisions
    )


def load_weights(agent: LearningAgent, content: Mapping[str, Any], actions: Sequence[str], path: Path) -> None:
    """Load the weights of a checkpoint into an agent.

    Args:
        content: of the checkpoint. actions: names of the agent's actions. path: of the checkpoint, for messages.

    Raises:
        AgentError: it is of another action space or architecture; the message names the first difference.
    """
    names = content.get("actions")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise AgentError(f"{path}: is a damaged checkpoint: it lists no actions")
    if list(actions) != names and not agent.any_size:
        raise AgentError(f"{path}: {_action_difference(names, list(actions))}")
    theirs = weights_in(content, "parameters", agent, path)
    with sound(path):
        agent.load_state_dict(theirs)


def weights_in(content: Mapping[str, Any], entry: str, agent: LearningAgent, path: Path) -> dict[str, torch.Tensor]:
    """Return the weights in an entry of a checkpoint.

    Raises:
        AgentError: they are not of an agent's network; the message names the first difference.
    """
    theirs = content.get(entry)
    if not isinstance(theirs, dict) or not all(
        isinstance(value, torch.Tensor) or str(name).endswith(OF_PYTHON) for name, value in theirs.items()
    ):
        raise AgentError(f"{path}: is a damaged checkpoint: it holds no weights")
    mine = agent.state_dict()
    for name in [*mine, *theirs]:
        if str(name).endswith(OF_PYTHON) and name in mine and name in theirs:
            continue
        there = shape_in(theirs, name)
        here = shape_in(mine, name)
        if there != here:
            raise AgentError(
                f"{path}: is of another network: {name!s:.60} is {there} there and {here} in {type(agent).__name__}"
            )
        if theirs[name].is_floating_point() and not bool(torch.isfinite(theirs[name]).all()):
            raise AgentError(f"{path}: is a damaged checkpoint: {name} holds weights that are no numbers")
    return theirs


def shape_in(weights: Mapping[str, Any], name: str) -> tuple[int, ...] | str:
    """Return the shape of some weights in words or numbers."""
    found = weights.get(name)
    return "missing" if found is None else tuple(found.shape) if isinstance(found, torch.Tensor) else "Python"


def _action_difference(theirs: list[str], mine: list[str]) -> str:
    if len(theirs) != len(mine):
        return f"is of another action space: {len(theirs)} actions there, {len(mine)} here"
    place = next(i for i, (a, b) in enumerate(zip(theirs, mine, strict=True)) if a != b)
    return f"is of another action space: action {place} is {theirs[place]!r} there and {mine[place]!r} here"


def resume_agent(agent: LearningAgent, content: Mapping[str, Any], actions: Sequence[str], path: Path) -> None:
    """Restore an agent, its optimizer and all random generators to what they were when a checkpoint was saved.

    Raises:
        AgentError: the checkpoint is of another agent, action space, architecture or optimizer.
    """
    name = type(agent).__name__
    if content["agent"] != name:  # its weights may fit all the same, but it would learn in another way from now on
        raise AgentError(f"{path}: is of a training of {content['agent']!r:.60}, not of {name}")
    refuse_lost(agent, content, path)
    load_weights(agent, content, actions, path)
    with sound(path):
        try:
            agent.optimizer.load_state_dict(content["optimizer"])
        except ValueError as cause:
            raise AgentError(f"{path}: is of another optimizer: {cause}") from cause
        check_optimizer(agent, path)
        set_generators(agent, content["generators"])


def check_optimizer(agent: LearningAgent, path: Path) -> None:
    """Refuse what an optimizer would only stumble over in its first step.

    Raises:
        AgentError: a moment has not the shape of the weights that it belongs to.
    """
    for weights, state in agent.optimizer.state.items():
        for name, value in state.items():
            if name == "step":
                fits = isinstance(value, torch.Tensor) and value.numel() == 1 and bool(value >= 0)
            else:
                fits = isinstance(value, torch.Tensor) and value.shape == weights.shape
            if not fits:
                raise AgentError(f"{path}: is a damaged checkpoint: {name!s:.40} of the optimizer fits no weights")


def generator_states(agent: LearningAgent) -> dict[str, Any]:
    """Return the states of the agent's random generator and of the global ones, as plain numbers and tensors."""
    _, keys, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002
    version, numbers, gauss = random.getstate()
    states: dict[str, Any] = {
        "agent": agent.generator.get_state(),
        "torch": torch.get_rng_state(),
        "numpy": [torch.from_numpy(np.array(keys, np.int64)), int(position), int(has_gauss), float(cached)],
        "python": [version, list(numbers), gauss],
    }
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def set_generators(agent: LearningAgent, states: Mapping[str, Any]) -> None:
    """Set all random generators to the states that ``generator_states`` returned."""
    agent.generator.set_state(states["agent"])
    torch.set_rng_state(states["torch"])
    keys, position, has_gauss, cached = states["numpy"]
    np.random.set_state(("MT19937", keys.numpy().astype(np.uint32), position, has_gauss, cached))  # noqa: NPY002
    version, numbers, gauss = states["python"]
    random.setstate((version, tuple(numbers), gauss))
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(states["cuda"])


def load_agent(agent: LearningAgent, path: Path, actions: Sequence[str]) -> None:
    """Load the weights of a checkpoint file, or of the best or last checkpoint in a training's directory (``-im``).

    Raises:
        AgentError: there is no checkpoint, or it is of another architecture or action space.
    """
    path = weights_of(path)
    load_weights(agent, read_checkpoint(path), actions, path)


def weights_of(path: Path) -> Path:
    """Return ``best.pt`` of a training's directory, or ``checkpoint.pt`` if it has none; any other path as it is."""
    if not path.is_dir():
        return path
    return path / BEST if (path / BEST).exists() else path / CHECKPOINT
