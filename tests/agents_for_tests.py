"""Agents that do not learn, for tests to play."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.errors import AgentError
from hdeeprm_like.types import Bools, Floats


class ClassicAgent:
    """Always the same action: a policy pair (thesis 4.2.2)."""

    def __init__(self, action: int = 0) -> None:
        self.action = action

    def act(self, observation: Floats, mask: Bools) -> int:
        """Return its action."""
        return self.action


class RandomAgent:
    """Any legal action, each as likely as the others."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def act(self, observation: Floats, mask: Bools) -> int:
        """Return a legal action."""
        return int(self.rng.choice(np.flatnonzero(mask)))


class FixedSequence:
    """The actions of a list, one after the other."""

    def __init__(self, actions: Sequence[int]) -> None:
        self.actions = tuple(actions)
        self.taken = 0

    def act(self, observation: Floats, mask: Bools) -> int:
        """Return the next action.

        Raises:
            AgentError: all have been taken.
        """
        if self.taken == len(self.actions):
            raise AgentError(f"the fixed sequence has {self.taken} actions and one more was wanted")
        self.taken += 1
        return self.actions[self.taken - 1]
