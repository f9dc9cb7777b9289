"""Kinds of numbers in files, messages, flags and arguments, and the one form of error for a value that is none.

``FRACTION.of(value, error, "w.json", "load")`` checks a number of JSON or of Python; ``FRACTION.in_text`` reads a
text of a CSV, an XML or a command line. Both raise *error* with one line: *place: is value; a number from 0 to 1 is
needed*.
"""

import json
import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import TypeGuard, TypeVar

from hdeeprm_like.records import Record

E = TypeVar("E", bound=Exception)

FAR = 1e12  # s, MB, cores or points: far above any of a cluster, and products of a few stay finite
UTMOST = 1e300  # for programs that we imitate: sums of such numbers are finite
INT_MOST = 2**31 - 1  # cores, nodes and numbers, as Batsim and SimGrid count them
EXACT_MOST = 2.0**53  # above, not every integer is exact as a float
LONGEST_SHOWN = 40  # characters of a value in a message
LONGEST_WHOLE = 20  # digits of one


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
        if not self.holds(value):
            raise self.wrong(value, error, *where)
        return float(value)

    def in_text(self, text: str, error: Callable[[str], Exception], *where: object) -> float:
        """Return the number that a text holds; raise *error* as `of` does."""
        number = self._read(text)
        if number is None or not self.holds(number):
            raise self.wrong(text, error, *where)
        return number

    def in_text_or(self, text: str, otherwise: float) -> float:
        """Return the number that a text holds, or *otherwise*."""
        number = self._read(text)
        return number if number is not None and self.holds(number) else otherwise

    def all_of(self, values: object, error: Callable[[str], Exception], *where: object) -> list[float]:
        """Return the numbers of a list; raise *error* for the first that is none, with its place in the list."""
        if not isinstance(values, list):
            raise wrong(values, f"a list of {self.noun}s", error, *where)
        if all(map(self.holds, values)):
            return list(map(float, values))
        *before, last = map(str, where)
        return [self.of(value, error, *before, f"{last}[{i}]") for i, value in enumerate(values)]

    def holds(self, value: object) -> TypeGuard[float]:
        """Return whether a value is one of this kind."""
        if type(value) is not float and type(value) is not int:
            if not isinstance(value, Real) or isinstance(value, bool):
                return False
            value = float(value)  # of NumPy
        if self.least < value < self.most:
            return True
        at_end = (value == self.least and not self.above) or (value == self.most and not self.below)
        return at_end and self.least <= value <= self.most and math.isfinite(value)

    def wrong(self, value: object, error: Callable[[str], E], *where: object) -> E:
        """Return the error for a value that is none of this kind."""
        return wrong(value, self.wanted, error, *where)

    def _read(self, text: str) -> float | None:
        """Return the number that a text is, whatever its bounds; None if it is none."""
        try:
            return float(text) if text.isascii() else None
        except ValueError:
            return None


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
        if self.holds(value):
            return value
        if isinstance(value, Integral) and not isinstance(value, int) and self.holds(int(value)):
            return int(value)
        raise self.wrong(value, error, *where)

    def in_text(self, text: str, error: Callable[[str], Exception], *where: object) -> int:
        """Return the whole number that a text holds, ``12`` or ``12.0``; raise *error* as `Number.of` does."""
        number = self._read(text)
        if number is None or not self.holds(number):
            raise self.wrong(text, error, *where)
        return number

    def holds(self, value: object) -> TypeGuard[int]:
        """Return whether a value is one of this kind."""
        return type(value) is int and self.least <= value <= self.most

    def _read(self, text: str) -> int | None:
        """Return the whole number that a text is, whatever its bounds; None if it is none."""
        whole, point, rest = text.strip().partition(".")
        try:
            return int(whole) if text.isascii() and not (point and rest.strip("0")) else None
        except ValueError:
            return None


NUMBER = Number()
AMOUNT = Number(0.0)
POSITIVE = Number(0.0, above=True)
FRACTION = Number(0.0, 1.0)
INDEX = Whole(0)
COUNT = Whole(1)
PORT = Whole(0, 65_535, noun="port")  # of TCP; ZeroMQ takes larger ones modulo 65,536
SEED = Whole(0, 2**63 - 1)
FINITE = Number(-UTMOST, UTMOST)


def whole_in(text: str, digits: int = 18) -> int:
    """Return the number that a text of ASCII digits is, at most so many; -1 for any other text."""
    return int(text) if len(text) <= digits and text.isascii() and text.isdecimal() else -1


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
