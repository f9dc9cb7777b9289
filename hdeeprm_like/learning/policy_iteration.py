"""Approximate policy iteration by paired rollouts: a policy is improved where comparisons show that it pays.

An iteration plays episodes by the present policy, compares actions at some of their decisions (`paired_rollouts`), lets
the agent's own network learn the differences, and takes a step towards the policy that follows from them:

1. The logits of the policy (logarithms of probabilities) are moved: for actions a and b of which a gains the advantage
   A more than b, the difference of their logits is to grow by *step* A / scale, where the scale is the deviation of all
   measured advantages: from what it is, or, if the comparisons of several iterations are kept, from what it was at
   first. The network learns these targets by Huber's loss; of several passes the one is kept that is best on pairs from
   episodes that it does not learn from, and none if all are worse than before (`comparisons`).
2. The step is shortened until the mean Kullback-Leibler divergence from the last policy is within the trust region.
3. The mean of the weights of all iterations, later ones weighing more, is a second candidate. Both play validation
   episodes by their most probable actions, with some margins added to the logit of the action that the policy began
   with (of waiting, where actions start jobs). The best one of all iterations is kept. The next iteration goes on from
   the best one of this iteration, also where that is worse: only its own episodes show what it does wrong in states
   that the policies before it never came to.

Moving the logits by advantages is the policy improvement of natural gradients and of Politex: the policy is the softmax
of the sum of the advantages of all iterations and of what it began with, so evidence adds up over iterations.

Sources: Lagoudakis and Parr, "Reinforcement learning as classification: leveraging modern classifiers", 2003 (policy
iteration by rollouts); Scherrer, "Approximate policy iteration schemes: a comparison", 2014 (small steps);
Abbasi-Yadkori et al., "POLITEX: regret bounds for policy iteration using expert prediction", 2019; Huber, 1964.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from tqdm import tqdm

from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.learning.agents import PolicyLearningAgent
from hdeeprm_like.learning.checkpoint import (
    BEST,
    CHECKPOINT,
    counters_of,
    read_checkpoint,
    resume_agent,
    save_checkpoint,
    sound,
    weights_in,
)
from hdeeprm_like.learning.comparisons import IterationOptions, Weights, improve, weights_of
from hdeeprm_like.learning.logs import TrainingLog
from hdeeprm_like.learning.paired_rollouts import Pairs, Sampling, deterministic
from hdeeprm_like.run.branches import play_to_end
from hdeeprm_like.run.runs import Runs

Validate = Callable[[PolicyLearningAgent], Mapping[str, float]]
"""Plays validation episodes by the most probable actions; returns the mean reward and other measures."""


class Comparisons(Protocol):
    """Compares actions under the agent's present policy: `PairedRollouts`, here or in parts elsewhere.

    Attributes:
        how: decisions are compared.
    """

    how: Sampling

    def __call__(self, first: int) -> Pairs:
        """Return what was found in consecutive episodes, given the number of the first one."""
        ...


def iterate_policy(
    agent: PolicyLearningAgent,
    rollouts: Comparisons,
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
        rollouts: Comparisons,
        validate: Validate,
        actions: tuple[str, ...],
        folder: Path,
        options: IterationOptions,
    ) -> None:
        self.agent, self.rollouts, self.validate = agent, rollouts, validate
        self.actions, self.folder, self.options = actions, folder, options
        self.done, self.decisions, self.best = 0, 0, float("inf")
        self.first: Weights = weights_of(agent)  # what the policy begins with
        self.average: Weights = self.first
        self.kept: list[Pairs] = []  # comparisons of the last iterations
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
            self.average, self.first = (weights_in(content, name, self.agent, path) for name in ("average", "first"))
            with sound(path):
                self.kept = [Pairs.of_tensors(content[f"compared {n}"]) for n in range(content["counters"]["kept"])]
            self.done, self.decisions, self.best = counters["episode"], counters["decisions"], counters["best"]
        elif path.exists():
            raise ResultsError(f"{self.folder}: holds a training; resume it or choose another directory")
        self.log = TrainingLog(self.folder, self.actions, None if begins else self.done, tensorboard)
        if begins:
            self.first = self.average = weights_of(self.agent)
            self._choose([self.average])  # what the policy began with may turn out to be the best
            self.save()

    def iterate(self) -> dict[str, str]:
        """Compare, learn, validate; return figures for the progress bar."""
        began, options, agent = time.perf_counter(), self.options, self.agent
        pairs = self.rollouts(self.done * self.rollouts.how.windows)
        self.kept = [*self.kept, pairs][-options.memory :]
        found = improve(agent, Pairs.joined(self.kept), options, self.first if options.memory > 1 else None)
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
        """Play validation episodes with candidates and go on from the best one; save it if it is the best so far."""
        options, agent = self.options, self.agent
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
        agent.load_state_dict(weights)
        agent.forget_optimizer()
        if cost < self.best:
            self.best = cost
            save_checkpoint(self.folder / BEST, agent, self.actions, {"episode": self.done, "best": cost})
        return {"validation": cost, "best": self.best}

    def save(self) -> None:
        """Write a checkpoint; the logs are flushed to disk first."""
        self.log.flush()
        self.agent.forget_optimizer()  # each iteration begins with a new one
        kept = self.kept if self.options.memory > 1 else []
        counters = {
            "episode": self.done,
            "decisions": self.decisions,
            "best": self.best,
            "envs": self.rollouts.how.windows,
            "episodes": self.options.iterations,
            "kept": len(kept),
        }
        more = {"average": self.average, "first": self.first}
        more |= {f"compared {n}": part.tensors() for n, part in enumerate(kept)}
        save_checkpoint(self.folder / CHECKPOINT, self.agent, self.actions, counters, more=more)

    def close(self) -> None:
        """Flush and close the logs."""
        self.log.close()


def play_side_by_side(agent: PolicyLearningAgent, runs: Runs) -> int:
    """Play episodes to their ends by the most probable actions; return how many decisions that took."""
    network = agent.slot_network()
    if network is not None:
        return play_to_end(runs, network)
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
