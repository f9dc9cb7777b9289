"""Recording of calls while kinds of runs are executed, to put them into a library.

Meanwhile each function runs unoptimized: the runs are tiny.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm

from hdeeprm_like.build import emit, frontend
from hdeeprm_like.build.frontend import Part
from hdeeprm_like.engine import library


class Recorder:
    """Compiles every called function, and records it.

    Attributes:
        entries: kind of call -> compiled part.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Part] = {}
        self._engines: list[Any] = []  # keep machine code alive

    def __call__(self, function: Any, arguments: tuple[object, ...], kind: str) -> Any:
        """Return the function for `ctypes`."""
        part = frontend.part_of(function, tuple(map(frontend.type_of, arguments)))
        self.entries[kind] = part
        llvm.add_symbol(part.symbol, part.compiled.library.get_pointer_to_function(part.symbol))
        machine = emit.target_machine("")
        way_in = "@hl_status = global i32 0\n" + emit.way_in("way_in", part, llvm.parse_assembly(part.text))
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(way_in), machine)
        engine.finalize_object()
        self._engines.append(engine)
        result = library.RESULTS[frontend.result_of(part)]
        made = ctypes.PYFUNCTYPE(result)(engine.get_function_address("way_in"))
        made.status = ctypes.c_int32.from_address(engine.get_global_value_address("hl_status"))  # type: ignore[attr-defined]
        return made


@contextmanager
def recording(recorder: Callable[..., Any]) -> Iterator[None]:
    """Send all calls to a recorder, even those that libraries have; functions that ran before keep their code."""
    before, known = library.missing, library.tables().entries
    library.missing, library.tables().entries = recorder, {}
    try:
        yield
    finally:
        library.missing, library.tables().entries = before, known
