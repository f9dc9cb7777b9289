"""Advantage actor-critic, the second agent of the HDeepRM thesis (3.2.2, figure 3.5).

Actor and critic share the input layer and have three hidden layers each, with LeakyReLU between them. After each batch
of episodes Adam takes one step on the policy loss, weighted by the advantages, plus the Huber loss of the critic.

| option | default | meaning |
|---|---|---|
| ``hidden`` | 64 | units of the input layer and each hidden layer |
| ``lr`` | 0.001 | learning rate |
| ``gamma`` | 0.99 | discount of one decision |
| ``gae_lambda`` | 1.0 | trace of the advantages; 1: whole returns, 0: one-step errors (dissertation equation 2.14) |
| ``entropy`` | 0.0 | weight of the entropy bonus (dissertation equation 2.17) |
| ``value_coefficient`` | 1.0 | weight of the value loss |
| ``alike`` | 1 | consecutive episodes with the same jobs, whose mean advantage at each time is subtracted |
| ``reward_scale`` | 1.0 | rewards are multiplied by it, so that the values to learn are of the order of 1 |
| ``standardize`` | true | whether advantages are standardized over the batch |
| ``max_grad_norm`` | 0.5 | norm that gradients are clipped to, 0 for no clipping |
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from hdeeprm_like.learning.agent_options import NOT_NEGATIVE, POSITIVE, SHARE, Option
from hdeeprm_like.learning.agents import Batch, PolicyLearningAgent, ValueLearningAgent, entropy
from hdeeprm_like.learning.returns import generalized_advantages, mean_at_each_time, standardized


class ActorCritic(PolicyLearningAgent, ValueLearningAgent):
    """Advantage actor-critic with the options in the table of this module."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {
        "gae_lambda": SHARE,
        "entropy": NOT_NEGATIVE,
        "value_coefficient": NOT_NEGATIVE,
        "reward_scale": POSITIVE,
        "max_grad_norm": NOT_NEGATIVE,
    }

    def __init__(
        self,
        gamma: float,
        action_size: int,
        observation_size: int,
        hidden: int = 64,
        gae_lambda: float = 1.0,
        entropy: float = 0.0,
        value_coefficient: float = 1.0,
        alike: int = 1,
        reward_scale: float = 1.0,
        standardize: bool = True,
        max_grad_norm: float = 0.5,
    ) -> None:
        self.gae_lambda = gae_lambda
        self.entropy = entropy
        self.value_coefficient = value_coefficient
        self.alike = alike
        self.reward_scale = reward_scale
        self.standardize = standardize
        self.max_grad_norm = max_grad_norm
        self.input = nn.Linear(observation_size, hidden)
        self.actor = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(3)])
        self.critic = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(3)])
        self.policy = nn.Linear(hidden, action_size)
        self.value = nn.Linear(hidden, 1)

    def forward_policy(self, observation: Tensor) -> Tensor:
        """Return (B, A) probabilities."""
        return F.softmax(self.policy(self._through(self.actor, observation)), dim=1)

    def forward_value(self, observation: Tensor) -> Tensor:
        """Return (B, 1) expected returns."""
        value: Tensor = self.value(self._through(self.critic, observation))
        return value

    def loss(self, batch: Batch) -> Mapping[str, Tensor]:
        """Return the policy loss, the value loss and the entropy bonus."""
        values = self.values(batch.observations)
        expected = values.detach().cpu().numpy().astype(np.float64)
        rewards = batch.rewards * self.reward_scale
        advantages = generalized_advantages(rewards, expected, batch.lengths, self.gamma, self.gae_lambda)
        returns = batch.tensor(advantages + expected)
        if self.alike > 1:
            advantages -= mean_at_each_time(advantages, batch.times, batch.lengths, self.alike)
        weights = batch.tensor(standardized(advantages) if self.standardize else advantages)
        logarithms = self.log_probabilities(batch.observations, batch.masks)
        chosen = logarithms.gather(1, batch.actions[:, None])[:, 0]
        return {
            "policy_loss": -(chosen * weights).mean(),
            "value_loss": self.value_coefficient * self.value_loss(values, returns),
            "entropy_loss": -self.entropy * entropy(logarithms).mean(),
        }

    def step(self, loss: Tensor, largest_gradient: float = 0.0) -> None:
        """Move the parameters against the clipped gradient."""
        super().step(loss, largest_gradient or self.max_grad_norm)

    def _through(self, layers: nn.ModuleList | Sequence[nn.Module], observation: Tensor) -> Tensor:
        out = F.leaky_relu(self.input(observation))
        for layer in layers:
            out = F.leaky_relu(layer(out))
        return out
