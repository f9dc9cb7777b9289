"""Groups of arrays that compiled functions receive as one address.

A simulation has some hundred arrays. numba inspects each array that Python passes and copies seven words for it,
which takes longer than a step of a simulation. A `Bundle` records once where its arrays begin and how long they are;
compiled functions get the address of this record and load what they need from it.

    class Queue(Bundle):
        jobs: Ints  # (J,)
        keys: Floats  # (V, J)

In compiled code ``queue.jobs`` is a *column*, which supports ``queue.jobs[i]``, ``queue.keys[v, j]``, ``queue.keys[v]``
and ``len(queue.jobs)``; `part` returns a slice of it. numba resolves negative indices on every access to its arrays;
our indices are never negative, so columns skip that, which makes steps up to 40 % faster. With
``NUMBA_BOUNDSCHECK=1`` every index is checked, and a negative one is an error. A column owns no memory, so passing it
on changes no reference count.

`hdeeprm_like.compiler.columns` compiles the access to bundles.
"""

import dataclasses
import functools
import hashlib
import inspect
import types
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.engine import plain
from hdeeprm_like.engine.plain import primitive

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WORD = 8  # bytes


class ColumnType:
    """The type of an array of a bundle: its address and length, nothing more.

    Attributes:
        dtype: of an entry. ndim: 1 or 2. name: equal for equal types.
    """

    def __init__(self, dtype: np.dtype[Any], ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        self.name = f"column{ndim}_{short(name_of(dtype))}"


class BundleType:
    """The type of a bundle: its arrays and their order.

    Attributes:
        kind: name of its class. fields: name of each field to its type and the place of its first word.
        words: of the record. name: equal for equal types, in every process.
    """

    def __init__(self, kind: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.kind = kind
        self.fields: dict[str, tuple[Any, int]] = {}
        place = 0
        for field, column in fields:
            self.fields[field] = column, place
            place += 1 if isinstance(column, BundleType) else 1 + column.ndim
        self.words = place
        self.name = f"{kind}_{short(', '.join(f'{field}: {column.name}' for field, column in fields))}"


def name_of(dtype: np.dtype[Any]) -> str:
    """Return a name of an entry type with the names, types and offsets of its fields."""
    return dtype.str if dtype.fields is None else repr((dtype.descr, dtype.itemsize))


def short(name: str) -> str:
    """Return a short stand-in for a name; names of compiled functions contain the types of all arguments."""
    return name if len(name) <= WORD else hashlib.sha256(name.encode()).hexdigest()[:12]


OPAQUE = BundleType("Opaque", ())
"""The type of an opaque field: a bundle that compiled code only passes on to functions called by address."""


@dataclass_transform()
class Bundle:
    """Base class of groups of arrays that compiled functions receive by address.

    A subclass annotates its fields, which come after those of its own base class: contiguous arrays of one or two
    dimensions, and other bundles. An array may be replaced by a longer one of its kind (``bundle.log = longer``);
    compiled functions see it at their next call.

    Attributes:
        shared: names of the arrays that all rows of a batch share (class keyword).
        written_first: names of the arrays that are written before they are read in each simulation (class keyword).
        opaque: names of the bundles whose types are not part of this one's (class keyword): compiled code does not read
        them, but passes them on to functions that it calls by address, see `calls`.
        address: of the record.
    """

    shared: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()
    written_first: tuple[str, ...] = ()
    _names: tuple[str, ...] = ()
    _words: NDArray[np.int64]
    address: int
    layout: BundleType
    type_id: int

    def __init_subclass__(
        cls, shared: tuple[str, ...] = (), opaque: tuple[str, ...] = (), written_first: tuple[str, ...] = ()
    ) -> None:
        cls.shared, cls.opaque = shared or cls.shared, opaque or cls.opaque
        cls.written_first = written_first or cls.written_first
        cls._names = tuple(dict.fromkeys((*cls._names, *inspect.get_annotations(cls))))

    def __init__(self, *values: Any, **named: Any) -> None:
        content = dict(zip(self._names, values, strict=False)) | named
        if len(values) + len(named) != len(self._names) or content.keys() != set(self._names):
            raise TypeError(f"{type(self).__name__} takes {', '.join(self._names)}")
        fields = tuple((name, self._type_of(name, content[name])) for name in self._names)
        kind = _types.setdefault((type(self), fields), None)
        if kind is None:
            kind = _types[type(self), fields] = BundleType(type(self).__name__, fields)
        words = np.zeros(kind.words, np.int64)
        put = object.__setattr__
        put(self, "layout", kind)
        put(self, "type_id", id(kind))  # kinds are never freed, and this identifies them quickly
        put(self, "_words", words)
        self.move_notes(words)
        for name in self._names:
            self._note(name, content[name])

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(f"{type(self).__name__} has no array {name!r}")
        if self._type_of(name, value) != self.layout.fields[name][0]:
            raise TypeError(f"{type(self).__name__}.{name}: an array of another kind")
        self._note(name, value)

    def _type_of(self, name: str, value: Any) -> Any:
        return OPAQUE if name in self.opaque and isinstance(value, Bundle) else type_of(value)

    def _note(self, name: str, value: Any) -> None:
        place = self.layout.fields[name][1]
        if isinstance(value, Bundle):
            self._words[place] = value.address
        else:
            self._words[place] = value.ctypes.data  # __array_interface__ describes each field of a row: 65 us
            self._words[place + 1 : place + 1 + value.ndim] = value.shape
            if plain.ENABLED:
                value = plain.column(value)
        object.__setattr__(self, name, value)

    def move_notes(self, place: NDArray[np.int64]) -> None:
        """Move the record to other words of the same number; a bundle that contains this one must be recorded again."""
        place[:] = self._words
        object.__setattr__(self, "_words", place)
        object.__setattr__(self, "address", place.ctypes.data)
        object.__setattr__(self, "_as_parameter_", self.address)  # what `ctypes` passes for it
        if plain.ENABLED:
            _by_address[self.address] = self

    def fields(self) -> Iterator[tuple[str, Any]]:
        """Yield the name and the content of each field."""
        for name in self._names:
            yield name, getattr(self, name)


B = TypeVar("B", bound=Bundle)


def several(bundles: Sequence[Bundle]) -> Bundle:
    """Return a bundle of any number of bundles of any types, which compiled code finds by number, see `bundle_in`."""
    return _of_length(len(bundles))(*bundles)


@functools.cache
def _of_length(count: int) -> type[Bundle]:
    names = tuple(f"number_{number}" for number in range(count))
    content = {"__annotations__": dict.fromkeys(names, Bundle)}
    return types.new_class("Several", (Bundle,), {"opaque": names}, lambda body: body.update(content))


C = TypeVar("C", bound="DataclassInstance")


def bundled(content: C) -> C:
    """Return a dataclass of arrays as a bundle of its name and fields, which all rows of a batch share."""
    names = tuple(field.name for field in dataclasses.fields(content))
    return cast(
        C, _of_dataclass(type(content), names)(*(np.ascontiguousarray(getattr(content, name)) for name in names))
    )


@functools.cache
def _of_dataclass(kind: type, names: tuple[str, ...]) -> type[Bundle]:
    body = {"__annotations__": dict.fromkeys(names, NDArray[Any])}
    return types.new_class(kind.__name__, (Bundle,), {"shared": names}, lambda content: content.update(body))


_types: dict[tuple[type, tuple[tuple[str, Any], ...]], BundleType | None] = {}


def type_of(value: Any) -> Any:
    """Return the type of an array or a bundle as a field of a bundle."""
    if isinstance(value, Bundle):
        return value.layout
    if not value.flags.c_contiguous or value.ndim not in (1, 2):
        raise TypeError("a bundle takes arrays of one or two dimensions without gaps")
    key = value.dtype, value.ndim
    if key not in _columns:
        _columns[key] = ColumnType(value.dtype, value.ndim)
    return _columns[key]


_columns: dict[tuple[np.dtype[Any], int], ColumnType] = {}


def layouts_of(kind: type[Bundle]) -> list[BundleType]:
    """Return the types of the bundles of a class that this process has made."""
    return [layout for (made, _), layout in _types.items() if made is kind and layout is not None]


_by_address: weakref.WeakValueDictionary[int, Bundle] = weakref.WeakValueDictionary()  # in plain Python


# --- operations of compiled functions on columns besides indexing; `compiler.columns` has the machine code


@primitive
def part(column: Any, first: int, end: int) -> Any:
    """Return the entries of a column from *first* up to, not including, *end*, as a column."""
    return column[first:end]


@primitive
def copy_entries(target: Any, to: int, source: Any, first: int, count: int) -> None:
    """Copy *count* entries of a column from *first* on into another, or the same, column from *to* on."""
    target[to : to + count] = source[first : first + count].copy()


@primitive
def word_at(column: Any, place: int) -> int:
    """Return the eight bytes of a column of bytes from a place on as a word, the first byte in its lowest bits."""
    return int.from_bytes(column[place : place + WORD].tobytes(), "little", signed=True)


@primitive
def put_word(column: Any, place: int, word: int) -> None:
    """Write the eight bytes of a word into a column of bytes from a place on."""
    column[place : place + WORD] = np.frombuffer(int(word).to_bytes(WORD, "little", signed=True), np.uint8)


@primitive
def bundle_in(bundles: Bundle, number: int) -> Bundle:
    """Return one of `several` bundles, to pass it on to a function called by address."""
    return cast(Bundle, getattr(bundles, f"number_{int(number)}"))


@primitive
def at_address(like: B, address: int) -> B:
    """Return the bundle whose record lies at an address; it has the kind of *like*."""
    return cast(B, _by_address[int(address)])
