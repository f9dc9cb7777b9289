"""Values of a JSON file with their location, so that every error is one line that names it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import HDeepRMError, did_you_mean

MOST = 2**31 - 1  # limit of cores, GPUs and nodes: Batsim's integers
LARGEST = 1e12  # far above any number of a cluster; products of a few stay finite


@dataclass(frozen=True)
class JsonValue:
    """A value, the file and the JSON path that lead to it, and the error class for mistakes.

    Keys that begin with an underscore are comments (``"_doc"``) and are skipped everywhere.
    """

    value: Any
    file: Path
    error: type[HDeepRMError]
    path: str = ""

    def wrong(self, what: str) -> HDeepRMError:
        """Return the error that *what* is wrong here."""
        return self.error(f"{self.file}: {self.path}: {what}" if self.path else f"{self.file}: {what}")

    def entries(self) -> dict[str, "JsonValue"]:
        """Return the values of an object by key."""
        if not isinstance(self.value, dict):
            raise self.wrong(f"must be an object {{...}}, is {_kind(self.value)}")
        return {key: self._at(key, inner) for key, inner in self.value.items() if not key.startswith("_")}

    def fields(self, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, "JsonValue"]:
        """Return the values of an object after checking that it has every required key and no unknown one."""
        found = self.entries()
        for key in found:
            if key not in required and key not in optional:
                raise self.wrong(f"unknown key {key!r}{did_you_mean(key, (*required, *optional))}")
        for key in required:
            if key not in found:
                raise self.wrong(f"key {key!r} is missing; needed: {', '.join(required)}")
        return found

    def elements(self) -> list["JsonValue"]:
        """Return the elements of a nonempty list."""
        if not isinstance(self.value, list):
            raise self.wrong(f"must be a list [...], is {_kind(self.value)}")
        if not self.value:
            raise self.wrong("the list is empty; at least one element is needed")
        return [
            JsonValue(inner, self.file, self.error, f"{self.path}[{index}]") for index, inner in enumerate(self.value)
        ]

    def only(self) -> "JsonValue":
        """Return the value itself, or the only element of a list."""
        if not isinstance(self.value, list):
            return self
        elements = self.elements()
        if len(elements) > 1:
            raise self.wrong(f"one object is needed, the list has {len(elements)}")
        return elements[0]

    def text(self) -> str:
        """Return a nonempty text of one printable line."""
        if not isinstance(self.value, str):
            raise self.wrong(f"must be a text, is {_kind(self.value)}")
        if not self.value.strip():
            raise self.wrong("must not be empty")
        if not self.value.isprintable():
            raise self.wrong(f"must be one line of printable characters, is {_kind(self.value)}")
        return self.value

    def positive(self) -> float:
        """Return a finite number above 0."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.wrong(f"must be a number, is {_kind(self.value)}")
        if not 0 < self.value <= LARGEST:  # NaN too
            raise self.wrong(f"must be above 0 and at most {LARGEST:g}, is {_short(self.value)}")
        return float(self.value)

    def count(self, least: int = 1) -> int:
        """Return an integer of at least *least*."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.wrong(f"must be a whole number, is {_kind(self.value)}")
        if self.value < least:
            raise self.wrong(f"must be at least {least}, is {_short(self.value)}")
        if self.value > MOST:
            raise self.wrong(f"must be at most {MOST:,}, is {_short(self.value)}")
        return self.value

    def _at(self, key: str, inner: Any) -> "JsonValue":
        plain = key.isidentifier()
        step = (f".{key}" if self.path else key) if plain else f"[{json.dumps(key)}]"
        return JsonValue(inner, self.file, self.error, self.path + step)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"the number {_short(value)}"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "a list" if isinstance(value, list) else "an object"


def _short(value: float) -> str:
    if isinstance(value, int) and abs(value) >= 10**20:
        return "a number of more than 20 digits"
    return repr(value)
