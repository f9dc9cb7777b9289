"""Proximal policy optimization with action masks (Schulman et al. 2017; Huang and Ontañón 2022; dissertation 2.5.3).

Details, as in the published implementations: two networks of tanh layers with orthogonal weights; Adam with epsilon
1e-5; clipped surrogate; advantages by GAE, standardized in each minibatch; entropy bonus; half the mean squared error
of the values, optionally clipped; gradient clipping; learning rate falling linearly to 0. An update learns from whole
episodes, so nothing is bootstrapped at their end.

| option | default | meaning |
|---|---|---|
| ``hidden`` | 64 | units of the two hidden layers of each network |
| ``lr`` | 0.0003 | learning rate at the beginning |
| ``lr_decay`` | ``"linear"`` | ``"none"`` keeps it |
| ``gamma`` | 0.99 | discount of one decision |
| ``gae_lambda`` | 0.95 | trace of the advantages |
| ``clip`` | 0.2 | how far from 1 the ratio of new to old probability is rewarded |
| ``clip_value`` | 0.0 | how far a value may move in an update, 0 for as it likes |
| ``epochs`` | 10 | passes over the decisions in an update |
| ``minibatch`` | 64 | decisions in a step |
| ``entropy`` | 0.0 | weight of the entropy bonus |
| ``value_coefficient`` | 0.5 | weight of the mean squared error of the values |
| ``max_grad_norm`` | 0.5 | norm that gradients are clipped to |
| ``target_kl`` | 0.0 | an update stops when the policy has moved 1.5 times that far, 0 for never |
| ``alike`` | 1 | episodes in a row with the same jobs, whose mean advantage at each time is subtracted |
| ``reward_scale`` | 1.0 | rewards are multiplied by it, so that the values to learn are of the order of 1 |
| ``normalize`` | false | whether observations are standardized by all that has been learned from |
| ``factors`` | [] | sizes of the choices whose product the actions are, as 6 x 6 policies; logits add up |
| ``preference`` | 2.0 | what the logits of a preferred action get more (``training.prior``) |
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.learning.agents import Batch, PolicyLearningAgent, ValueLearningAgent, entropy
from hdeeprm_like.learning.returns import generalized_advantages, mean_at_each_time

SMALLEST_VARIANCE = 1e-8  # of a feature; one that does not vary is not blown up


def network(sizes: Sequence[int], last_gain: float) -> nn.Sequential:
    """Return dense layers of those sizes with tanh between and orthogonal weights."""
    layers: list[nn.Module] = []
    for place, (inputs, outputs) in enumerate(pairwise(sizes)):
        last = place == len(sizes) - 2
        layer = nn.Linear(inputs, outputs)
        nn.init.orthogonal_(layer.weight, last_gain if last else np.sqrt(2.0))
        nn.init.zeros_(layer.bias)
        layers += [layer] if last else [layer, nn.Tanh()]
    return nn.Sequential(*layers)


class PPO(PolicyLearningAgent, ValueLearningAgent):
    """See the module."""

    learning_rate = 0.0003

    def __init__(
        self,
        gamma: float,
        action_size: int,
        observation_size: int,
        hidden: int = 64,
        lr_decay: str = "linear",
        gae_lambda: float = 0.95,
        clip: float = 0.2,
        clip_value: float = 0.0,
        epochs: int = 10,
        minibatch: int = 64,
        entropy: float = 0.0,
        value_coefficient: float = 0.5,
        max_grad_norm: float = 0.5,
        target_kl: float = 0.0,
        alike: int = 1,
        reward_scale: float = 1.0,
        normalize: bool = False,
        factors: Sequence[int] = (),
        preference: float = 2.0,
    ) -> None:
        if lr_decay not in ("linear", "none"):
            raise OptionsError(f"agent.lr_decay is {lr_decay!r}; 'linear' or 'none' is needed")
        self.factors = tuple(factors) or (action_size,)
        if math.prod(self.factors) != action_size:
            raise OptionsError(f"agent.factors is {list(factors)}; the product must be the {action_size} actions")
        self.lr_decay, self.gae_lambda, self.clip, self.clip_value = lr_decay, gae_lambda, clip, clip_value
        self.epochs, self.minibatch, self.entropy = epochs, minibatch, entropy
        self.value_coefficient, self.max_grad_norm, self.target_kl = value_coefficient, max_grad_norm, target_kl
        self.alike, self.reward_scale, self.normalize, self.preference = alike, reward_scale, normalize, preference
        self.actor = network([observation_size, hidden, hidden, sum(self.factors)], 0.01)
        self.critic = network([observation_size, hidden, hidden, 1], 1.0)
        self.seen: Tensor
        self.mean: Tensor
        self.square: Tensor
        self.register_buffer("seen", torch.zeros(()))  # decisions that the two means are over
        self.register_buffer("mean", torch.zeros(observation_size))
        self.register_buffer("square", torch.ones(observation_size))

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Return Adam with the published epsilon."""
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate, eps=1e-5)

    def anneal(self, left: float) -> None:
        """Let the learning rate fall with the training that is left."""
        if self.lr_decay == "linear":
            for group in self.optimizer.param_groups:
                group["lr"] = self.learning_rate * left

    def forward_policy(self, observation: Tensor) -> Tensor:
        """Return (B, A) probabilities."""
        return torch.softmax(self.logits(observation), dim=1)

    def forward_value(self, observation: Tensor) -> Tensor:
        """Return (B, 1) expected returns."""
        value: Tensor = self.critic(self.standardized(observation))
        return value

    def logits(self, observation: Tensor) -> Tensor:
        """Return (B, A) logits, sums over the factors of the actions."""
        parts = torch.split(self.actor(self.standardized(observation)), list(self.factors), dim=1)
        total: Tensor = parts[0]
        for part in parts[1:]:
            total = (total[:, :, None] + part[:, None, :]).flatten(1)
        return total

    def standardized(self, observation: Tensor) -> Tensor:
        """Return (B, F) features with about mean 0 and deviation 1, cut at 10."""
        if not self.normalize:
            return observation
        deviation = (self.square - self.mean.square()).clamp(min=SMALLEST_VARIANCE).sqrt()
        return ((observation - self.mean) / deviation).clamp(-10.0, 10.0)

    def take_note(self, observations: Tensor) -> None:
        """Let observations count in the means that standardize."""
        share = len(observations) / (self.seen + len(observations))
        self.seen += len(observations)
        self.mean += share * (observations.mean(0) - self.mean)
        self.square += share * (observations.square().mean(0) - self.square)

    def prefer(self, action: int) -> None:
        """Give the logits of an action a greater constant."""
        last, at = cast(nn.Linear, self.actor[-1]), sum(self.factors)
        with torch.no_grad():
            for size in reversed(self.factors):
                action, choice = divmod(action, size)
                at -= size
                last.bias[at + choice] += self.preference

    def log_probabilities(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return (B, A) logarithms of the probabilities; the logits of illegal actions are masked."""
        return torch.log_softmax(self.logits(observations).masked_fill(~masks, -torch.inf), dim=1)

    def learn(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """Improve by some episodes; return the means of the losses over all steps."""
        with self.blamed():
            batch = Batch.of(episodes, self.device)
            if self.normalize:
                self.take_note(batch.observations)
            with torch.no_grad():
                before = self._chosen(self.log_probabilities(batch.observations, batch.masks), batch.actions)
                values = self.values(batch.observations)
            expected = values.cpu().numpy().astype(np.float64)
            rewards = batch.rewards * self.reward_scale
            advantages = generalized_advantages(rewards, expected, batch.lengths, self.gamma, self.gae_lambda)
            returns = batch.tensor(advantages + expected)
            if self.alike > 1:
                advantages -= mean_at_each_time(advantages, batch.times, batch.lengths, self.alike)
            fixed = before, values, batch.tensor(advantages), returns
            parts: list[list[float]] = []
            for _ in range(self.epochs):
                order = torch.randperm(len(batch), generator=self.generator).to(self.device)
                for rows in torch.split(order, self.minibatch):
                    parts.append(self._learn_from(batch, rows, *fixed))
                if self.target_kl > 0.0 and parts[-1][-1] > 1.5 * self.target_kl:
                    break
        names = ("loss", "policy_loss", "value_loss", "entropy", "clipped", "kl")
        return dict(zip(names, np.mean(parts, axis=0).tolist(), strict=True))

    def _learn_from(
        self, batch: Batch, rows: Tensor, before: Tensor, values: Tensor, advantages: Tensor, returns: Tensor
    ) -> list[float]:
        """Take one step on some decisions."""
        logarithms = self.log_probabilities(batch.observations[rows], batch.masks[rows])
        change = self._chosen(logarithms, batch.actions[rows]) - before[rows]
        ratio = change.exp()
        weights = advantages[rows]
        if len(rows) > 1:
            weights = (weights - weights.mean()) / (weights.std() + 1e-8)
        policy_loss = -torch.min(weights * ratio, weights * ratio.clamp(1.0 - self.clip, 1.0 + self.clip)).mean()
        now = self.values(batch.observations[rows])
        if self.clip_value > 0.0:
            now = values[rows] + (now - values[rows]).clamp(-self.clip_value, self.clip_value)
        value_loss = (now - returns[rows]).square().mean()
        uncertain = entropy(logarithms).mean()
        loss = policy_loss + self.value_coefficient * value_loss - self.entropy * uncertain
        self.step(loss, self.max_grad_norm)
        with torch.no_grad():
            clipped = ((ratio - 1.0).abs() > self.clip).float().mean()
            kl = (ratio - 1.0 - change).mean()  # Schulman's estimator of least variance
        return [x.item() for x in (loss, policy_loss, value_loss, uncertain, clipped, kl)]

    @staticmethod
    def _chosen(logarithms: Tensor, actions: Tensor) -> Tensor:
        return logarithms.gather(1, actions[:, None])[:, 0]
