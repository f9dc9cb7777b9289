"""Machine code for processes that load no numpy: functions of one bundle that return a number, if a library has them.

`engine.library` is for all others. Here a library counts only if no source has changed since it was made.
"""

import ctypes
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hdeeprm_like.engine.sources import CHECKED, SHIPPED, kept_for, source_digest

FLAGS = {"avx2", "fma", "bmi2", "f16c", "abm", "movbe"}  # of a processor of x86-64-v3, as Linux calls them
READ = 8192  # bytes of the list of processors, which begins with the flags of the first one
PROCESSORS = Path("/proc/cpuinfo")


def target() -> str | None:
    """Return the kind of this processor, as `library.target` does; None if that is not known."""
    if not hasattr(os, "uname"):
        return None
    if os.uname().machine.lower() not in ("x86_64", "amd64"):
        return "generic"
    try:
        with open(PROCESSORS, encoding="ascii", errors="replace") as file:
            text = file.read(READ)
    except OSError:
        return None
    flags = text.partition("\nflags")[2].partition("\n")[0].split()
    return "x86-64-v3" if flags and set(flags) >= FLAGS else "x86-64-v2"


def function_of(module: str, name: str) -> Callable[[int], int] | None:
    """Return a compiled function, which takes the address of a bundle; None if no library that can be loaded has it."""
    begin = f"{module}:{name} "
    for folder in (SHIPPED / f"{target()}", kept_for(target())):
        names = os.listdir(folder) if folder.is_dir() else ()
        for table in sorted((name for name in names if name.endswith(".json")), key=len):  # the whole library first
            text = (folder / table).read_text()
            content: dict[str, Any] = json.loads(text) if begin in text else {"sources": ""}
            if content["sources"] == source_digest():
                symbol = next(symbol for kind, (symbol, _) in content["entries"].items() if kind.startswith(begin))
                with suppress(OSError):  # the folder may be one whose files cannot be executed
                    return _function(ctypes.PyDLL(str((folder / table).with_suffix(".so"))), symbol)
    return None


def _function(library: ctypes.PyDLL, symbol: str) -> Callable[[int], int]:
    function = getattr(library, symbol)
    function.argtypes, function.restype = [ctypes.c_int64], ctypes.c_int64
    if not CHECKED:
        return function  # type: ignore[no-any-return]
    status = ctypes.c_int32.in_dll(library, "hl_status")

    def checked(address: int) -> int:
        result: int = function(address)
        if status.value:
            raise IndexError("an index of compiled code is out of bounds")
        return result

    return checked
