"""Compiled functions as plain Python, with ``HDEEPRM_LIKE_PYTHON=1``, for debuggers and coverage."""

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

VARIABLE, RECORD = "HDEEPRM_LIKE_PYTHON", "record"
ENABLED = os.environ.get(VARIABLE, "0") != "0"
RECORDS = os.environ.get(VARIABLE) == RECORD  # in a build: which compiled functions Python calls
BITS = 64
ALL_BITS = (1 << BITS) - 1

if ENABLED:
    np.seterr(all="ignore")  # as in machine code: sums of words wrap around, and x / 0 is infinite or nan

F = TypeVar("F", bound=Callable[..., object])


class Row(np.void):  # type: ignore[misc]  # final for the checker only
    """An entry of a structured array with its fields as attributes, as in compiled code: ``tables.jobs[j].size``."""

    def __getattribute__(self, name: str) -> Any:
        """Return a field, even if numpy has an attribute of that name."""
        fields = np.void.__getattribute__(self, "dtype").fields
        return as_word(self[name]) if name in fields else np.void.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Write a field."""
        self[name] = value


class Column(np.ndarray[Any, Any]):
    """An array whose integer entries are 64-bit words, as in compiled code."""

    def __getitem__(self, index: Any) -> Any:
        """Return an entry, a row or a slice."""
        return as_word(super().__getitem__(index))


def as_word(value: Any) -> Any:
    """Widen an integer to 64 bits, so that sums and shifts do not overflow; return anything else unchanged."""
    return np.int64(value) if isinstance(value, np.signedinteger) else value


def column(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array (the same memory) as compiled functions see it."""
    return array.view(Column) if array.dtype.fields is None else array.view(np.dtype((Row, array.dtype)))


class Primitive:
    """A function that compiles to a few processor instructions, with this version in plain Python."""

    def __init__(self, in_python: Callable[..., object]) -> None:
        functools.update_wrapper(self, in_python)
        self.in_python = in_python

    def __call__(self, *arguments: object) -> object:
        """Compute it in plain Python."""
        return self.in_python(*arguments)


def primitive(in_python: F) -> F:
    """Mark a function whose machine code is in `hdeeprm_like.build.primitives`."""
    return cast(F, Primitive(in_python))


_by_number: list[Callable[..., object]] = []
_numbers: dict[Callable[..., object], int] = {}


def number_of(function: Callable[..., object]) -> int:
    """Return a number above 0 that stands for the address of a function."""
    if function not in _numbers:
        _by_number.append(function)
        _numbers[function] = len(_by_number)
    return _numbers[function]


def function_at(number: int) -> Callable[..., object]:
    """Return the function with a number."""
    return _by_number[int(number) - 1]


@primitive
def shift_left(word: int, count: int) -> int:
    """Shift a 64-bit word left by fewer than 64 bits."""
    bits = (int(word) << int(count)) & ALL_BITS
    return np.int64(bits - (ALL_BITS + 1) if bits >> (BITS - 1) else bits)  # type: ignore[return-value]


@primitive
def count_bits(word: int) -> int:
    """Return the number of set bits of a word."""
    return (int(word) & ALL_BITS).bit_count()


@primitive
def lowest_bit(word: int) -> int:
    """Return the number of the lowest set bit, 64 for none."""
    bits = int(word) & ALL_BITS
    return (bits & -bits).bit_length() - 1 if bits else BITS


@primitive
def zeros_above(word: int) -> int:
    """Return the number of bits above the highest set bit."""
    return BITS - (int(word) & ALL_BITS).bit_length()
