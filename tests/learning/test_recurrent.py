"""Agents that remember: the memories of episodes are their own, however the episodes are played."""

import numpy as np
import pytest
import torch
from shipped import shipped
from test_rollout import Counters
from toy import ACTIONS, NAMES, PLACES, Walk

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.layout import plain_layout
from hdeeprm_like.learning.agents import Batch
from hdeeprm_like.learning.rollout import batched_rollout
from hdeeprm_like.learning.training import play_episodes


def remembering(observed, actions):
    layout = plain_layout((observed,), NAMES[:actions])
    return shipped("recurrent", {"gamma": 1.0, "hidden": 8, "lr": 0.01}, layout, seed=1)


def told(agent, episode):
    """(T, A) probabilities of one episode, seen alone and step by step."""
    memories, found = agent.first_memory()[None], []
    for seen in torch.from_numpy(episode.observations):
        probabilities, memories = agent.forward_recurrent(seen[None], memories)
        found.append(probabilities[0])
    return torch.stack(found).detach().numpy()


class Telling:
    """Keeps what an agent's network says while it decides."""

    def __init__(self, agent):
        self.plain, self.found = agent.forward_recurrent, []
        agent.forward_recurrent = self

    def __call__(self, observations, memories):
        probabilities, memories = self.plain(observations, memories)
        self.found.append((observations[:, 0].tolist(), probabilities.numpy()))
        return probabilities, memories


def test_episodes_of_a_batch_that_end_at_different_times_keep_their_own_memories():
    agent = remembering(3, 2)
    alone = [batched_rollout(agent, Counters(1, n))[1] for n in (5, 3)]
    telling = Telling(agent)
    lengths = (5, 2, 0, 3)
    played = batched_rollout(agent, Counters(*lengths))
    del agent.forward_recurrent
    for number, length in enumerate(lengths):
        said = [
            p[list(seen).index(10 * number + step)] for step, (seen, p) in enumerate(telling.found) if step < length
        ]
        if length:
            np.testing.assert_allclose(said, told(agent, played[number]), rtol=1e-5)
    assert [len(episode) for episode in alone] == [5, 3]


def test_a_second_batch_remembers_nothing_of_the_first():
    agent, fresh = remembering(3, 2), remembering(3, 2)
    agent.greedy = fresh.greedy = True
    batched_rollout(agent, Counters(7, 7))
    again, first = Telling(agent), Telling(fresh)
    batched_rollout(agent, Counters(4, 4))
    batched_rollout(fresh, Counters(4, 4))
    for (_, one), (_, other) in zip(again.found, first.found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_learning_sees_each_episode_from_its_own_beginning():
    agent = remembering(PLACES + 1, ACTIONS)
    walks = play_episodes(agent, [Walk() for _ in range(3)])
    batch = Batch.of(walks, agent.device)
    together = agent.log_probabilities_of(batch).exp().detach().numpy()
    for number, walk in enumerate(walks):
        legal = told(agent, walk) * walk.masks
        rows = together[number * len(walk) : (number + 1) * len(walk)]
        np.testing.assert_allclose(rows, legal / legal.sum(1, keepdims=True), rtol=1e-4, atol=1e-7)


class Echo:
    """Shows a coin in the first step and nothing in the second, where the action that the coin named pays."""

    def __init__(self, coin):
        self.coin, self.arrays = coin, []

    def advance(self):
        return len(self.arrays) < 2

    def observe(self):
        return np.array([1.0 - self.coin, self.coin] if not self.arrays else [0.0, 0.0], np.float32), np.ones(2, bool)

    def act(self, action):
        self.arrays.append((*self.observe(), action, float(bool(self.arrays) and action == self.coin)))

    @property
    def episode(self):
        seen, masks, actions, rewards = map(np.array, zip(*self.arrays, strict=True))
        return Episode(seen, masks, actions, rewards, np.arange(2.0), 2.0)


# learns for 10 s; what a memory is given and keeps is tried apart
@pytest.mark.more
def test_what_only_a_memory_can_learn_is_learned():
    agent = remembering(2, 2)
    for _ in range(150):
        agent.learn(play_episodes(agent, [Echo(number % 2) for number in range(16)]))
    agent.greedy = True
    played = play_episodes(agent, [Echo(0), Echo(1), Echo(1), Echo(0)])
    assert [episode.reward for episode in played] == [1.0] * 4


def test_an_episode_alone_is_begun_anew():
    agent = remembering(2, 2)
    agent.greedy = True
    telling = Telling(agent)
    for _ in range(2):
        agent.begin(np.zeros(1, np.int64))
        for _ in range(3):
            agent.act(np.ones(2, np.float32), np.ones(2, bool))
    first, second = telling.found[:3], telling.found[3:]
    assert [p.tolist() for _, p in first] == [p.tolist() for _, p in second]
    assert first[0][1].tolist() != first[1][1].tolist()
