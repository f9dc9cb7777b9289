"""The one door to numba: functions on arrays, compiled at their first call and cached on disk.

numba recompiles a function when its own file changes, but not when a function or a constant that it uses from another
file does. So the machine code lies in a folder named after the content of all files that it can be made of.
"""

import functools
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite.binding
import numba
import numpy as np
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.np import arrayobj

PACKAGE = Path(__file__).parent.parent
SOURCES = ("cluster", "engine", "decision", "run", "learning")  # folders that compiled functions are made of
KEPT = 4  # folders of machine code of other sources
UNUSED = 86400.0  # s after which such a folder is taken for unused; a running process may need a newer one

OURS = f"_ZN{len(PACKAGE.name)}{PACKAGE.name}"  # what the names of this package's functions begin with in machine code

BRISK: dict[str, Any] = {"_nrt": False, "error_model": "numpy"}  # no reference counts, x / 0 is infinite or nan

BARE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

F = TypeVar("F", bound=Callable[..., object])


def source_digest() -> str:
    """Return a name for the content of every file that compiled code is made of."""
    digest = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            name, content = path.relative_to(PACKAGE).as_posix(), path.read_bytes()
            digest.update(name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Return a folder of the user's own for the machine code of these sources; old ones are cleared away."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hdeeprm_like"
    folder = home / source_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.utime(folder)
        others = sorted(home.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in others[KEPT:]:
            if old.stat().st_mtime < time.time() - UNUSED:
                shutil.rmtree(old, ignore_errors=True)
    except OSError:  # no home to write to: the machine code lasts as long as the process
        folder = Path(tempfile.mkdtemp(prefix="hdeeprm_like-"))
    return folder


if not os.environ.get("NUMBA_CACHE_DIR"):
    numba.config.CACHE_DIR = str(cache_folder())


# Functions are small here so that people can read them; those that stay calls make whole steps up to a fifth slower.
# This is for all that numba compiles in the process; it makes larger code of what others compile, no other results.
llvmlite.binding.set_option("hdeeprm_like", "-inline-threshold=2000")

_wrap_around = arrayobj.fix_integer_index


def _as_given(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """Let no index of this package's functions count from the end; to find out whether it does costs a tenth of all."""
    if not builder.function.name.startswith(OURS):
        return _wrap_around(context, builder, kind, index, size)
    return context.cast(builder, index, kind, numba.types.intp if kind.signed else numba.types.uintp)


arrayobj.fix_integer_index = _as_given


class BareLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function that becomes part of those that call it.

    numba optimizes and translates each function with all that it calls, once for itself and once more in each caller;
    only those that Python calls need it.
    """

    def _optimize_final_module(self) -> None:
        """Leave that to the callers."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    @property
    def codegen(self) -> "BareLibrary":
        """Whom numba tells where the function's constants in Python are; there are none."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Forget them."""

    def get_pointer_to_function(self, name: str) -> int:
        """There is no machine code."""
        self._ensure_finalized()
        return 0


class BareCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler for such functions."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.library = BareLibrary(self.state.targetctx.codegen(), "bare")


class Compiled:
    """A compiled function: bare machine code for other compiled functions, and a way in for Python once it calls.

    numba otherwise makes a way in for every function, which costs much of the time of compiling. What is bare becomes
    part of those who call it, so only the functions that Python calls lie on disk.
    """

    def __init__(self, function: Callable[..., object], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self._options = options
        self._bare = numba.njit(pipeline_class=BareCompiler, **BARE, **options)(function)

    @property
    def _numba_type_(self) -> Any:
        """What other compiled functions take it for."""
        return numba.types.Dispatcher(self._bare)

    @functools.cached_property
    def entry(self) -> Any:
        """The function with a way in for Python."""
        return numba.njit(cache=True, **self._options)(cast(Any, self).__wrapped__)

    def __call__(self, *arguments: object) -> object:
        """Call it from Python."""
        return self.entry(*arguments)


def compiled(function: F) -> F:
    """Compile *function* with numba, keep the machine code on disk, and keep its Python type for the checker.

    It can make no arrays and return none: numba then counts no references to those it is given, which otherwise takes
    more than half of the time of a simulation. No index counts from the end, and a division by 0 raises nothing.
    """
    return cast(F, Compiled(function, **BRISK))


def compiled_with_memory(function: F) -> F:
    """Compile and keep a function that makes arrays, which numba counts the references to; x / 0 raises in it."""
    return cast(F, Compiled(function))


def released(function: F) -> F:
    """The same as `compiled` for a function that several threads run at once: it lets the interpreter go."""
    return cast(F, Compiled(function, nogil=True, **BRISK))


def direct(function: F, *arguments: object) -> F:
    """Return the machine code of a compiled function for arguments of these types.

    numba looks at the type of every array of every bundle at each call, which takes longer than a step of a simulation.
    Nobody looks any more where this is called: whoever does so answers for the types.
    """
    entry = cast(Any, function).entry
    kinds = entry, *map(_kind, arguments)
    if kinds not in _codes:
        _codes[kinds] = entry.compile(tuple(numba.typeof(argument) for argument in arguments))
    return cast(F, _codes[kinds])


_codes: dict[tuple[object, ...], Any] = {}  # machine code by function and kinds of arguments


def _kind(argument: object) -> object:
    """Return what tells numba's types apart; the types of all rows of an episode take milliseconds to find out."""
    if isinstance(argument, tuple):
        return type(argument), *map(_kind, argument)
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        return argument.dtype, argument.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    return type(argument)
