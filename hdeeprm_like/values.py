"""Kinds of numbers in files, messages, flags and arguments, and the one form of error for a value that is none.

``FRACTION.of(value, error, "w.json", "load")`` checks a number of JSON or of Python; ``FRACTION.in_text`` reads a
text of a CSV, an XML or a command line. Both raise *error* with one line: *place: is value; a number from 0 to 1 is
needed*. pydantic's validators check what is not plainly right; they are loaded at the first such value, so
that a command starts, and a server plays a whole simulation, without them.
"""

import json
from collections.abc import Callable
from functools import cached_property
from numbers import Integral
from typing import Any, TypeGuard, TypeVar

from hdeeprm_like.records import Record

E = TypeVar("E", bound=Exception)

FAR = 1e12  # s, MB, cores or points: far above any of a cluster, and products of a few stay finite
UTMOST = 1e300  # for programs that we imitate: sums of such numbers are finite
INT_MOST = 2**31 - 1  # cores, nodes and numbers, as Batsim and SimGrid count them
EXACT_MOST = 2.0**53  # above, not every integer is exact as a float
LONGEST_SHOWN = 40  # characters of a value in a message
LONGEST_WHOLE = 20  # digits of one
PLAIN = frozenset("0123456789.eE+-")  # characters of a number as programs write it


class Number(Record):
    """A kind of finite number.

    Attributes:
        least, most: its bounds, which belong to it.
        above, below: whether the lower, or the upper, bound does not.
        noun: what it is, for messages; with its unit where it has one.
        otherwise: what else is possible, at the end of these words.
    """

    least: float = -FAR
    most: float = FAR
    above: bool = False
    below: bool = False
    noun: str = "number"
    otherwise: str = ""

    @property
    def wanted(self) -> str:
        """The words for a value of this kind."""
        least = f"above {self.least:g} and" if self.above else f"from {self.least:g}"
        to = "below" if self.below else "up to" if self.above else "to"
        return f"a {self.noun} {least} {to} {self.most:g}{self.otherwise}"

    def of(self, value: object, error: Callable[[str], Exception], *where: object) -> float:
        """Return a value that is one of this kind; a text, a truth value and NaN are none.

        Raises:
            error: it is none. The message begins with its place, whose parts *where* are.
        """
        if self._usual(value):
            return float(value)
        try:
            number: float = self._checked(value)
        except ValueError:
            raise self.wrong(value, error, *where) from None
        return number

    def _usual(self, value: object) -> TypeGuard[float]:
        """Return whether a value plainly is one of this kind, which pydantic need not be loaded to say."""
        if type(value) is not float and type(value) is not int:
            return False
        return self.least < value < self.most or (value == self.least < self.most and not self.above)

    def _usual_text(self, text: str) -> float | None:
        """Return the number of a text that plainly is one of this kind, else None."""
        if not PLAIN.issuperset(text):
            return None
        try:
            number = float(text)
        except ValueError:
            return None
        return number if self._usual(number) else None

    def in_text(self, text: str, error: Callable[[str], Exception], *where: object) -> float:
        """Return the number that a text holds; raise *error* as `of` does."""
        if (usual := self._usual_text(text)) is not None:
            return usual
        try:
            number: float = self._read(text)
        except ValueError:
            raise self.wrong(text, error, *where) from None
        return number

    def in_text_or(self, text: str, otherwise: float) -> float:
        """Return the number that a text holds, or *otherwise*."""
        if (usual := self._usual_text(text)) is not None:
            return usual
        try:
            number: float = self._read(text)
        except ValueError:
            return otherwise
        return number

    def all_of(self, values: object, error: Callable[[str], Exception], *where: object) -> list[float]:
        """Return the numbers of a list; raise *error* for the first that is none, with its place in the list."""
        if not isinstance(values, list):
            raise wrong(values, f"a list of {self.noun}s", error, *where)
        if all(map(self._usual, values)):
            return [self.of(value, error) for value in values]
        try:
            return [self._checked(value) for value in values]
        except ValueError:
            *before, last = map(str, where)
            return [self.of(value, error, *before, f"{last}[{i}]") for i, value in enumerate(values)]

    def holds(self, value: object) -> TypeGuard[float]:
        """Return whether a value is one of this kind."""
        if self._usual(value):
            return True
        try:
            self._checked(value)
        except ValueError:
            return False
        return True

    def wrong(self, value: object, error: Callable[[str], E], *where: object) -> E:
        """Return the error for a value that is none of this kind."""
        return wrong(value, self.wanted, error, *where)

    @cached_property
    def _checked(self) -> Any:
        return self._validator(strict=True)

    @cached_property
    def _read(self) -> Any:
        return self._validator(strict=False)

    def _validator(self, strict: bool) -> Any:
        from pydantic_core import SchemaValidator, core_schema

        wanted = core_schema.float_schema(strict=strict, allow_inf_nan=False)
        wanted["gt" if self.above else "ge"] = self.least
        wanted["lt" if self.below else "le"] = self.most
        return SchemaValidator(wanted).validate_python


class Whole(Number):
    """A kind of whole number."""

    least: int = 0
    most: int = INT_MOST
    noun: str = "whole number"

    @property
    def wanted(self) -> str:
        """The words for a value of this kind."""
        return f"a {self.noun} from {self.least:,} to {self.most:,}{self.otherwise}"

    def of(self, value: object, error: Callable[[str], Exception], *where: object) -> int:
        """Return a value that is one of this kind, NumPy's too; raise *error* as `Number.of` does."""
        if self._usual(value):
            return value
        try:
            number: int = self._checked(value)
        except ValueError:
            if isinstance(value, Integral) and not isinstance(value, int):
                return self.of(int(value), error, *where)
            raise self.wrong(value, error, *where) from None
        return number

    def in_text(self, text: str, error: Callable[[str], Exception], *where: object) -> int:
        """Return the whole number that a text holds, ``12`` or ``12.0``; raise *error* as `Number.of` does."""
        if (usual := self._usual_text(text)) is not None:
            return usual
        try:
            number: int = self._read(text)
        except ValueError:
            raise self.wrong(text, error, *where) from None
        return number

    def _usual(self, value: object) -> TypeGuard[int]:
        """Return whether a value plainly is one of this kind."""
        return type(value) is int and self.least <= value <= self.most

    def _usual_text(self, text: str) -> int | None:
        """Return the number of a text that plainly is one of this kind, else None."""
        if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_WHOLE):
            return None
        return number if self._usual(number := int(text)) else None

    def _validator(self, strict: bool) -> Any:
        from pydantic_core import SchemaValidator, core_schema

        return SchemaValidator(core_schema.int_schema(strict=strict, ge=self.least, le=self.most)).validate_python


NUMBER = Number()
AMOUNT = Number(0.0)
POSITIVE = Number(0.0, above=True)
FRACTION = Number(0.0, 1.0)
INDEX = Whole(0)
COUNT = Whole(1)
SEED = Whole(0, 2**63 - 1)
FINITE = Number(-UTMOST, UTMOST)


def wrong(value: object, wanted: str, error: Callable[[str], E], *where: object) -> E:
    """Return the error for a value: its place, what it is, and what is needed."""
    return error(": ".join(map(str, (*where, f"is {shown(value)}; {wanted} is needed"))))


def shown(value: object) -> str:
    """Return a value for a message: the kind of a large one, otherwise its text, as in JSON where that has it."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return repr(value[:LONGEST_SHOWN])
    if isinstance(value, int) and abs(value) >= 10**LONGEST_WHOLE:
        return f"a number of more than {LONGEST_WHOLE} digits"
    if value is None or isinstance(value, bool | int):
        return json.dumps(value)
    return repr(value)[:LONGEST_SHOWN]
