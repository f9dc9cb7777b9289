"""Values of a JSON file with their location, so that every error is one line that names it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import HDeepRMError, did_you_mean
from hdeeprm_like.values import POSITIVE, Number, Whole, wrong


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
        return self.error(": ".join((*self._place, what)))

    def needs(self, wanted: str) -> HDeepRMError:
        """Return the error that something else is needed here."""
        return wrong(self.value, wanted, self.error, *self._place)

    @property
    def _place(self) -> tuple[str, ...]:
        return (str(self.file), self.path) if self.path else (str(self.file),)

    def entries(self) -> dict[str, "JsonValue"]:
        """Return the values of an object by key."""
        if not isinstance(self.value, dict):
            raise self.needs("an object {...}")
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
            raise self.needs("a list [...]")
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
            raise self.needs("a text")
        if not self.value.strip():
            raise self.wrong("must not be empty")
        if not self.value.isprintable():
            raise self.needs("one line of printable characters")
        return self.value

    def number(self, kind: Number) -> float:
        """Return a number of a kind."""
        return kind.of(self.value, self.error, *self._place)

    def positive(self) -> float:
        """Return a finite number above 0."""
        return self.number(POSITIVE)

    def count(self, least: int = 1) -> int:
        """Return an integer of at least *least*."""
        return Whole(least).of(self.value, self.error, *self._place)

    def _at(self, key: str, inner: Any) -> "JsonValue":
        plain = key.isidentifier()
        step = (f".{key}" if self.path else key) if plain else f"[{json.dumps(key)}]"
        return JsonValue(inner, self.file, self.error, self.path + step)
