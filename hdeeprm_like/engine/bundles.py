"""Arrays that belong together, handed to compiled functions by one address.

A simulation has some hundred arrays. numba looks at each array that Python hands over and copies seven words for it,
which takes longer than a step of a simulation. A `Bundle` writes down once where its arrays begin and how long they
are; compiled functions get the address of these notes and load what they use of them.

    class Queue(Bundle):
        jobs: Ints  # (J,)
        keys: Floats  # (V, J)

In compiled code ``queue.jobs`` is a *column*: ``queue.jobs[i]``, ``queue.keys[v, j]``, ``queue.keys[v]`` and
``len(queue.jobs)`` are all that it knows, and `part` cuts a piece out of it. numba resolves negative indices on every
access to an array of its own; our indices are never negative, so columns do not, which makes steps up to 40 % faster.
With ``NUMBA_BOUNDSCHECK=1`` every index is checked, and a negative one is an error then. A column owns no memory, so
nothing is counted when it is handed on.

Everything here goes through ``numba.extending``.
"""

import hashlib
import inspect
import operator
from collections.abc import Iterator
from typing import Any, TypeVar, cast, dataclass_transform

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)
from numpy.typing import NDArray

WORD = 8  # bytes


class ColumnType(types.Type):  # type: ignore[misc]
    """numba's type of an array of a bundle: where it begins and how long it is, nothing more.

    Attributes:
        dtype: numba's type of an entry. ndim: 1 or 2.
    """

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(f"column{ndim}_{short(str(dtype))}")


class BundleType(types.Type):  # type: ignore[misc]
    """numba's type of a bundle: the address of its notes.

    Attributes:
        kind: name of its class. fields: name of each field to its type and the place of its first word.
    """

    def __init__(self, name: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.kind = name
        self.fields: dict[str, tuple[Any, int]] = {}
        place = 0
        for field, kind in fields:
            self.fields[field] = kind, place
            place += 1 if isinstance(kind, BundleType) else 1 + kind.ndim
        self.words = place
        super().__init__(f"{name}_{short(', '.join(f'{field}: {kind}' for field, kind in fields))}")


def short(name: str) -> str:
    """Return a short stand-in for a name; numba makes the names of functions from those of all their arguments."""
    return name if len(name) <= WORD else hashlib.sha256(name.encode()).hexdigest()[:12]


@dataclass_transform()
class Bundle:
    """Base of the classes of arrays that compiled functions receive by address.

    A subclass annotates its fields: arrays of one or two dimensions that are contiguous, and other bundles. An array
    may be replaced by a longer one of its kind (``bundle.log = longer``); compiled functions see it at their next call.

    Attributes:
        shared: names of the arrays that all rows of a batch have in common (class keyword).
        address: of the notes.
    """

    shared: tuple[str, ...] = ()
    _names: tuple[str, ...] = ()
    _words: NDArray[np.int64]
    address: int
    numba_type: BundleType
    type_id: int

    def __init_subclass__(cls, shared: tuple[str, ...] = ()) -> None:
        cls.shared = shared or cls.shared
        cls._names = tuple(inspect.get_annotations(cls)) or cls._names

    def __init__(self, *values: Any, **named: Any) -> None:
        content = dict(zip(self._names, values, strict=False)) | named
        if len(values) + len(named) != len(self._names) or content.keys() != set(self._names):
            raise TypeError(f"{type(self).__name__} takes {', '.join(self._names)}")
        fields = tuple((name, type_of(content[name])) for name in self._names)
        kind = _types.setdefault((type(self), fields), None)
        if kind is None:
            kind = _types[type(self), fields] = BundleType(type(self).__name__, fields)
        words = np.zeros(kind.words, np.int64)
        put = object.__setattr__
        put(self, "numba_type", kind)
        put(self, "type_id", id(kind))  # kinds are kept for ever, and quick to tell apart by this
        put(self, "_words", words)
        put(self, "address", words.ctypes.data)
        for name in self._names:
            self._note(name, content[name])

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(f"{type(self).__name__} has no array {name!r}")
        if type_of(value) != self.numba_type.fields[name][0]:
            raise TypeError(f"{type(self).__name__}.{name}: an array of another kind")
        self._note(name, value)

    def _note(self, name: str, value: Any) -> None:
        place = self.numba_type.fields[name][1]
        if isinstance(value, Bundle):
            self._words[place] = value.address
        else:
            self._words[place] = value.__array_interface__["data"][0]
            self._words[place + 1 : place + 1 + value.ndim] = value.shape
        object.__setattr__(self, name, value)

    def fields(self) -> Iterator[tuple[str, Any]]:
        """Yield the name and the content of each field."""
        for name in self._names:
            yield name, getattr(self, name)


B = TypeVar("B", bound=Bundle)


def absent(kind: type[B]) -> B:
    """Return what stands for a bundle that a run does not have.

    Its type is named ``NoQueue`` where that of the bundle is ``Queue``, by which `compiled.by_type` tells them apart.
    """
    if kind not in _absent:
        content = {"__annotations__": {"nothing": NDArray[np.float64]}}
        _absent[kind] = type(f"No{kind.__name__}", (Bundle,), content)
    return cast(B, _absent[kind](np.zeros(0)))


_absent: dict[type[Bundle], type[Bundle]] = {}  # by what they stand for


_types: dict[tuple[type, tuple[tuple[str, Any], ...]], BundleType | None] = {}


def type_of(value: Any) -> Any:
    """Return numba's type of an array or a bundle as a field of a bundle."""
    if isinstance(value, Bundle):
        return value.numba_type
    if not value.flags.c_contiguous or value.ndim not in (1, 2):
        raise TypeError("a bundle takes arrays of one or two dimensions without gaps")
    key = value.dtype, value.ndim
    if key not in _columns:
        _columns[key] = ColumnType(numba.from_dtype(value.dtype), value.ndim)
    return _columns[key]


_columns: dict[tuple[np.dtype[Any], int], ColumnType] = {}


@typeof_impl.register(Bundle)  # type: ignore[untyped-decorator]
def _typeof_bundle(value: Bundle, context: Any) -> BundleType:
    return value.numba_type


@register_model(BundleType)
class BundleModel(models.PrimitiveModel):  # type: ignore[misc]
    """A pointer to the notes."""

    def __init__(self, manager: Any, kind: BundleType) -> None:
        super().__init__(manager, kind, manager.lookup(types.CPointer(types.intp)).get_value_type())


@register_model(ColumnType)
class ColumnModel(models.StructModel):  # type: ignore[misc]
    """Where the entries begin, and how many there are along each axis."""

    def __init__(self, manager: Any, kind: ColumnType) -> None:
        members = [("data", types.voidptr), ("rows", types.intp)]
        super().__init__(manager, kind, members + ([("columns", types.intp)] if kind.ndim == 2 else []))


@unbox(BundleType)  # type: ignore[untyped-decorator]
def _unbox_bundle(kind: BundleType, value: Any, c: Any) -> NativeValue:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    pointer = c.builder.inttoptr(address, c.context.get_value_type(kind))
    return NativeValue(pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@infer_getattr
class BundleAttributes(AttributeTemplate):  # type: ignore[misc]
    """The types of the fields of bundles."""

    key = BundleType

    def generic_resolve(self, kind: BundleType, name: str) -> Any:
        """Return the type of a field, None if there is none of that name."""
        return kind.fields[name][0] if name in kind.fields else None


@lower_getattr_generic(BundleType)  # type: ignore[untyped-decorator]
def _load_field(context: Any, builder: Any, kind: BundleType, pointer: Any, name: str) -> Any:
    field, place = kind.fields[name]

    def word(offset: int) -> Any:
        loaded = builder.load(cgutils.gep_inbounds(builder, pointer, place + offset))
        # only Python changes the notes, never while compiled code runs: one load serves a whole loop
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    if isinstance(field, BundleType):
        return builder.inttoptr(word(0), context.get_value_type(field))
    column = cgutils.create_struct_proxy(field)(context, builder)
    column.data = builder.inttoptr(word(0), context.get_value_type(types.voidptr))
    column.rows = word(1)
    if field.ndim == 2:
        column.columns = word(2)
    return column._getvalue()


# --- columns in compiled code


@type_callable(len)  # type: ignore[untyped-decorator]
def _type_len(context: Any) -> Any:
    def typer(column: Any) -> Any:
        return types.intp if isinstance(column, ColumnType) else None

    return typer


@lower_builtin(len, ColumnType)  # type: ignore[untyped-decorator]
def _lower_len(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _opened(context, builder, signature.args[0], arguments[0]).rows


@type_callable(operator.getitem)  # type: ignore[untyped-decorator]
def _type_getitem(context: Any) -> Any:
    def typer(column: Any, index: Any) -> Any:
        if not isinstance(column, ColumnType):
            return None
        if isinstance(index, types.Integer):
            return column.dtype if column.ndim == 1 else ColumnType(column.dtype, 1)
        return column.dtype if _is_pair(index) and column.ndim == 2 else None

    return typer


@type_callable(operator.setitem)  # type: ignore[untyped-decorator]
def _type_setitem(context: Any) -> Any:
    def typer(column: Any, index: Any, value: Any) -> Any:
        if not isinstance(column, ColumnType):
            return None
        fits = isinstance(index, types.Integer) if column.ndim == 1 else _is_pair(index)
        return types.none if fits and context.can_convert(value, column.dtype) is not None else None

    return typer


def _is_pair(index: Any) -> bool:
    return isinstance(index, types.BaseTuple) and len(index) == 2 and all(isinstance(i, types.Integer) for i in index)


def _opened(context: Any, builder: Any, kind: ColumnType, value: Any) -> Any:
    return cgutils.create_struct_proxy(kind)(context, builder, value=value)


def _checked(context: Any, builder: Any, index: Any, kind: Any, length: Any) -> Any:
    """Return an index as a word; where indices are checked, one outside raises an IndexError."""
    index = context.cast(builder, index, kind, types.intp)
    if numba.config.BOUNDSCHECK:
        with builder.if_then(builder.icmp_unsigned(">=", index, length), likely=False):
            context.call_conv.return_user_exc(builder, IndexError, ("index of a column is out of bounds",))
    return index


def _entry(context: Any, builder: Any, kind: ColumnType, value: Any, index_type: Any, index: Any) -> Any:
    """Return a pointer to an entry."""
    column = _opened(context, builder, kind, value)
    if kind.ndim == 1:
        place = _checked(context, builder, index, index_type, column.rows)
    else:
        i, j = cgutils.unpack_tuple(builder, index, 2)
        row = _checked(context, builder, i, index_type[0], column.rows)
        place = _checked(context, builder, j, index_type[1], column.columns)
        place = builder.add(builder.mul(row, column.columns), place)
    return _at(context, builder, kind, column.data, place)


def _at(context: Any, builder: Any, kind: ColumnType, data: Any, place: Any) -> Any:
    entries = builder.bitcast(data, context.get_data_type(kind.dtype).as_pointer())
    return builder.gep(entries, [place])


def _lower_getitem(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, index = signature.args
    if kind.ndim == 2 and isinstance(index, types.Integer):
        column = _opened(context, builder, kind, arguments[0])
        row = _checked(context, builder, arguments[1], index, column.rows)
        found = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        first = _at(context, builder, kind, column.data, builder.mul(row, column.columns))
        found.data, found.rows = builder.bitcast(first, column.data.type), column.columns
        return found._getvalue()
    pointer = _entry(context, builder, kind, arguments[0], index, arguments[1])
    return context.unpack_value(builder, kind.dtype, pointer)


def _lower_setitem(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, index, value = signature.args
    pointer = _entry(context, builder, kind, arguments[0], index, arguments[1])
    if isinstance(kind.dtype, types.Record):
        cgutils.raw_memcpy(builder, pointer, arguments[2], cgutils.intp_t(kind.dtype.size), 1)
    else:
        converted = context.cast(builder, arguments[2], value, kind.dtype)
        context.pack_value(builder, kind.dtype, converted, pointer)
    return context.get_dummy_value()


for _index in (types.Integer, types.BaseTuple):
    lower_builtin(operator.getitem, ColumnType, _index)(_lower_getitem)
    lower_builtin(operator.setitem, ColumnType, _index, types.Any)(_lower_setitem)


@intrinsic  # type: ignore[untyped-decorator]
def part(typing: Any, column: Any, first: Any, end: Any) -> Any:
    """Return the entries of a column from *first* to before *end*, as a column."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = _opened(context, builder, column, arguments[0])
        begin, stop = (
            context.cast(builder, a, k, types.intp) for a, k in zip(arguments[1:], (first, end), strict=True)
        )
        if numba.config.BOUNDSCHECK:
            with builder.if_then(builder.icmp_unsigned(">", stop, given.rows), likely=False):
                context.call_conv.return_user_exc(builder, IndexError, ("a part of a column is out of bounds",))
        found = cgutils.create_struct_proxy(column)(context, builder)
        found.data = builder.bitcast(_at(context, builder, column, given.data, begin), given.data.type)
        found.rows = builder.sub(stop, begin)
        return found._getvalue()

    return column(column, first, end), generate


@intrinsic  # type: ignore[untyped-decorator]
def copy_entries(typing: Any, target: Any, to: Any, source: Any, first: Any, count: Any) -> Any:
    """Copy *count* entries of a column from *first* on into another one, or the same, from *to* on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        places = [context.cast(builder, arguments[i], signature.args[i], types.intp) for i in (1, 3, 4)]
        columns = [_opened(context, builder, column, arguments[i]) for i, column in ((0, target), (2, source))]
        if numba.config.BOUNDSCHECK:
            for column, begin in zip(columns, places[:2], strict=True):
                end = builder.add(begin, places[2])
                with builder.if_then(builder.icmp_unsigned(">", end, column.rows), likely=False):
                    context.call_conv.return_user_exc(builder, IndexError, ("entries of a column are out of bounds",))
        pointers = [
            _at(context, builder, kind, column.data, begin)
            for kind, column, begin in zip((target, source), columns, places[:2], strict=True)
        ]
        size = context.get_abi_sizeof(context.get_data_type(target.dtype))
        cgutils.raw_memmove(builder, *pointers, places[2], size)
        return context.get_dummy_value()

    fits = target == source and target.ndim == 1
    return (types.none(target, to, source, first, count), generate) if fits else None


@intrinsic  # type: ignore[untyped-decorator]
def at_address(typing: Any, like: Any, address: Any) -> Any:
    """Return the bundle whose notes lie at an address; it is of the kind of another one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[1], context.get_value_type(like))

    return like(like, types.intp), generate
