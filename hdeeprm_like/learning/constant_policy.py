"""Constant policies, which take one action throughout: what agents are compared with and may begin by preferring."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.learning.training import REWARD, Measures, NewEpisode, measured
from hdeeprm_like.types import Bools, Floats, Ints

HALVING_FACTOR = 6  # the first round of the search runs a sixth of the episodes and passes on a sixth of the actions


def constant_policy_means(
    actions: Sequence[int], new_episode: NewEpisode, episodes: int, measures: Measures | None = None
) -> list[dict[str, float]]:
    """Return for each action the mean reward, and the mean of each measure, of the policy that always takes it.

    Args:
        episodes: how many each action runs, numbered from 0.
    """
    played = (measured(Constant(action), new_episode, episodes, measures or {}) for action in actions)
    return [{name: float(np.mean(values)) for name, values in one.items()} for one in played]


def best_constant_policy(
    actions: int, new_episode: NewEpisode, episodes: int, best: str = REWARD, measures: Measures | None = None
) -> int:
    """Return the action whose constant policy has the greatest mean reward, or the least mean of the measure *best*.

    A search in two rounds of successive halving: all actions run a sixth of the episodes, and the best sixth of the
    actions run all of them.

    Args:
        actions: how many there are. episodes: to run in the second round.
    """
    candidates = list(range(actions))
    for divisor in (HALVING_FACTOR, 1):
        means = constant_policy_means(candidates, new_episode, -(-episodes // divisor), measures)
        costs = [-mean[REWARD] if best == REWARD else mean[best] for mean in means]
        survivors = -(-len(candidates) // HALVING_FACTOR)
        candidates = [candidates[place] for place in np.argsort(costs, kind="stable")[:survivors]]
    return candidates[0]


class Constant:
    """Takes one action throughout, replaced by the first legal one where it is illegal."""

    def __init__(self, action: int) -> None:
        self.action = action

    def begin(self, episodes: Ints) -> None:
        """Take note of nothing."""

    def decide(self, observations: Floats, masks: Bools, episodes: Ints) -> Ints:
        """Return (B,) actions."""
        return np.where(masks[:, self.action], self.action, masks.argmax(1))
