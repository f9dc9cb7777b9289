"""Checked access to the JSON objects of a workload; each error names the place of the field."""

from math import isfinite
from pathlib import Path
from typing import Any

from hdeeprm_like.batsim_server.json_text import encode
from hdeeprm_like.errors import HDeepRMError

LARGEST_NUMBER = 1e30
LARGEST_INTEGER = (1 << 31) - 1  # Batsim reads integers as a C int


class Fields:
    """One JSON object: a job or a profile.

    Attributes:
        content: the object.
        where: place of the object, for messages: ``w.json: jobs[3] (id 4): profile 'p'``.
        folder: of the workload's file, base of other file names in it; None if there is no file.
    """

    def __init__(
        self, content: dict[str, Any], where: str, error: type[HDeepRMError], folder: Path | None = None
    ) -> None:
        """Read an object; mistakes in it are raised as *error*."""
        self.folder = folder
        self.content = content
        self.where = where
        self.error = error

    def refusal(self, what: str) -> HDeepRMError:
        """Return the error for a mistake in the object."""
        return self.error(f"{self.where}: {what}")

    def number(self, key: str, default: float | None = None) -> float:
        """Return a number; a field without *default* is required."""
        value = self.content.get(key, default)
        if value is None:
            raise self.refusal(f"{key} is missing")
        return checked_number(value, f"{self.where}: {key}", self.error)

    def positive(self, key: str, default: float | None = None) -> float:
        """Return a number above 0."""
        value = self.number(key, default)
        if value <= 0.0:
            raise self.refusal(f"{key} must be above 0, but is {value:g}")
        return value

    def amount(self, key: str) -> float:
        """Return a nonnegative number."""
        return self._not_negative([self.number(key)])[0]

    def amounts(self, key: str) -> list[float]:
        """Return a list of nonnegative numbers."""
        values = self.content.get(key)
        if not isinstance(values, list):
            raise self.refusal(f"{key} must be a list of numbers")
        where = f"{self.where}: {key}"
        return self._not_negative(
            [checked_number(value, f"{where}[{position}]", self.error) for position, value in enumerate(values)]
        )

    def _not_negative(self, values: list[float]) -> list[float]:
        if any(value < 0.0 for value in values):
            raise self.refusal("amounts must not be negative")
        return values

    def encoded(self, value: Any) -> str:
        """Return a part of the object as Batsim prints it."""
        try:
            text = encode(value)
            text.encode()
        except UnicodeEncodeError as cause:
            raise self.refusal("holds half a surrogate pair, which is no text") from cause
        except OverflowError as cause:
            raise self.refusal("holds a number that is too large") from cause
        except RecursionError as cause:
            raise self.refusal("is nested too deeply") from cause
        return text


def checked_number(value: Any, where: str, error: type[HDeepRMError]) -> float:
    """Return a number of at most 1e30 in size; raise *error* for anything else."""
    if type(value) is float and -LARGEST_NUMBER <= value <= LARGEST_NUMBER:  # the usual case
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise error(f"{where} must be a number, not {short(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not isfinite(number) or abs(number) > LARGEST_NUMBER:
        raise error(f"{where} is too large")
    return number


def short(value: Any) -> str:
    """Return the text of a JSON value for a message, cut if it is large."""
    kind = "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else ""
    if kind or value is None:
        return kind or "nothing"
    text = repr(value) if not isinstance(value, int) else f"{value}" if abs(value) < 1 << 64 else "a huge number"
    return text if len(text) <= 60 else text[:57] + "..."
