"""Making an agent of a user's file: its class, the arguments of its constructor, its seed and its device."""

import inspect
import random
from collections.abc import Collection, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from hdeeprm_like.decision.layout import Layout
from hdeeprm_like.errors import AgentError, OptionsError, did_you_mean
from hdeeprm_like.learning.agent_options import (
    NOT_NEGATIVE,
    Choice,
    Option,
    check_options,
    constructors,
    parameters_of,
    takes_more,
)
from hdeeprm_like.learning.agents import OPTIMIZERS, LearningAgent
from hdeeprm_like.learning.plain_function import deciding_by
from hdeeprm_like.learning.user_code import code_of, locating_errors
from hdeeprm_like.plugins import attribute_of, import_file, import_module

SCHEDULES: Mapping[str, Option] = {
    "lr_end": NOT_NEGATIVE,
    "entropy_end": NOT_NEGATIVE,
    "optimizer": Choice(OPTIMIZERS),
}
GENERAL = ("gamma", "hidden", "lr", *SCHEDULES)  # options that every agent accepts, even one that has no use for them


def load_agent_class(name: str) -> type[LearningAgent]:
    """Return the agent class of ``my_agent.py``, ``my_agent.py:Class`` or ``package.module:Class``.

    For a function in place of a class it is a class whose agents decide by it.

    Raises:
        AgentError: there is no such class, or the file has several and the name does not say which.
    """
    place, colon, wanted = name.rpartition(":")
    if not colon or wanted.endswith(".py"):
        place, wanted = name, ""
    is_file = place.endswith(".py")
    module = import_file(Path(place), AgentError) if is_file else import_module(place, AgentError)
    if wanted:
        found = attribute_of(module, wanted, f"agent {name!r}", AgentError)
        if not isinstance(found, type) and callable(found):
            return deciding_by(found)
        if not (isinstance(found, type) and issubclass(found, LearningAgent)):
            raise AgentError(
                f"{place}:{wanted} is no function, and no class on PolicyLearningAgent, ValueLearningAgent or "
                "LearningAgent"
            )
        return found
    return _only_class(module, place)


def _only_class(module: ModuleType, place: str) -> type[LearningAgent]:
    classes = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, LearningAgent) and item.__module__ == module.__name__
    ]
    if not classes:
        raise AgentError(f"{place}: has no class on PolicyLearningAgent, ValueLearningAgent or LearningAgent")
    if len(classes) > 1:
        names = ", ".join(f"{place}:{item.__name__}" for item in classes)
        raise AgentError(f"{place}: has several agents; say which one: {names}")
    return classes[0]


def build_agent(
    kind: type[LearningAgent],
    options: Mapping[str, Any],
    layout: Layout,
    device: str = "cpu",
    seed: int = 0,
    alike: int = 1,
) -> LearningAgent:
    """Return a new agent; the parameters of its constructor are filled in by name.

    Args:
        options: of the ``agent`` section, without ``type`` and ``run``: ``gamma``, ``hidden``, ``lr`` and any other
            parameter of the constructor. It may also take ``layout`` and ``alike``, and of the layout ``action_size``,
            ``observation_size`` and ``observation_shape``.
        layout: the meaning of each column of an observation and of each action.
        device: ``cpu``, ``cuda``, ``mps``, ``auto``, or a name that torch knows.
        seed: of the initial weights and of the sampling of actions.
        alike: how many consecutive training episodes have the same jobs.

    Raises:
        OptionsError: an option that the constructor needs is missing, or it has no parameter for an option.
        AgentError: the constructor raised something.
    """
    known: dict[str, Any] = {
        "alike": alike,
        **options,
        "action_size": len(layout.actions),
        "observation_size": int(np.prod(layout.shape)),
        "observation_shape": layout.shape,
        "layout": layout,
    }
    if "lr" in options:
        known["learning_rate"] = options["lr"]
    names = checked_parameters(kind, options, known)
    seed_all(seed)
    with locating_errors(kind):
        agent = kind(**{name: known[name] for name in names if name in known})
    agent.gamma = float(options.get("gamma", agent.gamma))
    agent.learning_rate = float(options.get("lr", agent.learning_rate))
    for name in ("lr_end", "entropy_end"):
        if name in options:
            setattr(agent, name, float(options[name]))
    agent.optimizer_name = options.get("optimizer", agent.optimizer_name)
    agent.generator.manual_seed(seed)
    return agent.to(find_device(device))


def checked_parameters(kind: type[LearningAgent], options: Mapping[str, Any], known: Collection[str]) -> list[str]:
    """Return the names of the parameters of an agent's constructor.

    Args:
        known: what it can be given.

    Raises:
        OptionsError: it needs something else, has no parameter for an option, or an option has no possible value.
    """
    reached = constructors(kind, LearningAgent)
    names = parameters_of(reached)
    missing = [name for name in names if name not in known and names[name].default is inspect.Parameter.empty]
    if missing:
        raise OptionsError(
            f"{code_of(kind)}: {kind.__name__} wants the agent option {missing[0]!r}, which is not given"
        )
    unknown = [name for name in options if name not in names and name not in GENERAL and not takes_more(reached[-1])]
    if unknown:
        raise OptionsError(
            f"agent.{unknown[0]}: {kind.__name__} has no such option{did_you_mean(unknown[0], {*names, *GENERAL})}"
        )
    check_options(reached, options, "agent")
    for name, option in SCHEDULES.items():
        if name in options and not option.fits(options[name]):
            raise OptionsError(f"agent.{name} is {options[name]!r:.60}; {option.wanted} is needed")
    return list(names)


def seed_all(seed: int) -> None:
    """Seed the global generators of Python, NumPy and torch; torch draws initial weights from its own."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    torch.manual_seed(seed)


def find_device(name: str) -> torch.device:
    """Return the torch device with a name; ``auto`` is CUDA if there is any, else MPS, else the CPU.

    Raises:
        OptionsError: this machine has no such device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as cause:
        text = str(cause).splitlines()[0] if str(cause) else "not available"
        raise OptionsError(f"device {name!r} cannot be used here: {text}") from cause
    return device
