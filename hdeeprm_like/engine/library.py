"""Prebuilt machine code: where it lies, how it is found, and how Python calls it.

A *library* is a shared object with a table (JSON) beside it, which holds the symbol and the result type of each *kind*
of call. A kind is a function with the types of its arguments, as text that is the same in every process. One library
ships with the package; `hdeeprm_like.build` keeps in the user's own folder what it compiles because it was missing.
Both carry a digest of all sources that go into the machine code, so stale code never runs.

Calls pass plain words, so `ctypes` suffices: the address of a bundle, the words of a numba array, numbers as they
are.
"""

import ctypes
import functools
import hashlib
import json
import platform
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like import first_use
from hdeeprm_like.engine.bundles import BundleType, ColumnType
from hdeeprm_like.engine.bundles import name_of as name_of_entries
from hdeeprm_like.engine.sources import CHECKED as CHECKED
from hdeeprm_like.engine.sources import PACKAGE as PACKAGE
from hdeeprm_like.engine.sources import SHIPPED, kept_in
from hdeeprm_like.engine.sources import source_digest as source_digest
from hdeeprm_like.errors import HDeepRMError

BY_ADDRESS = "at "  # begins the kinds of functions that compiled code calls by address
RESULTS: dict[str, Any] = {"i": ctypes.c_int64, "b": ctypes.c_bool, "f": ctypes.c_double, "n": None}
X86_64_V3 = ("AVX2", "FMA3", "BMI2", "F16C", "LZCNT", "MOVBE")  # the features of this level that numpy reports


class MissingCode(HDeepRMError):
    """Machine code is missing from all libraries, and no compiler (numba) is installed."""


@functools.cache
def target() -> str:
    """Return the processor that machine code is compiled for here, by LLVM's name."""
    machine = platform.machine().lower()
    if machine not in ("x86_64", "amd64"):
        return "generic"
    features = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    modern = all(features.get(name, True) for name in X86_64_V3)
    return "x86-64-v3" if modern else "x86-64-v2"


def name_of(argument: object) -> str:
    """Return the type of an argument as text, the same in every process."""
    layout = getattr(argument, "layout", argument)
    if isinstance(layout, BundleType | ColumnType):
        return str(layout.name)
    if isinstance(argument, np.ndarray):
        return f"{argument.ndim}{name_of_entries(argument.dtype)}{'C' if argument.flags.c_contiguous else 'A'}"
    if isinstance(argument, tuple):
        return "(" + ",".join(map(name_of, argument)) + ")"
    for kind, name in ((bool, "b"), (np.bool_, "b"), (int, "i"), (np.integer, "i"), (float, "f"), (np.floating, "f")):
        if isinstance(argument, kind):
            return name
    raise TypeError(f"compiled functions take bundles, arrays and numbers, not {type(argument).__name__}")


def kind_of(argument: object) -> object:
    """Return a quick identifier of the type of an argument that is no bundle."""
    kind = type(argument)
    if kind is np.ndarray:
        return argument.dtype, argument.ndim, argument.flags.c_contiguous  # type: ignore[attr-defined]
    return name_of(argument) if kind is tuple else kind


class Tables:
    """The known libraries: kinds of calls to the place of their code.

    Attributes:
        entries: kind -> shared object, symbol, type of the result. kept: the folder for code compiled here.
    """

    def __init__(self) -> None:
        self.entries: dict[str, tuple[Path, str, str]] = {}
        self.kept = kept_in() / f"{source_digest()}-{target()}"
        self._seen: set[Path] = set()
        self._open: dict[Path, tuple[Any, Any]] = {}
        self.look()

    def look(self) -> None:
        """Read the tables that are new since the last look."""
        for folder in (SHIPPED / target(), self.kept):
            for table in sorted(folder.glob("*.json")) if folder.is_dir() else ():
                if table not in self._seen:
                    self._seen.add(table)
                    content = json.loads(table.read_text())
                    if content["digest"] == source_digest():
                        code = table.with_suffix(".so")
                        for kind, (symbol, result) in content["entries"].items():
                            self.entries.setdefault(kind, (code, symbol, result))

    def function(self, kind: str, releases: bool) -> Any:
        """Return the function of a kind for `ctypes`; None if no library has it."""
        if kind not in self.entries:
            return None
        path, symbol, result = self.entries[kind]
        opened = self._opened(path)[0 if releases else 1]
        function = getattr(opened, symbol)
        function.restype = RESULTS[result]
        function.status = ctypes.c_int32.in_dll(opened, "hl_status")
        return function

    def address(self, kind: str) -> int | None:
        """Return the address of a function that compiled code calls; None if no library has it."""
        if kind not in self.entries:
            return None
        path, symbol, _ = self.entries[kind]
        return ctypes.cast(getattr(self._opened(path)[0], symbol), ctypes.c_void_p).value

    def _opened(self, path: Path) -> tuple[Any, Any]:
        if path not in self._open:
            self._open[path] = ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))
        return self._open[path]


@functools.cache
def tables() -> Tables:
    """Return the libraries of this process."""
    return Tables()


def kind_of_call(function: Any, arguments: tuple[object, ...]) -> str:
    """Return the kind of a call of a compiled function."""
    names = " ".join(map(name_of, arguments))
    return f"{identity(function)} {names}"


def identity(function: Any) -> str:
    """Return a name of a compiled function; functions outside this package include a digest of their sources.

    Those are its file and what it uses from surrounding functions; `source_digest` covers the package's own.
    """
    name = f"{function.__module__}:{function.__qualname__}"
    if function.__module__.partition(".")[0] == PACKAGE.name:
        return name
    code = function.__wrapped__.__code__
    try:
        content = Path(code.co_filename).read_bytes()
    except OSError:  # made by exec or typed at a prompt
        content = code.co_code + repr(code.co_consts).encode()
    around = [cell.cell_contents for cell in function.__wrapped__.__closure__ or ()]
    taken = [identity(one) if hasattr(one, "__wrapped__") else repr(one) for one in around]
    digest = hashlib.sha256(content + f"{code.co_firstlineno} {taken}".encode()).hexdigest()[:16]
    return f"{name} {digest}"


def machine_code(function: Any, arguments: tuple[object, ...]) -> Callable[..., object]:
    """Return the machine code of a compiled function for arguments of these types, compiled now if missing.

    Raises:
        MissingCode: it must be compiled, and numba is not installed.
    """
    kind = kind_of_call(function, arguments)
    found = tables().function(kind, function.releases)
    if found is None:
        compile_missing(function, arguments, kind)
        found = tables().function(kind, function.releases)
    return caller(found, arguments)


@functools.cache
def address_of(function: Any, kinds: tuple[object, ...]) -> int:
    """Return the address of the machine code of a compiled function, compiled now if missing.

    Args:
        kinds: types of bundles and columns, and numbers.

    Raises:
        MissingCode: it must be compiled, and numba is not installed.
    """
    kind = BY_ADDRESS + kind_of_call(function, kinds)
    found = tables().address(kind)
    if found is None:
        compile_missing(function, kinds, kind)
        found = tables().address(kind)
    assert found is not None
    return found


def compile_missing(function: Any, arguments: tuple[object, ...], kind: str) -> None:
    """Compile a function that no library has, and keep the code.

    Raises:
        MissingCode: numba is not installed.
        BeginAgain: the run of this command is so short that it runs as plain Python, see `first_use`.
    """
    first_use.begin_again_if_short(tables().kept, compiler=find_spec("numba") is not None)
    try:
        fallback = import_module("hdeeprm_like.build.fallback")  # late: the compiler imports this module
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("numba", "llvmlite"):
            raise
        raise MissingCode(
            f"there is no machine code for {function.__qualname__} of this kind of run in the package; "
            'install numba to compile it: pip install "hdeeprm_like[compile]"'
        ) from None
    fallback.compile_kind(function, arguments, kind)


class Recorder:
    """What a call of a compiled function does in a build; `hdeeprm_like.build.recording` has one that records it."""

    def __call__(self, function: Any, arguments: tuple[object, ...]) -> object:
        """Run a compiled function as plain Python."""
        return function.in_python(*arguments)

    def note_address(self, function: Any, kinds: tuple[object, ...]) -> None:
        """Note that compiled code calls a function by address."""


recorder = Recorder()


def caller(function: Any, arguments: tuple[object, ...]) -> Callable[..., object]:
    """Return a function that calls machine code with arguments of these types."""
    names = [f"a{i}" for i in range(len(arguments))]
    words: list[str] = []
    kinds: list[Any] = []
    for name, argument in zip(names, arguments, strict=True):
        if hasattr(argument, "address"):
            words.append(f"{name}.address")
            kinds.append(ctypes.c_int64)
        elif isinstance(argument, np.ndarray | tuple):
            words.append(f"*words_of({name})")
            kinds.extend([ctypes.c_int64] * len(words_of(argument)))
        else:
            words.append(name)
            text = name_of(argument)
            kinds.append({"b": ctypes.c_bool, "i": ctypes.c_int64, "f": ctypes.c_double}[text])
    function.argtypes = kinds
    place: dict[str, Any] = {"function": function, "words_of": words_of}
    if CHECKED:
        place["function"] = checked(function, function.status)
    source = f"lambda {', '.join(names)}: function({', '.join(words)})"
    return eval(source, place)  # type: ignore[no-any-return]  # names that are made here alone go in


def words_of(argument: Any) -> list[int]:
    """Return the words of an array, or of the arrays of a tuple, as numba lays them out."""
    if isinstance(argument, tuple):
        return [word for one in argument for word in words_of(one)]
    address = argument.__array_interface__["data"][0]
    return [0, 0, argument.size, argument.itemsize, address, *argument.shape, *argument.strides]


def checked(function: Any, status: Any) -> Callable[..., object]:
    """Return a function that raises an IndexError if an array index was out of bounds."""

    def call(*words: object) -> object:
        result = function(*words)
        if status.value:
            status.value = 0
            raise IndexError("an index of compiled code is out of bounds")
        return result

    return call
