"""Checked access to the JSON objects of a workload; each error names the place of the field."""

from pathlib import Path
from typing import Any

from hdeeprm_like.batsim_server.json_text import encode
from hdeeprm_like.errors import HDeepRMError
from hdeeprm_like.values import Number

LARGEST_FIGURE = 1e30  # sums and products of a few are finite
FIGURE, AMOUNT, POSITIVE = (
    Number(-LARGEST_FIGURE, LARGEST_FIGURE),
    Number(0.0, LARGEST_FIGURE),
    Number(0.0, LARGEST_FIGURE, above=True),
)


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

    def number(self, key: str, default: float | None = None, kind: Number = FIGURE) -> float:
        """Return a number of a kind; a field without *default* is required."""
        value = self.content.get(key, default)
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
        return AMOUNT.all_of(self.content.get(key), self.error, self.where, key)

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
