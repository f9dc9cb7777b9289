"""Proximal policy optimization, from its options to an update; agents add a network and say how it sees decisions.

Details, as in the published implementations: clipped surrogate, generalized advantages, entropy bonus, the mean squared
error of the values, optionally clipped, gradient clipping, passes that end where the policy has moved too far. An
update learns from whole episodes, or from parts of them (``training.n_steps``) bootstrapped with the critic's values.

An option is a type with bounds and a meaning; an agent's constructor may name some with defaults of its own, and hands
the others on: ``clip: Clip = 0.1, **ppo``.

Sources: Schulman et al., "Proximal Policy Optimization Algorithms", 2017; Huang and Ontañón, "A Closer Look at Invalid
Action Masking in Policy Gradient Algorithms", 2022; dissertation 2.5.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.learning.agent_options import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, Choice
from hdeeprm_like.learning.agents import PolicyLearningAgent, ValueLearningAgent
from hdeeprm_like.learning.batch import Batch
from hdeeprm_like.learning.returns import generalized_advantages, mean_at_each_time, standardized
from hdeeprm_like.types import Floats, Ints

Scale: TypeAlias = Literal["batch", "window", "none"]
SCALES: tuple[Scale, ...] = get_args(Scale)

Activation: TypeAlias = Annotated[str, Choice(("tanh", "relu")), "function between layers"]
Clip: TypeAlias = Annotated[float, POSITIVE, "how far from 1 the ratio of new to old probability is rewarded"]
ClipValue: TypeAlias = Annotated[float, NOT_NEGATIVE, "how far a value may move in an update; 0 for no limit"]
Epochs: TypeAlias = Annotated[int, COUNT, "passes over the decisions in an update"]
Minibatch: TypeAlias = Annotated[int, COUNT, "decisions in a gradient step"]
Entropy: TypeAlias = Annotated[float, NOT_NEGATIVE, "weight of the entropy bonus"]
ValueCoefficient: TypeAlias = Annotated[float, NOT_NEGATIVE, "weight of the loss of the critic's values"]
GradNorm: TypeAlias = Annotated[float, NOT_NEGATIVE, "norm that gradients are clipped to"]
TargetKL: TypeAlias = Annotated[
    float, NOT_NEGATIVE, "an update stops when the policy has moved 1.5 times that far; 0 for never"
]
GAELambda: TypeAlias = Annotated[
    float, SHARE, "trace of the advantages; 1: whole returns, 0: one-step errors (dissertation equation 2.14)"
]
Alike: TypeAlias = Annotated[
    int, COUNT, "consecutive episodes with the same jobs, whose mean advantage at each time is subtracted"
]
RewardScale: TypeAlias = Annotated[
    float, POSITIVE, "factor of the rewards, so that the values to learn are of the order of 1"
]
Standardize: TypeAlias = Annotated[
    Scale, Choice(SCALES), "decisions over which advantages are standardized before an update"
]

CHUNK = 4096  # decisions per forward pass without gradient


@dataclass(frozen=True)
class Advantages:
    """How rewards become advantages.

    Attributes:
        gamma: discount of one decision. trace: lambda of the generalized estimate. alike: consecutive episodes with the
            same jobs, whose mean advantage at each time is subtracted. reward_scale: rewards are multiplied by it.
        standardize: over which decisions advantages get mean 0 and deviation 1: all, or those of the episodes with the
            same jobs, so that busy times do not outweigh quiet ones.
    """

    gamma: float
    trace: float = 0.95
    alike: int = 1
    reward_scale: float = 1.0
    standardize: Scale = "batch"

    def of(self, batch: Batch, values: Floats, following: Floats) -> tuple[Floats, Floats]:
        """Return (S,) advantages and (S,) returns to learn values by.

        Args:
            values: (S,) what a critic expects at each decision. following: (E,) what it expects after the last one.
        """
        rewards = batch.rewards * self.reward_scale
        advantages = generalized_advantages(rewards, values, following, batch.lengths, self.gamma, self.trace)
        returns = advantages + values
        advantages = advantages - self.reward_scale * batch.reference_returns(self.gamma)
        if self.alike > 1:
            advantages = advantages - mean_at_each_time(advantages, batch.times, batch.lengths, self.alike)
        if self.standardize == "batch":
            advantages = standardized(advantages)
        elif self.standardize == "window":
            advantages = standardized(scaled_by_window(advantages, batch.lengths, self.alike))
        return advantages, returns


def scaled_by_window(advantages: Floats, lengths: Ints, alike: int) -> Floats:
    """Return (S,) advantages, standardized over each group of *alike* episodes by itself."""
    ends = np.cumsum(lengths)
    parts = []
    for first in range(0, len(lengths), alike):
        last = min(first + alike, len(lengths)) - 1
        parts.append(standardized(advantages[ends[first] - lengths[first] : ends[last]]))
    return np.concatenate(parts)


class PPOAgent(PolicyLearningAgent, ValueLearningAgent):
    """Proximal policy optimization of the networks of a subclass.

    Attributes:
        standardizes_minibatches: whether advantages are also standardized in each minibatch.
    """

    standardizes_minibatches = True

    def __init__(
        self,
        gamma: float,
        gae_lambda: GAELambda = 0.95,
        clip: Clip = 0.2,
        clip_value: ClipValue = 0.0,
        epochs: Epochs = 10,
        minibatch: Minibatch = 64,
        entropy: Entropy = 0.0,
        value_coefficient: ValueCoefficient = 0.5,
        max_grad_norm: GradNorm = 0.5,
        target_kl: TargetKL = 0.0,
        alike: Alike = 1,
        reward_scale: RewardScale = 1.0,
        standardize: Standardize = "none",
    ) -> None:
        super().__init__(gamma)
        self.clip, self.clip_value, self.epochs, self.minibatch = clip, clip_value, epochs, minibatch
        self.entropy, self.value_coefficient = entropy, value_coefficient
        self.max_grad_norm, self.target_kl = max_grad_norm, target_kl
        self.advantages = Advantages(gamma, gae_lambda, alike, reward_scale, standardize)

    def seen_in(self, batch: Batch) -> Any:
        """Return what `evaluated` takes of some episodes."""
        raise NotImplementedError

    def ordered(self, seen: Any, rows: Tensor) -> Tensor:
        """Return the (B,) decisions of a minibatch in the order in which they are computed fastest."""
        return rows

    def evaluated(self, seen: Any, rows: Tensor, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return (B,) log probabilities of actions, (B,) entropies and (B,) values at the decisions *rows*.

        Args:
            seen: of `seen_in`. actions: (B,). Without a weight of the entropy bonus no gradient of it is needed.
        """
        raise NotImplementedError

    def learn(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """Update the networks on some episodes; return means of losses and statistics over the gradient steps."""
        with self.locating_errors():
            batch = Batch.of(episodes, self.device)
            seen = self.seen_in(batch)
            before, values = self._before_update(seen, batch)
            expected = values.cpu().numpy().astype(np.float64)
            advantages, returns = self.advantages.of(batch, expected, self.values_after(batch))
            fixed = _Fixed(batch.actions, before, values, batch.tensor(advantages), batch.tensor(returns))
            parts: list[Tensor] = []
            for _ in range(self.epochs):
                order = torch.randperm(len(batch), generator=self.generator).to(self.device)
                for rows in torch.split(order, self.minibatch):
                    rows = self.ordered(seen, rows)
                    parts.append(self._learn_from(seen, rows, fixed.of(rows)))
                if self.target_kl > 0.0 and parts[-1][-1] > 1.5 * self.target_kl:
                    break
        names = ("loss", "policy_loss", "value_loss", "entropy", "clipped", "kl")
        return dict(zip(names, torch.stack(parts).double().mean(0).tolist(), strict=True))

    def _before_update(self, seen: Any, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return (S,) the log probability of each action taken and (S,) the critic's values, before the update."""
        before, values = batch.tensor(np.zeros(len(batch))), batch.tensor(np.zeros(len(batch)))
        with torch.no_grad():
            for rows in torch.split(self.ordered(seen, torch.arange(len(batch), device=self.device)), CHUNK):
                before[rows], _, values[rows] = self.evaluated(seen, rows, batch.actions[rows])
        return before, values

    def _learn_from(self, seen: Any, rows: Tensor, fixed: "_Fixed") -> Tensor:
        """Take one gradient step on a minibatch; return its loss and statistics.

        Args:
            rows: (B,) its decisions. fixed: of these.
        """
        chosen, uncertain, now = self.evaluated(seen, rows, fixed.actions)
        change, weights = chosen - fixed.before, fixed.advantages
        ratio = change.exp()
        if self.standardizes_minibatches and len(rows) > 1:
            weights = (weights - weights.mean()) / (weights.std() + 1e-8)
        policy_loss = -torch.min(weights * ratio, weights * ratio.clamp(1.0 - self.clip, 1.0 + self.clip)).mean()
        if self.clip_value > 0.0:
            now = fixed.values + (now - fixed.values).clamp(-self.clip_value, self.clip_value)
        value_loss = (now - fixed.returns).square().mean() if now.requires_grad else policy_loss.new_zeros(())
        entropy = uncertain.mean()
        loss = policy_loss + self.value_coefficient * value_loss - self.entropy * entropy
        self.step(loss, self.max_grad_norm)
        with torch.no_grad():
            clipped = ((ratio - 1.0).abs() > self.clip).float().mean()
            kl = (ratio - 1.0 - change).mean()  # Schulman's estimator of least variance
        return torch.stack([x.detach() for x in (loss, policy_loss, value_loss, entropy, clipped, kl)])


class _Fixed(NamedTuple):
    """What an update leaves as it is of (S,) decisions: log probabilities of the actions and values are those before.

    Advantages are standardized as the options want, but not for a minibatch yet.
    """

    actions: Tensor
    before: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor

    def of(self, rows: Tensor) -> "_Fixed":
        """Return the same of (B,) decisions."""
        return _Fixed(*(column[rows] for column in self))


class Tanh(nn.Module):
    """The hyperbolic tangent as 2 sigmoid(2 x) - 1, three times faster in torch on most CPUs."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Return tanh of each value."""
        return (inputs + inputs).sigmoid_().mul(2.0).sub_(1.0)  # fresh memory costs as much as these functions do


ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": Tanh, "relu": nn.ReLU}


class Dense(nn.Linear):
    """A dense layer that also takes inputs without their last features, if these are all 0."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Return (B, outputs) for (B, F') inputs, the first F' features."""
        return functional.linear(inputs, self.weight[:, : inputs.shape[1]], self.bias)


def dense(sizes: Sequence[int], activation: str, last_gain: float = 1.0) -> nn.Sequential:
    """Return dense layers with orthogonal weights.

    Args:
        sizes: of the input and of each layer's output. activation: between them, a name of `ACTIVATIONS`.
        last_gain: of the weights of the last layer.
    """
    layers: list[nn.Module] = []
    for place, (inputs, outputs) in enumerate(pairwise(sizes)):
        last = place == len(sizes) - 2
        layer = Dense(inputs, outputs)
        nn.init.orthogonal_(layer.weight, last_gain if last else np.sqrt(2.0))
        nn.init.zeros_(layer.bias)
        layers += [layer] if last else [layer, ACTIVATIONS[activation]()]
    return nn.Sequential(*layers)
