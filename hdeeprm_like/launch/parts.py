"""Training episodes played in parts, here or by the workers of an engine, with the same result bit for bit.

A part is played by a new agent made from the record of the training, with the current weights.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.experiment import episodes_of
from hdeeprm_like.inputs import read_text
from hdeeprm_like.launch.learner import Learner
from hdeeprm_like.launch.resuming import resume_learner
from hdeeprm_like.launch.run_folder import RECORD
from hdeeprm_like.learning.checkpoint import generator_states, set_generators
from hdeeprm_like.learning.loading import seed_all
from hdeeprm_like.learning.rollout import RolloutBuffer
from hdeeprm_like.learning.threads import one_thread
from hdeeprm_like.learning.training import Rollouts, rollout
from hdeeprm_like.learning.weights import load_weights_of, weights_as_bytes
from hdeeprm_like.run.episodes import Plays

Gather: TypeAlias = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]
"""Runs a function with each of some arguments, somewhere; returns the values in their order."""


def one_by_one(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run a function with each of some arguments in this process."""
    return [function(*call) for call in calls]


def rollouts_in_parts(learner: Learner, folder: Path, gather: Gather) -> Rollouts:
    """Return what plays the episodes of an update in as many parts as ``training.parts`` says.

    Args:
        folder: of the training, whose record is there already.
    """
    parts = learner.training.parts

    def rollouts(first: int, count: int, left: float | None) -> list[Episode]:
        weights, before = weights_as_bytes(learner.agent), generator_states(learner.agent)
        ends = np.linspace(first, first + count, min(parts, count) + 1).astype(int).tolist()
        calls = [(folder.resolve(), weights, *ends[n : n + 2], left) for n in range(len(ends) - 1)]
        try:
            return [episode for part in gather(part_of_update, calls) for episode in part]
        finally:
            set_generators(learner.agent, before)  # what is played in this process changes the global ones

    return rollouts


def part_of_update(folder: Path, weights: bytes, first: int, end: int, left: float | None = None) -> list[Episode]:
    """Return the episodes from one number up to another of the training in a folder, played with some weights.

    All random numbers follow from the seed of the training and the number of the first episode. torch computes with one
    thread, since with more the last bit of a sum may depend on their number. The global generators are left changed.

    Args:
        weights: of `weights_as_bytes`. left: what the agent is annealed with, None for not yet.

    Raises:
        HDeepRMError: the options, the inputs or the agent's code are no longer those of the training.
    """
    learner, plays, buffer = player(folder, read_text(folder / RECORD, ResultsError))
    agent, seed = learner.agent, learner.experiment.options.seed
    (own,) = np.random.SeedSequence(seed, spawn_key=(first,)).generate_state(1).tolist()
    load_weights_of(agent, weights)
    if left is not None:
        agent.anneal(left)
    agent.generator.manual_seed(own)
    seed_all(own)
    with one_thread():
        return rollout(agent, plays, first, end - first, buffer)


@lru_cache(maxsize=1)
def player(folder: Path, record: str) -> tuple[Learner, Plays, RolloutBuffer]:
    """Return an agent and the episodes of the training in a folder, made once for all updates.

    Args:
        record: the text of its record, so that another training in the same folder has an agent of its own.
    """
    learner = resume_learner(folder, "cpu")
    training, _, _ = episodes_of(learner.experiment)
    return learner, learner.plays(training, learner.training.alike), RolloutBuffer()
