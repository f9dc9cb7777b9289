"""Rollouts of a batch of episodes, on a cluster made of counters."""

import numpy as np
import pytest
import torch
from test_policy_iteration import ORDERS, agent_of, plays_of

from hdeeprm_like.learning import rollout
from hdeeprm_like.learning.agents import PolicyLearningAgent, draw
from hdeeprm_like.learning.constant_policy import constant_policy_means
from hdeeprm_like.learning.threads import VARIABLES, threads_for
from hdeeprm_like.learning.training import evaluate
from hdeeprm_like.run.episodes import makespan, mean_wait


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


@pytest.mark.parametrize("action", [None, 0, 1])
def test_evaluations_side_by_side_find_what_they_find_one_by_one(action):
    agent, _ = agent_of(ORDERS)
    plays, measures = plays_of(ORDERS), {"wait": mean_wait, "makespan": makespan}
    found = []
    for new_episode in (plays, lambda number: plays(number)):  # the second one cannot make a batch
        if action is None:
            found.append(evaluate(agent, new_episode, 5, greedy=False, measures=measures))
        else:
            found.append(constant_policy_means([action], new_episode, 5, measures)[0])
    assert set(found[0]) == {"reward", "wait", "makespan"}
    for name, values in found[0].items():
        assert values == pytest.approx(found[1][name], rel=1e-12), name


@pytest.mark.parametrize(("weights", "variable", "threads"), [(8, None, 1), (1200, None, 2), (8, "OMP_NUM_THREADS", 2)])
def test_a_small_network_computes_with_one_thread_unless_the_user_says_how_many(
    weights, variable, threads, monkeypatch
):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, "2")
    torch.set_num_threads(2)
    agent = Odd()
    agent.layer = torch.nn.Linear(weights, weights)
    with threads_for(agent):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2
