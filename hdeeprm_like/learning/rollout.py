"""Rollouts of many episodes in one batch, where one call advances all of them."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.runs import Runs
from hdeeprm_like.types import Bools, Floats, Ints

STEPS = 512  # decisions per episode that a new buffer can hold; the system commits memory only where it is written
OWN_REFERENCES = 3  # to an array that only the buffer uses: its list, the loop variable and the call's argument


class Decides(Protocol):
    """Who plays several episodes at once, such as a `learning.agents.LearningAgent`."""

    def begin(self, episodes: Ints) -> None:
        """Take note that episodes of these numbers begin."""
        ...

    def decide(self, observations: Floats, masks: Bools, episodes: Ints) -> Ints:
        """Return (B,) an action for each of (B, ...) observations, of the (B,) episodes of these numbers."""
        ...


class RolloutBuffer:
    """Arrays that a rollout records its decisions in, used again by the next unless an episode still refers to them.

    Allocating arrays of this size costs more than writing to them, above all on virtual machines.
    """

    def __init__(self) -> None:
        self._arrays: list[NDArray[Any]] = []

    def arrays(self, count: int, shape: tuple[int, ...], actions: int) -> list[NDArray[Any]]:
        """Return arrays for *count* episodes of T decisions, whose contents are undefined.

        Args:
            shape: of an observation. actions: how many there are, A.

        Returns:
            observations (B, T, ...) float32, masks (B, T, A) bool, actions (B, T) int64, rewards and times (B, T)
            float64.
        """
        in_use = any(sys.getrefcount(array) > OWN_REFERENCES for array in self._arrays)
        wanted = [(count, *shape), (count, actions)]
        if in_use or [(len(array), *array.shape[2:]) for array in self._arrays[:2]] != wanted:
            kinds = (np.float32, shape), (np.bool_, (actions,)), (np.int64, ()), (np.float64, ()), (np.float64, ())
            self._arrays = [np.empty((count, STEPS, *rest), kind) for kind, rest in kinds]
        return list(self._arrays)

    def grow(self) -> list[NDArray[Any]]:
        """Return the arrays with their content and with space for twice as many decisions."""
        for index, array in enumerate(self._arrays):
            count, steps, *rest = array.shape
            self._arrays[index] = np.empty((count, 2 * steps, *rest), array.dtype)
            self._arrays[index][:, :steps] = array
        return list(self._arrays)


def batched_rollout(agent: Decides, batch: Runs, buffer: RolloutBuffer | None = None) -> list[Episode]:
    """Run a batch of episodes to their ends; each decision of all of them takes one forward pass and one step.

    Args:
        buffer: whose arrays the returned episodes are views of; None for a new one.
    """
    agent.begin(np.arange(len(batch.masks)))
    return _played(agent, batch, buffer or RolloutBuffer(), sys.maxsize)


def play_side_by_side(agent: Decides, batch: Runs) -> int:
    """Run a batch of episodes to their ends and record nothing; return how many decisions that took."""
    count, decisions = len(batch.masks), 0
    chosen = np.zeros(count, np.int64)
    agent.begin(np.arange(count))
    active = np.flatnonzero(~batch.over)
    while len(active):
        chosen[active] = agent.decide(batch.observations[active], batch.masks[active], active)
        batch.step(chosen)
        decisions += len(active)
        active = np.flatnonzero(~batch.over)
    return decisions


def rollout_by_parts(agent: Decides, batch: Runs, decisions: int) -> Iterator[list[Episode]]:
    """Run a batch of episodes to their ends, and yield what has happened after each *decisions* of all of them.

    Each part has an entry for every episode, without decisions if it was over before.
    """
    agent.begin(np.arange(len(batch.masks)))
    buffer = RolloutBuffer()
    while not batch.over.all():
        yield _played(agent, batch, buffer, decisions)


def _played(agent: Decides, batch: Runs, buffer: RolloutBuffer, decisions: int) -> list[Episode]:
    """Continue each unfinished episode for so many decisions, or to its end."""
    count, size = batch.masks.shape
    observations, masks, actions, rewards, times = buffer.arrays(count, batch.observations.shape[1:], size)
    lengths, chosen = np.zeros(count, np.int64), np.zeros(count, np.int64)
    active, step = np.flatnonzero(~batch.over), 0
    while len(active) and step < decisions:
        if step == actions.shape[1]:
            observations, masks, actions, rewards, times = buffer.grow()
        observed, legal = batch.observations[active], batch.masks[active]
        observations[active, step], masks[active, step], times[active, step] = observed, legal, batch.now[active]
        chosen[active] = agent.decide(observed, legal, active)
        actions[active, step] = chosen[active]
        batch.step(chosen)
        rewards[active, step] = batch.rewards[active]
        lengths[active] += 1
        active, step = np.flatnonzero(~batch.over), step + 1
    then = {i: (batch.observations[i].copy(), batch.masks[i].copy()) for i in active.tolist()}
    return [
        Episode(observations[i, :n], masks[i, :n], actions[i, :n], rewards[i, :n], times[i, :n], end, then.get(i))
        for i, (n, end) in enumerate(zip(lengths.tolist(), batch.now.tolist(), strict=True))
    ]


def play_episodes(agent: Decides, episodes: Sequence[Play]) -> list[Episode]:
    """Run episodes to their ends and return what was recorded of them."""
    play_together(agent, episodes)
    return [episode.episode for episode in episodes]


def play_together(agent: Decides, episodes: Sequence[Play], most: int | None = None) -> bool:
    """Run episodes to their ends, each advanced by itself; one forward pass decides for all that are not over.

    Args:
        most: decisions of an episode; None for no limit.

    Returns:
        Whether all are over.
    """
    agent.begin(np.arange(len(episodes)))
    steps = 0
    active = [number for number, episode in enumerate(episodes) if episode.advance()]
    while active and steps != most:
        steps += 1
        observations, masks = zip(*(episodes[number].observe() for number in active), strict=True)
        actions = agent.decide(np.stack(observations), np.stack(masks), np.array(active))
        for number, action in zip(active, actions.tolist(), strict=True):
            episodes[number].act(action)
        active = [number for number in active if episodes[number].advance()]
    return not active
