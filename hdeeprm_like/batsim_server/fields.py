"""Checked access to the JSON objects of workloads and messages; each error names the place of the field."""

from pathlib import Path
from typing import Any

from hdeeprm_like.batsim_server.json_text import encode
from hdeeprm_like.errors import HDeepRMError
from hdeeprm_like.values import Number, wrong

LARGEST_FIGURE = 1e30  # sums and products of a few are finite
FIGURE, AMOUNT, POSITIVE = (
    Number(-LARGEST_FIGURE, LARGEST_FIGURE),
    Number(0.0, LARGEST_FIGURE),
    Number(0.0, LARGEST_FIGURE, above=True),
)


class Fields:
    """One JSON object: a job, a profile, or what an event says.

    Attributes:
        data: the object.
        where: place of the object, for messages: ``w.json: jobs[3] (id 4): profile 'p'``.
        folder: of the workload's file, base of other file names in it; None if there is no file.
    """

    def __init__(self, data: dict[str, Any], where: str, error: type[HDeepRMError], folder: Path | None = None) -> None:
        """Read an object; mistakes in it are raised as *error*."""
        self.folder = folder
        self.data = data
        self.where = where
        self.error = error

    def refusal(self, what: str) -> HDeepRMError:
        """Return the error for a mistake in the object."""
        return self.error(f"{self.where}: {what}")

    def number(self, key: str, default: float | None = None, kind: Number = FIGURE) -> float:
        """Return a number of a kind; a field without *default* is required."""
        value = self.data.get(key, default)
        if value is None:
            raise self.refusal(f"{key} is missing")
        return kind.of(value, self.error, self.where, key)

    def positive(self, key: str, default: float | None = None) -> float:
        """Return a number above 0."""
        return self.number(key, default, POSITIVE)

    def amount(self, key: str) -> float:
        """Return a nonnegative number."""
        return self.number(key, kind=AMOUNT)

    def amounts(self, key: str) -> list[float]:
        """Return a list of nonnegative numbers."""
        return AMOUNT.all_of(self.data.get(key), self.error, self.where, key)

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text."""
        value = self.data.get(key, default)
        if not isinstance(value, str):
            raise wrong(value, "a text", self.error, self.where, key)
        return value

    def object(self, key: str) -> dict[str, Any]:
        """Return an object."""
        value = self.data.get(key)
        if not isinstance(value, dict):
            raise wrong(value, "an object", self.error, self.where, key)
        return value

    def inside(self, key: str) -> "Fields":
        """Return an object with checked access to its fields."""
        return Fields(self.object(key), f"{self.where}: {key}", self.error, self.folder)

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        value = self.data.get(key)
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            raise wrong(value, "a list of texts", self.error, self.where, key)
        return value

    def encoded(self, value: Any) -> str:
        """Return a part of the object as Batsim prints it."""
        try:
            text = encode(value)
            if not text.isascii():
                text.encode()
        except UnicodeEncodeError as cause:
            raise self.refusal("holds half a surrogate pair, which is no text") from cause
        except OverflowError as cause:
            raise self.refusal("holds a number that is too large") from cause
        except RecursionError as cause:
            raise self.refusal("is nested too deeply") from cause
        return text
