"""Approximate policy iteration by paired rollouts: a policy is improved where comparisons show that it pays.

An iteration plays episodes by the present policy, compares actions at some of their decisions (`paired_rollouts`), lets
the agent's own network learn the differences, and takes a step towards the policy that follows from them:

1. The logits of the policy (logarithms of probabilities) are moved: for actions a and b of which a gains the advantage
   A more than b, the difference of their logits is to grow by *step* A / scale, where the scale is the deviation of all
   measured advantages. The network learns these targets by Huber's loss; of several passes the one is kept that is best
   on pairs from episodes that it does not learn from, and none if all are worse than before.
2. The step is shortened until the mean Kullback-Leibler divergence from the last policy is within the trust region.
3. The mean of the weights of all iterations, later ones weighing more, is a second candidate. Both play validation
   episodes by their most probable actions, with some margins added to the logit of the action that the policy began
   with (of waiting, where actions start jobs). The best one of all iterations is kept.

Moving the logits by advantages is the policy improvement of natural gradients and of Politex: the policy is the softmax
of the sum of the advantages of all iterations and of what it began with, so evidence adds up over iterations.

Sources: Lagoudakis and Parr, "Reinforcement learning as classification: leveraging modern classifiers", 2003 (policy
iteration by rollouts); Scherrer, "Approximate policy iteration schemes: a comparison", 2014 (small steps);
Abbasi-Yadkori et al., "POLITEX: regret bounds for policy iteration using expert prediction", 2019; Huber, 1964.
"""

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.learning.agents import PolicyLearningAgent
from hdeeprm_like.learning.checkpoint import (
    counters_of,
    read_checkpoint,
    resume_agent,
    save_checkpoint,
    weights_in,
)
from hdeeprm_like.learning.logs import TrainingLog
from hdeeprm_like.learning.paired_rollouts import PairedRollouts, Pairs, deterministic
from hdeeprm_like.learning.training import BEST, CHECKPOINT
from hdeeprm_like.run.runs import Runs
from hdeeprm_like.types import Floats

Weights = dict[str, Tensor]
Validate = Callable[[PolicyLearningAgent], Mapping[str, float]]
"""Plays validation episodes by the most probable actions; returns the mean reward and other measures."""

HELD_OUT = 5  # of so many episodes one is not learned from, and says after which pass to stop
LARGEST = 10.0  # deviations that an advantage is clipped to
CHUNK = 8192  # decisions in one forward pass where no gradient is needed
HALVINGS = 12  # of a step that leaves the trust region


@dataclass(frozen=True)
class IterationOptions:
    """How a policy is iterated; see the module.

    Attributes:
        iterations: how many. step: by which logits move for an advantage of one deviation.
        trust_region: mean divergence from the last policy in nats, at most. average: what the weights of an iteration
            count in the mean beside those of all before.
        epochs: passes over the decisions at most. minibatch: decisions in a gradient step. largest_gradient: its norm.
        huber: advantages of more deviations count linearly.
        margins: added to the logit of the action *leans* before validation. leans: number of that action.
        best: which measure decides, ``reward`` or one that is better the less it is.
    """

    iterations: int = 6
    step: float = 10.0
    trust_region: float = 0.1
    average: float = 0.5
    epochs: int = 10
    minibatch: int = 512
    largest_gradient: float = 0.5
    huber: float = 3.0
    margins: Sequence[float] = (0.0,)
    leans: int = 0
    best: str = "reward"


def iterate_policy(
    agent: PolicyLearningAgent,
    rollouts: PairedRollouts,
    validate: Validate,
    actions: Sequence[str],
    folder: Path,
    options: IterationOptions,
    *,
    resume: bool = False,
    quiet: bool = False,
    tensorboard: bool = True,
) -> int:
    """Improve a policy and write logs and checkpoints to a directory, one line for each iteration; return how many.

    Args:
        rollouts: compare actions under the agent's present policy. validate: says how good a policy is.
        actions: their names. folder: where ``checkpoint.pt`` and ``best.pt`` are written.
        resume: whether to go on from the checkpoint there; the result is that of a training never interrupted.
        quiet: whether to show no progress bar. tensorboard: whether to write events for TensorBoard too.

    Raises:
        ResultsError: the directory holds a training and *resume* is false, or it cannot be written to.
        AgentError: the agent fails, or the checkpoint is of another agent.
    """
    training = _Iterations(agent, rollouts, validate, tuple(actions), folder, options)
    training.open(resume, tensorboard)
    with tqdm(total=options.iterations, initial=training.done, unit=" iterations", disable=quiet) as bar:
        try:
            while training.done < options.iterations:
                bar.set_postfix(training.iterate(), refresh=False)
                bar.update(1)
        finally:
            training.close()
    return training.done


class _Iterations:
    """A policy iteration in progress; a checkpoint saved after an iteration holds all that later ones depend on."""

    def __init__(
        self,
        agent: PolicyLearningAgent,
        rollouts: PairedRollouts,
        validate: Validate,
        actions: tuple[str, ...],
        folder: Path,
        options: IterationOptions,
    ) -> None:
        self.agent, self.rollouts, self.validate = agent, rollouts, validate
        self.actions, self.folder, self.options = actions, folder, options
        self.done, self.decisions, self.best = 0, 0, float("inf")
        self.average: Weights = weights_of(agent)
        self.log: TrainingLog

    def open(self, resume: bool, tensorboard: bool) -> None:
        """Begin, or go on from the checkpoint in the directory."""
        path, begins = self.folder / CHECKPOINT, True
        if resume and path.exists():
            content, begins = read_checkpoint(path), False
            counters = counters_of(content, path)
            if counters["envs"] != self.rollouts.how.windows:
                raise OptionsError(f"{path}: was trained with {counters['envs']} windows in an iteration")
            resume_agent(self.agent, content, self.actions, path)
            self.average = weights_in(content, "average", self.agent, path)
            self.done, self.decisions, self.best = counters["episode"], counters["decisions"], counters["best"]
        elif path.exists():
            raise ResultsError(f"{self.folder}: holds a training; resume it or choose another directory")
        self.log = TrainingLog(self.folder, self.actions, None if begins else self.done, tensorboard)
        if begins:
            self.average = weights_of(self.agent)
            self._choose([self.average])  # what the policy began with may turn out to be the best
            self.save()

    def iterate(self) -> dict[str, str]:
        """Compare, learn, validate; return figures for the progress bar."""
        began, options, agent = time.perf_counter(), self.options, self.agent
        pairs = self.rollouts(self.done)
        found = improve(agent, pairs, options)
        self.done, self.decisions = self.done + 1, self.decisions + pairs.decisions
        share = options.average
        self.average = {
            name: torch.lerp(self.average[name], now, share) if now.is_floating_point() else now
            for name, now in weights_of(agent).items()
        }
        row = {"decisions": pairs.decisions, "compared": len(pairs.gains), "reward": pairs.reward}
        row["seconds"] = time.perf_counter() - began
        self.log.write_episode(self.done, row, found, None)
        chosen = self._choose([weights_of(agent), self.average])
        self.save()
        return {name: f"{value:.4g}" for name, value in (("kl", found["kl"]), *chosen.items())}

    def _choose(self, candidates: Sequence[Weights]) -> dict[str, float]:
        """Play validation episodes with candidates; record the best one, and save it if it is the best so far."""
        options, agent, now = self.options, self.agent, weights_of(self.agent)
        tried: list[tuple[float, dict[str, float], Weights]] = []
        for number, weights in enumerate(candidates):
            for margin in options.margins:
                agent.load_state_dict(weights)
                if margin:
                    agent.lean(options.leans, margin)
                means = dict(self.validate(agent))
                cost = -means["reward"] if options.best == "reward" else means[options.best]
                tried.append((cost, {**means, "averaged": number, "margin": margin}, weights_of(agent)))
        cost, means, weights = min(tried, key=lambda one: one[0])
        self.log.write_evaluation(self.done, means)
        if cost < self.best:
            self.best = cost
            agent.load_state_dict(weights)
            agent.forget_optimizer()
            save_checkpoint(self.folder / BEST, agent, self.actions, {"episode": self.done, "best": cost})
        agent.load_state_dict(now)
        return {"validation": cost, "best": self.best}

    def save(self) -> None:
        """Write a checkpoint; the logs are flushed to disk first."""
        self.log.flush()
        self.agent.forget_optimizer()  # each iteration begins with a new one
        counters = {
            "episode": self.done,
            "decisions": self.decisions,
            "best": self.best,
            "envs": self.rollouts.how.windows,
            "episodes": self.options.iterations,
        }
        more = {"average": self.average}
        save_checkpoint(self.folder / CHECKPOINT, self.agent, self.actions, counters, more=more)

    def close(self) -> None:
        """Flush and close the logs."""
        self.log.close()


def weights_of(agent: PolicyLearningAgent) -> Weights:
    """Return a copy of the weights of an agent."""
    return copy.deepcopy(dict(agent.state_dict()))


def improve(agent: PolicyLearningAgent, pairs: Pairs, options: IterationOptions) -> dict[str, float]:
    """Train an agent on comparisons, within the trust region; return the loss and other figures."""
    before = weights_of(agent)
    with agent.locating_errors():
        learned = _Learned(agent, pairs, options)
        loss, passes = learned.fit()
        share, divergence = learned.shorten(before)
    return {
        "loss": loss,
        "passes": float(passes),
        "shortened": share,
        "kl": divergence,
        "changed": learned.changed(),
        "scale": learned.scale,
        "mean_gain": float(pairs.gains.mean()),
        "correlation": learned.correlation,
    }


class _Learned:
    """An agent that learns from comparisons."""

    def __init__(self, agent: PolicyLearningAgent, pairs: Pairs, options: IterationOptions) -> None:
        device = agent.device
        self.agent, self.options = agent, options
        self.seen = torch.from_numpy(pairs.observations).float().to(device)
        self.masks = torch.from_numpy(pairs.masks).to(device)
        self.states, self.actions, self.others = (
            torch.from_numpy(column).to(device) for column in (pairs.states, pairs.actions, pairs.others)
        )
        self.scale = deviation(pairs.gains)
        gains = np.clip(pairs.gains / self.scale, -LARGEST, LARGEST)
        with torch.no_grad():
            self.before = torch.cat(
                [self.logarithms(part) for part in torch.split(torch.arange(len(self.seen)), CHUNK)]
            )
        self.advantages = torch.from_numpy(gains.astype(np.float32)).to(device)
        self.targets = options.step * self.advantages + self._differences(self.before, self.states)
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
                agent.step(self._loss(states), options.largest_gradient)
            loss = self._held_out_loss()
            if loss < least:
                least, kept, passes = loss, weights_of(agent), number + 1
        agent.load_state_dict(kept)
        self._correlate()
        return least / first if first > 0.0 else 1.0, passes

    def shorten(self, before: Weights) -> tuple[float, float]:
        """Go back towards the last weights until the policy is within the trust region; return the share and its KL."""
        reached, share = weights_of(self.agent), 1.0
        divergence = self._divergence()
        for _ in range(HALVINGS):
            if divergence <= self.options.trust_region:
                break
            share *= max(0.5, min(0.9, (self.options.trust_region / divergence) ** 0.5))
            self.agent.load_state_dict(between(before, reached, share))
            divergence = self._divergence()
        else:
            self.agent.load_state_dict(before)
            share = divergence = 0.0
        return share, divergence

    def changed(self) -> float:
        """Return at which share of the decisions the most probable action is another one now."""
        with torch.no_grad():
            now = torch.cat(
                [self.logarithms(part).argmax(1) for part in torch.split(torch.arange(len(self.seen)), CHUNK)]
            )
        return float((now != self.before.argmax(1)).float().mean())

    def _differences(self, logarithms: Tensor, rows: Tensor) -> Tensor:
        """Return (P,) differences of logits, given (B, A) logarithms and (P,) in which of these rows each pair is."""
        return logarithms[rows, self.actions] - logarithms[rows, self.others]

    def _loss(self, states: Tensor) -> Tensor:
        """Return the mean loss over the pairs of some decisions."""
        chosen, owner = self._pairs_of(states)
        logarithms = self.logarithms(states)
        found = logarithms[owner, self.actions[chosen]] - logarithms[owner, self.others[chosen]]
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

    def _divergence(self) -> float:
        """Return the mean Kullback-Leibler divergence of the policy from the last one, in nats."""
        total = 0.0
        with torch.no_grad():
            for part in torch.split(torch.arange(len(self.seen), device=self.seen.device), CHUNK):
                old, new = self.before[part], self.logarithms(part)
                total += float(torch.where(self.masks[part], old.exp() * (old - new), 0.0).sum())
        return total / len(self.seen)


def between(first: Weights, last: Weights, share: float) -> Weights:
    """Return weights on the line from the first ones to the last."""
    return {
        name: torch.lerp(first[name], value, share) if value.is_floating_point() else value
        for name, value in last.items()
    }


def deviation(gains: Floats) -> float:
    """Return the root mean square of advantages without the tenth that is largest; 1 if they are all 0."""
    large = float(np.quantile(np.abs(gains), 0.9))
    return float(np.sqrt(np.mean(np.clip(gains, -large, large) ** 2))) or float(np.abs(gains).max()) or 1.0


def play_side_by_side(agent: PolicyLearningAgent, runs: Runs) -> int:
    """Play episodes to their ends by the most probable actions; return how many decisions that took."""
    chosen, decisions = np.zeros(runs.count, np.int64), 0
    agent.begin(np.arange(runs.count))
    with deterministic(agent):
        while not runs.over.all():
            active = np.flatnonzero(~runs.over)
            chosen[active] = agent.decide(runs.observations[active], runs.masks[active], active)
            runs.step(chosen)
            decisions += len(active)
    return decisions


def validation_of(runs_of: Callable[[], Runs], figures: Sequence[str]) -> Validate:
    """Return what plays validation episodes side by side.

    Args:
        runs_of: gives them at their beginning. figures: names of the columns of its figures.
    """

    def validate(agent: PolicyLearningAgent) -> dict[str, float]:
        runs = runs_of()
        play_side_by_side(agent, runs)
        means = dict(zip(figures, runs.figures.mean(0).tolist(), strict=True))
        return {"reward": float(runs.episodes["reward"].mean()), **means}

    return validate
