"""Compilation of one missing kind of call in the calling process, kept for the next one."""

import gc
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hdeeprm_like.compiler import emit, frontend
from hdeeprm_like.engine import library

FUNCTIONS = 200  # typical number compiled for a run, for the progress bar
IN_USE = 3600.0  # s, for which other processes may still read what they have found
PACE: dict[str, Any] = {"unit": " functions", "leave": False, "delay": 1.0, "mininterval": 0.5}  # s


def compile_kind(function: Any, arguments: tuple[object, ...], kind: str) -> None:
    """Compile a function for arguments of these types and store it where `library.tables` finds it.

    Raises:
        NoCompiler: there is no C compiler.
    """
    with progress(f"compiling {function.__name__}, once for this machine"), without_collection():
        part = frontend.part_of(function, tuple(map(frontend.type_of, arguments)))
        folder, begin = kept(), hashlib.sha256(kind.encode()).hexdigest()[:20]
        older = [path for path in folder.glob(f"{begin}-*") if path.stat().st_mtime < time.time() - IN_USE]
        emit.write_library(folder, f"{begin}-{time.time_ns()}", {kind: part})  # a new name: `tables` knows the older
        for path in older:
            path.unlink(missing_ok=True)
    library.tables().look()


def kept() -> Path:
    """Return the folder for code compiled here: the user's cache, or a temporary one if that is read-only."""
    folder = library.tables().kept
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    library.tables().kept = Path(tempfile.mkdtemp(prefix="hdeeprm_like-"))
    return library.tables().kept


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage meanwhile: what numba creates is in use until the end, and there is much of it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show in a terminal that functions are being compiled."""
    if not sys.stderr or not sys.stderr.isatty():
        yield
        return
    from tqdm import tqdm

    with tqdm(desc=what, total=FUNCTIONS, **PACE) as bar:
        frontend.watchers.append(bar.update)
        try:
            yield
        finally:
            frontend.watchers.remove(bar.update)
