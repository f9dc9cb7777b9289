"""Proximal policy optimization of two networks over the whole observation: an actor and a critic.

The algorithm and its options are those of `hdeeprm_like.learning.ppo`; Adam's epsilon is 1e-5, and the learning rate
falls linearly to 0.

Observations of a queue's window end with the features of empty slots, which are 0 and add nothing to a product. To save
time on a CPU, a minibatch is sorted by how many features its observations have before these zeros, and the first layer
multiplies blocks of about equal length without them: an update takes less than half the time, its result is the same.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.learning.agent_options import COUNT, NOT_NEGATIVE, Choice, Several
from hdeeprm_like.learning.agents import entropy
from hdeeprm_like.learning.batch import Batch
from hdeeprm_like.learning.ppo import Activation, PPOAgent, dense

SMALLEST_VARIANCE = 1e-8  # of a feature, so that nearly constant features are not divided by almost 0
HALVINGS = 4  # a block has all features, the first half of them, the first quarter, ... down to 1 / 2**HALVINGS
TRIMMED = 128  # consecutive decisions that share one width, since individual widths take longer to find
Seen = tuple[Batch, Tensor, Tensor]  # decisions, (S, F) their features, and (S,) how many of each to multiply


def through(layers: Iterable[nn.Module], blocks: Sequence[Tensor]) -> Tensor:
    """Return (B, units), the output of some layers for B observations in blocks with different numbers of features."""
    first, *others = layers
    units: Tensor = torch.cat([first(block) for block in blocks]) if len(blocks) > 1 else first(blocks[0])
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


class PPO(PPOAgent):
    """Proximal policy optimization; the parameters of the constructors are the options."""

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
        **ppo: Any,
    ) -> None:
        super().__init__(gamma, **ppo)
        self.factors = tuple(factors) or (action_size,)
        self.alone = action_size - math.prod(self.factors)  # behind those that combine choices, as void
        if self.alone not in (0, 1):
            raise OptionsError(
                f"agent.factors is {list(factors)}; the product must be the {action_size} actions, or one less"
            )
        self.lr_end = 0.0 if lr_decay == "linear" else None
        self.normalize, self.preference = normalize, preference
        layers = [hidden, hidden] if isinstance(hidden, int) else list(hidden)
        if not layers:
            raise OptionsError("agent.hidden is []; at least one layer is needed")
        self.shared = shared
        self.actor = dense([observation_size, *layers, sum(self.factors) + self.alone], activation, 0.01)
        self.critic = dense([observation_size, *layers, 1], activation)
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
        return (observation - self.mean).div_(deviation).clamp_(-10.0, 10.0)

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
        """Add ``preference`` to the logit of an action, whatever is seen, for each factor."""
        by = self.preference * len(self.factors)  # goes to the biases of the choices that the action combines
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

    def seen_in(self, batch: Batch) -> Seen:
        """Return some episodes, standardized once for all passes, with how many features of each to multiply."""
        features = batch.observations
        if not self.normalize:
            return batch, features, widths_of(features)
        self.update_statistics(features)
        return batch, self.standardized(features), torch.full((len(batch),), features.shape[1], device=self.device)

    def ordered(self, seen: Seen, rows: Tensor) -> Tensor:
        """Return the (B,) decisions of a minibatch sorted by how many features to multiply."""
        return rows[seen[-1][rows].argsort()]

    def evaluated(self, seen: Seen, rows: Tensor, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return (B,) log probabilities of actions, (B,) entropies and (B,) values at the decisions *rows*."""
        batch, features, widths = seen
        found, counts = widths[rows].unique_consecutive(return_counts=True)  # type: ignore[no-untyped-call]
        parts = zip(torch.split(rows, counts.tolist()), found.tolist(), strict=True)
        blocks = [features[:, :width][part] for part, width in parts]
        units = through(list(self.actor)[:-1], blocks)
        logarithms = self._logarithms(self.combined(self.actor[-1](units)), batch.masks[rows])
        values = self.critic[-1](units if self.shared else through(list(self.critic)[:-1], blocks))[:, 0]
        uncertain = entropy(logarithms if self.entropy else logarithms.detach())
        return logarithms.gather(1, actions[:, None])[:, 0], uncertain, values

    @staticmethod
    def _logarithms(logits: Tensor, masks: Tensor) -> Tensor:
        return torch.log_softmax(torch.where(masks, logits, -torch.inf), dim=1)
