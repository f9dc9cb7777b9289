"""Two ways to play the only episode there is: alone, and among others side by side."""

import numpy as np

from hdeeprm_like.learning.rollout import batched_rollout
from hdeeprm_like.learning.training import play_episodes


class FirstAction:
    """Takes action 0 in every episode."""

    def begin(self, episodes):
        pass

    def decide(self, observations, masks, episodes):
        return np.zeros(len(masks), np.int64)


def one_by_one(plays):
    return play_episodes(FirstAction(), [plays(0)])[0]


def batched(plays):
    return batched_rollout(FirstAction(), plays.batch(0, 1))[0]
