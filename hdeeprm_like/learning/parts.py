"""Rollouts in parts that do not know of each other, so that it does not matter which process plays which."""

import io

import numpy as np
import torch

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.agents import LearningAgent
from hdeeprm_like.learning.loading import seed_all
from hdeeprm_like.learning.rollout import RolloutBuffer
from hdeeprm_like.learning.threads import one_thread
from hdeeprm_like.learning.training import NewEpisode, rollout


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


def play_part(
    agent: LearningAgent,
    weights: bytes,
    new_episode: NewEpisode,
    numbers: range,
    seed: int,
    buffer: RolloutBuffer,
    left: float | None = None,
) -> list[Episode]:
    """Return consecutive training episodes, played by an agent with some weights.

    All random numbers follow from the seed of the training and the number of the first episode. torch computes with one
    thread, since with more the last bit of a sum may depend on their number. The global generators are left changed.

    Args:
        weights: of `weights_as_bytes`. numbers: of the episodes. seed: of the training.
        buffer: as of `training.rollout`. left: what the agent is annealed with, None for not yet.

    Raises:
        AgentError: the weights do not fit a new agent.
    """
    (own,) = np.random.SeedSequence(seed, spawn_key=(numbers.start,)).generate_state(1).tolist()
    load_weights_of(agent, weights)
    if left is not None:
        agent.anneal(left)
    agent.generator.manual_seed(own)
    seed_all(own)
    with one_thread():
        return rollout(agent, new_episode, numbers.start, len(numbers), buffer)
