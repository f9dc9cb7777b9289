"""What LLVM may assume about columns: those of different entries, or fields of different rows, share no memory.

So what was read from one column stays in a register while another one is written, which makes schedules and steps take
0.8 to 0.95 of the time. LLVM calls it type-based alias analysis.
"""

import functools
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import lower_getattr, lower_setattr
from numba.np import arrayobj

from hdeeprm_like.engine.bundles import short


def tell_apart(builder: Any, access: str, what: str) -> None:
    """Tell LLVM what the last ``load`` or ``store`` reads or writes; it may overlap what was told nothing about."""
    module = builder.module
    root = module.add_metadata([ir.MetaDataString(module, "entries")])
    kind = module.add_metadata([ir.MetaDataString(module, what), root, cgutils.intp_t(0)])
    instruction = next(one for one in reversed(builder.block.instructions) if one.opname == access)
    instruction.set_metadata("tbaa", module.add_metadata([kind, kind, cgutils.intp_t(0)]))


@functools.cache
def know_fields(record: Any) -> None:
    """Tell apart the fields of a kind of rows."""
    for field in record.fields:
        _know_field(field)
    cpu_target.target_context.refresh()


@functools.cache
def _know_field(field: str) -> None:
    """Tell apart a field in all kinds of rows that have one of that name."""

    @lower_getattr(types.Record, field)  # type: ignore[untyped-decorator]
    def load(context: Any, builder: Any, kind: Any, row: Any) -> Any:
        value = arrayobj.record_getattr(context, builder, kind, row, field)
        _tell_field_apart(builder, "load", kind, field)
        return value

    @lower_setattr(types.Record, field)  # type: ignore[untyped-decorator]
    def store(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        arrayobj.record_setattr(context, builder, signature, arguments, field)
        _tell_field_apart(builder, "store", signature.args[0], field)


def _tell_field_apart(builder: Any, access: str, kind: Any, field: str) -> None:
    """Tell LLVM which field the last access was to; numba accesses the numbers of a field that has several itself."""
    if not isinstance(kind.typeof(field), types.NestedArray):
        tell_apart(builder, access, f"{short(str(kind))}.{field}")
