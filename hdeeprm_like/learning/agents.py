"""The base classes of learning agents (thesis 3.2.2, 4.2.2, appendix G).

A subclass defines its network in ``__init__``, its forward pass, and a loss unless it uses the published one::

    LearningAgent            decide, learn: everything but the network and the meaning of its output
    ├── PolicyLearningAgent  forward_policy: observations (B, F) -> probabilities (B, A)
    └── ValueLearningAgent   forward_value:  observations (B, F) -> values (B, 1)

A subclass of both is an actor-critic. An agent stores nothing while it decides: ``learn`` receives the episodes and
computes what it needs of them in one batched forward pass.
"""

import inspect
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.layout import Layout
from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.batch import Batch as Batch
from hdeeprm_like.learning.returns import discounted_returns, standardized
from hdeeprm_like.learning.user_code import code_of, locating_errors
from hdeeprm_like.types import Bools, Floats, Ints

SUM_TOLERANCE = 1e-3  # largest deviation from 1 of the sum of the probabilities of an observation
ALONE = np.zeros(1, np.int64)  # the number of an episode that is played alone
OPTIMIZERS = ("adam", "rmsprop")
IMITATED_GRADIENT = 0.5  # norm that gradients are clipped to while a baseline is imitated
SMALLEST = 1e-12  # least probability of a legal action, so that its logarithm is finite in float32


class LearningAgent(nn.Module):
    """An agent with a network that learns from episodes.

    Attributes:
        gamma: discount of one decision.
        learning_rate: of the optimizer; the option ``lr`` sets it.
        lr_end: what the learning rate becomes until the end of a training, linearly; None where it stays.
        entropy_end: the same of the weight of the entropy bonus.
        optimizer_name: ``adam`` or ``rmsprop``; the option ``optimizer`` sets it.
        greedy: whether to take the best action instead of sampling one, as evaluations do.
        generator: that actions are sampled with; on the CPU, so that all devices sample the same.
        bootstraps: whether it expects what comes after the last decision, so that it may learn from parts of episodes.
        any_size: whether the weights fit machines and queues of any size; such an agent can `fit`.
    """

    gamma: float = 0.99
    learning_rate: float = 0.001
    lr_end: float | None = None
    entropy: float = 0.0
    entropy_end: float | None = None
    optimizer_name: str = "adam"
    any_size: bool = False
    bootstraps: bool = False
    greedy: bool
    generator: torch.Generator

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Initialize torch's part of the agent here, so that a subclass need not call ``super().__init__``."""
        agent = super().__new__(cls)
        nn.Module.__init__(agent)
        agent.greedy = False
        agent.generator = torch.Generator()
        arguments = inspect.signature(cls.__init__).bind_partial(agent, *args, **options).arguments
        if isinstance(arguments.get("gamma"), int | float):
            agent.gamma = float(arguments["gamma"])
        return agent

    def __init__(self, gamma: float | None = None) -> None:
        if gamma is not None:
            self.gamma = float(gamma)

    @property
    def device(self) -> torch.device:
        """Device of the parameters."""
        return next((p.device for p in self.parameters()), torch.device("cpu"))

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """Optimizer of the parameters, made at first use, since a subclass adds its layers after ``__new__``."""
        made = self.__dict__.get("_optimizer")
        if made is None:
            if next(self.parameters(), None) is None:
                raise AgentError(
                    f"{code_of(type(self))}: {type(self).__name__} has no layer whose weights it can learn"
                )
            made = self.__dict__["_optimizer"] = self.make_optimizer()
        return made

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Return a new optimizer: Adam, as in the thesis' implementation, unless the options name another."""
        if self.optimizer_name == "rmsprop":
            return torch.optim.RMSprop(self.parameters(), lr=self.learning_rate, alpha=0.99, eps=1e-5)
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate)

    def anneal(self, left: float) -> None:
        """Adapt learning rate and entropy bonus to the progress of the training; called before each update.

        Args:
            left: share of the training that is left, falling from 1 to 0.
        """
        if self.lr_end is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = self.lr_end + (self.learning_rate - self.lr_end) * left
        if self.entropy_end is not None:
            begin = self.__dict__.setdefault("_entropy_begin", self.entropy)
            self.entropy = self.entropy_end + (begin - self.entropy_end) * left

    def action_shares(self, episodes: Sequence[Episode]) -> list[Floats | None]:
        """Return for each episode (A,) the probabilities of actions, mean over its decisions, or None."""
        return [None] * len(episodes)

    def prefer(self, action: int) -> None:
        """Make the initial policy prefer an action (``training.prior``); subclasses that support this override it.

        Raises:
            AgentError: this class does not support it.
        """
        raise AgentError(
            f"{code_of(type(self))}: {type(self).__name__} cannot begin with a preference; "
            f"write prefer(action), or leave out training.prior"
        )

    def look(self, observations: Tensor) -> None:
        """Take note of (B, F) observations before anything is learned; agents that scale features do it here."""

    def forget_optimizer(self) -> None:
        """Begin with a new optimizer at the next step, since the averages of this one are those of another loss."""
        self.__dict__.pop("_optimizer", None)

    def fit(self, layout: Layout) -> None:
        """Play on a machine, or with a queue, of another size; for agents whose weights fit any (``any_size``).

        Raises:
            AgentError: the agent has learned for one size only, or of other features.
        """
        raise AgentError(f"{code_of(type(self))}: {type(self).__name__} has learned for machines of one size")

    def begin(self, episodes: Ints) -> None:
        """Take note that episodes begin; agents that remember what they saw forget it here. The base class has nothing.

        Args:
            episodes: numbers that `decide` receives with the observations, from 0.
        """

    def act(self, observation: Floats, mask: Bools) -> int:
        """Return the action for one observation of an episode that is played alone."""
        return int(self.decide(observation[None].copy(), mask[None].copy(), ALONE)[0])

    def decide(self, observations: Floats, masks: Bools, episodes: Ints) -> Ints:
        """Return an action for each of some observations of different episodes.

        Args:
            observations: (B, ...) and masks: (B, A), which actions are legal, bool or int8; the agent may change both.
            episodes: (B,) the numbers of the episodes.

        Returns:
            (B,).
        """
        with torch.no_grad(), self.locating_errors():
            device = self.device
            seen = torch.from_numpy(observations).float().flatten(1).to(device)
            legal = torch.from_numpy(masks).to(device, torch.bool)
            actions: Ints = self.choose(seen, legal, torch.from_numpy(episodes)).cpu().numpy()
        return actions

    def learn(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """Take one optimizer step on some episodes; return the loss and, if it has several parts, each of them."""
        with self.locating_errors():
            parts = self.loss(Batch.of(episodes, self.device))
            named = parts if isinstance(parts, Mapping) else {"loss": parts}
            loss = torch.stack([part.reshape(()) for part in named.values()]).sum()
            self.step(loss)
        return {"loss": loss.item()} | {name: part.item() for name, part in named.items()}

    def step(self, loss: Tensor, largest_gradient: float = 0.0) -> None:
        """Take one optimizer step on a loss.

        Args:
            largest_gradient: norm that the gradient is clipped to, 0 for no clipping.

        Raises:
            AgentError: the loss is not finite.
        """
        if not bool(torch.isfinite(loss)):
            raise AgentError(f"{code_of(type(self).loss)}: the loss is {loss.item()}; it must be finite")
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if largest_gradient > 0.0:
            nn.utils.clip_grad_norm_(self.parameters(), largest_gradient)
        self.optimizer.step()

    def choose(self, observations: Tensor, masks: Tensor, episodes: Tensor) -> Tensor:
        """Return (B,) actions for (B, F) observations and (B, A) masks; agents that are no policy override it.

        Args:
            episodes: (B,) int64, the numbers of the episodes, on the CPU.
        """
        raise AgentError(
            f"{code_of(type(self))}: {type(self).__name__} does not decide by itself; "
            f"base it on PolicyLearningAgent too or write choose(observations, masks, episodes)"
        )

    def loss(self, batch: Batch) -> Tensor | Mapping[str, Tensor]:
        """Return the loss to minimize, or its parts by name: the policy and value losses that the agent has."""
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
        returns = discounted_returns(batch.rewards, batch.lengths, self.gamma)
        return standardized(returns - batch.reference_returns(self.gamma))

    def locating_errors(self) -> AbstractContextManager[None]:
        """Return a context in which errors raised in the subclass's file are reported with file and line."""
        return locating_errors(type(self))


class PolicyLearningAgent(LearningAgent):
    """An agent that learns which actions to prefer: ``forward_policy`` gives the probability of each (thesis 3.2.2)."""

    def forward_policy(self, observation: Tensor) -> Tensor:
        """Return (B, A) probabilities for (B, F) observations."""
        raise AgentError(f"{code_of(type(self))}: {type(self).__name__} has no forward_policy(observation)")

    def log_probabilities(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return (B, A) log probabilities, normalized over the legal actions and minus infinity for the others.

        Raises:
            AgentError: ``forward_policy`` returned a wrong shape, or numbers that are no probabilities.
        """
        return self.legal_logarithms(self.forward_policy(observations), masks)

    def log_probabilities_of(self, batch: Batch) -> Tensor:
        """Return (S, A) the same for the decisions of some episodes; agents that remember look at each as a whole."""
        return self.log_probabilities(batch.observations, batch.masks)

    def legal_logarithms(self, probabilities: Tensor, masks: Tensor) -> Tensor:
        """Return (B, A) the logarithms of probabilities, normalized over the legal actions.

        Raises:
            AgentError: they have a wrong shape, or are no probabilities.
        """
        self._check_probabilities(probabilities, masks)
        legal = torch.where(masks, probabilities.clamp(min=SMALLEST), 0.0)
        legal = legal / legal.sum(1, keepdim=True)
        return torch.where(masks, legal, 1.0).log().masked_fill(~masks, -torch.inf)

    def choose(self, observations: Tensor, masks: Tensor, episodes: Tensor) -> Tensor:
        """Return (B,) actions: sampled by their probabilities, or the most probable ones if the agent is greedy."""
        return self.drawn(self.log_probabilities(observations, masks))

    def drawn(self, logarithms: Tensor) -> Tensor:
        """Return (B,) actions by (B, A) log probabilities."""
        if self.greedy:
            return logarithms.argmax(1)
        return draw(logarithms.softmax(1).cpu(), self.generator)

    def imitate(self, episodes: Sequence[Episode], epochs: int, minibatch: int = 4096) -> float:
        """Make the actions of some episodes probable (behaviour cloning); return the mean loss of the last pass.

        Args:
            epochs: passes over their decisions.
            minibatch: decisions in a step.

        Raises:
            AgentError: the loss is not finite.
        """
        losses: list[float] = []
        with self.locating_errors():
            batch = Batch.of(episodes, self.device)
            for _ in range(epochs):
                order = torch.randperm(len(batch), generator=self.generator).to(self.device)
                losses = []
                for chosen in torch.split(order, minibatch):
                    loss = -self.chosen_logarithms(batch, chosen).mean()
                    self.step(loss, IMITATED_GRADIENT)
                    losses.append(loss.item())
        self.forget_optimizer()
        return float(np.mean(losses))

    def chosen_logarithms(self, batch: Batch, chosen: Tensor) -> Tensor:
        """Return (B,) the log probabilities of the actions of (B,) decisions of a batch."""
        logarithms = self.log_probabilities(batch.observations[chosen], batch.masks[chosen])
        return logarithms.gather(1, batch.actions[chosen, None])[:, 0]

    def action_shares(self, episodes: Sequence[Episode]) -> list[Floats | None]:
        """Return for each episode (A,) the probabilities of actions, mean over its decisions."""
        means: list[Floats | None] = []
        for episode in episodes:
            with torch.no_grad(), self.locating_errors():
                logarithms = self.log_probabilities_of(Batch.of([episode], self.device))
                means.append(logarithms.softmax(1).sum(0).div(max(1, len(episode))).cpu().numpy().astype(np.float64))
        return means

    def policy_loss(self, batch: Batch, weights: Tensor) -> Tensor:
        """Return minus the sum of log probability x weight over the decisions of an episode, mean over the episodes.

        Args:
            weights: (S,) of the decisions, such as their returns.

        Source: thesis equation 3.3.
        """
        logarithms = self.log_probabilities_of(batch)
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
    """An agent that learns the expected return: ``forward_value``; the critic of an actor-critic (thesis 3.2.2)."""

    def forward_value(self, observation: Tensor) -> Tensor:
        """Return (B, 1) expected returns for (B, F) observations."""
        raise AgentError(f"{code_of(type(self))}: {type(self).__name__} has no forward_value(observation)")

    def values(self, observations: Tensor) -> Tensor:
        """Return (B,) expected returns.

        Raises:
            AgentError: ``forward_value`` returned a wrong shape.
        """
        values = self.forward_value(observations)
        rows = len(observations)
        if not isinstance(values, Tensor) or tuple(values.shape) not in ((rows,), (rows, 1)):
            shape = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
            raise AgentError(f"{code_of(type(self).forward_value)}: forward_value gave {shape}; {(rows, 1)} is needed")
        return values.reshape(rows)

    def values_after(self, batch: Batch) -> Floats:
        """Return (E,) what is expected after the last decision of each episode; 0 where it was over then."""
        found = np.zeros(len(batch.lengths))
        rows = [i for i, episode in enumerate(batch.episodes) if episode.then is not None]
        if rows:
            seen = [episode.then[0] for episode in batch.episodes if episode.then is not None]
            with torch.no_grad():
                values = self.values(torch.from_numpy(np.stack(seen)).flatten(1).to(self.device))
            found[rows] = values.cpu().numpy()
        return found

    def value_loss(self, values: Tensor, returns: Tensor) -> Tensor:
        """Return the mean Huber loss of (S,) values against (S,) returns (thesis equation 3.4)."""
        return functional.smooth_l1_loss(values, returns)


def draw(probabilities: Tensor, generator: torch.Generator) -> Tensor:
    """Return (B,) actions sampled by (B, A) probabilities, by inversion of their cumulative sums."""
    sums = probabilities.cumsum(1, dtype=torch.float64)
    numbers = torch.rand(len(sums), 1, dtype=torch.float64, generator=generator) * sums[:, -1:]
    return torch.searchsorted(sums, numbers, right=True)[:, 0]


def entropy(logarithms: Tensor) -> Tensor:
    """Return (B,) entropies of (B, A) log probabilities in nats (dissertation equation 2.15)."""
    return -(logarithms.softmax(1) * logarithms.clamp(min=-1e9)).sum(1)  # exp is slow at minus infinity
