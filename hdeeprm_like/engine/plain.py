"""Compiled functions as plain Python, with ``HDEEPRM_LIKE_PYTHON=1``: for debuggers, coverage and small tests.

Numbers are Python's own, which are fast. The entries of columns and the fields of rows are read from memory without
numpy's scalars, and `plain_divisions` gives divisions the results that they have in machine code.
"""

import ctypes
import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

VARIABLE, BUILD = "HDEEPRM_LIKE_PYTHON", "build"
ENABLED = os.environ.get(VARIABLE, "0") != "0"
BUILDS = os.environ.get(VARIABLE) == BUILD  # whether this process builds the library
BITS = 64
ALL_BITS = (1 << BITS) - 1

if ENABLED:
    np.seterr(all="ignore")  # as in machine code: unsigned sums wrap around, and x / 0 is infinite or nan

F = TypeVar("F", bound=Callable[..., object])


class Column(np.ndarray[Any, Any]):
    """An array whose entries are Python's numbers, as in ``queue.jobs[i]``."""

    def __getitem__(self, index: Any) -> Any:
        """Return an entry; or what numpy returns for a slice or several places."""
        if index.__class__ is not slice:
            try:
                return self.cells[index]
            except (TypeError, ValueError, NotImplementedError):  # no place of an entry
                pass
        found = self.view(np.ndarray)[index]
        return column(found) if isinstance(found, np.ndarray) else found

    def __array_wrap__(self, found: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return what a function of numpy has found: of a reduction a number, as for other arrays."""
        return found.view(np.ndarray)[()] if found.ndim == 0 else column(found)

    def __repr__(self) -> str:
        """Return what numpy shows, which reads entries one by one."""
        return repr(self.view(np.ndarray))

    def __str__(self) -> str:
        """Return what numpy shows."""
        return str(self.view(np.ndarray))

    @functools.cached_property
    def cells(self) -> Any:
        """The entries, in the same memory."""
        return (
            self.view(np.ndarray) if self.dtype == np.uint64 else memoryview(cast(Any, self))
        )  # numpy's words wrap around


class Rows(Column):
    """A structured array whose entries have attributes, as in ``tables.jobs[j].size``."""

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write an entry, which is copied; or what numpy writes."""
        if isinstance(value, Row):
            self.cells[index] = value
        else:
            super().__setitem__(index, value)

    @functools.cached_property
    def cells(self) -> Any:
        """The entries, in the same memory."""
        if not self.size:
            return ()
        entry = row_type(self.dtype)
        kind = entry * len(self) if self.ndim == 1 else grid_type(entry, *self.shape)
        return kind.from_buffer(self.view(np.ndarray))


def column(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array (the same memory) as compiled functions see it."""
    return array if isinstance(array, Column) else array.view(Column if array.dtype.fields is None else Rows)


class Row(ctypes.Structure):
    """An entry of a structured array, with its fields as attributes; Python also writes ``row["size"]``."""

    __slots__ = ()  # there are no other attributes

    def __getitem__(self, name: str) -> Any:
        """Return a field."""
        return getattr(self, name)

    def __setitem__(self, name: str, value: Any) -> None:
        """Write a field."""
        setattr(self, name, value)


@functools.cache
def row_type(dtype: np.dtype[Any]) -> Any:
    """Return the type of the entries of a structured array."""
    fields: list[tuple[str, Any]] = []
    end = 0
    for name, (kind, place, *_) in sorted((dtype.fields or {}).items(), key=lambda field: field[1][1]):
        fields.append((f"gap before {name}", ctypes.c_byte * (place - end)))
        fields.append((name, field_type(kind)))
        end = place + kind.itemsize
    fields.append(("gap at the end", ctypes.c_byte * (dtype.itemsize - end)))
    return type("Row", (Row,), {"__slots__": (), "_pack_": 1, "_fields_": fields})


def field_type(dtype: np.dtype[Any]) -> Any:
    """Return the type of a field: a number, or numbers as in ``row.keys[i]`` and ``row.keys[i, j]``."""
    entry = np.ctypeslib.as_ctypes_type(dtype.base)
    return grid_type(entry, *dtype.shape) if len(dtype.shape) == 2 else np.ctypeslib.as_ctypes_type(dtype)


@functools.cache
def grid_type(entry: Any, rows: int, columns: int) -> Any:
    """Return the type of entries in two dimensions."""
    flat = entry * (rows * columns)

    class Grid(flat):  # type: ignore[misc, valid-type]
        __slots__ = ()

        def __getitem__(self, place: tuple[int, int]) -> Any:
            i, j = place
            if j >= columns:
                raise IndexError("invalid index")
            return super().__getitem__(i * columns + j)

        def __setitem__(self, place: tuple[int, int], value: Any) -> None:
            i, j = place
            if j >= columns:
                raise IndexError("invalid index")
            super().__setitem__(i * columns + j, value)

    return Grid


class Primitive:
    """A function that compiles to a few processor instructions, with this version in plain Python."""

    def __init__(self, in_python: Callable[..., object]) -> None:
        functools.update_wrapper(self, in_python)
        self.in_python = in_python

    def __call__(self, *arguments: object) -> object:
        """Compute it in plain Python."""
        return self.in_python(*arguments)


def primitive(in_python: F) -> F:
    """Mark a function whose machine code is in `hdeeprm_like.compiler.primitives`."""
    return in_python if ENABLED and not BUILDS else cast(F, Primitive(in_python))


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
    return bits - (ALL_BITS + 1) if bits >> (BITS - 1) else bits


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
