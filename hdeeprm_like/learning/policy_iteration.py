"""Approximate policy iteration by paired rollouts: a policy is improved where comparisons show that it pays.

There are two networks: the *policy*, and the *candidate* that is to become better than it. In an iteration the
candidate plays episodes, and actions are compared at some of their decisions, each followed by the policy
(`paired_rollouts`). The agent's own network learns the differences:

1. The logits of the policy (logarithms of probabilities) are moved: for actions a and b of which a gains the advantage
   A more than b, the difference of their logits is to grow by *step* A / scale, where the scale is the deviation of all
   advantages measured under this policy, those of earlier iterations among them. The network learns these targets by
   Huber's loss; of several passes the one is kept that is best on pairs from episodes that it does not learn from, and
   none if all are worse than before (`comparisons`).
2. Networks at some shares of the way from the policy to what was learned play validation episodes by their most
   probable actions. If the best of them is better than the policy by some standard errors, paired by validation
   episodes, it takes its place. So no policy is worse than the one before, but for chance.
3. The next candidate is the best one of the largest share: a short step plays as the policy does, but its own episodes
   show what the network does wrong in states that the policy never comes to.

The policy is that of `best.pt`. The first candidate is the policy itself.

Sources: Lagoudakis and Parr, "Reinforcement learning as classification: leveraging modern classifiers", 2003 (policy
iteration by rollouts); Kakade and Langford, "Approximately optimal approximate reinforcement learning", 2002 (short
steps, of a length that is searched for); Scherrer, "Approximate policy iteration schemes: a comparison", 2014; Ross and
Bagnell, "Reinforcement and imitation learning via interactive no-regret learning", 2014 (the learner's states, the
policy's rollouts, comparisons that are kept); Huber, 1964.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.learning.agents import PolicyLearningAgent
from hdeeprm_like.learning.callbacks import Callback, TensorBoard
from hdeeprm_like.learning.checkpoint import (
    BEST,
    CHECKPOINT,
    counters_of,
    read_checkpoint,
    resume_agent,
    save_checkpoint,
    weights_in,
)
from hdeeprm_like.learning.comparisons import improve
from hdeeprm_like.learning.logs import TrainingLog
from hdeeprm_like.learning.paired_rollouts import PairedRollouts, deterministic
from hdeeprm_like.learning.rollout import play_side_by_side
from hdeeprm_like.learning.weights import Weights, between, following, weights_of
from hdeeprm_like.run.episodes import Plays
from hdeeprm_like.types import Floats

Validate = Callable[[PolicyLearningAgent], tuple[Floats, dict[str, float]]]
"""Plays V validation episodes by the most probable actions; returns what each costs, (V,), and the means of figures."""


class PolicyIteration:
    """The improvement of a policy by iterations; writes logs and checkpoints to a directory, a line for each of them.

    A checkpoint saved after an iteration holds all that later ones depend on.
    """

    def __init__(self, rollouts: PairedRollouts, validate: Validate, actions: Sequence[str], folder: Path) -> None:
        """Begin with the policy of an agent.

        Args:
            rollouts: compare actions in the episodes of that agent. validate: says how good a policy is.
            actions: their names. folder: where ``checkpoint.pt`` and ``best.pt`` are written.
        """
        self.agent, self.rollouts, self.validate, self.options = rollouts.agent, rollouts, validate, rollouts.how
        self.actions, self.folder = tuple(actions), folder
        self.done, self.decisions = 0, 0
        self.policy: Weights = weights_of(self.agent)
        self.costs: Floats = np.zeros(0)  # of the policy in each validation episode
        self.log: TrainingLog

    def run(self, resume: bool = False, quiet: bool = False, callbacks: Sequence[Callback] | None = None) -> int:
        """Improve the policy to the end; return how many iterations there were.

        Args:
            resume: whether to go on from the checkpoint there; the result is that of a training never interrupted.
            quiet: whether to show no progress bar. callbacks: who follows the training; None for TensorBoard.

        Raises:
            ResultsError: the directory holds a training and *resume* is false, or it cannot be written to.
            AgentError: the agent fails, or the checkpoint is of another agent.
        """
        self.open(resume, [TensorBoard()] if callbacks is None else callbacks)
        total = self.options.iterations
        with tqdm(total=total, initial=self.done, unit=" iterations", disable=quiet) as bar:
            try:
                while self.done < total:
                    bar.set_postfix(self.iterate(), refresh=False)
                    bar.update(1)
            finally:
                self.log.close()
        return self.done

    def open(self, resume: bool, callbacks: Sequence[Callback]) -> None:
        """Begin, or go on from the checkpoint in the directory."""
        path, begins = self.folder / CHECKPOINT, True
        if resume and path.exists():
            content, begins = read_checkpoint(path), False
            counters = counters_of(content, path)
            if counters["envs"] != self.rollouts.how.windows:
                raise OptionsError(f"{path}: was trained with {counters['envs']} windows in an iteration")
            resume_agent(self.agent, content, self.actions, path)
            self.policy = weights_in(content, "policy", self.agent, path)
            self.done, self.decisions = counters["episode"], counters["decisions"]
            with following(self.agent, self.policy):  # not kept: the options may name other episodes or measures now
                self.costs, _ = self.validate(self.agent)
        elif path.exists():
            raise ResultsError(f"{self.folder}: holds a training; resume it or choose another directory")
        self.log = TrainingLog(self.folder, self.actions, None if begins else self.done, callbacks)
        if begins:
            self.policy = weights_of(self.agent)
            self.costs, means = self.validate(self.agent)
            self.log.write_evaluation(0, {**means, "share": 0.0, "accepted": 1.0})
            self._save_policy()
            self.save()

    def iterate(self) -> dict[str, str]:
        """Compare, learn, validate; return figures for the progress bar."""
        began, options, agent = time.perf_counter(), self.options, self.agent
        pairs = self.rollouts(self.done * self.rollouts.how.windows, self.policy)
        if not self.done:  # the candidate still is the policy
            agent.look(torch.from_numpy(pairs.observations).float().to(agent.device))
            self.policy = weights_of(agent)
        found = improve(agent, pairs, options, self.policy)
        self.done, self.decisions = self.done + 1, self.decisions + pairs.decisions
        row = {"decisions": pairs.decisions, "compared": len(pairs.gains), "reward": pairs.reward}
        row["seconds"] = time.perf_counter() - began
        self.log.write_episode(self.done, row, found, None)
        chosen = self._choose(weights_of(agent))
        self.save()
        return {name: f"{value:.4g}" for name, value in chosen.items()}

    def _choose(self, learned: Weights) -> dict[str, float]:
        """Replace the policy by the best network on the way to what was learned, if it is surely better; go on."""
        options, agent = self.options, self.agent
        tried: list[tuple[float, Floats, dict[str, float], Weights]] = []
        for share in sorted(options.shares):
            agent.load_state_dict(between(self.policy, learned, share))
            costs, means = self.validate(agent)
            tried.append((float(costs.mean()), costs, means | {"share": share}, weights_of(agent)))
        cost, costs, means, best = min(tried, key=lambda one: one[0])
        change = costs - self.costs
        error = float(change.std(ddof=1)) / len(change) ** 0.5 if len(change) > 1 else 0.0
        accepted = float(change.mean()) < -options.sure * error
        self.log.write_evaluation(self.done, {**means, "accepted": float(accepted)})
        if accepted:
            self.policy, self.costs = best, costs
            agent.load_state_dict(best)
            self._save_policy()
        agent.load_state_dict(tried[-1][-1])
        agent.forget_optimizer()
        return {"validation": cost, "policy": float(self.costs.mean())}

    def _save_policy(self) -> None:
        """Write the policy, whose weights the agent has."""
        counters = {"episode": self.done, "best": float(self.costs.mean())}
        save_checkpoint(self.folder / BEST, self.agent, self.actions, counters)

    def save(self) -> None:
        """Write a checkpoint; the logs are flushed to disk first."""
        self.log.flush()
        self.agent.forget_optimizer()  # each iteration begins with a new one
        counters = {
            "episode": self.done,
            "decisions": self.decisions,
            "envs": self.rollouts.how.windows,
            "episodes": self.options.iterations,
            "best": float(self.costs.mean()),
        }
        save_checkpoint(self.folder / CHECKPOINT, self.agent, self.actions, counters, more={"policy": self.policy})


def validation_of(plays: Plays, episodes: int, figures: Sequence[str], best: str = "reward") -> Validate:
    """Return what plays the first validation episodes side by side.

    Args:
        figures: names of the columns of a run's figures. best: which of them costs, or ``reward``, which pays.
    """
    runs = plays.runs_to_fork(episodes)

    def validate(agent: PolicyLearningAgent) -> tuple[Floats, dict[str, float]]:
        plays.load(runs, 0)
        with deterministic(agent):
            play_side_by_side(agent, runs)
        found = {"reward": runs.episodes["reward"].copy(), **dict(zip(figures, runs.figures.T.copy(), strict=True))}
        costs = -found["reward"] if best == "reward" else found[best]
        return costs, {name: float(values.mean()) for name, values in found.items()}

    return validate
