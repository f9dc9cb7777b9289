"""Returns and advantages in compiled code; see `learning.returns` for definitions.

S decisions of E episodes, concatenated in the order of the episodes.
"""

from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.types import Floats, Ints


@compiled
def write_returns(rewards: Floats, lengths: Ints, gamma: float, returns: Floats) -> None:
    """Write the discounted returns."""
    end = 0
    for length in lengths:
        end += length
        following = 0.0
        for step in range(end - 1, end - length - 1, -1):
            following = rewards[step] + gamma * following
            returns[step] = following


@compiled
def write_advantages(
    rewards: Floats, values: Floats, following: Floats, lengths: Ints, gamma: float, trace: float, advantages: Floats
) -> None:
    """Write the generalized advantages."""
    end = 0
    for episode in range(len(lengths)):
        end += lengths[episode]
        sum_of_errors, next_value = 0.0, following[episode]
        for step in range(end - 1, end - lengths[episode] - 1, -1):
            error = rewards[step] + gamma * next_value - values[step]
            sum_of_errors = error + gamma * trace * sum_of_errors
            next_value = values[step]
            advantages[step] = sum_of_errors


@compiled
def write_mean(returns: Floats, times: Floats, lengths: Ints, alike: int, ends: Ints, mean: Floats) -> None:
    """Write the mean returns of episodes with the same jobs, given (E,) the end of each episode."""
    for episode in range(len(lengths)):
        first = episode - episode % alike
        group = range(first, min(first + alike, len(lengths)))
        for other in group:
            place = ends[other] - lengths[other]
            for step in range(ends[episode] - lengths[episode], ends[episode]):
                while place < ends[other] and times[place] < times[step]:
                    place += 1
                if place < ends[other]:
                    mean[step] += returns[place] / len(group)
