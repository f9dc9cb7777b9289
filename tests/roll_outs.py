"""Two ways to play the only episode there is, alone and among others side by side, and what it is worth."""

import numpy as np
from paper_clusters import cluster

from hdeeprm_like.decision.named_parts import objectives_named
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.learning.rollout import batched_rollout
from hdeeprm_like.learning.training import play_episodes
from hdeeprm_like.run.episodes import Plays


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


def rewards(roll_out, clock, objectives, workload, **space):
    """The rewards of the only policy on a node of four cores of 4 GFLOP/s and 80 W."""
    parts = {"reward": "integral"} | space
    space = Space(pairs=(("first", "high_gflops"),), objectives=objectives_named(objectives), **parts)
    four_cores = cluster(processors=((0, 4, 4.0, 80.0),))
    return roll_out(Plays(four_cores, lambda number: workload, space, clock=clock)).rewards
