"""From rewards to what learners weigh their decisions with; S decisions of several episodes, one after the other."""

import numpy as np

from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.types import Floats, Ints


@compiled
def discounted_returns(rewards: Floats, lengths: Ints, gamma: float) -> Floats:
    """Return (S,) the discounted sum of the rewards from each decision to the end of its episode.

    Args:
        rewards: (S,). lengths: decisions of each episode. gamma: discount of one decision, within [0, 1].

    Source: thesis equation 2.1, dissertation equation 2.4.
    """
    returns = np.empty(len(rewards))
    end = 0
    for length in lengths:
        end += length
        following = 0.0
        for step in range(end - 1, end - length - 1, -1):
            following = rewards[step] + gamma * following
            returns[step] = following
    return returns


@compiled
def generalized_advantages(rewards: Floats, values: Floats, lengths: Ints, gamma: float, trace: float) -> Floats:
    """Return (S,) how much better each decision was than the value of what was seen before it; episodes are whole.

    Args:
        rewards, values: (S,). trace: lambda, 0 for one-step errors, 1 for returns less values.

    Source: Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage Estimation", 2016.
    """
    advantages = np.empty(len(rewards))
    end = 0
    for length in lengths:
        end += length
        following, next_value = 0.0, 0.0  # nothing comes after the last decision
        for step in range(end - 1, end - length - 1, -1):
            error = rewards[step] + gamma * next_value - values[step]
            following = error + gamma * trace * following
            next_value = values[step]
            advantages[step] = following
    return advantages


def standardized(values: Floats) -> Floats:
    """Return values with mean 0 and deviation 1; those of a single decision as they are, all-equal ones as 0."""
    if len(values) < 2:
        return values
    centred = values - values.mean()
    deviation = float(centred.std())
    return centred / deviation if deviation > 1e-9 * float(np.abs(values).max()) else np.zeros_like(values)


def mean_at_each_step(returns: Floats, lengths: Ints) -> Floats:
    """Return (S,) the mean return, at each step's place in its episode, of the episodes that reach that place.

    Source: dissertation algorithm 1, which wants episodes of equal length; here those that have ended are left out.
    """
    place = np.concatenate([np.arange(length) for length in lengths])
    baseline: Floats = (np.bincount(place, returns) / np.bincount(place))[place]
    return baseline


@compiled
def mean_at_each_time(returns: Floats, times: Floats, lengths: Ints, alike: int) -> Floats:
    """Return (S,) the mean, over the episodes with the same jobs, of the returns from the time of each decision on.

    As a baseline it takes away what depends on the jobs that will come, which no observation can tell.

    Args:
        returns: (S,). times: (S,) s, rising within an episode. alike: episodes in a row that have the same jobs.

    Source: Mao et al., "Variance Reduction for Reinforcement Learning in Input-Driven Environments", 2019.
    """
    mean = np.zeros(len(returns))
    ends = np.cumsum(lengths)
    for episode in range(len(lengths)):
        first = episode - episode % alike
        group = range(first, min(first + alike, len(lengths)))
        for other in group:
            place = ends[other] - lengths[other]
            for step in range(ends[episode] - lengths[episode], ends[episode]):
                while place < ends[other] and times[place] < times[step]:
                    place += 1
                if place < ends[other]:  # nothing more is to come where the other has made its last decision
                    mean[step] += returns[place] / len(group)
    return mean
