"""Returns and advantages in compiled code; see `learning.returns` for definitions.

S decisions of E episodes, concatenated in the order of the episodes.
"""

from hdeeprm_like.engine.compiled import entry
from hdeeprm_like.types import Float64s, Int64s


@entry
def write_returns(rewards: Float64s, lengths: Int64s, gamma: float, returns: Float64s) -> None:
    """Write the discounted returns."""
    end = 0
    for length in lengths:
        end += length
        following = 0.0
        for step in range(end - 1, end - length - 1, -1):
            following = rewards[step] + gamma * following
            returns[step] = following


@entry
def write_mean(returns: Float64s, times: Float64s, lengths: Int64s, alike: int, ends: Int64s, mean: Float64s) -> None:
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
