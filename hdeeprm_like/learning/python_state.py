"""What an agent remembers outside of torch: plain Python that changes while it learns, such as a replay memory.

Checkpoints hold what torch knows: parameters, buffers, optimizer. Anything else comes into them by torch's own methods
``get_extra_state`` and ``set_extra_state`` of the agent. Without these a training whose agent has changed such an
attribute cannot go on to the same end, so resuming it is refused.
"""

import hashlib
import io
import pickle
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.agents import LearningAgent
from hdeeprm_like.learning.user_code import code_of

LOST = "outside of torch"  # entry of a checkpoint: names and types of attributes that it does not hold
OURS = frozenset(vars(nn.Module())) | {"greedy", "generator", "entropy", "_entropy_begin", "_optimizer", "_memories"}


class Remembered:
    """The attributes of an agent outside of torch, as they are before it learns."""

    def __init__(self, agent: LearningAgent) -> None:
        self._agent = agent
        self._before = {name: digest(value) for name, value in outside(agent).items()}
        self._lost: dict[str, str] = {}

    def lost(self) -> dict[str, str]:
        """Return names and types of what has changed since, and what the agent itself does not put into checkpoints."""
        if has_own_state(self._agent):
            return {}
        for name, value in outside(self._agent).items():
            if name not in self._lost and self._before.get(name) != digest(value):
                self._lost[name] = type(value).__name__
        return dict(self._lost)


def refuse_lost(agent: LearningAgent, content: Mapping[str, Any], path: object) -> None:
    """Refuse to go on from a checkpoint that lacks what the agent had learned.

    Raises:
        AgentError: there is such an attribute.
    """
    lost = content.get(LOST)
    if isinstance(lost, Mapping) and lost:
        name, kind = next(iter(lost.items()))
        raise AgentError(
            f"{path}: does not hold {name!s:.40} ({kind!s:.40}), which {code_of(type(agent))} changes while it learns: "
            "write get_extra_state and set_extra_state, or begin another training"
        )


def has_own_state(agent: LearningAgent) -> bool:
    """Return whether an agent itself puts Python into checkpoints."""
    return type(agent).get_extra_state is not nn.Module.get_extra_state


def outside(agent: LearningAgent) -> dict[str, Any]:
    """Return the attributes that torch does not know."""
    return {name: value for name, value in vars(agent).items() if name not in OURS}


def digest(value: Any) -> bytes:
    """Return a digest of a value; of one that cannot be pickled, such as a function, that of its identity."""
    try:
        return hashlib.sha256(pickle.dumps(value)).digest()
    except Exception:  # whatever a user's class raises
        return str(id(value)).encode()


def check_readable(agent: LearningAgent, packed: bytes) -> None:
    """Refuse a checkpoint that could not be read again: they are read without running code.

    Args:
        packed: the content of the file.

    Raises:
        AgentError: it holds other things than tensors and plain Python.
    """
    try:
        torch.load(io.BytesIO(packed), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as cause:
        raise AgentError(
            f"{code_of(type(agent).get_extra_state)}: get_extra_state gives what a checkpoint cannot hold; tensors, "
            "numbers, texts, lists, tuples and dictionaries of them are possible"
        ) from cause
