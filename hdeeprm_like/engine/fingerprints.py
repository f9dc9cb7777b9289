"""Fingerprints of compiled functions: of everything in a function's source that its machine code depends on.

That is its code, the numbers that it uses, and the names of the compiled functions that it calls, which have
fingerprints of their own. Docstrings, comments, annotations and lines are no part of it. A library keeps the
fingerprints of all functions that each of its kinds of calls is made of; it is used as long as they are the same. So
a change of a function compiles again what contains it, and nothing else.

They are taken from Python's own code of a function, so those of another version of Python differ.
"""

import functools
import hashlib
import sys
from collections.abc import Iterator
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from hdeeprm_like.engine.dispatch import ByNumber
from hdeeprm_like.engine.sources import PACKAGE


def identity(function: Any) -> str:
    """Return a name of a compiled function; that of a function outside this package contains its fingerprint."""
    name = f"{function.__module__}:{function.__qualname__}"
    return name if is_ours(function) else f"{name} {fingerprint(function)[:16]}"


def is_ours(function: Any) -> bool:
    """Return whether a function belongs to this package."""
    return str(function.__module__).partition(".")[0] == PACKAGE.name


def found(name: str) -> Any:
    """Return the function of this package with an identity; None if there is none."""
    module, _, path = name.partition(":")
    try:
        return functools.reduce(getattr, path.split("."), import_module(module))
    except (ImportError, AttributeError):
        return None


def has_name(function: Any) -> bool:
    """Return whether a function of this package is what its identity names; those made by others may not be."""
    return is_ours(function) and found(identity(function)) is function


@functools.cache
def fingerprint(function: Any) -> str:
    """Return the fingerprint of a compiled function."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {function.inlines}".encode())
    for token in of_function(function.__wrapped__, set()):
        digest.update(token.encode(errors="surrogateescape") + b"\0")
    return digest.hexdigest()


def of_function(function: Any, seen: set[CodeType]) -> Iterator[str]:
    """Yield what the machine code of a function in Python depends on, as text."""
    yield repr(function.__defaults__)
    for cell in function.__closure__ or ():
        yield from of_value(cell.cell_contents, (), seen)
    yield from of_code(function.__code__, function.__globals__, function.__doc__, seen)


def of_code(code: CodeType, names: dict[str, Any], docstring: str | None, seen: set[CodeType]) -> Iterator[str]:
    """Yield the same of code that finds its global names in a module."""
    if code in seen:
        return
    seen.add(code)
    yield f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_argcount}"
    for at, constant in enumerate(code.co_consts):
        if isinstance(constant, CodeType):
            yield from of_code(constant, names, None, seen)
        elif at > 0 or docstring is None or constant != docstring:
            yield f"{type(constant).__name__} {constant!r}"
    for name in code.co_names:
        if name in names:
            yield from of_value(names[name], code.co_names, seen)


def of_value(value: Any, attributes: tuple[str, ...], seen: set[CodeType]) -> Iterator[str]:
    """Yield the same of a value that a function refers to.

    Args:
        attributes: names that may be looked up in it, if it is a module of this package.
    """
    if isinstance(value, FunctionType):
        yield from of_function(value, seen)
    elif hasattr(value, "choose_by_type"):  # see `compiled.by_type`
        yield from of_function(value.choose_by_type, seen)
    elif isinstance(value, ByNumber):
        yield from of_value((value.functions, value.otherwise), (), seen)
    elif hasattr(value, "is_callback"):  # a compiled function
        yield identity(value) if has_name(value) else fingerprint(value)
    elif isinstance(value, ModuleType) and value.__name__.partition(".")[0] == PACKAGE.name:
        for name in attributes:
            if name in vars(value):
                yield from of_value(vars(value)[name], (), seen)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from of_value(key, (), seen)
            yield from of_value(one, (), seen)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from of_value(one, (), seen)
    elif isinstance(value, np.dtype):
        yield repr((value.str, value.descr if value.fields else None, value.itemsize))
    elif value is None or isinstance(value, bool | int | float | str | bytes | np.generic):
        yield f"{type(value).__name__} {value!r}"
    else:  # a class, a function of Python or numpy, or one of this package that stands for instructions
        yield str(getattr(value, "__qualname__", getattr(value, "__name__", type(value).__qualname__)))
