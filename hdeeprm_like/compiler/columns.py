"""Bundles and their columns in compiled code, by ``numba.extending`` and numba's helpers for LLVM's code."""

import functools
import operator
from typing import Any

import numba
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
)

from hdeeprm_like.compiler.overlaps import know_fields, tell_apart
from hdeeprm_like.engine import bundles, calls, plain


class ColumnType(types.Type):  # type: ignore[misc]
    """numba's type of an array of a bundle.

    Attributes:
        dtype: numba's type of an entry. ndim: 1 or 2.
    """

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(f"column{ndim}_{bundles.short(str(dtype))}")


class BundleType(types.Type):  # type: ignore[misc]
    """numba's type of a bundle: the address of its record.

    Attributes:
        kind: name of its class. fields: name of each field to its type and the place of its first word.
    """

    def __init__(self, layout: bundles.BundleType) -> None:
        self.kind = layout.kind
        self.fields = {name: (of_layout(column), place) for name, (column, place) in layout.fields.items()}
        super().__init__(layout.name)


@functools.cache
def of_layout(layout: bundles.BundleType | bundles.ColumnType) -> BundleType | ColumnType:
    """Return numba's type of a bundle or of one of its arrays."""
    if isinstance(layout, bundles.BundleType):
        return BundleType(layout)
    return _column(numba.from_dtype(layout.dtype), layout.ndim)


@functools.cache
def _column(dtype: Any, ndim: int) -> ColumnType:
    if isinstance(dtype, types.Record):
        know_fields(dtype)
    return ColumnType(dtype, ndim)


@typeof_impl.register(bundles.Bundle)  # type: ignore[untyped-decorator]
def _typeof_bundle(value: bundles.Bundle, context: Any) -> BundleType | ColumnType:
    return of_layout(value.layout)


@register_model(BundleType)
class BundleModel(models.PrimitiveModel):  # type: ignore[misc]
    """A pointer to the record."""

    def __init__(self, manager: Any, kind: BundleType) -> None:
        super().__init__(manager, kind, manager.lookup(types.CPointer(types.intp)).get_value_type())


@register_model(ColumnType)
class ColumnModel(models.StructModel):  # type: ignore[misc]
    """Address of the entries, and their number along each axis."""

    def __init__(self, manager: Any, kind: ColumnType) -> None:
        members = [("data", types.voidptr), ("rows", types.intp)]
        super().__init__(manager, kind, members + ([("columns", types.intp)] if kind.ndim == 2 else []))


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
        # only Python changes the record, never while compiled code runs: one load serves a whole loop
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
            return column.dtype if column.ndim == 1 else _column(column.dtype, 1)
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
    """Return an index as a word; if indices are checked, one out of bounds raises an IndexError."""
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
    value = context.unpack_value(builder, kind.dtype, pointer)
    if not isinstance(kind.dtype, types.Record):
        tell_apart(builder, "load", str(kind.dtype))
    return value


def _lower_setitem(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, index, value = signature.args
    pointer = _entry(context, builder, kind, arguments[0], index, arguments[1])
    if isinstance(kind.dtype, types.Record):
        cgutils.raw_memcpy(builder, pointer, arguments[2], cgutils.intp_t(kind.dtype.size), 1)
    else:
        converted = context.cast(builder, arguments[2], value, kind.dtype)
        context.pack_value(builder, kind.dtype, converted, pointer)
        tell_apart(builder, "store", str(kind.dtype))
    return context.get_dummy_value()


for _index in (types.Integer, types.BaseTuple):
    lower_builtin(operator.getitem, ColumnType, _index)(_lower_getitem)
    lower_builtin(operator.setitem, ColumnType, _index, types.Any)(_lower_setitem)


@intrinsic  # type: ignore[untyped-decorator]
def part(typing: Any, column: Any, first: Any, end: Any) -> Any:
    """Return the entries of a column from *first* up to, not including, *end*, as a column."""

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
    """Copy *count* entries of a column from *first* on into another, or the same, column from *to* on."""

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


def _word_in(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return a pointer to the eight bytes of a column of bytes from a place on."""
    kind, place = signature.args[:2]
    column = _opened(context, builder, kind, arguments[0])
    first = context.cast(builder, arguments[1], place, types.intp)
    if numba.config.BOUNDSCHECK:
        _checked(context, builder, builder.add(first, first.type(bundles.WORD - 1)), types.intp, column.rows)
    return builder.bitcast(_at(context, builder, kind, column.data, first), first.type.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def word_at(typing: Any, column: Any, place: Any) -> Any:
    """Return the eight bytes of a column of bytes from a place on as a word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_word_in(context, builder, signature, arguments), align=1)

    return types.intp(column, place), generate


@intrinsic  # type: ignore[untyped-decorator]
def put_word(typing: Any, column: Any, place: Any, word: Any) -> Any:
    """Write the eight bytes of a word into a column of bytes from a place on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        written = context.cast(builder, arguments[2], word, types.intp)
        builder.store(written, _word_in(context, builder, signature, arguments), align=1)
        return context.get_dummy_value()

    return types.none(column, place, word), generate


@intrinsic  # type: ignore[untyped-decorator]
def bundle_in(typing: Any, bundles_: Any, number: Any) -> Any:
    """Return one of several bundles."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = context.cast(builder, arguments[1], number, types.intp)
        word = builder.load(cgutils.gep_inbounds(builder, arguments[0], place))
        return builder.inttoptr(word, context.get_value_type(signature.return_type))

    return of_layout(bundles.OPAQUE)(bundles_, number), generate


@intrinsic  # type: ignore[untyped-decorator]
def at_address(typing: Any, like: Any, address: Any) -> Any:
    """Return the bundle whose record lies at an address; it has the kind of *like*."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[1], context.get_value_type(like))

    return like(like, types.intp), generate


def _instruction(name: str, *more: Any) -> Any:
    """Return a function of one word that compiles to one processor instruction."""

    def typed(typing: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, name)(context.cast(builder, arguments[0], word, types.intp), *more)

        return types.intp(word), generate

    typed.__name__ = name
    return intrinsic(typed)


def type_of_intrinsic(function: Any) -> Any:
    """Return numba's type of an intrinsic, which numba registers after a second lookup."""
    context = cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(function)


@intrinsic  # type: ignore[untyped-decorator]
def _shift_left(typing: Any, word: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = zip(arguments, signature.args, strict=True)
        return builder.shl(*[context.cast(builder, argument, kind, types.intp) for argument, kind in given])

    return types.intp(word, count), generate


def _call_of(result: Any) -> Any:
    """Return a function that calls another by address, with arguments as compiled functions pass them."""

    def typed(typing: Any, address: Any, *arguments: Any) -> Any:
        packed = types.StarArgTuple(arguments)  # what numba makes of *arguments
        taken = tuple(types.intp if isinstance(kind, types.Integer) else types.unliteral(kind) for kind in arguments)

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            values = cgutils.unpack_tuple(builder, given[1], len(taken))
            pairs = zip(values, packed, taken, strict=True)
            passed = [context.cast(builder, value, kind, wanted) for value, kind, wanted in pairs]
            word = context.cast(builder, given[0], address, types.intp)
            code = builder.inttoptr(word, context.call_conv.get_function_type(result, taken).as_pointer())
            status, found = context.call_conv.call_function(builder, code, result, taken, passed)
            if numba.config.BOUNDSCHECK:  # nothing else fails, and callers of what cannot fail are shorter and faster
                with cgutils.if_unlikely(builder, status.is_error):
                    context.call_conv.return_status_propagate(builder, status)
            return found

        return result(address, packed), generate

    typed.__name__ = f"call_of_{result}"
    return intrinsic(typed)


PRIMITIVES: dict[Any, Any] = {
    calls.call_at: _call_of(types.none),
    calls.number_at: _call_of(types.intp),
    calls.float_at: _call_of(types.float64),
    bundles.part: part,
    bundles.copy_entries: copy_entries,
    bundles.at_address: at_address,
    bundles.bundle_in: bundle_in,
    bundles.word_at: word_at,
    bundles.put_word: put_word,
    plain.shift_left: _shift_left,
    plain.count_bits: _instruction("ctpop"),
    plain.lowest_bit: _instruction("cttz", cgutils.false_bit),
    plain.zeros_above: _instruction("ctlz", cgutils.false_bit),
}


@typeof_impl.register(plain.Primitive)  # type: ignore[untyped-decorator]
def _typeof_primitive(value: plain.Primitive, context: Any) -> Any:
    return type_of_intrinsic(PRIMITIVES[value])
