"""An agent that learns by Q-learning; docs/agents.md shows it, tests/learning/test_python_state.py trains it."""

import random
from collections import deque

import torch
from torch import nn
from torch.nn import functional

from hdeeprm_like.learning.agents import LearningAgent


class QLearning(LearningAgent):
    """A network that says what each action is worth."""

    def __init__(self, gamma, observation_size, action_size, steps=8, epsilon=0.1):
        self.network = nn.Sequential(nn.Linear(observation_size, 32), nn.ReLU(), nn.Linear(32, action_size))
        self.steps, self.epsilon = steps, epsilon
        self.memory = deque(maxlen=10_000)

    def choose(self, observations, masks, episodes):
        """Take the best action, or with probability epsilon any legal one."""
        values = self.network(observations).masked_fill(~masks, -torch.inf)
        if self.greedy:
            return values.argmax(1)
        drawn = torch.multinomial(masks.float(), 1, generator=self.generator)[:, 0]
        explores = torch.rand(len(masks), generator=self.generator) < self.epsilon
        return torch.where(explores, drawn, values.argmax(1))

    def learn(self, episodes):
        """Remember what was seen, and take some gradient steps."""
        for one in episodes:
            for t in range(len(one)):
                after = min(t + 1, len(one) - 1)
                row = (one.observations[t], int(one.actions[t]), float(one.rewards[t]))
                row += (one.observations[after], one.masks[after], float(t + 1 < len(one)))
                self.memory.append([torch.as_tensor(part).float() for part in row])
        losses = [self.one_step() for _ in range(self.steps)]
        return {"loss": sum(losses) / len(losses)}

    def one_step(self):
        """Take a gradient step with decisions drawn from the memory."""
        rows = random.sample(list(self.memory), min(64, len(self.memory)))
        seen, actions, rewards, then, legal, goes_on = map(torch.stack, zip(*rows, strict=True))
        with torch.no_grad():
            after = self.network(then).masked_fill(legal == 0, -torch.inf).amax(1)
        found = self.network(seen).gather(1, actions.long()[:, None])[:, 0]
        loss = functional.smooth_l1_loss(found, rewards + self.gamma * goes_on * after)
        self.step(loss)
        return loss.item()

    def get_extra_state(self):
        """Return what a checkpoint keeps beside the weights."""
        return {"memory": list(self.memory)}

    def set_extra_state(self, state):
        """Continue from it."""
        self.memory = deque(state["memory"], maxlen=10_000)
