"""Agents for tests to play: three that do not learn, and the source of one that does."""

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


# As a user writes one (thesis, appendix G).
APPENDIX_G = """
import torch.nn as nn
import torch.nn.functional as F
from hdeeprm_like.learning.agents import PolicyLearningAgent

class MyLearningAgent(PolicyLearningAgent):

    def __init__(self, gamma, hidden, action_size, observation_size):
        self.input = nn.Linear(observation_size, hidden)
        self.output = nn.Linear(hidden, action_size)

    def forward_policy(self, observation):
        out_0 = F.leaky_relu(self.input(observation))
        return F.softmax(self.output(out_0), dim=1)
"""
