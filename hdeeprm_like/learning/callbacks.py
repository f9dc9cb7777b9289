"""Callbacks of a training: objects with three methods that receive its figures.

| name | writes to | needs |
|---|---|---|
| ``tensorboard`` | events in the training's folder ``tensorboard``; always, where it is installed | ``tensorboard`` |
| ``wandb`` | a run of Weights & Biases, by its environment variables (``WANDB_PROJECT``, ``WANDB_MODE``) | ``wandb`` |
| ``mlflow`` | a run of MLflow, by its environment variables (``MLFLOW_TRACKING_URI``) | ``mlflow-skinny`` |

One of your own is a class without parameters, named ``file.py:Class`` or ``module:Class``.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.formats.files import write_lines
from hdeeprm_like.inputs import read_text
from hdeeprm_like.plugins import find

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Beginning:
    """What a callback receives when a training begins or resumes.

    Attributes:
        folder: of the training. resumed: episodes that an earlier part of it has logged; None for a new one.
        options: how it trains, by name.
    """

    folder: Path
    resumed: int | None
    options: Mapping[str, Any]


class Callback(Protocol):
    """Follows a training; one that has a method ``flush`` is flushed before each checkpoint."""

    def on_start(self, beginning: Beginning) -> None:
        """Take notice that a training begins or goes on."""

    def on_log(self, episode: int, figures: Mapping[str, float]) -> None:
        """Take the figures of an episode, numbered from 1: ``train/reward``, ``train/loss``, ``evaluation/reward``."""

    def on_end(self) -> None:
        """Take notice that the training is over or interrupted."""


class TensorBoard:
    """Writes TensorBoard's events into the folder ``tensorboard`` of a training."""

    def __init__(self) -> None:
        self._events: Any = None

    def on_start(self, beginning: Beginning) -> None:
        """Open the events; those of episodes that are played again are hidden."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            log.warning("no TensorBoard events: the package is missing; install hdeeprm_like[tensorboard]")
            return
        first = None if beginning.resumed is None else beginning.resumed + 1
        self._events = SummaryWriter(str(beginning.folder / "tensorboard"), purge_step=first)

    def on_log(self, episode: int, figures: Mapping[str, float]) -> None:
        """Write figures."""
        if self._events is not None:
            for name, value in figures.items():
                self._events.add_scalar(name, value, episode)

    def flush(self) -> None:
        """Write everything to disk."""
        if self._events is not None:
            self._events.flush()

    def on_end(self) -> None:
        """Close the events."""
        if self._events is not None:
            self._events.close()


class WeightsAndBiases:
    """Logs to a run of Weights & Biases; a training that goes on is the same run there."""

    def __init__(self) -> None:
        self._wandb = installed("wandb", "wandb")

    def on_start(self, beginning: Beginning) -> None:
        """Begin a run that is named after the training's folder, or go on with it."""
        kept = beginning.folder / "wandb-run.txt"
        again = kept.exists() and beginning.resumed is not None
        self._run = self._wandb.init(
            id=read_text(kept, ResultsError).strip() if again else None,
            name=beginning.folder.resolve().name,
            dir=str(beginning.folder),
            config=dict(beginning.options),
            resume="allow",
        )
        write_lines(kept, [str(self._run.id)])

    def on_log(self, episode: int, figures: Mapping[str, float]) -> None:
        """Log figures; the episode is their step."""
        self._run.log({**figures, "episode": episode}, step=episode)

    def on_end(self) -> None:
        """End the run."""
        self._run.finish()


class MLflow:
    """Logs to a run of MLflow; a training that goes on is the same run there."""

    def __init__(self) -> None:
        self._mlflow = installed("mlflow", "mlflow")

    def on_start(self, beginning: Beginning) -> None:
        """Begin a run that is named after the training's folder, or go on with it."""
        kept = beginning.folder / "mlflow-run.txt"
        again = kept.exists() and beginning.resumed is not None
        known = read_text(kept, ResultsError).strip() if again else None
        run = self._mlflow.start_run(run_id=known, run_name=beginning.folder.resolve().name)
        if not again:
            self._mlflow.log_params(dict(beginning.options))
        write_lines(kept, [str(run.info.run_id)])

    def on_log(self, episode: int, figures: Mapping[str, float]) -> None:
        """Log figures; the episode is their step."""
        self._mlflow.log_metrics(dict(figures), step=episode)

    def on_end(self) -> None:
        """End the run."""
        self._mlflow.end_run()


CALLBACKS: dict[str, type[Callback]] = {"tensorboard": TensorBoard, "wandb": WeightsAndBiases, "mlflow": MLflow}
METHODS = ("on_start", "on_log", "on_end")


def installed(module: str, extra: str) -> Any:
    """Return a module.

    Raises:
        OptionsError: it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise OptionsError(
            f"log to {module}: needs {module}; install it with: pip install 'hdeeprm_like[{extra}]'"
        ) from None


def callbacks_named(names: Sequence[str], folder: Path | None = None) -> list[Callback]:
    """Return a callback for each name.

    Args:
        names: of `CALLBACKS`, or ``file.py:Class``. folder: that files are relative to; None for the current one.

    Raises:
        OptionsError: one is not known or lacks a method.
    """
    found = []
    for name in names:
        kind = find(name, CALLBACKS, "callback", folder)
        lacks = [method for method in METHODS if not callable(getattr(kind, method, None))]
        if lacks:
            raise OptionsError(f"callback {name!r:.80}: has no method {lacks[0]}; {', '.join(METHODS)} are needed")
        found.append(kind())
    return found
