"""Proximal policy optimization with action masks (Schulman et al. 2017; Huang and Ontañón 2022; dissertation 2.5.3).

Details, as in the published implementations: two networks of tanh layers with orthogonal weights; Adam with epsilon
1e-5; clipped surrogate; advantages by GAE, standardized in each minibatch; entropy bonus; half the mean squared error
of the values, optionally clipped; gradient clipping; learning rate falling linearly to 0. An update learns from whole
episodes, or from parts of them (``training.n_steps``) bootstrapped with the critic's values.

Observations of a queue's window end with the features of empty slots, which are 0 and add nothing to a product. To save
time on a CPU, a minibatch is sorted by how many features its observations have before these zeros, and the first layer
multiplies blocks of about equal length without them; the results are the same.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Annotated, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.learning.advantages import Advantages
from hdeeprm_like.learning.agent_options import COUNT, NOT_NEGATIVE, Choice, Several
from hdeeprm_like.learning.agents import PolicyLearningAgent, ValueLearningAgent, entropy
from hdeeprm_like.learning.batch import Batch
from hdeeprm_like.learning.ppo_options import (
    Activation,
    Alike,
    Clip,
    Entropy,
    Epochs,
    GAELambda,
    GradNorm,
    Minibatch,
    RewardScale,
    Standardize,
    TargetKL,
    ValueCoefficient,
)

SMALLEST_VARIANCE = 1e-8  # of a feature, so that nearly constant features are not divided by almost 0
HALVINGS = 4  # a block has all features, the first half of them, the first quarter, ... down to 1 / 2**HALVINGS
TRIMMED = 128  # consecutive decisions that share one width, since individual widths take longer to find
CHUNK = 4096  # decisions per forward pass without gradient


class Dense(nn.Linear):
    """A dense layer that also takes observations without their last features, if these are all 0."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Return (B, outputs) for (B, F') inputs, the first F' features of B observations."""
        return functional.linear(inputs, self.weight[:, : inputs.shape[1]], self.bias)


class Tanh(nn.Module):
    """The hyperbolic tangent as 2 sigmoid(2 x) - 1, three times faster in torch on most CPUs."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Return tanh of each value."""
        return torch.sigmoid(inputs + inputs) * 2.0 - 1.0


ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": Tanh, "relu": nn.ReLU}


def network(sizes: Sequence[int], last_gain: float, activation: str = "tanh") -> nn.Sequential:
    """Return dense layers with orthogonal weights.

    Args:
        sizes: of the input and of each layer's output. last_gain: of the weights of the last layer.
        activation: between the layers, a name of `ACTIVATIONS`.
    """
    layers: list[nn.Module] = []
    for place, (inputs, outputs) in enumerate(pairwise(sizes)):
        last = place == len(sizes) - 2
        layer = Dense(inputs, outputs)
        nn.init.orthogonal_(layer.weight, last_gain if last else np.sqrt(2.0))
        nn.init.zeros_(layer.bias)
        layers += [layer] if last else [layer, ACTIVATIONS[activation]()]
    return nn.Sequential(*layers)


def through(layers: Iterable[nn.Module], blocks: Sequence[Tensor]) -> Tensor:
    """Return (B, units), the output of some layers for B observations in blocks with different numbers of features."""
    first, *others = layers
    units: Tensor = torch.cat([first(block) for block in blocks])
    for layer in others:
        units = layer(units)
    return units


def widths_of(observations: Tensor) -> Tensor:
    """Return (S,) how many leading features of each observation to multiply: the least of F, F/2, ... F/16 (rounded up)
    that leaves out only zeros; all F if the observations are not on a CPU.
    """
    features = observations.shape[1]
    if observations.device.type != "cpu":
        return torch.full((len(observations),), features, device=observations.device)
    parts = np.array_split(observations.numpy(), len(observations) // TRIMMED + 1)
    used = features - np.concatenate([(part[:, ::-1] != 0.0).argmax(1) for part in parts])
    choices = np.array([-(-features // 2**k) for k in range(HALVINGS, -1, -1)])
    return torch.from_numpy(choices[np.searchsorted(choices, used)])


class PPO(PolicyLearningAgent, ValueLearningAgent):
    """Proximal policy optimization; the parameters of the constructor are the options."""

    learning_rate = 0.0003
    bootstraps = True

    def __init__(
        self,
        gamma: float,
        action_size: int,
        observation_size: int,
        hidden: Annotated[int | Sequence[int], "units of each of two hidden layers, or of each layer in a list"] = 64,
        shared: Annotated[bool, "whether the hidden layers of actor and critic are the same"] = False,
        lr_decay: Annotated[
            str, Choice(("linear", "none")), "whether the learning rate falls linearly to 0 or stays"
        ] = "linear",
        gae_lambda: GAELambda = 0.95,
        clip: Clip = 0.2,
        clip_value: Annotated[float, NOT_NEGATIVE, "how far a value may move in an update; 0 for no limit"] = 0.0,
        epochs: Epochs = 10,
        minibatch: Minibatch = 64,
        entropy: Entropy = 0.0,
        value_coefficient: ValueCoefficient = 0.5,
        max_grad_norm: GradNorm = 0.5,
        target_kl: TargetKL = 0.0,
        alike: Alike = 1,
        reward_scale: RewardScale = 1.0,
        standardize: Standardize = "none",
        activation: Activation = "tanh",
        normalize: Annotated[bool, "whether features are standardized by their mean and deviation so far"] = False,
        factors: Annotated[
            Sequence[int],
            Several(COUNT),
            "sizes of the choices that an action combines: [6, 6] for 36 policy pairs, with or without one more, void",
        ] = (),
        preference: Annotated[
            float, NOT_NEGATIVE, "what is added to the logits of the action that `training.prior` finds best"
        ] = 2.0,
    ) -> None:
        self.factors = tuple(factors) or (action_size,)
        self.alone = action_size - math.prod(self.factors)  # behind those that combine choices, as void
        if self.alone not in (0, 1):
            raise OptionsError(
                f"agent.factors is {list(factors)}; the product must be the {action_size} actions, or one less"
            )
        self.lr_end = 0.0 if lr_decay == "linear" else None
        self.clip, self.clip_value = clip, clip_value
        self.advantages = Advantages(gamma, gae_lambda, alike, reward_scale, standardize)
        self.epochs, self.minibatch, self.entropy = epochs, minibatch, entropy
        self.value_coefficient, self.max_grad_norm, self.target_kl = value_coefficient, max_grad_norm, target_kl
        self.normalize, self.preference = normalize, preference
        layers = [hidden, hidden] if isinstance(hidden, int) else list(hidden)
        if not layers:
            raise OptionsError("agent.hidden is []; at least one layer is needed")
        self.shared = shared
        self.actor = network([observation_size, *layers, sum(self.factors) + self.alone], 0.01, activation)
        self.critic = network([observation_size, *layers, 1], 1.0, activation)
        if shared:
            self.critic = nn.Sequential(*list(self.actor)[:-1], self.critic[-1])
        self.seen: Tensor
        self.mean: Tensor
        self.square: Tensor
        self.register_buffer("seen", torch.zeros(()))  # number of decisions in the two means below
        self.register_buffer("mean", torch.zeros(observation_size))
        self.register_buffer("square", torch.ones(observation_size))

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Return Adam with the published epsilon, unless another optimizer is requested."""
        if self.optimizer_name != "adam":
            return super().make_optimizer()
        fused = self.device.type in ("cpu", "cuda")
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate, eps=1e-5, fused=fused)

    def forward_policy(self, observation: Tensor) -> Tensor:
        """Return (B, A) probabilities."""
        return torch.softmax(self.logits(observation), dim=1)

    def forward_value(self, observation: Tensor) -> Tensor:
        """Return (B, 1) expected returns."""
        return through(self.critic, self.blocks(observation))

    def logits(self, observation: Tensor) -> Tensor:
        """Return (B, A) logits."""
        return self.combined(through(self.actor, self.blocks(observation)))

    def combined(self, choices: Tensor) -> Tensor:
        """Return (B, A) logits of the actions, each the sum of the logits of the choices that it combines.

        Args:
            choices: (B, sum of the factors) logits of the choices of each factor; and of the action that stands alone.
        """
        *parts, alone = torch.split(choices, [*self.factors, self.alone], dim=1)
        total: Tensor = parts[0]
        for part in parts[1:]:
            total = (total[:, :, None] + part[:, None, :]).flatten(1)
        return torch.cat([total, alone], 1) if self.alone else total

    def blocks(self, observation: Tensor) -> list[Tensor]:
        """Return the networks' input: one block of standardized features, or several without zeros at their ends."""
        if self.normalize or observation.device.type != "cpu":
            return [self.standardized(observation)]
        features = observation.shape[1]
        parts = torch.split(observation, TRIMMED)
        return [part[:, : features - int(np.logical_or.reduce(part.numpy())[::-1].argmax())] for part in parts]

    def standardized(self, observation: Tensor) -> Tensor:
        """Return (B, F) features, with ``normalize`` of mean 0 and deviation 1 and clipped to [-10, 10]."""
        if not self.normalize:
            return observation
        deviation = (self.square - self.mean.square()).clamp(min=SMALLEST_VARIANCE).sqrt()
        return ((observation - self.mean) / deviation).clamp(-10.0, 10.0)

    def look(self, observations: Tensor) -> None:
        """Standardize features by these observations from now on, unless they already are by others."""
        if self.normalize and not self.seen:
            self.update_statistics(observations)

    def update_statistics(self, observations: Tensor) -> None:
        """Include (S, F) observations in the running means that features are standardized by."""
        share = len(observations) / (self.seen + len(observations))
        self.seen += len(observations)
        self.mean += share * (observations.mean(0) - self.mean)
        self.square += share * (observations.square().mean(0) - self.square)

    def prefer(self, action: int) -> None:
        """Add ``preference`` to the logit of an action, for each factor."""
        self.lean(action, self.preference * len(self.factors))

    def lean(self, action: int, by: float) -> None:
        """Add a number to the logit of an action, whatever is seen: to the biases of the choices it combines."""
        last, at = cast(nn.Linear, self.actor[-1]), sum(self.factors)
        with torch.no_grad():
            if action == math.prod(self.factors):
                last.bias[at] += by
                return
            for size in reversed(self.factors):
                action, choice = divmod(action, size)
                at -= size
                last.bias[at + choice] += by / len(self.factors)

    def log_probabilities(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return (B, A) logarithms of the probabilities; the logits of illegal actions are masked."""
        return self._logarithms(self.logits(observations), masks)

    def learn(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """Update actor and critic on some episodes; return means of losses and statistics over the gradient steps."""
        with self.locating_errors():
            batch = Batch.of(episodes, self.device)
            if self.normalize:
                self.update_statistics(batch.observations)
                widths = torch.full((len(batch),), batch.observations.shape[1], device=self.device)
            else:
                widths = widths_of(batch.observations)
            before, values = self._before_update(batch, widths)
            expected = values.cpu().numpy().astype(np.float64)
            advantages, returns = self.advantages.of(batch, expected, self.values_after(batch))
            fixed = before, values, batch.tensor(advantages), batch.tensor(returns)
            parts: list[Tensor] = []
            for _ in range(self.epochs):
                order = torch.randperm(len(batch), generator=self.generator).to(self.device)
                for rows in torch.split(order, self.minibatch):
                    parts.append(self._learn_from(batch, widths, rows[widths[rows].argsort()], *fixed))
                if self.target_kl > 0.0 and parts[-1][-1] > 1.5 * self.target_kl:
                    break
        names = ("loss", "policy_loss", "value_loss", "entropy", "clipped", "kl")
        return dict(zip(names, torch.stack(parts).double().mean(0).tolist(), strict=True))

    def _learn_from(
        self,
        batch: Batch,
        widths: Tensor,
        rows: Tensor,
        before: Tensor,
        values: Tensor,
        advantages: Tensor,
        returns: Tensor,
    ) -> Tensor:
        """Take one gradient step on a minibatch; return its loss and statistics.

        Args:
            widths: (S,) features to multiply of each decision. rows: (B,) the decisions, sorted by these widths.
            before: (S,) log probabilities of the actions before the update. values: (S,) before the update.
            advantages, returns: (S,).
        """
        logarithms, now = self._both(batch, widths, rows)
        change = self._chosen(logarithms, batch.actions[rows]) - before[rows]
        ratio = change.exp()
        weights = advantages[rows]
        if len(rows) > 1:
            weights = (weights - weights.mean()) / (weights.std() + 1e-8)
        policy_loss = -torch.min(weights * ratio, weights * ratio.clamp(1.0 - self.clip, 1.0 + self.clip)).mean()
        if self.clip_value > 0.0:
            now = values[rows] + (now - values[rows]).clamp(-self.clip_value, self.clip_value)
        value_loss = (now - returns[rows]).square().mean()
        uncertain = entropy(logarithms if self.entropy else logarithms.detach()).mean()
        loss = policy_loss + self.value_coefficient * value_loss - self.entropy * uncertain
        self.step(loss, self.max_grad_norm)
        with torch.no_grad():
            clipped = ((ratio - 1.0).abs() > self.clip).float().mean()
            kl = (ratio - 1.0 - change).mean()  # Schulman's low-variance estimator
        return torch.stack([x.detach() for x in (loss, policy_loss, value_loss, uncertain, clipped, kl)])

    def _before_update(self, batch: Batch, widths: Tensor) -> tuple[Tensor, Tensor]:
        """Return (S,) the log probability of each action taken and (S,) the critic's values, before the update."""
        before, values = batch.tensor(np.zeros(len(batch))), batch.tensor(np.zeros(len(batch)))
        with torch.no_grad():
            for rows in torch.split(widths.argsort(stable=True), CHUNK):
                logarithms, values[rows] = self._both(batch, widths, rows)
                before[rows] = self._chosen(logarithms, batch.actions[rows])
        return before, values

    def _both(self, batch: Batch, widths: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return (B, A) log probabilities and (B,) values of the decisions *rows*, which are sorted by their widths."""
        found, counts = widths[rows].unique_consecutive(return_counts=True)  # type: ignore[no-untyped-call]
        parts = zip(torch.split(rows, counts.tolist()), found.tolist(), strict=True)
        blocks = [self.standardized(batch.observations[:, :width][part]) for part, width in parts]
        units = through(list(self.actor)[:-1], blocks)
        logits = self.combined(self.actor[-1](units))
        values = self.critic[-1](units if self.shared else through(list(self.critic)[:-1], blocks))
        return self._logarithms(logits, batch.masks[rows]), values[:, 0]

    @staticmethod
    def _logarithms(logits: Tensor, masks: Tensor) -> Tensor:
        return torch.log_softmax(torch.where(masks, logits, -torch.inf), dim=1)

    @staticmethod
    def _chosen(logarithms: Tensor, actions: Tensor) -> Tensor:
        return logarithms.gather(1, actions[:, None])[:, 0]
