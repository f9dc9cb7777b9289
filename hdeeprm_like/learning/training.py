"""The training loop: play, learn, log, evaluate, keep; and take up again where it stopped."""

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
    generator_states,
    load_weights,
    read_checkpoint,
    resume_agent,
    save_checkpoint,
)
from hdeeprm_like.learning.logs import TrainingLog
from hdeeprm_like.learning.rollout import PlaysTogether, Room, play_in_step
from hdeeprm_like.types import Bools, Floats

CHECKPOINT, BEST = "checkpoint.pt", "best.pt"
REWARD = "reward"


class Playing(Protocol):
    """An episode that stops at each decision, such as ``run.play.Play``."""

    def advance(self) -> bool:
        """Run until a decision is wanted; False when the episode is over and rewarded."""
        ...

    def observe(self) -> tuple[Floats, Bools]:
        """Return the observation and which actions are legal."""
        ...

    def act(self, action: int) -> None:
        """Apply an action."""
        ...

    @property
    def episode(self) -> Episode:
        """What happened."""
        ...


NewEpisode = Callable[[int], Playing]  # from the number of an episode, which alone decides what it is
Measures = Mapping[str, Callable[[Playing], float]]


@dataclass(frozen=True)
class TrainingOptions:
    """How to train.

    Attributes:
        episodes: in all.
        envs: episodes played at once; the agent learns from all of them together.
        checkpoint_every: episodes between two checkpoints.
        evaluate_every: episodes between two evaluations, 0 for none.
        evaluation_episodes: size of the evaluation set.
        greedy: whether evaluation takes the most probable actions instead of drawing them.
        best: what decides which evaluation is the best: "reward" (the greatest) or a measure (the least).
        seed: of the evaluation's draws.
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
    """Train an agent and leave logs and checkpoints in a directory; see ``logs`` and ``checkpoint``.

    Args:
        new_episode: episode number, from 0, to the episode. actions: names of the actions.
        folder: gets ``checkpoint.pt`` and, where there is an evaluation, ``best.pt``.
        resume: go on from the checkpoint there, as if it had never stopped; the options must be the same.
        evaluation: number within the evaluation set to the episode; None evaluates nothing.
        measures: name to what to measure of an evaluated episode, beside its reward.
        quiet: whether to show no progress bar.

    Returns:
        The number of episodes that the agent has learned from.

    Raises:
        ResultsError: the directory holds another training and this is not to resume it, or cannot be written.
        AgentError: the agent does something wrong, or the checkpoint is of another one.
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


def play_together(agent: LearningAgent, episodes: Sequence[Playing]) -> list[Episode]:
    """Play episodes side by side, each decision of all of them in one forward pass."""
    going = [episode for episode in episodes if episode.advance()]
    while going:
        seen = [episode.observe() for episode in going]
        chosen = agent.decide(np.stack([s[0] for s in seen]), np.stack([s[1] for s in seen]))
        for episode, action in zip(going, chosen.tolist(), strict=True):
            episode.act(action)
        going = [episode for episode in going if episode.advance()]
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
    """Play a set of episodes without learning; return the reward and each measure, episode by episode.

    Drawn actions come from a generator of their own, so evaluating changes nothing in a training.
    """
    playing = [new_episode(number) for number in range(episodes)]
    was_greedy, was_training, generator = agent.greedy, agent.training, agent.generator
    agent.greedy, agent.generator = greedy, torch.Generator().manual_seed(seed)
    agent.eval()
    try:
        played = play_together(agent, playing)
    finally:
        agent.greedy, agent.generator = was_greedy, generator
        agent.train(was_training)
    results = {REWARD: [episode.reward for episode in played]}
    for name, measure in (measures or {}).items():
        results[name] = [measure(episode) for episode in playing]
    return results


class _Training:
    """A training in progress; between two updates everything that the next ones depend on is in a checkpoint."""

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
        self.episode = 0  # learned from
        self._room = Room()
        self.best = math.inf  # of the evaluations, the lower the better
        self.log: TrainingLog
        if options.best not in (REWARD, *measures):
            raise OptionsError(f"training.best is {options.best!r}; {', '.join((REWARD, *measures))} can be had")

    def open(self, resume: bool, tensorboard: bool) -> None:
        """Begin, or take up a training that is in the directory."""
        path = self.folder / CHECKPOINT
        if resume:
            content = read_checkpoint(path)
            self._check_same(content["counters"], path)
            resume_agent(self.agent, content, self.actions, path)
            self.episode = content["counters"]["episode"]
            self.best = content["counters"]["best"]
        elif path.exists():
            raise ResultsError(f"{self.folder}: holds a training; resume it or choose another directory")
        self.log = TrainingLog(self.folder, self.actions, self.episode, tensorboard)
        if not resume:
            if self.evaluation is not None and self.options.evaluate_every:
                self._evaluate(self.evaluation)  # it may begin better than it ends
            self.save()

    def update(self, new_episode: NewEpisode) -> dict[str, str]:
        """Play some episodes, learn from them, log; return what to show."""
        began = time.perf_counter()
        count = min(self.options.envs, self.options.episodes - self.episode)
        before = generator_states(self.agent)
        try:
            played = self._play(new_episode, count)
        except KeyboardInterrupt:
            self.save(before)  # nothing is learned from unfinished episodes; they are played again
            raise
        preferences = _preferences(self.agent, played)
        self.agent.anneal(1.0 - self.episode / self.options.episodes)
        losses = self.agent.learn([episode for episode in played if len(episode)]) if any(map(len, played)) else {}
        losses = losses or {"loss": 0.0}
        seconds = (time.perf_counter() - began) / count
        for episode, preference in zip(played, preferences, strict=True):
            self.episode += 1
            row = {"decisions": len(episode), REWARD: episode.reward, "end": episode.end, "seconds": seconds}
            self.log.write_episode(self.episode, row, losses, preference)
        self._look_after(count)
        reward = float(np.mean([episode.reward for episode in played]))
        return {REWARD: f"{reward:.4g}", "loss": f"{losses['loss']:.4g}"}

    def _play(self, new_episode: NewEpisode, count: int) -> list[Episode]:
        """Play the next episodes, in one where they can be."""
        together = new_episode.together(self.episode, count) if isinstance(new_episode, PlaysTogether) else None
        if together is not None:
            return play_in_step(self.agent, together, self._room)
        return play_together(self.agent, [new_episode(self.episode + i) for i in range(count)])

    def save(self, generators: Mapping[str, Any] | None = None) -> None:
        """Write a checkpoint of now; the logs reach the disk first, so they never fall short of it."""
        self.log.flush()
        counters = {
            "episode": self.episode,
            "best": self.best,
            "envs": self.options.envs,
            "episodes": self.options.episodes,
        }
        save_checkpoint(self.folder / CHECKPOINT, self.agent, self.actions, counters, generators)

    def close(self) -> None:
        """Write what is left of the logs."""
        self.log.close()

    def _look_after(self, count: int) -> None:
        """Evaluate and save where the last *count* episodes have come to a multiple of what the options say."""
        every, over = self.options.evaluate_every, self.episode >= self.options.episodes
        if self.evaluation is not None and every and (over or self.episode // every > (self.episode - count) // every):
            self._evaluate(self.evaluation)
        every = self.options.checkpoint_every
        if over or self.episode // every > (self.episode - count) // every:
            self.save()

    def _evaluate(self, evaluation: NewEpisode) -> None:
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

    def _check_same(self, counters: Mapping[str, int | float], path: Path) -> None:
        """Refuse options that would let the resumed training go another way than the first part did."""
        if counters.get("envs") != self.options.envs:
            raise OptionsError(f"{path}: was trained with envs {counters.get('envs')}, not {self.options.envs}")


def load_agent(agent: LearningAgent, path: Path, actions: Sequence[str]) -> None:
    """Give an agent the weights of a checkpoint, or of the one in a training's directory (``-im``).

    Raises:
        AgentError: there is none, or it is of another architecture or action space.
    """
    path = weights_of(path)
    load_weights(agent, read_checkpoint(path), actions, path)


def weights_of(path: Path) -> Path:
    """Return the file with the weights of a training's directory: the best ones, else the last; a file is its own."""
    if not path.is_dir():
        return path
    return path / BEST if (path / BEST).exists() else path / CHECKPOINT


def save_agent(agent: LearningAgent, path: Path, actions: Sequence[str]) -> None:
    """Write an agent's weights (``-om``)."""
    save_checkpoint(path, agent, actions)


def _preferences(agent: LearningAgent, episodes: Sequence[Episode]) -> list[Floats | None]:
    """Return for each episode the (A,) mean over its decisions of the probabilities that it was played with."""
    if not isinstance(agent, PolicyLearningAgent):
        return [None] * len(episodes)
    means: list[Floats | None] = []
    for episode in episodes:
        observations = torch.from_numpy(episode.observations).flatten(1).to(agent.device)
        with torch.no_grad(), agent.blamed():
            logarithms = agent.log_probabilities(observations, torch.from_numpy(episode.masks).to(agent.device))
            means.append(logarithms.softmax(1).sum(0).div(max(1, len(episode))).cpu().numpy().astype(np.float64))
    return means
