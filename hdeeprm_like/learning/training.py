"""The training loop: rollouts, updates, logs, evaluations and checkpoints, and how it resumes from a checkpoint."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from hdeeprm_like import limits
from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.learning.agents import LearningAgent
from hdeeprm_like.learning.callbacks import Callback, TensorBoard
from hdeeprm_like.learning.checkpoint import (
    BEST,
    CHECKPOINT,
    counters_of,
    generator_states,
    read_checkpoint,
    resume_agent,
    save_checkpoint,
)
from hdeeprm_like.learning.logs import Tally, TrainingLog
from hdeeprm_like.learning.python_state import LOST, Remembered
from hdeeprm_like.learning.rollout import (
    Decides,
    RolloutBuffer,
    batched_rollout,
    play_episodes,
    play_side_by_side,
    rollout_by_parts,
)
from hdeeprm_like.option_sections import TrainingSection
from hdeeprm_like.run.episodes import Plays
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.runs import Runs

REWARD = "reward"

NewEpisode = Callable[[int], Play]  # the same number always gives the same episode, at its beginning
Measures = Mapping[str, Callable[[Any], float]]  # each computes a number of the `run` of an ended episode
References = Callable[[int, int], list[Episode]]  # from the first of consecutive training episodes and their number
Rollouts = Callable[[int, int, float | None], list[Episode]]
"""The same of episodes to learn from, as the agent plays them now; the third is what it was annealed with, if so."""


class Played(NamedTuple):
    """What a training plays.

    Attributes:
        training: makes the episode with a number, from 0, that the agent learns from. actions: names of the actions.
        evaluation: makes the evaluation episode with a number, from 0; None for no evaluations.
        measures: what to compute of each evaluated episode beside its reward, by name.
        references: plays a baseline on the jobs of training episodes, which these are compared with; None for nothing.
        rollouts: plays training episodes in place of *training*, somewhere else perhaps; None to play them here.
        seed: of the actions sampled in evaluations.
    """

    training: NewEpisode
    actions: Sequence[str]
    evaluation: NewEpisode | None = None
    measures: Measures = MappingProxyType({})
    references: References | None = None
    rollouts: Rollouts | None = None
    seed: int = 0


def batch_of(new_episode: NewEpisode, first: int, count: int) -> Runs | None:
    """Return consecutive episodes as one batch; None if their source cannot make one."""
    return new_episode.batch(first, count) if isinstance(new_episode, Plays) else None


def rollout(
    agent: LearningAgent, new_episode: NewEpisode, first: int, count: int, buffer: RolloutBuffer
) -> list[Episode]:
    """Run consecutive episodes to their ends, as one batch if their source can make one.

    Args:
        buffer: whose arrays the returned episodes may be views of.
    """
    batch = batch_of(new_episode, first, count)
    if batch is not None:
        return batched_rollout(agent, batch, buffer)
    return play_episodes(agent, [new_episode(first + i) for i in range(count)])


def evaluate(
    agent: LearningAgent,
    new_episode: NewEpisode,
    episodes: int,
    *,
    greedy: bool = True,
    seed: int = 0,
    measures: Measures | None = None,
) -> dict[str, list[float]]:
    """Run episodes without learning; return the reward and each measure, one value per episode.

    Actions are sampled with a separate generator, so that evaluations do not change the course of a training.

    Args:
        episodes: how many, numbered from 0. greedy: whether to take the most probable actions. seed: of the sampling.
    """
    was_greedy, was_training, generator = agent.greedy, agent.training, agent.generator
    agent.greedy, agent.generator = greedy, torch.Generator().manual_seed(seed)
    agent.eval()
    try:
        return measured(agent, new_episode, episodes, measures or {})
    finally:
        agent.greedy, agent.generator = was_greedy, generator
        agent.train(was_training)


def measured(agent: Decides, new_episode: NewEpisode, episodes: int, measures: Measures) -> dict[str, list[float]]:
    """Play episodes from the number 0 on to their ends; return the reward and each measure, one value per episode."""
    batch = batch_of(new_episode, 0, episodes)
    if batch is None:
        playing = [new_episode(number) for number in range(episodes)]
        rewards = [episode.reward for episode in play_episodes(agent, playing)]
        return {REWARD: rewards} | {name: [of(one.run) for one in playing] for name, of in measures.items()}
    play_side_by_side(agent, batch)
    ended = [batch.run(place) for place in range(episodes)]
    return {REWARD: batch.total_rewards.tolist()} | {name: [of(run) for run in ended] for name, of in measures.items()}


class Training:
    """A training, which writes logs and checkpoints to a directory; see ``logs`` and ``checkpoint``.

    A checkpoint saved between two updates holds all that the later updates depend on.

    Attributes:
        episode: how many have been learned from. decisions: in these.
        annealed: the fraction last passed to the agent by this process; None before the first time.
        best: least cost of an evaluation: minus the mean reward, or the mean of a measure.
    """

    def __init__(self, agent: LearningAgent, played: Played, folder: Path, options: TrainingSection) -> None:
        """Prepare a training.

        Args:
            folder: where ``checkpoint.pt`` and, if there are evaluations, ``best.pt`` are written.

        Raises:
            OptionsError: *options.best* is no measure, or the agent cannot learn from parts of episodes.
        """
        if options.n_steps and not agent.bootstraps:
            name = type(agent).__name__
            raise OptionsError(f"training.n_steps: {name} has no critic to estimate later rewards; omit it")
        if options.best not in (REWARD, *played.measures):
            known = ", ".join((REWARD, *played.measures))
            raise OptionsError(f"training.best is {options.best!r}; {known} can be had")
        self.agent, self.played, self.folder, self.options = agent, played, folder, options
        self.episode, self.decisions, self.best = 0, 0, math.inf
        self.annealed: float | None = None
        self._buffer, self._remembered = RolloutBuffer(), Remembered(agent)
        self.log: TrainingLog

    def run(self, resume: bool = False, quiet: bool = False, callbacks: Sequence[Callback] | None = None) -> int:
        """Train to the end; return the number of episodes that the agent has learned from.

        Args:
            resume: whether to continue from the checkpoint there, or to start again if it was killed before the first
                one; with the same options the result is that of a training that was never interrupted.
            quiet: whether to show no progress bar. callbacks: who follows the training; None for TensorBoard.

        Raises:
            ResultsError: the directory holds a training and *resume* is false, or it cannot be written to.
            AgentError: the agent fails or gives values of a wrong shape, or the checkpoint is of another agent.
            OptionsError: a resumed training had another number of *envs*.
        """
        self.open(resume, [TensorBoard()] if callbacks is None else callbacks)
        steps = self.options.steps
        total, unit = (steps, " decisions") if steps else (self.options.episodes, " episodes")
        with tqdm(total=total, initial=self.done, unit=unit, disable=quiet) as bar:
            try:
                while self.done < total:
                    before = self.done
                    row = self.update()
                    bar.update(self.done - before)
                    bar.set_postfix(row, refresh=False)
            finally:
                self.log.close()
        return self.episode

    @property
    def done(self) -> int:
        """What has been learned from: decisions if the training ends after so many, else episodes."""
        return self.decisions if self.options.steps else self.episode

    @property
    def left(self) -> float:
        """Share of the training that is left."""
        return max(0.0, 1.0 - self.done / (self.options.steps or self.options.episodes))

    def open(self, resume: bool, callbacks: Sequence[Callback]) -> None:
        """Begin a training, or resume the one in the directory."""
        path = self.folder / CHECKPOINT
        begins = not (resume and path.exists())
        if not begins:
            content = read_checkpoint(path)
            counters = counters_of(content, path)
            if counters["envs"] != self.options.envs:
                raise OptionsError(f"{path}: was trained with envs {counters['envs']}, not {self.options.envs}")
            resume_agent(self.agent, content, self.played.actions, path)
            self.episode, self.decisions = counters["episode"], counters["decisions"]
            self.best = counters["best"]
        elif path.exists():
            raise ResultsError(f"{self.folder}: holds a training; resume it or choose another directory")
        known = None if begins else self.episode
        how = self.options.model_dump(exclude={"policy_iteration"})
        self.log = TrainingLog(self.folder, self.played.actions, known, callbacks, how)
        if begins:
            try:
                if self.options.evaluate_every:
                    self._evaluate()  # the initial policy may turn out to be the best one
                self.save()
            except BaseException:
                self.log.close()
                raise

    def update(self) -> dict[str, str]:
        """Roll out some episodes, learn from them and log them; return figures for the progress bar."""
        began, options = time.perf_counter(), self.options
        count = options.envs if options.steps else min(options.envs, options.episodes - self.episode)
        before, learned = generator_states(self.agent), False
        tallies = [Tally() for _ in range(count)]
        losses: list[Mapping[str, float]] = []
        try:
            for played in self._parts(count):
                self.annealed = self.left
                self.agent.anneal(self.annealed)
                for tally, episode, shares in zip(tallies, played, self.agent.action_shares(played), strict=True):
                    tally.add(episode, shares)
                learned = True
                losses.append(learn_from(self.agent, played))
                self.decisions += sum(map(len, played))
        except KeyboardInterrupt:
            if not learned:
                self.save(before)  # unfinished episodes are not learned from; a resumed training runs them again
            raise
        seconds = (time.perf_counter() - began) / count
        means = {name: float(np.mean([one[name] for one in losses])) for name in losses[-1]}
        for tally in tallies:
            self.episode += 1
            self.log.write_episode(self.episode, tally.row(seconds), means, tally.preference)
        self._evaluate_and_save_when_due(count)
        reward = float(np.mean([tally.reward for tally in tallies]))
        return {REWARD: f"{reward:.4g}", "loss": f"{means['loss']:.4g}"}

    def _parts(self, count: int) -> Iterator[list[Episode]]:
        """Run the next episodes to their ends, as one batch if their source can make one; yield what to learn from."""
        told, new_episode = self.played, self.played.training
        compared = told.references(self.episode, count) if told.references is not None else None
        if told.rollouts is not None:
            parts: Iterable[list[Episode]] = [told.rollouts(self.episode, count, self.annealed)]
        elif self.options.n_steps:
            batch = batch_of(new_episode, self.episode, count)
            if batch is None:
                raise OptionsError("training.n_steps needs a decision space whose actions and objectives are built in")
            parts = rollout_by_parts(self.agent, batch, self.options.n_steps)
        else:
            parts = [rollout(self.agent, new_episode, self.episode, count, self._buffer)]
        for played in parts:
            if compared is None:
                yield played
            else:
                yield [replace(one, reference=other) for one, other in zip(played, compared, strict=True)]

    def save(self, generators: Mapping[str, Any] | None = None) -> None:
        """Write a checkpoint; the logs are flushed to disk first, so that they hold every episode that it counts."""
        self.log.flush()
        counters = {
            "episode": self.episode,
            "decisions": self.decisions,
            "best": self.best,
            "envs": self.options.envs,
            "episodes": limits.EPISODES.most if self.options.steps else self.options.episodes,
        }
        more = {LOST: self._remembered.lost()}
        save_checkpoint(self.folder / CHECKPOINT, self.agent, self.played.actions, counters, generators, more)

    def _evaluate_and_save_when_due(self, count: int) -> None:
        """Evaluate and save if one of the last *count* episodes was due for it by the options, or was the last."""
        every, over = self.options.evaluate_every, self.left <= 0.0
        if every and (over or self.episode // every > (self.episode - count) // every):
            self._evaluate()
        every = self.options.checkpoint_every
        if over or self.episode // every > (self.episode - count) // every:
            self.save()

    def _evaluate(self) -> None:
        """Log the mean results on the evaluation set, and save the weights to ``best.pt`` if they are the best yet."""
        options, played = self.options, self.played
        if played.evaluation is None:
            return
        how: dict[str, Any] = {"greedy": options.greedy, "seed": played.seed, "measures": played.measures}
        results = evaluate(self.agent, played.evaluation, options.evaluation_episodes, **how)
        means = {name: float(np.mean(values)) for name, values in results.items()}
        self.log.write_evaluation(self.episode, means)
        score = -means[REWARD] if options.best == REWARD else means[options.best]
        if score < self.best:
            self.best = score
            counters = {"episode": self.episode, "best": score}
            save_checkpoint(self.folder / BEST, self.agent, played.actions, counters)


def learn_from(agent: LearningAgent, played: Sequence[Episode]) -> Mapping[str, float]:
    """Train an agent on the episodes with decisions; return its losses."""
    episodes = [episode for episode in played if len(episode)]
    return (agent.learn(episodes) if episodes else None) or {"loss": 0.0}
