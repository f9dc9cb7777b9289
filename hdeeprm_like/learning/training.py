"""The training loop: rollouts, updates, logs, evaluations and checkpoints, and how it resumes from a checkpoint."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from hdeeprm_like import limits
from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.learning.agents import LearningAgent
from hdeeprm_like.learning.callbacks import Callback
from hdeeprm_like.learning.checkpoint import (
    BEST,
    CHECKPOINT,
    Counters,
    counters_of,
    generator_states,
    read_checkpoint,
    resume_agent,
    save_checkpoint,
)
from hdeeprm_like.learning.logs import Tally, TrainingLog
from hdeeprm_like.learning.python_state import LOST, Remembered
from hdeeprm_like.learning.rollout import (
    BatchedEpisodes,
    Decides,
    EpisodeBatch,
    Playing,
    RolloutBuffer,
    batched_rollout,
    play_episodes,
    play_side_by_side,
    rollout_by_parts,
)

REWARD = "reward"


NewEpisode = Callable[[int], Playing]  # the same number always gives the same episode, at its beginning
Measures = Mapping[str, Callable[[Any], float]]  # each computes a number of the `run` of an ended episode
References = Callable[[int, int], list[Episode]]  # from the first of consecutive training episodes and their number
Rollouts = Callable[[int, int, float | None], list[Episode]]
"""The same of episodes to learn from, as the agent plays them now; the third is what it was annealed with, if so."""


@dataclass(frozen=True)
class TrainingOptions:
    """How to train.

    Attributes:
        episodes: in all.
        envs: episodes in one update, rolled out at the same time.
        checkpoint_every: episodes between two checkpoints.
        evaluate_every: episodes between two evaluations, 0 for none.
        evaluation_episodes: size of the evaluation set.
        greedy: whether evaluations take the most probable action instead of sampling one.
        best: which evaluation's weights go to ``best.pt``: "reward", the one with the greatest mean reward, or the name
            of a measure, the one with its least mean.
        seed: of the actions sampled in evaluations.
        steps: decisions to learn from at least, in place of so many *episodes*; 0 for these.
        n_steps: decisions of each episode between two updates; 0 to learn from whole episodes.
    """

    episodes: int = 350
    envs: int = 1
    checkpoint_every: int = 100
    evaluate_every: int = 0
    evaluation_episodes: int = 10
    greedy: bool = True
    best: str = REWARD
    seed: int = 0
    steps: int = 0
    n_steps: int = 0

    def __post_init__(self) -> None:
        for name in ("episodes", "envs", "checkpoint_every", "evaluation_episodes"):
            if getattr(self, name) < 1:
                raise OptionsError(f"training.{name} is {getattr(self, name)}; at least 1 is needed")
        for name in ("evaluate_every", "steps", "n_steps"):
            if getattr(self, name) < 0:
                raise OptionsError(f"training.{name} is {getattr(self, name)}; 0 for never or more is needed")


def train(
    agent: LearningAgent,
    new_episode: NewEpisode,
    actions: Sequence[str],
    folder: Path,
    options: TrainingOptions,
    *,
    resume: bool = False,
    evaluation: NewEpisode | None = None,
    measures: Measures | None = None,
    references: References | None = None,
    rollouts: Rollouts | None = None,
    quiet: bool = False,
    tensorboard: bool = True,
    callbacks: Sequence[Callback] = (),
) -> int:
    """Train an agent and write logs and checkpoints to a directory; see ``logs`` and ``checkpoint``.

    Args:
        new_episode: makes the training episode with a number, from 0. actions: names of the actions.
        folder: where ``checkpoint.pt`` and, if there are evaluations, ``best.pt`` are written.
        resume: whether to continue from the checkpoint there, or to start again if it was killed before the first one;
            with the same options the result is that of a training that was never interrupted.
        evaluation: makes the evaluation episode with a number, from 0; None for no evaluations.
        measures: what to compute of each evaluated episode beside its reward, by name.
        references: plays a baseline on the jobs of training episodes, which these are compared with; None for nothing.
        rollouts: plays training episodes in place of *new_episode*, somewhere else perhaps; None to play them here.
        quiet: whether to show no progress bar. tensorboard: whether to write events for TensorBoard too.
        callbacks: who else follows the training, see ``callbacks``.

    Returns:
        The number of episodes that the agent has learned from.

    Raises:
        ResultsError: the directory holds a training and *resume* is false, or it cannot be written to.
        AgentError: the agent fails or gives values of a wrong shape, or the checkpoint is of another agent.
        OptionsError: *options.best* is no measure, a resumed training had another number of *envs*, or the agent cannot
            learn from parts of episodes.
    """
    if options.n_steps and not agent.bootstraps:
        raise OptionsError(f"training.n_steps: {type(agent).__name__} has no critic to estimate later rewards; omit it")
    training = _Training(agent, tuple(actions), folder, options, evaluation, measures or {}, references, rollouts)
    training.open(resume, tensorboard, callbacks)
    total, unit = (options.steps, " decisions") if options.steps else (options.episodes, " episodes")
    with tqdm(total=total, initial=training.done, unit=unit, disable=quiet) as bar:
        try:
            while training.done < total:
                before = training.done
                row = training.update(new_episode)
                bar.update(training.done - before)
                bar.set_postfix(row, refresh=False)
        finally:
            training.close()
    return training.episode


def batch_of(new_episode: NewEpisode, first: int, count: int) -> EpisodeBatch | None:
    """Return consecutive episodes as one batch; None if their source cannot make one."""
    return new_episode.batch(first, count) if isinstance(new_episode, BatchedEpisodes) else None


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


class _Training:
    """A training in progress; a checkpoint saved between two updates holds all that the later updates depend on."""

    def __init__(
        self,
        agent: LearningAgent,
        actions: tuple[str, ...],
        folder: Path,
        options: TrainingOptions,
        evaluation: NewEpisode | None,
        measures: Measures,
        references: References | None,
        rollouts: Rollouts | None,
    ) -> None:
        self.agent = agent
        self.actions = actions
        self.folder = folder
        self.options = options
        self.evaluation = evaluation
        self.measures = measures
        self.references = references
        self.rollouts = rollouts
        self.episode = 0  # how many have been learned from
        self.decisions = 0  # in these
        self.annealed: float | None = None  # the fraction last passed to the agent by this process
        self._buffer = RolloutBuffer()
        self._remembered = Remembered(agent)
        self.best = math.inf  # least cost of an evaluation: minus the mean reward, or the mean of a measure
        self.log: TrainingLog
        if options.best not in (REWARD, *measures):
            raise OptionsError(f"training.best is {options.best!r}; {', '.join((REWARD, *measures))} can be had")

    @property
    def done(self) -> int:
        """What has been learned from: decisions if the training ends after so many, else episodes."""
        return self.decisions if self.options.steps else self.episode

    @property
    def left(self) -> float:
        """Share of the training that is left."""
        return max(0.0, 1.0 - self.done / (self.options.steps or self.options.episodes))

    def open(self, resume: bool, tensorboard: bool, callbacks: Sequence[Callback] = ()) -> None:
        """Begin a training, or resume the one in the directory."""
        path = self.folder / CHECKPOINT
        begins = not (resume and path.exists())
        if not begins:
            content = read_checkpoint(path)
            counters = counters_of(content, path)
            self._check_same(counters, path)
            resume_agent(self.agent, content, self.actions, path)
            self.episode, self.decisions = counters["episode"], counters["decisions"]
            self.best = counters["best"]
        elif path.exists():
            raise ResultsError(f"{self.folder}: holds a training; resume it or choose another directory")
        known = None if begins else self.episode
        self.log = TrainingLog(self.folder, self.actions, known, tensorboard, callbacks, asdict(self.options))
        if begins:
            try:
                if self.evaluation is not None and self.options.evaluate_every:
                    self._evaluate(self.evaluation)  # the initial policy may turn out to be the best one
                self.save()
            except BaseException:
                self.close()
                raise

    def update(self, new_episode: NewEpisode) -> dict[str, str]:
        """Roll out some episodes, learn from them and log them; return figures for the progress bar."""
        began, options = time.perf_counter(), self.options
        count = options.envs if options.steps else min(options.envs, options.episodes - self.episode)
        before, learned = generator_states(self.agent), False
        tallies = [Tally() for _ in range(count)]
        losses: list[Mapping[str, float]] = []
        try:
            for played in self._parts(new_episode, count):
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

    def _parts(self, new_episode: NewEpisode, count: int) -> Iterator[list[Episode]]:
        """Run the next episodes to their ends, as one batch if their source can make one; yield what to learn from."""
        compared = self.references(self.episode, count) if self.references is not None else None
        if self.rollouts is not None:
            parts: Iterable[list[Episode]] = [self.rollouts(self.episode, count, self.annealed)]
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
        save_checkpoint(self.folder / CHECKPOINT, self.agent, self.actions, counters, generators, more)

    def close(self) -> None:
        """Flush and close the logs."""
        self.log.close()

    def _evaluate_and_save_when_due(self, count: int) -> None:
        """Evaluate and save if one of the last *count* episodes was due for it by the options, or was the last."""
        every, over = self.options.evaluate_every, self.left <= 0.0
        if self.evaluation is not None and every and (over or self.episode // every > (self.episode - count) // every):
            self._evaluate(self.evaluation)
        every = self.options.checkpoint_every
        if over or self.episode // every > (self.episode - count) // every:
            self.save()

    def _evaluate(self, evaluation: NewEpisode) -> None:
        """Log the mean results on the evaluation set, and save the weights to ``best.pt`` if they are the best yet."""
        options = self.options
        results = evaluate(
            self.agent,
            evaluation,
            options.evaluation_episodes,
            greedy=options.greedy,
            seed=options.seed,
            measures=self.measures,
        )
        means = {name: float(np.mean(values)) for name, values in results.items()}
        self.log.write_evaluation(self.episode, means)
        score = -means[REWARD] if options.best == REWARD else means[options.best]
        if score < self.best:
            self.best = score
            save_checkpoint(self.folder / BEST, self.agent, self.actions, {"episode": self.episode, "best": score})

    def _check_same(self, counters: Counters, path: Path) -> None:
        """Raise an OptionsError if the resumed training would differ from the first part in its number of envs."""
        if counters["envs"] != self.options.envs:
            raise OptionsError(f"{path}: was trained with envs {counters.get('envs')}, not {self.options.envs}")


def learn_from(agent: LearningAgent, played: Sequence[Episode]) -> Mapping[str, float]:
    """Train an agent on the episodes with decisions; return its losses."""
    episodes = [episode for episode in played if len(episode)]
    return (agent.learn(episodes) if episodes else None) or {"loss": 0.0}
