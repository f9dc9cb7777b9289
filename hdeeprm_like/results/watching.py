"""A view of a training that goes on, in a terminal: its rewards so far, and what it was worth when evaluated."""

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.training_logs import EVALUATIONS, PROGRESS
from hdeeprm_like.inputs import read_object, read_text
from hdeeprm_like.results.run_reader import RECORD
from hdeeprm_like.types import Floats
from hdeeprm_like.values import FINITE

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 60  # bars of a line
LATEST = 20  # episodes of the mean
GOES_ON = "training"  # status of a training that has not ended


def watch(folder: Path, show: Callable[[str], None], pause: Callable[[], None]) -> None:
    """Show a training again and again, with a pause between, until it has ended.

    Raises:
        ResultsError: the folder has no training.
    """
    while True:
        record = record_of(folder)
        show(view_of(folder, record))
        if record.get("status") != GOES_ON:
            return
        pause()


def record_of(folder: Path) -> dict[str, Any]:
    """Return what the training has written down about itself.

    Raises:
        ResultsError: there is none.
    """
    if not (folder / RECORD).exists():
        raise ResultsError(f"{folder}: has no {RECORD}; name the folder of a training, while it goes on or afterwards")
    return read_object(folder / RECORD, ResultsError)


def view_of(folder: Path, record: dict[str, Any]) -> str:
    """Return a training in a few lines of text."""
    rows = rows_of(folder / PROGRESS)
    wanted = record.get("runs")
    of = f" of {wanted:,}" if isinstance(wanted, int) else ""
    lines = [f"{folder}: {record.get('status', 'of unknown state')}, episode {len(rows):,}{of}"]
    reward = column(rows, "reward")
    if len(reward):
        lines.append(f"reward   {spark(reward)}")
        recent = float(reward[-LATEST:].mean())
        lines.append(
            f"         last {reward[-1]:.4g}, mean of {min(LATEST, len(reward))} {recent:.4g}, best {reward.max():.4g}"
        )
    evaluated = rows_of(folder / EVALUATIONS)
    if evaluated:
        told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in evaluated[-1].items())
        lines.append(f"evaluated: {told}")
    return "\n".join(lines) + "\n"


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a log, none where it is not there yet; a line that is being written is left out.

    Raises:
        ResultsError: it is no table.
    """
    if not path.exists():
        return []
    whole, _, _ = read_text(path, ResultsError).rpartition("\n")
    try:
        rows = list(csv.DictReader(whole.splitlines()))
    except csv.Error as error:
        raise ResultsError(f"{path}: is no log of a training: {error}") from error
    for line, row in enumerate(rows, 2):
        if None in row:
            raise ResultsError(f"{path}:{line}: has more cells than the line of names")
    return rows


def column(rows: Sequence[dict[str, str]], name: str) -> Floats:
    """Return the numbers of a column, without what is none."""
    values = [FINITE.in_text_or(row.get(name) or "", math.nan) for row in rows]
    return np.array([value for value in values if math.isfinite(value)], np.float64)


def spark(values: Floats) -> str:
    """Return values as bars, at most `WIDTH`, each the mean of the values that it stands for."""
    parts = np.array([part.mean() for part in np.array_split(values, min(WIDTH, len(values)))])
    low, high = float(parts.min()), float(parts.max())
    share = (parts - low) / (high - low) if high > low else np.zeros(len(parts))
    return "".join(BARS[int(place)] for place in np.rint(share * (len(BARS) - 1)))
