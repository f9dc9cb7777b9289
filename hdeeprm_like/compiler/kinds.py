"""The kinds of calls that the library has machine code for: derived from what functions declare.

Each `entry` and each `callback` of the package has machine code for all types that its parameters are annotated with:
numbers, arrays with their entries and dimensions (`types.Float64s`, ...), and bundles. A class of bundles has one type,
or several if its arrays or the bundles in it have; `exemplars` makes one of each. All that these functions call is
compiled with them, so the library is their closure.
"""

import itertools
import pkgutil
import types
import typing
from collections.abc import Iterator
from importlib import import_module
from typing import Annotated, Any, get_args, get_origin

import numpy as np

import hdeeprm_like
from hdeeprm_like.engine import bundles, library
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import Compiled
from hdeeprm_like.engine.sources import COMPILER, SOURCES

NUMBERS: dict[Any, object] = {bool: False, int: 0, float: 0.0}


def compiled_functions() -> Iterator[Compiled]:
    """Yield the compiled functions of the package, by modules."""
    for folder in SOURCES:
        if folder == COMPILER:
            continue
        package = import_module(f"{hdeeprm_like.__name__}.{folder}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for one in vars(import_module(found.name)).values():
                if isinstance(one, Compiled) and one.__module__ == found.name:
                    yield one


def kinds() -> dict[str, tuple[Compiled, tuple[Any, ...]]]:
    """Return all kinds, each with its function and a stand-in for each argument: its type, or a value of it.

    Raises:
        TypeError: an entry or a callback does not declare a type, or no exemplar has it.
    """
    from hdeeprm_like.compiler import exemplars

    exemplars.make()
    found: dict[str, tuple[Compiled, tuple[Any, ...]]] = {}
    for function in compiled_functions():
        for marked, begin in ((function.is_entry, ""), (function.is_callback, library.BY_ADDRESS)):
            for call in calls_of(function, by_address=bool(begin)) if marked else ():
                found[begin + library.kind_of_call(function, call)] = function, call
    return found


def calls_of(function: Compiled, by_address: bool) -> Iterator[tuple[Any, ...]]:
    """Yield stand-ins for the arguments of each call that a function declares."""
    hints = typing.get_type_hints(function.__wrapped__, include_extras=True)
    hints.pop("return", None)
    try:
        yield from itertools.product(*(list(stand_ins(hint, by_address)) for hint in hints.values()))
    except TypeError as error:
        raise TypeError(f"{function.__module__}.{function.__name__}: {error}") from None


def stand_ins(hint: Any, by_address: bool) -> Iterator[Any]:
    """Yield a stand-in for each type that an annotation means.

    Args:
        by_address: whether compiled code passes it, for which an array is a column.

    Raises:
        TypeError: it names no type.
    """
    if hint in NUMBERS:
        yield NUMBERS[hint]
    elif get_origin(hint) in (typing.Union, types.UnionType):
        for one in get_args(hint):
            yield from stand_ins(one, by_address)
    elif get_origin(hint) is Annotated:
        _, entry, dimensions = get_args(hint)
        array = np.zeros((1,) * dimensions, entry)
        yield bundles.type_of(array) if by_address else array
    elif isinstance(hint, type) and issubclass(hint, Bundle):
        layouts = bundles.layouts_of(hint)
        if not layouts:
            raise TypeError(f"compiler.exemplars makes no {hint.__name__}")
        yield from layouts
    else:
        raise TypeError(f"{hint} is no type that machine code can be made for")
