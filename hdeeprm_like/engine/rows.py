"""Entries of arrays of records in compiled code, and what LLVM is told of loads and stores.

A *row* is where a record is: ``job = tables.jobs[j]``, then ``job.start``. As `bundles`, through ``numba.extending``.
"""

import hashlib
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
)

WORD = 8  # bytes


def short(name: str) -> str:
    """Return a short stand-in for a name; numba makes the names of functions from those of all their arguments."""
    return name if len(name) <= WORD else hashlib.sha256(name.encode()).hexdigest()[:12]


class RowType(types.Type):  # type: ignore[misc]
    """numba's type of an entry of an array of records: where it is.

    Attributes:
        record: numba's type of the record.
    """

    def __init__(self, record: Any) -> None:
        self.record = record
        super().__init__(f"row_{short(str(record))}")


@register_model(RowType)
class RowModel(models.PrimitiveModel):  # type: ignore[misc]
    """A pointer to the record."""

    def __init__(self, manager: Any, kind: RowType) -> None:
        super().__init__(manager, kind, manager.lookup(kind.record).get_value_type())


def mark(builder: Any, instruction: Any, place: str) -> None:
    """Tell LLVM what a load or a store reaches, so that it keeps in registers what others do not.

    Entries of different types never lie in one place, nor do different fields of records.
    """
    module = builder.module
    root = module.add_metadata(["hdeeprm_like"])
    kind = module.add_metadata([place, root, cgutils.intp_t(0)])
    instruction.set_metadata("tbaa", module.add_metadata([kind, kind, cgutils.intp_t(0)]))


def load(context: Any, builder: Any, kind: Any, pointer: Any, place: str) -> Any:
    """Load what lies at a pointer, marked as reaching nothing but such places."""
    loaded = context.unpack_value(builder, kind, pointer)
    for instruction in reversed(builder.block.instructions[-3:]):
        if instruction.opname == "load" and instruction.operands[0] is pointer:
            mark(builder, instruction, place)
    return loaded


def store(context: Any, builder: Any, kind: Any, value: Any, pointer: Any, place: str) -> None:
    """Store a value at a pointer, marked as reaching nothing but such places."""
    context.pack_value(builder, kind, value, pointer)
    for instruction in reversed(builder.block.instructions[-3:]):
        if instruction.opname == "store" and instruction.operands[1] is pointer:
            mark(builder, instruction, place)


@infer_getattr
class RowAttributes(AttributeTemplate):  # type: ignore[misc]
    """The types of the fields of rows."""

    key = RowType

    def generic_resolve(self, kind: RowType, name: str) -> Any:
        """Return the type of a field, None if there is none of that name."""
        return kind.record.typeof(name) if name in kind.record.fields else None


def _field(context: Any, builder: Any, kind: RowType, row: Any, name: str) -> tuple[Any, Any, str]:
    field = kind.record.typeof(name)
    pointer = cgutils.get_record_member(builder, row, kind.record.offset(name), context.get_data_type(field))
    return field, pointer, f"{kind.name}.{name}"


@lower_getattr_generic(RowType)  # type: ignore[untyped-decorator]
def _load_of_row(context: Any, builder: Any, kind: RowType, row: Any, name: str) -> Any:
    if isinstance(kind.record.typeof(name), types.NestedArray):
        return context.get_getattr(kind.record, name)(context, builder, kind.record, row, name)
    return load(context, builder, *_field(context, builder, kind, row, name))


@lower_setattr_generic(RowType)  # type: ignore[untyped-decorator]
def _store_in_row(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> Any:
    kind, value = signature.args
    field, pointer, place = _field(context, builder, kind, arguments[0], name)
    store(context, builder, field, context.cast(builder, arguments[1], value, field), pointer, place)
