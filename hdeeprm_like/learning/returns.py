"""Returns, advantages and baselines of policy gradients.

Everywhere S is the number of decisions of some episodes, concatenated in the order of the episodes, and *lengths* (E,)
holds how many decisions each episode has.
"""

import numpy as np

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.run.returns import write_mean, write_returns
from hdeeprm_like.types import Floats, Ints


def discounted_returns(rewards: Floats, lengths: Ints, gamma: float) -> Floats:
    """Return (S,) the discounted sum of the rewards from each decision to the end of its episode.

    Args:
        rewards: (S,). lengths: (E,). gamma: discount of one decision, within [0, 1].

    Source: thesis equation 2.1, dissertation equation 2.4.
    """
    returns = np.empty(len(rewards))
    write_returns(in_order(rewards), counts(lengths), float(gamma), returns)
    return returns


def in_order(values: Floats) -> Floats:
    """Return values as compiled functions take them."""
    return np.ascontiguousarray(values, np.float64)


def counts(lengths: Ints) -> Ints:
    """Return lengths as compiled functions take them."""
    return np.ascontiguousarray(lengths, np.int64)


def generalized_advantages(
    rewards: Floats, values: Floats, following: Floats, lengths: Ints, gamma: float, trace: float
) -> Floats:
    """Return (S,) the generalized advantage estimate (GAE) of each decision.

    Args:
        rewards: (S,). values: (S,) the critic's estimate of the return from each decision on. lengths: (E,).
        following: (E,) its estimate of what comes after the last decision, 0 where the episode was over then.
        gamma: discount of one decision. trace: lambda; 0 gives one-step errors, 1 gives returns minus values.

    Source: Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage Estimation", 2016.
    """
    counted = lengths > 0
    next_values = np.append(values[1:], 0.0)
    next_values[np.cumsum(lengths)[counted] - 1] = following[counted]
    return discounted_returns(rewards + gamma * next_values - values, lengths, gamma * trace)


def standardized(values: Floats) -> Floats:
    """Return (S,) values shifted to mean 0 and scaled to standard deviation 1.

    A single value is returned as it is, since it has no deviation; values that are all equal become 0.
    """
    if len(values) < 2:
        return values
    centred = values - values.mean()
    deviation = float(centred.std())
    return centred / deviation if deviation > 1e-9 * float(np.abs(values).max()) else np.zeros_like(values)


def mean_at_each_step(returns: Floats, lengths: Ints) -> Floats:
    """Return (S,) a baseline: for the t-th decision of an episode, the mean of the t-th returns of all episodes.

    Episodes with fewer than t decisions are left out of that mean; the source assumes that all are equally long.

    Args:
        returns: (S,). lengths: (E,).

    Source: dissertation algorithm 1.
    """
    step = np.concatenate([np.arange(length) for length in lengths])
    baseline: Floats = (np.bincount(step, returns) / np.bincount(step))[step]
    return baseline


def mean_at_each_time(returns: Floats, times: Floats, lengths: Ints, alike: int) -> Floats:
    """Return (S,) a baseline: the mean return, from the time of each decision on, of all episodes with the same jobs.

    Much of a return depends on which jobs arrive later, which no observation shows and no action changes. Episodes with
    the same jobs share that part, so subtracting their mean removes it and lowers the variance of the gradient. An
    episode's return at a time is that of its first decision at or after that time, and 0 after its last decision.

    Args:
        returns: (S,). times: (S,) s, of the decisions, not falling within an episode. lengths: (E,).
        alike: how many consecutive episodes have the same jobs.

    Source: Mao et al., "Variance Reduction for Reinforcement Learning in Input-Driven Environments", 2019.
    """
    mean = np.zeros(len(returns))
    write_mean(in_order(returns), in_order(times), counts(lengths), int(alike), np.cumsum(counts(lengths)), mean)
    return mean


def reference_returns(reference: Episode, times: Floats, gamma: float) -> Floats:
    """Return (T,) a baseline: what a policy gained on the same jobs, from each of some times on.

    Args:
        reference: of that policy. times: (T,) s. gamma: discount of one decision.
    """
    returns = discounted_returns(reference.rewards, np.array([len(reference)]), gamma)
    baseline: Floats = np.append(returns, 0.0)[np.searchsorted(reference.times, times)]
    return baseline
