"""The logs of a training, one line for each episode, and how a resumed training cuts them back to its checkpoint.

| file | content |
|---|---|
| ``losses.log``, ``rewards.log`` | the loss of the episode's update; the sum of its rewards (as HDeepRM's) |
| ``progress.csv`` | episode, decisions, reward, loss and its parts, end of the simulation, seconds; probabilities |
| ``probs.json`` | ``{"probs": [[of action 0, episode by episode], ...]}`` (as HDeepRM's), with each checkpoint |
| ``evaluations.csv`` | episode, mean reward and measures over the evaluation set |

The probabilities are those of the policy that the episode was rolled out with, mean over its decisions.
"""

import csv
import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.formats.training_logs import EVALUATIONS, FILES, LOSSES, PREFERENCES, PROGRESS, REWARDS
from hdeeprm_like.inputs import opened, opened_as_it_is, read_bytes
from hdeeprm_like.learning.callbacks import Beginning, Callback
from hdeeprm_like.types import Floats

PROBABILITY = "p:"  # begins the columns of probabilities


class TrainingLog:
    """Appends to the logs in a directory.

    Attributes:
        folder: the directory. actions: names of the actions.
    """

    def __init__(
        self,
        folder: Path,
        actions: Sequence[str],
        episodes: int | None = None,
        callbacks: Sequence[Callback] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Open the logs.

        Args:
            episodes: how many the logs there may hold; lines of later ones are cut off. None begins new logs.
            callbacks: who follows the training. options: how it trains, for them.

        Raises:
            ResultsError: the directory cannot be written to.
        """
        self.folder = folder
        self.actions = tuple(actions)
        self._files: dict[str, TextIO] = {}
        self._columns: list[str] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._cut_back(episodes)
            for name in (LOSSES, REWARDS, PROGRESS):
                self._open(name)
        except OSError as cause:
            raise ResultsError(f"{folder}: cannot be written: {cause.strerror or cause}") from cause
        self._callbacks: list[Callback] = []  # those that have begun
        try:
            for one in callbacks:
                one.on_start(Beginning(folder, episodes, options or {}))
                self._callbacks.append(one)
        except BaseException:
            self.close()
            raise

    def write_episode(
        self, episode: int, row: Mapping[str, float], losses: Mapping[str, float], preferences: Floats | None
    ) -> None:
        """Append one episode, numbered from 1.

        Args:
            row: columns of ``progress.csv``, ``reward`` among them. losses: ``loss`` and its parts.
            preferences: (A,) probabilities of the actions, None for agents that have none.
        """
        self._files[LOSSES].write(f"{losses['loss']!r}\n")
        self._files[REWARDS].write(f"{row['reward']!r}\n")
        columns = {"episode": episode, **row, **losses}
        if preferences is not None:
            columns |= {
                f"{PROBABILITY}{name}": float(f"{p:.9g}") for name, p in zip(self.actions, preferences, strict=True)
            }
        self._write_row(PROGRESS, columns)
        self._tell("train", episode, {**row, **losses})

    def write_evaluation(self, episode: int, measures: Mapping[str, float]) -> None:
        """Append one evaluation."""
        if EVALUATIONS not in self._files:
            self._open(EVALUATIONS)
        self._write_row(EVALUATIONS, {"episode": episode, **measures})
        self._tell("evaluation", episode, measures)

    def flush(self) -> None:
        """Write everything to disk, so that the logs hold all episodes of a checkpoint that is saved next."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        self._write_preferences()
        for one in self._callbacks:
            if hasattr(one, "flush"):
                one.flush()

    def close(self) -> None:
        """Flush and close."""
        try:
            self.flush()
        finally:
            for file in self._files.values():
                file.close()
            for one in self._callbacks:
                one.on_end()

    def _tell(self, what: str, episode: int, figures: Mapping[str, float]) -> None:
        for one in self._callbacks:
            one.on_log(episode, {f"{what}/{name}": value for name, value in figures.items()})

    def _open(self, name: str) -> None:
        self._files[name] = open(self.folder / name, "a", encoding="utf-8", newline="")  # noqa: SIM115

    def _write_row(self, name: str, columns: Mapping[str, float]) -> None:
        file = self._files[name]
        writer = csv.writer(file, lineterminator="\n")
        if file.tell() == 0:
            writer.writerow(columns)
        writer.writerow(repr(value) if isinstance(value, float) else value for value in columns.values())

    def _cut_back(self, episodes: int | None) -> None:
        """Cut the logs to the first *episodes*; a training killed after its last checkpoint has logged more."""
        if episodes is None:
            for name in FILES:
                (self.folder / name).unlink(missing_ok=True)
            return
        for name, header in ((LOSSES, 0), (REWARDS, 0), (PROGRESS, 1)):
            path = self.folder / name
            if path.exists():
                with opened_as_it_is(path) as file:
                    lines = [line for line in islice(file, episodes + header) if line.endswith(b"\n")]
                    size = sum(map(len, lines))
                os.truncate(path, size)
        path = self.folder / EVALUATIONS
        if path.exists():
            content = read_bytes(path, ResultsError)
            lines = [line for line in content.splitlines(keepends=True) if line.endswith(b"\n")]
            valid = list(takewhile(lambda line: _episode_of(line) <= episodes, lines[1:]))
            os.truncate(path, sum(map(len, lines[:1] + valid)))

    def _write_preferences(self) -> None:
        probabilities = read_preferences(self.folder / PROGRESS)
        if probabilities is not None:
            write_json(self.folder / PREFERENCES, {"probs": probabilities.T.tolist()}, indent=None)


def _episode_of(line: bytes) -> float:
    """Return the episode of a line of ``evaluations.csv``, that of no training if the line is not whole."""
    first = line.split(b",")[0]
    return int(first[:18]) if line.endswith(b"\n") and first.isdigit() else math.inf


def read_preferences(path: Path) -> Floats | None:
    """Return (E, A) the probabilities of the actions in each episode of a ``progress.csv``; None if it has none."""
    with opened(path, ResultsError) as data, io.TextIOWrapper(data, encoding="utf-8", newline="") as file:
        names = file.readline().rstrip("\n").split(",")
        columns = [i for i, name in enumerate(names) if name.startswith(PROBABILITY)]
        lines = [line for line in file if line.strip()]
        if not columns:
            return None
        return np.loadtxt(lines, delimiter=",", usecols=columns, ndmin=2) if lines else np.zeros((0, len(columns)))


@dataclass
class Tally:
    """The log entries of a training episode, in one part or several."""

    decisions: int = 0
    reward: float = 0.0
    end: float = 0.0
    shares: Floats | None = None

    def add(self, episode: Episode, shares: Floats | None) -> None:
        """Take a part in.

        Args:
            shares: (A,) the policy's probabilities, mean over its decisions; None if it has none.
        """
        self.decisions += len(episode)
        self.reward += episode.reward
        self.end = episode.end
        if shares is not None:
            self.shares = len(episode) * shares + (0.0 if self.shares is None else self.shares)

    def row(self, seconds: float) -> dict[str, float]:
        """Return the log entries of an episode that took so many s."""
        return {"decisions": self.decisions, "reward": self.reward, "end": self.end, "seconds": seconds}

    @property
    def preference(self) -> Floats | None:
        """(A,) the policy's probabilities, mean over the decisions; None if it has none."""
        return None if self.shares is None else self.shares / max(1, self.decisions)
