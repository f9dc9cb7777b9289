"""Prebuilt machine code: where it lies, how it is found, and how Python calls it.

A *library* is a shared object with two tables beside it. One holds the symbol and the result type of each *kind* of
call: a function with the types of its arguments, as text that is the same in every process. The other holds the
`fingerprints` of all functions that each kind is made of. One library ships with the package; `hdeeprm_like.compiler`
keeps in the user's own folder what it makes. Machine code is used if no source has changed since it was made, or
none of what it is made of has.

Calls pass plain words, so `ctypes` suffices: the address of a bundle, the words of a numba array, numbers as they
are.
"""

import ctypes
import functools
import json
import logging
import platform
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hdeeprm_like.engine.bundles import BundleType, ColumnType
from hdeeprm_like.engine.bundles import name_of as name_of_entries
from hdeeprm_like.engine.fingerprints import fingerprint, found, identity, is_ours
from hdeeprm_like.engine.sources import CHECKED as CHECKED
from hdeeprm_like.engine.sources import PACKAGE as PACKAGE
from hdeeprm_like.engine.sources import SHIPPED, digest_of_compiler, kept_for, version_of_numba
from hdeeprm_like.engine.sources import source_digest as source_digest
from hdeeprm_like.errors import HDeepRMError

BY_ADDRESS = "at "  # begins the kinds of functions that compiled code calls by address
RESULTS: dict[str, Any] = {"i": ctypes.c_int64, "b": ctypes.c_bool, "f": ctypes.c_double, "n": None}
NUMBERS: dict[Any, str] = {bool: "b", int: "i", float: "f"}
ZEROS: dict[str, Any] = {"b": False, "i": 0, "f": 0.0}
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


class Place(NamedTuple):
    """Where the machine code of a kind of call is.

    Attributes:
        path: of the shared object. symbol: in it. result: letter of the type of the result, see `RESULTS`.
    """

    path: Path
    symbol: str
    result: str


class Tables:
    """The known libraries.

    Attributes:
        entries: kind -> machine code that is made of the present sources. kept: the folder for code compiled here.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Place] = {}
        self.kept = kept_for(target())
        self._older: dict[str, list[Place]] = {}  # made of other sources, or of these but for some functions
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
                    present = content["sources"] == source_digest()
                    for kind, (symbol, result) in content["entries"].items():
                        place = Place(table.with_suffix(".so"), symbol, result)
                        if present:
                            self.entries.setdefault(kind, place)
                        else:
                            self._older.setdefault(kind, []).append(place)

    @property
    def whole(self) -> bool:
        """Whether the libraries of one folder have all kinds, as the sources are now."""
        return any(is_whole(folder) for folder in (SHIPPED / target(), self.kept))

    def find(self, kind: str) -> Place | None:
        """Return the machine code of a kind, if it is made of what the sources hold now."""
        for place in self._older.pop(kind, ()) if kind not in self.entries else ():
            if is_of_present_sources(place.path, kind):
                self.entries.setdefault(kind, place)
        return self.entries.get(kind)

    def function(self, kind: str, releases: bool) -> Any:
        """Return the function of a kind for `ctypes`; None if no library has it."""
        place = self.find(kind)
        if place is None:
            return None
        opened = self._opened(place.path)[0 if releases else 1]
        function = getattr(opened, place.symbol)
        function.restype = RESULTS[place.result]
        function.status = ctypes.c_int32.in_dll(opened, "hl_status")
        return function

    def address(self, kind: str) -> int | None:
        """Return the address of a function that compiled code calls; None if no library has it."""
        place = self.find(kind)
        if place is None:
            return None
        return ctypes.cast(getattr(self._opened(place.path)[0], place.symbol), ctypes.c_void_p).value

    def _opened(self, path: Path) -> tuple[Any, Any]:
        if path not in self._open:
            self._open[path] = ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))
        return self._open[path]


PARTS = ".parts"  # ending of the table of what the kinds of a library are made of
WHOLE = "whole"  # file beside libraries that have all kinds: the digest of their sources


def is_whole(folder: Path) -> bool:
    """Return whether the libraries in a folder have all kinds, as the sources are now."""
    try:
        return (folder / WHOLE).read_text() == source_digest()
    except OSError:
        return False


@functools.cache
def parts_of(path: Path) -> dict[str, Any]:
    """Return what a library is made of; nothing that is known if its table is missing."""
    try:
        return json.loads(path.with_suffix(PARTS).read_text())  # type: ignore[no-any-return]
    except (OSError, ValueError):
        return {"compiler": ""}


def is_of_present_sources(path: Path, kind: str) -> bool:
    """Return whether a kind of a library is made of functions that have not changed since."""
    parts = parts_of(path)
    if parts["compiler"] != digest_of_compiler() or parts["numba"] != (version_of_numba() or parts["numba"]):
        return False
    for number in parts["entries"][kind]:
        name, known = parts["functions"][number]
        function = found(name)
        if function is None or fingerprint(function) != known:
            return False
    return True


@functools.cache
def tables() -> Tables:
    """Return the libraries of this process."""
    return Tables()


def kind_of_call(function: Any, arguments: tuple[object, ...]) -> str:
    """Return the kind of a call of a compiled function."""
    return " ".join([identity(function), *names_of(function, arguments)])


def names_of(function: Any, arguments: tuple[object, ...]) -> list[str]:
    """Return the types of the arguments of a call; those of numbers are as declared, so an int serves as a float."""
    given = zip(arguments, declared_numbers(function), strict=False)
    return [declared or name_of(argument) for argument, declared in given]


@functools.cache
def declared_numbers(function: Any) -> tuple[str, ...]:
    """Return for each parameter of a compiled function the letter of its type if it is a number, else ''."""
    wrapped = function.__wrapped__
    names = wrapped.__code__.co_varnames[: wrapped.__code__.co_argcount]
    return tuple(NUMBERS.get(wrapped.__annotations__.get(name), "") for name in names)


def machine_code(function: Any, arguments: tuple[object, ...]) -> Callable[..., object]:
    """Return the machine code of a compiled function for arguments of these types, compiled now if missing.

    Raises:
        MissingCode: it must be compiled, and numba is not installed.
    """
    kind = kind_of_call(function, arguments)
    code = tables().function(kind, function.releases)
    if code is None:
        as_declared = zip(arguments, declared_numbers(function), strict=True)
        compile_missing(function, tuple([ZEROS.get(letter, argument) for argument, letter in as_declared]), kind)
        code = tables().function(kind, function.releases)
    return caller(code, arguments, names_of(function, arguments))


@functools.cache
def address_of(function: Any, kinds: tuple[object, ...]) -> int:
    """Return the address of the machine code of a compiled function, compiled now if missing.

    Args:
        kinds: types of bundles and columns, and numbers.

    Raises:
        MissingCode: it must be compiled, and numba is not installed.
    """
    kind = BY_ADDRESS + kind_of_call(function, kinds)
    address = tables().address(kind)
    if address is None:
        compile_missing(function, kinds, kind)
        address = tables().address(kind)
    assert address is not None
    return address


def compile_missing(function: Any, arguments: tuple[object, ...], kind: str) -> None:
    """Compile a function that no library has, and keep the code.

    Raises:
        MissingCode: numba is not installed.
    """
    try:
        one_kind = import_module("hdeeprm_like.compiler.one_kind")  # late: the compiler imports this module
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("numba", "llvmlite"):
            raise
        raise MissingCode(
            f"there is no machine code for {function.__qualname__} of this kind of run in the package; "
            'install numba to compile it: pip install "hdeeprm_like[compile]"'
        ) from None
    if is_ours(function):
        say_once()
    one_kind.compile_kind(function, arguments, kind)


@functools.cache
def say_once() -> None:
    """Say that functions of this package are compiled."""
    logging.getLogger(__name__).warning(
        "machine code is missing, or older than its source: compiling what this needs; "
        "python -m hdeeprm_like.compiler compiles all of it, once"
    )


def caller(function: Any, arguments: tuple[object, ...], types: list[str]) -> Callable[..., object]:
    """Return a function that calls machine code with arguments of these types.

    Args:
        types: as `names_of` gives them.
    """
    kinds: list[Any] = []
    for argument, kind in zip(arguments, types, strict=True):
        if isinstance(argument, np.ndarray | tuple):
            kinds += [ctypes.c_int64] * len(words_of(argument))
        else:
            kinds.append(ctypes.c_void_p if hasattr(argument, "address") else RESULTS[kind])
    function.argtypes = kinds
    called: Callable[..., object] = checked(function, function.status) if CHECKED else function
    if len(kinds) == len(arguments):
        return called
    return lambda *given: called(*[word for one in given for word in words_of(one)])


def words_of(argument: Any) -> list[Any]:
    """Return what passes an argument: of an array, or the arrays of a tuple, the words that numba makes of it."""
    if isinstance(argument, tuple):
        return [word for one in argument for word in words_of(one)]
    if not isinstance(argument, np.ndarray):
        return [argument]
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
