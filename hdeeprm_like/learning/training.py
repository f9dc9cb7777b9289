"""The training loop: rollouts, updates, logs, evaluations and checkpoints, and how it resumes from a checkpoint."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from tqdm import tqdm

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.learning.agents import LearningAgent, PolicyLearningAgent
from hdeeprm_like.learning.checkpoint import (
    Counters,
    counters_of,
    generator_states,
    load_weights,
    read_checkpoint,
    resume_agent,
    save_checkpoint,
)
from hdeeprm_like.learning.logs import TrainingLog
from hdeeprm_like.learning.rollout import BatchedEpisodes, RolloutBuffer, batched_rollout
from hdeeprm_like.types import Bools, Floats

CHECKPOINT, BEST = "checkpoint.pt", "best.pt"
REWARD = "reward"


class Playing(Protocol):
    """An episode that stops at each decision, such as ``run.python_loop.Play``."""

    def advance(self) -> bool:
        """Run until a decision is wanted; False when the episode is over and rewarded."""
        ...

    def observe(self) -> tuple[Floats, Bools]:
        """Return the observation, float32, and (A,) which actions are legal."""
        ...

    def act(self, action: int) -> None:
        """Apply the action with this number."""
        ...

    @property
    def episode(self) -> Episode:
        """The decisions made so far."""
        ...


NewEpisode = Callable[[int], Playing]  # the same number always gives the same episode, at its beginning
Measures = Mapping[str, Callable[[Playing], float]]


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
    """

    episodes: int = 350
    envs: int = 1
    checkpoint_every: int = 100
    evaluate_every: int = 0
    evaluation_episodes: int = 10
    greedy: bool = True
    best: str = REWARD
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("episodes", "envs", "checkpoint_every", "evaluation_episodes"):
            if getattr(self, name) < 1:
                raise OptionsError(f"training.{name} is {getattr(self, name)}; at least 1 is needed")
        if self.evaluate_every < 0:
            raise OptionsError(f"training.evaluate_every is {self.evaluate_every}; 0 for never or more is needed")


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
    quiet: bool = False,
    tensorboard: bool = True,
) -> int:
    """Train an agent and write logs and checkpoints to a directory; see ``logs`` and ``checkpoint``.

    Args:
        new_episode: makes the training episode with a number, from 0. actions: names of the actions.
        folder: where ``checkpoint.pt`` and, if there are evaluations, ``best.pt`` are written.
        resume: whether to continue from the checkpoint there, or to begin anew if it was killed before the first one;
            with the same options the result is that of a training that was never interrupted.
        evaluation: makes the evaluation episode with a number, from 0; None for no evaluations.
        measures: what to compute of each evaluated episode beside its reward, by name.
        quiet: whether to show no progress bar. tensorboard: whether to write events for TensorBoard too.

    Returns:
        The number of episodes that the agent has learned from.

    Raises:
        ResultsError: the directory holds a training and *resume* is false, or it cannot be written to.
        AgentError: the agent fails or gives values of a wrong shape, or the checkpoint is of another agent.
        OptionsError: *options.best* is no measure, or a resumed training had another number of *envs*.
    """
    training = _Training(agent, tuple(actions), folder, options, evaluation, measures or {})
    training.open(resume, tensorboard)
    with tqdm(total=options.episodes, initial=training.episode, unit=" episodes", disable=quiet) as bar:
        try:
            while training.episode < options.episodes:
                before = training.episode
                row = training.update(new_episode)
                bar.update(training.episode - before)
                bar.set_postfix(row, refresh=False)
        finally:
            training.close()
    return training.episode


def play_episodes(agent: LearningAgent, episodes: Sequence[Playing]) -> list[Episode]:
    """Run episodes to their ends, each advanced by itself; one forward pass decides for all that are not over."""
    active = [episode for episode in episodes if episode.advance()]
    while active:
        observations, masks = zip(*(episode.observe() for episode in active), strict=True)
        actions = agent.decide(np.stack(observations), np.stack(masks))
        for episode, action in zip(active, actions.tolist(), strict=True):
            episode.act(action)
        active = [episode for episode in active if episode.advance()]
    return [episode.episode for episode in episodes]


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
    playing = [new_episode(number) for number in range(episodes)]
    was_greedy, was_training, generator = agent.greedy, agent.training, agent.generator
    agent.greedy, agent.generator = greedy, torch.Generator().manual_seed(seed)
    agent.eval()
    try:
        played = play_episodes(agent, playing)
    finally:
        agent.greedy, agent.generator = was_greedy, generator
        agent.train(was_training)
    results = {REWARD: [episode.reward for episode in played]}
    for name, measure in (measures or {}).items():
        results[name] = [measure(episode) for episode in playing]
    return results


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
    ) -> None:
        self.agent = agent
        self.actions = actions
        self.folder = folder
        self.options = options
        self.evaluation = evaluation
        self.measures = measures
        self.episode = 0  # how many have been learned from
        self._buffer = RolloutBuffer()
        self.best = math.inf  # least cost of an evaluation: minus the mean reward, or the mean of a measure
        self.log: TrainingLog
        if options.best not in (REWARD, *measures):
            raise OptionsError(f"training.best is {options.best!r}; {', '.join((REWARD, *measures))} can be had")

    def open(self, resume: bool, tensorboard: bool) -> None:
        """Begin a training, or resume the one in the directory."""
        path = self.folder / CHECKPOINT
        begins = not (resume and path.exists())
        if not begins:
            content = read_checkpoint(path)
            counters = counters_of(content, path)
            self._check_same(counters, path)
            resume_agent(self.agent, content, self.actions, path)
            self.episode, self.best = counters["episode"], counters["best"]
        elif path.exists():
            raise ResultsError(f"{self.folder}: holds a training; resume it or choose another directory")
        self.log = TrainingLog(self.folder, self.actions, None if begins else self.episode, tensorboard)
        if begins:
            if self.evaluation is not None and self.options.evaluate_every:
                self._evaluate(self.evaluation)  # the initial policy may turn out to be the best one
            self.save()

    def update(self, new_episode: NewEpisode) -> dict[str, str]:
        """Roll out the episodes of one update, learn from them and log them; return figures for the progress bar."""
        began = time.perf_counter()
        count = min(self.options.envs, self.options.episodes - self.episode)
        before = generator_states(self.agent)
        try:
            played = self._play(new_episode, count)
        except KeyboardInterrupt:
            self.save(before)  # unfinished episodes are not learned from; a resumed training runs them again
            raise
        preferences = preferences_in(self.agent, played)
        self.agent.anneal(1.0 - self.episode / self.options.episodes)
        losses = learn_from(self.agent, played)
        seconds = (time.perf_counter() - began) / count
        for episode, preference in zip(played, preferences, strict=True):
            self.episode += 1
            self.log.write_episode(self.episode, row_of(episode, seconds), losses, preference)
        self._evaluate_and_save_when_due(count)
        reward = float(np.mean([episode.reward for episode in played]))
        return {REWARD: f"{reward:.4g}", "loss": f"{losses['loss']:.4g}"}

    def _play(self, new_episode: NewEpisode, count: int) -> list[Episode]:
        """Run the next episodes to their ends, as one batch if their source can make one."""
        batch = new_episode.batch(self.episode, count) if isinstance(new_episode, BatchedEpisodes) else None
        if batch is not None:
            return batched_rollout(self.agent, batch, self._buffer)
        return play_episodes(self.agent, [new_episode(self.episode + i) for i in range(count)])

    def save(self, generators: Mapping[str, Any] | None = None) -> None:
        """Write a checkpoint; the logs are flushed to disk first, so that they hold every episode that it counts."""
        self.log.flush()
        counters = {
            "episode": self.episode,
            "best": self.best,
            "envs": self.options.envs,
            "episodes": self.options.episodes,
        }
        save_checkpoint(self.folder / CHECKPOINT, self.agent, self.actions, counters, generators)

    def close(self) -> None:
        """Flush and close the logs."""
        self.log.close()

    def _evaluate_and_save_when_due(self, count: int) -> None:
        """Evaluate and save if one of the last *count* episodes was due for it by the options, or was the last."""
        every, over = self.options.evaluate_every, self.episode >= self.options.episodes
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


def load_agent(agent: LearningAgent, path: Path, actions: Sequence[str]) -> None:
    """Load the weights of a checkpoint file, or of the best or last checkpoint in a training's directory (``-im``).

    Raises:
        AgentError: there is no checkpoint, or it is of another architecture or action space.
    """
    path = weights_of(path)
    load_weights(agent, read_checkpoint(path), actions, path)


def weights_of(path: Path) -> Path:
    """Return ``best.pt`` of a training's directory, or ``checkpoint.pt`` if it has none; any other path as it is."""
    if not path.is_dir():
        return path
    return path / BEST if (path / BEST).exists() else path / CHECKPOINT


def save_agent(agent: LearningAgent, path: Path, actions: Sequence[str]) -> None:
    """Write an agent's weights to a checkpoint file (``-om``)."""
    save_checkpoint(path, agent, actions)


def learn_from(agent: LearningAgent, played: Sequence[Episode]) -> Mapping[str, float]:
    """Let an agent learn from the episodes that have decisions; return its losses."""
    episodes = [episode for episode in played if len(episode)]
    return (agent.learn(episodes) if episodes else None) or {"loss": 0.0}


def row_of(episode: Episode, seconds: float) -> dict[str, float]:
    """Return what the logs tell of an episode that took so many s."""
    return {"decisions": len(episode), REWARD: episode.reward, "end": episode.end, "seconds": seconds}


def preferences_in(agent: LearningAgent, episodes: Sequence[Episode]) -> list[Floats | None]:
    """Return for each episode (A,) the policy's probabilities, mean over its decisions; None if the agent has none."""
    if not isinstance(agent, PolicyLearningAgent):
        return [None] * len(episodes)
    means: list[Floats | None] = []
    for episode in episodes:
        observations = torch.from_numpy(episode.observations).flatten(1).to(agent.device)
        with torch.no_grad(), agent.locating_errors():
            logarithms = agent.log_probabilities(observations, torch.from_numpy(episode.masks).to(agent.device))
            means.append(logarithms.softmax(1).sum(0).div(max(1, len(episode))).cpu().numpy().astype(np.float64))
    return means
