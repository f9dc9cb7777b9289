"""Numbers in the files of a run: columns of its CSVs and lists of its JSON, errors in one line each."""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.inputs import read_document
from hdeeprm_like.types import Floats
from hdeeprm_like.values import FINITE, Number

if TYPE_CHECKING:
    import pandas as pd


def table_of(path: Path, columns: Sequence[str]) -> "pd.DataFrame":
    """Return a CSV file as text cells; raise in one line unless it has all the *columns*."""
    import pandas as pd

    try:
        frame = pd.read_csv(io.StringIO(read_document(path, ResultsError)), dtype=str, keep_default_na=False)
    except pd.errors.EmptyDataError:
        raise ResultsError(f"{path}: is empty; the run did not end well") from None
    except pd.errors.ParserError as cause:
        raise ResultsError(f"{path}: is not a table: {' '.join(str(cause).split())}") from cause
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise ResultsError(f"{path}: has no column {missing[0]!r}; is it the {path.name.split('.')[0]} of a run?")
    return frame.fillna("")  # a row that breaks off


def columns_of(path: Path, names: Sequence[str]) -> list[Floats]:
    """Return columns of numbers of a CSV of a run.

    Raises:
        ResultsError: the file cannot be read, or a value is no number.
    """
    frame = table_of(path, names)
    return [np.array(numbers_in(frame, name, path, FINITE)) for name in names]


def numbers_in(frame: "pd.DataFrame", name: str, path: Path, kind: Number, lack: bool = False) -> list[float]:
    """Return the numbers of a column, NaN for empty cells if there may be a *lack*.

    Raises:
        ResultsError: a cell is none of the kind.
    """
    cells = enumerate(frame[name], start=2)  # line 1 has the names
    return [
        math.nan if lack and not text else kind.in_text(text, ResultsError, f"{path}:{line}", name)
        for line, text in cells
    ]


def numbers_of(values: object, fault: str, dimensions: int) -> Floats:
    """Return nested lists of numbers as an array; raise *fault* unless they fill one of that many dimensions."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ResultsError(fault) from None
    if array.size == 0 and isinstance(values, list):
        return np.zeros((0,) * dimensions)
    if array.ndim != dimensions or not np.isfinite(array).all():
        raise ResultsError(fault)
    return array
