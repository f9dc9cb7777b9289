"""Advantage actor-critic, the second agent of the HDeepRM thesis (3.2.2, figure 3.5).

Actor and critic share the input layer and have three hidden layers each, with LeakyReLU between them. After each batch
of episodes Adam takes one step on the policy loss, weighted by the advantages, plus the Huber loss of the critic. With
``training.n_steps``, ``"optimizer": "rmsprop"`` and ``gae_lambda`` 1 this is A2C (Mnih et al. 2016): each step learns
from *n_steps* decisions of every episode, bootstrapped with the critic's values.

| option | default | meaning |
|---|---|---|
| ``hidden`` | 64 | units of the input layer and each hidden layer; or a list by layer, the shared one first |
| ``lr`` | 0.001 | learning rate |
| ``gamma`` | 0.99 | discount of one decision |
| ``gae_lambda`` | 1.0 | trace of the advantages; 1: whole returns, 0: one-step errors (dissertation equation 2.14) |
| ``entropy`` | 0.0 | weight of the entropy bonus (dissertation equation 2.17) |
| ``value_coefficient`` | 1.0 | weight of the value loss |
| ``alike`` | 1 | consecutive episodes with the same jobs, whose mean advantage at each time is subtracted |
| ``reward_scale`` | 1.0 | factor of rewards, so that the values to learn are of the order of 1 |
| ``standardize`` | true | whether advantages are standardized over the batch |
| ``max_grad_norm`` | 0.5 | norm that gradients are clipped to, 0 for no clipping |
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from hdeeprm_like.learning.advantages import Advantages, Scale
from hdeeprm_like.learning.agent_options import NOT_NEGATIVE, POSITIVE, SHARE, Option
from hdeeprm_like.learning.agents import PolicyLearningAgent, ValueLearningAgent, entropy
from hdeeprm_like.learning.batch import Batch


class ActorCritic(PolicyLearningAgent, ValueLearningAgent):
    """Advantage actor-critic with the options in the table of this module."""

    bootstraps = True
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
        hidden: int | Sequence[int] = 64,
        gae_lambda: float = 1.0,
        entropy: float = 0.0,
        value_coefficient: float = 1.0,
        alike: int = 1,
        reward_scale: float = 1.0,
        standardize: bool = True,
        max_grad_norm: float = 0.5,
    ) -> None:
        scale: Scale = "batch" if standardize else "none"
        self.advantages = Advantages(gamma, gae_lambda, alike, reward_scale, scale)
        self.entropy = entropy
        self.value_coefficient = value_coefficient
        self.max_grad_norm = max_grad_norm
        units = [hidden] * 4 if isinstance(hidden, int) else list(hidden)
        self.input = nn.Linear(observation_size, units[0])
        self.actor = nn.ModuleList(nn.Linear(*sizes) for sizes in pairwise(units))
        self.critic = nn.ModuleList(nn.Linear(*sizes) for sizes in pairwise(units))
        self.policy = nn.Linear(units[-1], action_size)
        self.value = nn.Linear(units[-1], 1)

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
        advantages, gained = self.advantages.of(batch, expected, self.values_after(batch))
        weights, returns = batch.tensor(advantages), batch.tensor(gained)
        logarithms = self.log_probabilities_of(batch)
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
