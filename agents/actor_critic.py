"""Advantage actor-critic, the second agent of the HDeepRM thesis (3.2.2, figure 3.5).

Actor and critic share the input layer and have three hidden layers each, with LeakyReLU between them. After each batch
of episodes Adam takes one step on the policy loss, weighted by the advantages, plus the Huber loss of the critic. With
``training.n_steps``, ``"optimizer": "rmsprop"`` and ``gae_lambda`` 1 this is A2C (Mnih et al. 2016): each step learns
from *n_steps* decisions of every episode, bootstrapped with the critic's values.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from hdeeprm_like.learning.agents import PolicyLearningAgent, ValueLearningAgent, entropy
from hdeeprm_like.learning.batch import Batch
from hdeeprm_like.learning.ppo import (
    Advantages,
    Alike,
    Entropy,
    GAELambda,
    GradNorm,
    RewardScale,
    Scale,
    ValueCoefficient,
)


class ActorCritic(PolicyLearningAgent, ValueLearningAgent):
    """Advantage actor-critic; the parameters of the constructor are the options."""

    bootstraps = True

    def __init__(
        self,
        gamma: float,
        action_size: int,
        observation_size: int,
        hidden: Annotated[
            int | Sequence[int], "units of the shared layer and each hidden one, or of each layer in a list"
        ] = 64,
        gae_lambda: GAELambda = 1.0,
        entropy: Entropy = 0.0,
        value_coefficient: ValueCoefficient = 1.0,
        alike: Alike = 1,
        reward_scale: RewardScale = 1.0,
        standardize: Annotated[bool, "whether advantages are standardized over the batch"] = True,
        max_grad_norm: GradNorm = 0.5,
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
