"""Constant policies, which take one action throughout: what agents are compared with and may begin by preferring."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.learning.training import REWARD, Measures, NewEpisode, Playing

HALVING_FACTOR = 6  # the first round of the search runs a sixth of the episodes and passes on a sixth of the actions


def constant_policy_means(
    actions: Sequence[int], new_episode: NewEpisode, episodes: int, measures: Measures | None = None
) -> list[dict[str, float]]:
    """Return for each action the mean reward, and the mean of each measure, of the policy that always takes it.

    Args:
        episodes: how many each action runs, numbered from 0.
    """
    measures = measures or {}
    means: list[dict[str, float]] = []
    for action in actions:
        results: list[list[float]] = []
        for number in range(episodes):
            playing = new_episode(number)
            follow_constant_policy(playing, action)
            results.append([playing.episode.reward, *(measure(playing) for measure in measures.values())])
        means.append(dict(zip((REWARD, *measures), np.mean(results, axis=0).tolist(), strict=True)))
    return means


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


def follow_constant_policy(playing: Playing, action: int) -> None:
    """Run an episode to its end with one action, replaced by the first legal one if it is illegal."""
    while playing.advance():
        _, mask = playing.observe()
        playing.act(action if mask[action] else int(np.flatnonzero(mask)[0]))
