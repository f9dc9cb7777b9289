"""Checkpoints: weights, optimizer, random generators and counters of a training in one file, replaced atomically.

The file has torch's format and is read with ``weights_only=True``, so that loading one never runs code from it.
"""

import os
import pickle
import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hdeeprm_like.errors import AgentError, ResultsError
from hdeeprm_like.learning.agents import LearningAgent

FORMAT = 1


def save_checkpoint(
    path: Path,
    agent: LearningAgent,
    actions: Sequence[str],
    counters: Mapping[str, int | float] | None = None,
    generators: Mapping[str, Any] | None = None,
) -> None:
    """Write a checkpoint atomically: if writing fails or is interrupted, the file that was at *path* is still there.

    Args:
        actions: names of the actions. counters: of the training.
        generators: states to save, see ``generator_states``; None for the present ones.

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
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as cause:
        raise ResultsError(f"{path}: cannot be written: {cause.strerror or cause}") from cause
    try:
        with open(handle, "wb") as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Return the content of a checkpoint.

    Raises:
        AgentError: there is no such file, or it is no checkpoint of this program.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise AgentError(f"{path}: no such file; a checkpoint is needed") from None
    except (OSError, RuntimeError, EOFError, ValueError, KeyError, pickle.UnpicklingError) as cause:
        raise AgentError(f"{path}: is no checkpoint ({type(cause).__name__})") from cause
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise AgentError(f"{path}: is no checkpoint of this program, format {FORMAT}")
    return content


def load_weights(agent: LearningAgent, content: Mapping[str, Any], actions: Sequence[str], path: Path) -> None:
    """Load the weights of a checkpoint into an agent.

    Args:
        content: of the checkpoint. actions: names of the agent's actions. path: of the checkpoint, for messages.

    Raises:
        AgentError: it is of another action space or architecture; the message names the first difference.
    """
    if list(actions) != content["actions"] and not agent.any_size:
        raise AgentError(f"{path}: {_action_difference(content['actions'], list(actions))}")
    mine, theirs = agent.state_dict(), content["parameters"]
    for name in [*mine, *theirs]:
        there = tuple(theirs[name].shape) if name in theirs else "missing"
        here = tuple(mine[name].shape) if name in mine else "missing"
        if there != here:
            raise AgentError(
                f"{path}: is of another network: {name} is {there} there and {here} in {type(agent).__name__}"
            )
    agent.load_state_dict(theirs)


def _action_difference(theirs: list[str], mine: list[str]) -> str:
    if len(theirs) != len(mine):
        return f"is of another action space: {len(theirs)} actions there, {len(mine)} here"
    place = next(i for i, (a, b) in enumerate(zip(theirs, mine, strict=True)) if a != b)
    return f"is of another action space: action {place} is {theirs[place]!r} there and {mine[place]!r} here"


def resume_agent(agent: LearningAgent, content: Mapping[str, Any], actions: Sequence[str], path: Path) -> None:
    """Restore an agent, its optimizer and all random generators to what they were when a checkpoint was saved.

    Raises:
        AgentError: the checkpoint is of another action space, architecture or optimizer.
    """
    load_weights(agent, content, actions, path)
    try:
        agent.optimizer.load_state_dict(content["optimizer"])
    except (ValueError, KeyError) as cause:
        raise AgentError(f"{path}: is of another optimizer: {cause}") from cause
    set_generators(agent, content["generators"])


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
