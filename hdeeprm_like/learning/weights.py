"""Weights of an agent: as copies, as bytes, what lies between two of them, and an agent that has others for a while."""

import copy
import io
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.agents import LearningAgent

Weights = dict[str, Tensor]


def weights_of(agent: LearningAgent) -> Weights:
    """Return a copy of the weights of an agent."""
    return copy.deepcopy(dict(agent.state_dict()))


def between(first: Weights, last: Weights, share: float) -> Weights:
    """Return weights on the line from the first ones to the last."""
    return {
        name: torch.lerp(first[name], value, share) if value.is_floating_point() else value
        for name, value in last.items()
    }


@contextmanager
def following(agent: LearningAgent, weights: Weights | None) -> Iterator[None]:
    """Give an agent other weights within the block; None for its own."""
    if weights is None:
        yield
        return
    own = weights_of(agent)
    agent.load_state_dict(weights)
    try:
        yield
    finally:
        agent.load_state_dict(own)


def weights_as_bytes(agent: LearningAgent) -> bytes:
    """Return the weights of an agent in torch's format, to be read with ``weights_only=True``."""
    packed = io.BytesIO()
    torch.save(agent.state_dict(), packed)
    return packed.getvalue()


def load_weights_of(agent: LearningAgent, weights: bytes) -> None:
    """Load weights of `weights_as_bytes`.

    Raises:
        AgentError: the weights do not fit a new agent.
    """
    try:
        agent.load_state_dict(torch.load(io.BytesIO(weights), map_location="cpu", weights_only=True))
    except RuntimeError:
        raise AgentError(
            f"{type(agent).__name__}: its weights do not fit a new agent, as training.parts need; "
            "make all layers and buffers in __init__"
        ) from None
