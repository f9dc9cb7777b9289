"""What an agent learns of comparisons: differences of logits that follow measured advantages."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hdeeprm_like.learning.agents import PolicyLearningAgent
from hdeeprm_like.learning.paired_rollouts import Pairs
from hdeeprm_like.learning.weights import Weights, weights_of
from hdeeprm_like.option_sections import PolicyIterationSection
from hdeeprm_like.types import Floats

HELD_OUT = 5  # of so many episodes one is not learned from, and says after which pass to stop
LARGEST = 10.0  # deviations that an advantage is clipped to
LARGEST_GRADIENT = 0.5  # norm that gradients are clipped to
CHUNK = 8192  # decisions in one forward pass where no gradient is needed


def improve(
    agent: PolicyLearningAgent, pairs: Pairs, options: PolicyIterationSection, first: Weights | None = None
) -> dict[str, float]:
    """Train an agent on comparisons; return the loss and other figures.

    Args:
        first: weights whose logits are moved by the advantages; None for the present ones.
    """
    with agent.locating_errors():
        learned = _Learned(agent, pairs, options, first)
        loss, passes = learned.fit()
    return {
        "loss": loss,
        "passes": float(passes),
        "changed": learned.changed(),
        "scale": learned.scale,
        "mean_gain": float(pairs.gains.mean()),
        "correlation": learned.correlation,
    }


class _Learned:
    """An agent that learns from comparisons."""

    def __init__(
        self, agent: PolicyLearningAgent, pairs: Pairs, options: PolicyIterationSection, first: Weights | None
    ) -> None:
        device = agent.device
        self.agent, self.options = agent, options
        self.seen = torch.from_numpy(pairs.observations).float().to(device)
        self.masks = torch.from_numpy(pairs.masks).to(device)
        self.states, self.actions, self.others = (
            torch.from_numpy(column).to(device) for column in (pairs.states, pairs.actions, pairs.others)
        )
        self.scale = deviation(pairs.gains)
        gains = np.clip(pairs.gains / self.scale, -LARGEST, LARGEST)
        self.before = moved = self._all_logarithms()
        if first is not None:
            now = weights_of(agent)
            agent.load_state_dict(first)
            moved = self._all_logarithms()
            agent.load_state_dict(now)
        self.advantages = torch.from_numpy(gains.astype(np.float32)).to(device)
        self.targets = options.step * self.advantages + self._differences(moved, self.states)
        held = torch.from_numpy(pairs.episodes % HELD_OUT == HELD_OUT - 1).to(device)
        self.held_states, self.learned_states = held.nonzero()[:, 0], (~held).nonzero()[:, 0]
        order = torch.argsort(self.states, stable=True)
        self.of_state = order, torch.bincount(self.states, minlength=len(self.seen))
        self.correlation = 0.0

    def logarithms(self, states: Tensor) -> Tensor:
        """Return (B, A) the log probabilities at some decisions."""
        return self.agent.log_probabilities(self.seen[states], self.masks[states])

    def fit(self) -> tuple[float, int]:
        """Learn; return the loss on what was held out, beside that of the last policy, and after how many passes."""
        options, agent = self.options, self.agent
        agent.forget_optimizer()
        first = least = self._held_out_loss()
        kept, passes = weights_of(agent), 0
        for number in range(options.epochs):
            order = torch.randperm(len(self.learned_states), generator=agent.generator)
            for part in torch.split(order.to(self.seen.device), options.minibatch):
                states = self.learned_states[part]
                agent.step(self._loss(states), LARGEST_GRADIENT)
            loss = self._held_out_loss()
            if loss < least:
                least, kept, passes = loss, weights_of(agent), number + 1
        agent.load_state_dict(kept)
        self._correlate()
        return least / first if first > 0.0 else 1.0, passes

    def changed(self) -> float:
        """Return at which share of the decisions the most probable action is another one now."""
        now = self._all_logarithms()
        return float((now.argmax(1) != self.before.argmax(1)).float().mean())

    def _all_logarithms(self) -> Tensor:
        """Return (S, A) the log probabilities at all decisions."""
        with torch.no_grad():
            return torch.cat([self.logarithms(part) for part in torch.split(torch.arange(len(self.seen)), CHUNK)])

    def _differences(self, logarithms: Tensor, rows: Tensor) -> Tensor:
        """Return (P,) differences of logits, given (B, A) logarithms and (P,) in which of these rows each pair is."""
        return logarithms[rows, self.actions] - logarithms[rows, self.others]

    def _loss(self, states: Tensor) -> Tensor:
        """Return the mean loss over the pairs of some decisions."""
        chosen, owner = self._pairs_of(states)
        logarithms = self.logarithms(states)
        found = logarithms[owner, self.actions[chosen]] - logarithms[owner, self.others[chosen]]
        if not len(chosen):  # the mean over no pairs is no number
            return found.sum()
        unit = self.options.step
        return functional.huber_loss(found / unit, self.targets[chosen] / unit, delta=self.options.huber)

    def _pairs_of(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return the pairs of some decisions, and which of these each belongs to."""
        order, counts = self.of_state
        some = counts[states]
        owner = torch.repeat_interleave(torch.arange(len(states), device=states.device), some)
        first = (counts.cumsum(0) - counts)[states] - (some.cumsum(0) - some)
        return order[torch.arange(len(owner), device=states.device) + first[owner]], owner

    def _held_out_loss(self) -> float:
        """Return the mean loss where nothing is learned from, or over all where nothing is held out."""
        states = self.held_states if len(self.held_states) else self.learned_states
        total, pairs = 0.0, 0
        with torch.no_grad():
            for part in torch.split(states, CHUNK):
                count = len(self._pairs_of(part)[0])
                total, pairs = total + float(self._loss(part)) * count, pairs + count
        return total / max(1, pairs)

    def _correlate(self) -> None:
        """Return the correlation of the network's output with held-out advantages."""
        states = self.held_states
        if len(states) < 2:
            return
        with torch.no_grad():
            chosen, owner = self._pairs_of(states)
            now = self.logarithms(states)
            moved = now[owner, self.actions[chosen]] - now[owner, self.others[chosen]]
            moved = moved - self._differences(self.before, self.states)[chosen]
            if float(moved.std()) > 0.0 and float(self.advantages[chosen].std()) > 0.0:
                self.correlation = float(torch.corrcoef(torch.stack([moved, self.advantages[chosen]]))[0, 1])


def deviation(gains: Floats) -> float:
    """Return the root mean square of advantages without the tenth that is largest; 1 if they are all 0."""
    large = float(np.quantile(np.abs(gains), 0.9))
    return float(np.sqrt(np.mean(np.clip(gains, -large, large) ** 2))) or float(np.abs(gains).max()) or 1.0
