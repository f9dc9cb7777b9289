"""Proximal policy optimization over jobs in slots: the part that kernel and attention networks have in common.

Beside these each agent takes ``lr``, ``gamma`` and those in `loading.GENERAL`.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, cast

import numpy as np
import torch
from torch import Tensor, nn

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.layout import Layout
from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.advantages import Advantages
from hdeeprm_like.learning.agents import PolicyLearningAgent
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
from hdeeprm_like.learning.slots import Rows, RowsOf
from hdeeprm_like.learning.user_code import code_of
from hdeeprm_like.types import Floats

ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}


def dense(sizes: Sequence[int], activation: str, last_gain: float = 1.0) -> nn.Sequential:
    """Return dense layers with orthogonal weights.

    Args:
        sizes: of the input and of each layer's output. activation: between them, a name of `ACTIVATIONS`.
        last_gain: of the weights of the last layer.
    """
    layers: list[nn.Module] = []
    for place, (inputs, outputs) in enumerate(pairwise(sizes)):
        last = place == len(sizes) - 2
        layer = nn.Linear(inputs, outputs)
        nn.init.orthogonal_(layer.weight, last_gain if last else np.sqrt(2.0))
        nn.init.zeros_(layer.bias)
        layers += [layer] if last else [layer, ACTIVATIONS[activation]()]
    return nn.Sequential(*layers)


class SlotPPO(PolicyLearningAgent):
    """PPO of a network that scores the jobs it may start, and waiting, whatever their number.

    The constructor of a subclass takes ``**ppo`` to hand the options of this one on, makes its layers, and the subclass
    writes `scores`.

    Attributes:
        shows_all: whether the network sees all jobs in the slots, or those alone that can start.
    """

    any_size = True
    learning_rate = 0.001
    shows_all = False
    _joined: Rows | None = None  # of the episodes that are being imitated

    def __init__(
        self,
        gamma: float,
        layout: Layout,
        activation: Activation = "tanh",
        critic: Annotated[
            bool, "whether a network learns what to expect; without it episodes with the same jobs are compared"
        ] = False,
        gae_lambda: GAELambda = 1.0,
        clip: Clip = 0.2,
        epochs: Epochs = 3,
        minibatch: Minibatch = 4096,
        entropy: Entropy = 0.0,
        value_coefficient: ValueCoefficient = 0.5,
        max_grad_norm: GradNorm = 0.5,
        target_kl: TargetKL = 0.0,
        alike: Alike = 1,
        reward_scale: RewardScale = 1.0,
        standardize: Standardize = "batch",
    ) -> None:
        super().__init__(gamma)
        self.fit(layout)
        self.clip, self.epochs, self.minibatch, self.entropy = clip, epochs, minibatch, entropy
        self.value_coefficient, self.max_grad_norm, self.target_kl = value_coefficient, max_grad_norm, target_kl
        self._advantages = Advantages(gamma, gae_lambda, alike, reward_scale, standardize)
        self.bootstraps = critic
        self.critic = dense([self.rows_of.shared_features, 32, 1], activation) if critic else None

    @property
    def layout(self) -> Layout:
        """What is seen and can be done."""
        return self.rows_of.layout

    def fit(self, layout: Layout) -> None:
        """Play on a machine, or with a queue, of another size.

        Raises:
            AgentError: the agent has learned of other features.
            OptionsError: actions do not choose jobs, or jobs are not shown.
        """
        before, found = self.__dict__.get("rows_of"), RowsOf(layout, self.shows_all)
        if before is not None and before.names != found.names:
            raise AgentError(
                f"was trained to observe {before.names}, not {found.names}; use the observation of its training"
            )
        self.rows_of = found

    def scores(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Return (R,) the scores of the rows, and (S,) those of waiting; the higher, the more probable."""
        raise AgentError(f"{code_of(type(self))}: {type(self).__name__} has no scores(rows)")

    def values(self, rows: Rows) -> Tensor:
        """Return (S,) expected returns; 0 without a critic."""
        if self.critic is None:
            return torch.zeros(len(rows), device=self.device)
        return cast(Tensor, self.critic(rows.shared))[:, 0]

    def logarithms(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Return (R,) and (S,) the log probabilities of the rows and of waiting."""
        return rows.log_probabilities(*self.scores(rows))

    def choose(self, observations: Tensor, masks: Tensor, episodes: Tensor) -> Tensor:
        """Return (B,) actions: sampled by their probabilities, or the most probable ones if the agent is greedy."""
        rows = self.rows_of(observations, masks)
        found = self.logarithms(rows)
        return rows.best(*found) if self.greedy else rows.draw(*found, self.generator)

    def log_probabilities(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return (B, A) log probabilities, minus infinity for actions that are not legal."""
        rows = self.rows_of(observations, masks)
        return rows.dense(*self.logarithms(rows), masks.shape[1])

    def learn(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """Update the networks on some episodes; return means of losses and statistics over the gradient steps."""
        with self.locating_errors():
            batch = Batch.of(episodes, self.device)
            rows = self._rows_in(episodes)
            before, values = self._before_update(rows, batch.actions)
            advantages, returns = self._advantages.of(
                batch, values.cpu().numpy().astype(np.float64), self._values_after(episodes)
            )
            fixed = before, batch.tensor(advantages), batch.tensor(returns)
            parts: list[Tensor] = []
            for _ in range(self.epochs):
                order = torch.randperm(len(batch), generator=self.generator).to(self.device)
                for chosen in torch.split(order, self.minibatch):
                    parts.append(
                        self._learn_from(rows.pick(chosen), batch.actions[chosen], *(x[chosen] for x in fixed))
                    )
                if self.target_kl > 0.0 and parts[-1][-1] > 1.5 * self.target_kl:
                    break
        names = ("loss", "policy_loss", "value_loss", "entropy", "clipped", "kl")
        return dict(zip(names, torch.stack(parts).double().mean(0).tolist(), strict=True))

    def imitate(self, episodes: Sequence[Episode], epochs: int, minibatch: int = 4096) -> float:
        """Make the actions of some episodes probable (behaviour cloning); return the mean loss of the last pass."""
        self._joined = None
        try:
            return super().imitate(episodes, epochs, minibatch)
        finally:
            self._joined = None
            self.__dict__["_kept"] = []

    def chosen_logarithms(self, batch: Batch, chosen: Tensor) -> Tensor:
        """Return (B,) the log probabilities of the actions of (B,) decisions of a batch."""
        rows = Rows.joined(self._rows_of_each(batch.episodes)) if self._joined is None else self._joined
        self._joined, rows = rows, rows.pick(chosen)
        return rows.of_actions(*self.logarithms(rows), batch.actions[chosen])

    def action_shares(self, episodes: Sequence[Episode]) -> list[Floats | None]:
        """Return for each episode (A,) the probabilities of actions, mean over its decisions."""
        means: list[Floats | None] = []
        with torch.no_grad(), self.locating_errors():
            for episode, rows in zip(episodes, self._rows_of_each(episodes), strict=True):
                shares, waited = (one.exp() for one in self.logarithms(rows))
                sums = torch.bincount(rows.actions, shares, minlength=len(self.layout.actions))
                if rows.waiting >= 0:
                    sums[rows.waiting] = waited.sum()
                means.append(sums.div(max(1, len(episode))).cpu().numpy().astype(np.float64))
        return means

    def _rows_of_each(self, episodes: Sequence[Episode]) -> list[Rows]:
        """Return the rows of each episode; those found last are kept until they are learned from."""
        kept: list[tuple[Episode, Rows]] = self.__dict__.get("_kept", [])
        found = {id(episode): rows for episode, rows in kept}
        for episode in episodes:
            if id(episode) not in found:
                seen, masks = torch.from_numpy(episode.observations), torch.from_numpy(episode.masks)
                found[id(episode)] = self.rows_of(seen.to(self.device), masks.to(self.device))
        self.__dict__["_kept"] = [(episode, found[id(episode)]) for episode in episodes]
        return [found[id(episode)] for episode in episodes]

    def _rows_in(self, episodes: Sequence[Episode]) -> Rows:
        """Return the rows of some episodes, for the last time."""
        rows = self._rows_of_each(episodes)
        self.__dict__["_kept"] = []
        return Rows.joined(rows)

    def _values_after(self, episodes: Sequence[Episode]) -> Floats:
        """Return (E,) what is expected after the last decision of each episode; 0 where it was over then."""
        found = np.zeros(len(episodes))
        for i, episode in enumerate(episodes):
            if episode.then is not None and self.critic is not None:
                seen, mask = (torch.from_numpy(part[None]).to(self.device) for part in episode.then)
                with torch.no_grad():
                    found[i] = self.values(self.rows_of(seen, mask)).item()
        return found

    def _before_update(self, rows: Rows, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return (S,) the log probability of each action taken and (S,) the critic's values, before the update."""
        with torch.no_grad():
            parts = [
                (part.of_actions(*self.logarithms(part), actions[chosen]), self.values(part))
                for chosen in torch.split(torch.arange(len(rows), device=self.device), self.minibatch)
                for part in [rows.pick(chosen)]
            ]
        before, values = (torch.cat(column) for column in zip(*parts, strict=True))
        return before, values

    def _learn_from(self, rows: Rows, actions: Tensor, before: Tensor, weights: Tensor, returns: Tensor) -> Tensor:
        """Take one gradient step on the rows of a minibatch; return its loss and statistics."""
        found = self.logarithms(rows)
        change = rows.of_actions(*found, actions) - before
        ratio = change.exp()
        policy_loss = -torch.min(weights * ratio, weights * ratio.clamp(1.0 - self.clip, 1.0 + self.clip)).mean()
        value_loss = (
            (self.values(rows) - returns).square().mean() if self.critic is not None else policy_loss.new_zeros(())
        )
        uncertain = rows.entropy(*(found if self.entropy else (one.detach() for one in found))).mean()
        loss = policy_loss + self.value_coefficient * value_loss - self.entropy * uncertain
        self.step(loss, self.max_grad_norm)
        with torch.no_grad():
            clipped = ((ratio - 1.0).abs() > self.clip).float().mean()
            kl = (ratio - 1.0 - change).mean()  # Schulman's estimator of least variance
        return torch.stack([x.detach() for x in (loss, policy_loss, value_loss, uncertain, clipped, kl)])
