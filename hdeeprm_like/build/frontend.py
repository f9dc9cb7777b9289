"""Compilation of functions to LLVM's text, one function at a time, by numba.

Each function is compiled alone; a call of another function is a call of a symbol. So numba compiles every function
once, however many call it, and `build.emit` links and optimizes all functions of a library as a whole. Everything here
uses numba's documented extension API.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic, typeof_impl

from hdeeprm_like.build import columns
from hdeeprm_like.engine.compiled import ByType, Compiled, parameters_of

OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
watchers: list[Callable[[], object]] = []  # called after each function


class Part:
    """One function for one choice of types.

    Attributes:
        symbol: its name for callers. text: its module, in LLVM's language. result: numba's type.
        compiled: numba's compilation result.
    """

    def __init__(self, symbol: str, text: str, result: Any, compiled: Any) -> None:
        self.symbol, self.text, self.result, self.compiled = symbol, text, result, compiled


RESULTS: tuple[tuple[Any, str], ...] = (  # numba's types of results for Python, and their names in a library
    (types.Boolean, "b"),
    (types.Integer, "i"),
    (types.Float, "f"),
    (types.NoneType, "n"),
)


def result_of(part: Part) -> str:
    """Return the letter of the result type of a function."""
    for kind, name in RESULTS:
        if isinstance(part.result, kind):
            return name
    raise TypeError(f"{part.symbol}: Python cannot take a {part.result}")


parts: dict[tuple[Any, tuple[Any, ...]], Part] = {}
by_symbol: dict[str, Part] = {}


@contextmanager
def not_optimized() -> Iterator[None]:
    """Make numba skip optimization; all functions are optimized together after linking."""
    level = numba.config.OPT
    numba.config.OPT = type(level)(0)
    try:
        yield
    finally:
        numba.config.OPT = level


def part_of(function: Compiled, kinds: tuple[Any, ...]) -> Part:
    """Return a function compiled for arguments of some types."""
    known = parts.get((function, kinds))
    if known is None:
        made = _dispatcher(function)
        with not_optimized():
            made.compile(kinds)
        compiled = made.overloads[kinds]
        symbol = compiled.fndesc.llvm_func_name
        known = Part(symbol, made.inspect_llvm(kinds), compiled.signature.return_type, compiled)
        parts[function, kinds] = by_symbol[symbol] = known
        for watch in watchers:
            watch()
    return known


@functools.cache
def _dispatcher(function: Compiled) -> Any:
    return numba.njit(forceinline=function.inlines, **OPTIONS)(function.__wrapped__)


def plain(kind: Any) -> Any:
    """Return the type that functions are compiled for: words instead of constants and shorter integers."""
    kind = types.unliteral(kind)
    short = isinstance(kind, types.Integer) and kind.signed and kind.bitwidth < types.intp.bitwidth
    return types.intp if short else kind


def type_of(argument: object) -> Any:
    """Return numba's type of an argument passed by Python."""
    if isinstance(argument, np.ndarray):
        layout = "C" if argument.flags.c_contiguous else "A"
        return types.Array(numba.from_dtype(argument.dtype), argument.ndim, layout)
    if isinstance(argument, tuple):
        return types.Tuple([type_of(one) for one in argument])
    if isinstance(argument, np.integer):
        return types.intp
    return numba.typeof(argument)


def _callable(names: str, typed: Callable[..., Any], name: str) -> Any:
    """Return a numba function with the given parameters, typed by *typed*."""
    place: dict[str, Any] = {"typed": typed}
    # only the names of our own functions and of their parameters go in
    exec(f"def {name}(typing, {names}):\n    return typed(({names},))\n", place)
    return columns.type_of_intrinsic(intrinsic(place[name]))


def _call(function: Compiled, kinds: tuple[Any, ...]) -> Any:
    """Return the signature of a call of a compiled function, and its code generator."""
    taken = tuple(map(plain, kinds))
    part = part_of(function, taken)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.call_internal(builder, part.compiled.fndesc, signature, arguments)

    return part.result(*taken), generate


@functools.cache
def _of_compiled(function: Compiled) -> Any:
    return _callable(parameters_of(function.__wrapped__), lambda kinds: _call(function, kinds), function.__name__)


@functools.cache
def _of_choice(choice: ByType) -> Any:
    return _callable(parameters_of(choice.choose), lambda kinds: _call(choice.choose(*kinds), kinds), choice.__name__)


@typeof_impl.register(Compiled)  # type: ignore[untyped-decorator]
def _typeof_compiled(value: Compiled, context: Any) -> Any:
    return _of_compiled(value)


@typeof_impl.register(ByType)  # type: ignore[untyped-decorator]
def _typeof_choice(value: ByType, context: Any) -> Any:
    return _of_choice(value)
