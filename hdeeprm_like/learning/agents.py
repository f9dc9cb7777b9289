"""The classes that a user's learning agent stands on (thesis 3.2.2, 4.2.2, appendix G).

A subclass writes its network in ``__init__`` and its forward pass, and its loss if the published one will not do::

    LearningAgent            decide, learn: everything but the network and what it means
    ├── PolicyLearningAgent  forward_policy: observations (B, F) -> probabilities (B, A)
    └── ValueLearningAgent   forward_value:  observations (B, F) -> values (B, 1)

A class on both is an actor-critic. An agent keeps nothing between deciding and learning: ``learn`` gets the episodes
and computes what it needs in one batched forward pass.
"""

import inspect
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.returns import discounted_returns, standardized
from hdeeprm_like.learning.user_code import code_of, reported
from hdeeprm_like.types import Bools, Floats, Ints

SUM_TOLERANCE = 1e-3  # of probabilities
SMALLEST = 1e-12  # probability of a legal action whose own one is too small for float32; its logarithm stays finite


@dataclass(frozen=True, eq=False)
class Batch:
    """The decisions of some episodes, one after the other; S decisions, F features, A actions.

    Attributes:
        observations: (S, F) float32, those of more dimensions flattened. masks: (S, A) bool. actions: (S,) int64.
        rewards, times: (S,) float64 in numpy, times in s. lengths: decisions of each episode.
    """

    observations: Tensor
    masks: Tensor
    actions: Tensor
    rewards: Floats
    times: Floats
    lengths: Ints

    @classmethod
    def of(cls, episodes: Sequence[Episode], device: torch.device) -> Self:
        """Join episodes."""
        return cls(
            observations=torch.from_numpy(np.concatenate([e.observations for e in episodes])).flatten(1).to(device),
            masks=torch.from_numpy(np.concatenate([e.masks for e in episodes])).to(device),
            actions=torch.from_numpy(np.concatenate([e.actions for e in episodes])).to(device),
            rewards=np.concatenate([e.rewards for e in episodes]),
            times=np.concatenate([e.times for e in episodes]),
            lengths=np.array([len(e) for e in episodes], np.int64),
        )

    def __len__(self) -> int:
        return len(self.rewards)

    def tensor(self, column: Floats) -> Tensor:
        """Return a column of the batch's length as float32 where the observations are."""
        return torch.from_numpy(np.asarray(column, np.float32)).to(self.observations.device)


class LearningAgent(nn.Module):
    """An agent with a network that learns from episodes.

    Attributes:
        gamma: discount of one decision. learning_rate: of the optimizer; the option ``lr`` sets it.
        greedy: whether to take the best action instead of sampling one, for evaluation.
        generator: where its random choices come from; on the CPU, so that devices agree.
    """

    gamma: float = 0.99
    learning_rate: float = 0.001
    greedy: bool
    generator: torch.Generator

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Make an agent ready for layers, so that a subclass need not call ``super().__init__`` first."""
        agent = super().__new__(cls)
        nn.Module.__init__(agent)
        agent.greedy = False
        agent.generator = torch.Generator()
        given = inspect.signature(cls.__init__).bind_partial(agent, *args, **options).arguments
        if isinstance(given.get("gamma"), int | float):
            agent.gamma = float(given["gamma"])
        return agent

    def __init__(self, gamma: float | None = None) -> None:
        if gamma is not None:
            self.gamma = float(gamma)

    @property
    def device(self) -> torch.device:
        """Where its parameters are."""
        return next((p.device for p in self.parameters()), torch.device("cpu"))

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The optimizer of its parameters, made when it is first asked for."""
        made = self.__dict__.get("_optimizer")
        if made is None:
            made = self.__dict__["_optimizer"] = self.make_optimizer()
        return made

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Return a new optimizer: Adam, as in the thesis' implementation."""
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate)

    def anneal(self, left: float) -> None:
        """Take note of the share of the training that is left, 1 to 0, before learning; here nothing depends on it."""

    def prefer(self, action: int) -> None:
        """Begin with a preference for an action; subclasses say how.

        Raises:
            AgentError: this one cannot.
        """
        raise AgentError(
            f"{code_of(type(self))}: {type(self).__name__} cannot begin with a preference; "
            f"write prefer(action), or leave out training.prior"
        )

    def act(self, observation: Floats, mask: Bools) -> int:
        """Return the action for one observation."""
        return int(self.decide(observation[None], mask[None])[0])

    def decide(self, observations: Floats, masks: Bools) -> Ints:
        """Return (B,) the actions for (B, ...) observations of as many episodes with (B, A) legal actions."""
        with torch.no_grad(), self.blamed():
            seen = torch.from_numpy(np.array(observations, np.float32)).flatten(1).to(self.device)
            legal = torch.from_numpy(np.array(masks)).to(self.device)
            actions: Ints = self.choose(seen, legal).cpu().numpy()
        return actions

    def learn(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """Improve by some episodes; return the loss and, where it has several, its parts."""
        with self.blamed():
            parts = self.loss(Batch.of(episodes, self.device))
            named = parts if isinstance(parts, Mapping) else {"loss": parts}
            loss = torch.stack([part.reshape(()) for part in named.values()]).sum()
            self.step(loss)
        return {"loss": loss.item()} | {name: part.item() for name, part in named.items()}

    def step(self, loss: Tensor, largest_gradient: float = 0.0) -> None:
        """Move the parameters against the gradient of a loss, whose norm is clipped if *largest_gradient* is not 0.

        Raises:
            AgentError: the loss is no number.
        """
        if not bool(torch.isfinite(loss)):
            raise AgentError(f"{code_of(type(self).loss)}: the loss is {loss.item()}; it must be finite")
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if largest_gradient > 0.0:
            nn.utils.clip_grad_norm_(self.parameters(), largest_gradient)
        self.optimizer.step()

    def choose(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return (B,) actions; subclasses that are no policy say how."""
        raise AgentError(
            f"{code_of(type(self))}: {type(self).__name__} does not decide by itself; "
            f"base it on PolicyLearningAgent too or write choose(observations, masks)"
        )

    def loss(self, batch: Batch) -> Tensor | Mapping[str, Tensor]:
        """Return what to minimize, or the parts whose sum to minimize: policy and value loss, as far as it has them."""
        parts: dict[str, Tensor] = {}
        weights = batch.tensor(self.transform_rewards(batch))
        if isinstance(self, ValueLearningAgent):
            values = self.values(batch.observations)
            parts["value_loss"] = self.value_loss(values, weights)
            weights = weights - values.detach()
        if isinstance(self, PolicyLearningAgent):
            parts["policy_loss"] = self.policy_loss(batch, weights)
        if not parts:
            raise AgentError(f"{code_of(type(self))}: {type(self).__name__} has no loss(batch)")
        return parts

    def transform_rewards(self, batch: Batch) -> Floats:
        """Return (S,) the discounted returns, standardized over the batch (thesis 4.2.2)."""
        return standardized(discounted_returns(batch.rewards, batch.lengths, self.gamma))

    def blamed(self) -> AbstractContextManager[None]:
        """Return a context in which what is raised inside the subclass's file is reported with file and line."""
        return reported(type(self))


class PolicyLearningAgent(LearningAgent):
    """An agent that learns which actions to prefer: ``forward_policy`` gives the probability of each (thesis 3.2.2)."""

    def forward_policy(self, observation: Tensor) -> Tensor:
        """Return (B, A) probabilities for (B, F) observations."""
        raise AgentError(f"{code_of(type(self))}: {type(self).__name__} has no forward_policy(observation)")

    def log_probabilities(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return (B, A) logarithms of the probabilities, minus infinity where an action is not legal.

        Raises:
            AgentError: ``forward_policy`` gave something that is no probability.
        """
        probabilities = self.forward_policy(observations)
        self._check_probabilities(probabilities, masks)
        legal = torch.where(masks, probabilities.clamp(min=SMALLEST), 0.0)
        legal = legal / legal.sum(1, keepdim=True)
        return torch.where(masks, legal, 1.0).log().masked_fill(~masks, -torch.inf)

    def choose(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return (B,) actions: drawn, or the most probable ones when greedy."""
        logarithms = self.log_probabilities(observations, masks)
        if self.greedy:
            return logarithms.argmax(1)
        return draw(logarithms.softmax(1).cpu(), self.generator)

    def policy_loss(self, batch: Batch, weights: Tensor) -> Tensor:
        """Return minus the sum over an episode of log probability x weight, mean over episodes (equation 3.3)."""
        logarithms = self.log_probabilities(batch.observations, batch.masks)
        chosen = logarithms.gather(1, batch.actions[:, None])[:, 0]
        return -(chosen * weights).sum() / len(batch.lengths)

    def _check_probabilities(self, probabilities: object, masks: Tensor) -> None:
        shape = tuple(probabilities.shape) if isinstance(probabilities, Tensor) else type(probabilities).__name__
        where = f"{code_of(type(self).forward_policy)}: forward_policy"
        if not isinstance(probabilities, Tensor) or shape != tuple(masks.shape):
            raise AgentError(f"{where} gave {shape}; {tuple(masks.shape)}, observations x actions, is needed")
        sums = probabilities.detach().sum(1)
        if bool(((sums - 1.0).abs() <= SUM_TOLERANCE).all() & (probabilities.detach() >= 0.0).all()):
            return
        if not bool(torch.isfinite(probabilities).all()):
            raise AgentError(f"{where} gave probabilities that are no numbers; is the learning rate too high?")
        raise AgentError(
            f"{where} gave rows from sum {sums.min():g} to {sums.max():g}; is a softmax over dim=1 missing?"
        )


class ValueLearningAgent(LearningAgent):
    """An agent that learns what a situation is worth: ``forward_value``; the critic of an actor-critic (3.2.2)."""

    def forward_value(self, observation: Tensor) -> Tensor:
        """Return (B, 1) expected returns for (B, F) observations."""
        raise AgentError(f"{code_of(type(self))}: {type(self).__name__} has no forward_value(observation)")

    def values(self, observations: Tensor) -> Tensor:
        """Return (B,) expected returns.

        Raises:
            AgentError: ``forward_value`` gave something else.
        """
        values = self.forward_value(observations)
        rows = len(observations)
        if not isinstance(values, Tensor) or tuple(values.shape) not in ((rows,), (rows, 1)):
            shape = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
            raise AgentError(f"{code_of(type(self).forward_value)}: forward_value gave {shape}; {(rows, 1)} is needed")
        return values.reshape(rows)

    def value_loss(self, values: Tensor, returns: Tensor) -> Tensor:
        """Return the mean Huber loss (equation 3.4)."""
        return functional.smooth_l1_loss(values, returns)


def draw(probabilities: Tensor, generator: torch.Generator) -> Tensor:
    """Return (B,) choices drawn by (B, A) probabilities: the first by which these add up to more than a number."""
    sums = probabilities.cumsum(1, dtype=torch.float64)
    numbers = torch.rand(len(sums), 1, dtype=torch.float64, generator=generator) * sums[:, -1:]
    return torch.searchsorted(sums, numbers, right=True)[:, 0]


def entropy(logarithms: Tensor) -> Tensor:
    """Return (B,) entropies of (B, A) log probabilities in nats (dissertation equation 2.15)."""
    return -(logarithms.softmax(1) * logarithms.clamp(min=-1e9)).sum(1)  # exp is slow at minus infinity
