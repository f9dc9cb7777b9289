"""Playing episodes side by side where a driver advances them all in one call."""

import sys
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.learning.agents import LearningAgent
from hdeeprm_like.types import Bools, Floats, Ints

STEPS = 512  # steps of an episode that there is room for at first; the system gives memory where it is written
FREE = 3  # references to an array that nobody else has: its list, the loop and the question


class Together(Protocol):
    """Some episodes, all of which stand at a decision or are over, such as ``run.runs.Runs``; B episodes.

    Attributes:
        observations: (B, ...). rewards: (B,) of the last actions.
    """

    observations: Floats
    rewards: Floats

    @property
    def masks(self) -> Bools:
        """(B, A) which actions are legal."""
        ...

    @property
    def over(self) -> Bools:
        """(B,) which episodes are over."""
        ...

    @property
    def now(self) -> Floats:
        """(B,) clocks in s."""
        ...

    def step(self, actions: Ints) -> None:
        """Carry out (B,) actions where episodes are not over."""
        ...


@runtime_checkable
class PlaysTogether(Protocol):
    """What makes episodes by number, and can make several that are played together."""

    def together(self, first: int, count: int) -> Together | None:
        """Return consecutive episodes; None if they can only be played one by one."""
        ...


class Room:
    """Arrays for the decisions of episodes; those of the last ones are taken again if nobody has kept anything of them.

    New memory costs more than what is written into it, most of all on virtual machines.
    """

    def __init__(self) -> None:
        self._columns: list[NDArray[Any]] = []

    def take(self, count: int, shape: tuple[int, ...], actions: int) -> list[NDArray[Any]]:
        """Return (B, T, ...) arrays for observations of a shape, masks, actions, rewards and times of B episodes."""
        kept = any(sys.getrefcount(column) > FREE for column in self._columns)
        wanted = [(count, *shape), (count, actions)]
        if kept or [(len(column), *column.shape[2:]) for column in self._columns[:2]] != wanted:
            parts = (np.float32, shape), (np.bool_, (actions,)), (np.int64, ()), (np.float64, ()), (np.float64, ())
            self._columns = [np.empty((count, STEPS, *rest), kind) for kind, rest in parts]
        return list(self._columns)

    def lengthen(self) -> list[NDArray[Any]]:
        """Return the arrays with room for twice as many steps."""
        for place, column in enumerate(self._columns):
            count, steps, *rest = column.shape
            self._columns[place] = np.empty((count, 2 * steps, *rest), column.dtype)
            self._columns[place][:, :steps] = column
        return list(self._columns)


def play_in_step(agent: LearningAgent, played: Together, room: Room | None = None) -> list[Episode]:
    """Play episodes to their ends, each decision of all of them in one forward pass and one call of their driver."""
    room = room or Room()
    count, size = played.masks.shape
    seen, legal, chosen, rewards, times = room.take(count, played.observations.shape[1:], size)
    lengths, actions = np.zeros(count, np.int64), np.zeros(count, np.int64)
    going, step = np.flatnonzero(~played.over), 0
    while len(going):
        if step == chosen.shape[1]:
            seen, legal, chosen, rewards, times = room.lengthen()
        observations, masks = played.observations[going], played.masks[going]
        seen[going, step], legal[going, step], times[going, step] = observations, masks, played.now[going]
        actions[going] = agent.decide(observations, masks)
        chosen[going, step] = actions[going]
        played.step(actions)
        rewards[going, step] = played.rewards[going]
        lengths[going] += 1
        going, step = np.flatnonzero(~played.over), step + 1
    return [
        Episode(seen[i, :n], legal[i, :n], chosen[i, :n], rewards[i, :n], times[i, :n], end)
        for i, (n, end) in enumerate(zip(lengths.tolist(), played.now.tolist(), strict=True))
    ]
