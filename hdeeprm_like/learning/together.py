"""Playing episodes side by side where a driver advances them all in one call."""

from typing import Protocol, runtime_checkable

import numpy as np

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.learning.agents import LearningAgent
from hdeeprm_like.types import Bools, Floats, Ints


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
    shape, size = played.observations.shape[1:], played.masks.shape[1]
    seen, legal = [np.zeros((0, *shape), np.float32)], [np.zeros((0, size), np.bool_)]
    places, chosen = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    rewards: list[Floats] = [np.zeros(0)]
    times: list[Floats] = [np.zeros(0)]
    going = np.flatnonzero(~played.over)
    actions = np.zeros(len(played.rewards), np.int64)
    while len(going):
        places.append(going)
        seen.append(played.observations[going])
        legal.append(played.masks[going])
        times.append(played.now[going])
        chosen.append(agent.decide(seen[-1], legal[-1]).astype(np.int64))
        actions[going] = chosen[-1]
        played.step(actions)
        rewards.append(played.rewards[going])
        going = np.flatnonzero(~played.over)
    columns = [np.concatenate(column) for column in (seen, legal, chosen, rewards, times)]
    place, ends = np.concatenate(places), played.now
    order = np.argsort(place, kind="stable")
    cuts = np.searchsorted(place[order], np.arange(1, len(ends)))
    parts = zip(*(np.split(column[order], cuts) for column in columns), ends.tolist(), strict=True)
    return [Episode(*part) for part in parts]
