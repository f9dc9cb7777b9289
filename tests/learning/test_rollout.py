"""Rollouts of a batch of episodes, on a cluster made of counters."""

import numpy as np
import torch

from hdeeprm_like.learning import rollout
from hdeeprm_like.learning.agents import PolicyLearningAgent, draw


class Counters:
    """Episode i counts from 10 i on and ends after *lengths[i]* decisions; each pays its count and a tenth of it."""

    def __init__(self, *lengths):
        self.lengths, self.done = np.array(lengths), np.zeros(len(lengths), np.int64)
        self.rewards = np.full(len(lengths), np.nan)
        self.masks = np.ones((len(lengths), 2), np.bool_)
        self.observations = np.zeros((len(lengths), 3), np.float32)
        self.look()

    def look(self):
        self.observations[:] = (10 * np.arange(len(self.lengths)) + self.done)[:, None]

    @property
    def over(self):
        return self.done >= self.lengths

    @property
    def now(self):
        return self.done * 60.0

    def step(self, actions):
        going = ~self.over
        self.rewards[going] = self.observations[going, 0] + 0.1 * actions[going]
        self.done[going] += 1
        self.look()


class Odd(PolicyLearningAgent):
    """Takes action 1 where the count is odd."""

    def choose(self, observations, masks, episodes):
        return observations[:, 0].long() % 2


def test_a_batch_of_episodes_of_any_length_gives_each_in_its_order(monkeypatch):
    monkeypatch.setattr(rollout, "STEPS", 2)  # less than two of the three need
    found = rollout.batched_rollout(Odd(), Counters(3, 0, 5))
    assert [len(episode) for episode in found] == [3, 0, 5]
    assert [episode.end for episode in found] == [180.0, 0.0, 300.0]
    assert found[2].observations.tolist() == [[count] * 3 for count in range(20, 25)]
    assert found[2].actions.tolist() == [0, 1, 0, 1, 0]
    assert found[2].rewards.tolist() == [20.0, 21.1, 22.0, 23.1, 24.0]
    assert found[0].times.tolist() == [0.0, 60.0, 120.0]
    assert found[1].masks.shape == (0, 2)


def test_the_arrays_of_episodes_still_in_use_are_not_overwritten():
    buffer = rollout.RolloutBuffer()
    kept = rollout.batched_rollout(Odd(), Counters(3, 0, 5), buffer)[2].rewards
    kept_as = kept.tolist()
    other = rollout.batched_rollout(Odd(), Counters(4, 4, 4), buffer)
    assert kept.tolist() == kept_as
    address = other[0].rewards.ctypes.data
    del other
    again = rollout.batched_rollout(Odd(), Counters(1, 2, 3), buffer)
    assert again[0].rewards.ctypes.data == address  # nothing refers to the others, so their memory is used again
    assert [episode.rewards.tolist() for episode in again] == [[0.0], [10.0, 11.1], [20.0, 21.1, 22.0]]
    assert len(rollout.batched_rollout(Odd(), Counters(1, 2), buffer)) == 2


def test_actions_are_drawn_by_their_probabilities_and_never_without_any():
    wanted = torch.tensor([0.0, 0.25, 0.0, 0.6, 0.15, 0.0])
    drawn = draw(wanted.expand(40_000, 6), torch.Generator().manual_seed(3))
    shares = torch.bincount(drawn, minlength=6) / 40_000
    assert shares[wanted == 0.0].tolist() == [0.0, 0.0, 0.0]
    assert (shares - wanted).abs().max() < 0.01  # 4 standard errors
    assert drawn.tolist() == draw(wanted.expand(40_000, 6), torch.Generator().manual_seed(3)).tolist()
