"""Playing episodes side by side where a driver advances them all in one call."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.learning.agents import LearningAgent
from hdeeprm_like.types import Bools, Floats, Ints

ROOM = 512  # steps of an episode that there is room for at first; the system gives memory where it is written


class Together(Protocol):
    """Some episodes, all of which stand at a decision or are over, such as ``drivers.runs.Runs``; B episodes.

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


def play_in_step(agent: LearningAgent, played: Together) -> list[Episode]:
    """Play episodes to their ends, each decision of all of them in one forward pass and one call of their driver."""
    count, size = played.masks.shape
    seen = np.empty((count, ROOM, *played.observations.shape[1:]), np.float32)
    legal = np.empty((count, ROOM, size), np.bool_)
    chosen, rewards, times = np.empty((count, ROOM), np.int64), np.empty((count, ROOM)), np.empty((count, ROOM))
    lengths, actions = np.zeros(count, np.int64), np.zeros(count, np.int64)
    going, step = np.flatnonzero(~played.over), 0
    while len(going):
        if step == chosen.shape[1]:
            seen, legal, chosen, rewards, times = map(longer, (seen, legal, chosen, rewards, times))
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


def longer(column: NDArray[Any]) -> NDArray[Any]:
    """Return (B, T, ...) values with room for twice as many steps."""
    count, steps, *shape = column.shape
    wider = np.empty((count, 2 * steps, *shape), column.dtype)
    wider[:, :steps] = column
    return wider
