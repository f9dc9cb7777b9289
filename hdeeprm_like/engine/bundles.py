"""Named tuples of arrays that compiled functions hand to each other by their address.

numba hands over a tuple by value: each array is seven words, the rows of one run some hundred arrays, and every call
copies them all. A class marked as a *bundle* is written to the stack once, where Python calls, and its functions load
what they use of it. To them it is a tuple that has attributes and nothing else.
"""

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.boxing import unbox_tuple
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.imputils import impl_ret_borrowed
from numba.core.pythonapi import NativeValue
from numba.core.pythonapi import unbox as unboxes
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, typeof_impl
from numba.np.arrayobj import make_array, populate_array

C = TypeVar("C", bound=type)

SHARED: dict[type, tuple[str, ...]] = {}  # by class, what all rows have in common


class Bundle(types.Type):  # type: ignore[misc]
    """The address of a named tuple.

    Attributes:
        content: numba's type of the tuple.
    """

    def __init__(self, content: types.BaseNamedTuple) -> None:
        self.content = content
        digest = hashlib.sha256(content.name.encode()).hexdigest()[:16]  # a short name: it is part of many others
        super().__init__(f"{content.instance_class.__name__}_{digest}")


def bundle(*shared: str) -> Callable[[C], C]:
    """Let compiled functions take the instances of a named tuple class by address.

    Args:
        shared: the attributes that all rows have in common, see `first_row`.
    """

    def mark(cls: C) -> C:
        typeof_impl.register(cls, _typeof)
        SHARED[cls] = shared
        return cls

    return mark


def _typeof(value: Any, context: Any) -> Bundle:
    return Bundle(types.BaseTuple.from_types([typeof_impl(part, context) for part in value], type(value)))


@register_default(Bundle)
class BundleModel(models.PrimitiveModel):  # type: ignore[misc]
    """A pointer to the tuple."""

    def __init__(self, manager: Any, bundle: Bundle) -> None:
        super().__init__(manager, bundle, manager.lookup(bundle.content).get_value_type().as_pointer())


@infer_getattr
class BundleAttributes(AttributeTemplate):  # type: ignore[misc]
    """The types of what a bundle holds."""

    key = Bundle

    def generic_resolve(self, bundle: Bundle, name: str) -> Any:
        """Return the type of an attribute, None if there is none of that name."""
        fields = bundle.content.fields
        return bundle.content[fields.index(name)] if name in fields else None


@lower_getattr_generic(Bundle)  # type: ignore[untyped-decorator]
def load_attribute(context: Any, builder: Any, bundle: Bundle, value: Any, name: str) -> Any:
    """Load what a function uses of an attribute."""
    at = bundle.content.fields.index(name)
    loaded = _load(builder, cgutils.gep_inbounds(builder, value, 0, at))
    return impl_ret_borrowed(context, builder, bundle.content[at], loaded)


def _load(builder: Any, pointer: Any) -> Any:
    """Load word by word, so that what is not used is not loaded; no word changes as long as the address is known."""
    kind = pointer.type.pointee
    if isinstance(kind, ir.LiteralStructType | ir.ArrayType):
        whole = ir.Constant(kind, ir.Undefined)
        for i in range(len(kind)):
            whole = builder.insert_value(whole, _load(builder, cgutils.gep_inbounds(builder, pointer, 0, i)), i)
        return whole
    word = builder.load(pointer)
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def _put(builder: Any, value: Any) -> Any:
    """Write a tuple to the stack and return its address."""
    return _hidden(builder, cgutils.alloca_once_value(builder, value))


def _hidden(builder: Any, pointer: Any) -> Any:
    """Return an address of which the compiler does not know where it is from.

    Else it could take loads of what never changes for loads of what was there before the tuple was written.
    """
    kind = ir.FunctionType(pointer.type, [pointer.type])
    return builder.asm(kind, "", "=r,0,~{memory}", [pointer], side_effect=True)


@unboxes(Bundle)  # type: ignore[untyped-decorator]
def unbox_bundle(bundle: Bundle, value: Any, c: Any) -> NativeValue:
    """Write the tuple that Python hands over to the stack."""
    native = unbox_tuple(bundle.content, value, c)

    def let_go() -> None:
        if native.cleanup is not None:
            native.cleanup()
        if c.context.enable_nrt:
            c.context.nrt.decref(c.builder, bundle.content, native.value)

    return NativeValue(_put(c.builder, native.value), is_error=native.is_error, cleanup=let_go)


def _row_type(stacked: Bundle) -> Bundle:
    """Return the type of one row of a bundle whose arrays have one more axis in front, and rows without gaps."""
    parts, cls = [], stacked.content.instance_class
    for name, part in zip(stacked.content.fields, stacked.content, strict=True):
        if isinstance(part, Bundle):
            part = _row_type(part)
        elif isinstance(part, types.Array) and name not in SHARED[cls]:
            part = part.copy(ndim=part.ndim - 1, layout="C")
        parts.append(part)
    return Bundle(types.BaseTuple.from_types(parts, cls))


def _first_row(context: Any, builder: Any, stacked: Bundle, kind: Bundle, value: Any) -> Any:
    """Put the first row of a bundle on the stack."""
    whole = ir.Constant(context.get_value_type(kind.content), ir.Undefined)
    for at, (old, new) in enumerate(zip(stacked.content, kind.content, strict=True)):
        part = _load(builder, cgutils.gep_inbounds(builder, value, 0, at))
        if isinstance(old, Bundle):
            part = _first_row(context, builder, old, new, part)
        elif old != new:
            many, row = make_array(old)(context, builder, value=part), make_array(new)(context, builder)
            shape, steps = cgutils.unpack_tuple(builder, many.shape), cgutils.unpack_tuple(builder, many.strides)
            populate_array(row, many.data, shape[1:], steps[1:], many.itemsize, None)
            part = row._getvalue()
        whole = builder.insert_value(whole, part, at)
    return _put(builder, whole)


def _move(context: Any, builder: Any, stacked: Bundle, kind: Bundle, value: Any, row: Any, i: Any) -> None:
    """Let the arrays of a row begin where those of row *i* do."""
    for at, (old, new) in enumerate(zip(stacked.content, kind.content, strict=True)):
        if old == new:
            continue
        part = _load(builder, cgutils.gep_inbounds(builder, value, 0, at))
        place = cgutils.gep_inbounds(builder, row, 0, at)
        if isinstance(old, Bundle):
            _move(context, builder, old, new, part, builder.load(place), i)
        else:
            many = make_array(old)(context, builder, value=part)
            step = cgutils.unpack_tuple(builder, many.strides)[0]
            data = cgutils.pointer_add(builder, many.data, builder.mul(i, step), many.data.type)
            make_array(new)(context, builder, ref=place).data = data


@intrinsic  # type: ignore[untyped-decorator]
def first_row(typing: Any, stacked: Any) -> Any:
    """Return the first row of a bundle whose arrays, but the shared ones, have one more axis in front.

    It is good as long as the function runs that calls this.
    """
    kind = _row_type(stacked)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _first_row(context, builder, stacked, kind, *arguments)

    return kind(stacked), generate


@intrinsic  # type: ignore[untyped-decorator]
def moved(typing: Any, row: Any, stacked: Any, i: Any) -> Any:
    """Turn a row of a bundle into row *i* and return it; the one given is lost."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given, value, number = arguments
        _move(context, builder, stacked, row, value, given, number)
        return _hidden(builder, given)

    return row(row, stacked, types.intp), generate
