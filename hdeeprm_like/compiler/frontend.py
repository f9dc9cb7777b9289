"""Compilation of functions to LLVM's text, one function at a time, by numba.

Each function is compiled alone; a call of another function is a call of a symbol. So numba compiles every function
once, however many call it, and `compiler.emit` links and optimizes all functions of a library as a whole.

Types and intrinsics are made with ``numba.extending``, numba's documented API. Two parts of numba that are not
documented give LLVM's text without machine code: ``compiler.compile_extra`` and the class `CodeLibrary`. They serve
from numba 0.63 on; .ci/run compiles all with the oldest version that pyproject.toml allows.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils, compiler
from numba.core.codegen import CodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import FixupArgs, GenericRewrites, IRProcessing, ReconstructSSA, TranslateByteCode
from numba.extending import intrinsic, typeof_impl

from hdeeprm_like.compiler import columns
from hdeeprm_like.engine import bundles
from hdeeprm_like.engine.compiled import ByType, Compiled
from hdeeprm_like.engine.dispatch import ByNumber
from hdeeprm_like.engine.fingerprints import is_ours

OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "nopython": True,
}
watchers: list[Callable[[], object]] = []  # called after each function


class Text(CodeLibrary):  # type: ignore[misc]
    """What numba makes of one function, as text; numba's own library would make machine code of it at once.

    Attributes:
        text: a module in LLVM's language. linked: libraries of numba's own functions that it calls.
        inlines: whether all functions of the module are inlined, a generator's next step, too.
    """

    def __init__(self, name: str, inlines: bool) -> None:
        super().__init__(cpu_target.target_context.codegen(), name)
        self.text = ""
        self.linked: list[Any] = []
        self.inlines = inlines

    def add_ir_module(self, ir_module: Any) -> None:
        """Keep the text of a module."""
        for function in ir_module.functions:
            if self.inlines and not function.is_declaration:
                function.attributes.add("alwaysinline")
        self.text = cgutils.normalize_ir_text(str(ir_module))

    def add_linking_library(self, library: Any) -> None:
        """Note that the function needs a library."""
        self.linked.append(library)

    def finalize(self) -> None:
        """Do nothing."""

    def get_function(self, name: str) -> Any:
        """Refuse: there is no machine code."""
        raise NotImplementedError(name)

    def get_llvm_str(self) -> str:
        """Return the text."""
        return self.text

    get_asm_str = get_llvm_str


class Pipeline(compiler.CompilerBase):  # type: ignore[misc]
    """numba's passes without those that only serve what functions of this package do not use.

    These are closures, comprehensions, ``with``, expressions of whole arrays, and branches on constants.
    """

    passes = (
        TranslateByteCode,
        FixupArgs,
        IRProcessing,
        GenericRewrites,
        ReconstructSSA,
        NopythonTypeInference,
        PreLowerStripPhis,
        IRLegalization,
        AnnotateTypes,
        NativeLowering,
        NoPythonBackend,
    )

    def define_pipelines(self) -> list[Any]:
        """Return the one list of passes."""
        manager = PassManager("package")
        for one in self.passes:
            manager.add_pass(one, one.__name__)
        manager.finalize()
        return [manager]


class Part:
    """One function for one choice of types.

    Attributes:
        function: what it is made of. symbol: its name for callers. text: its module, in LLVM's language.
        linked: libraries of numba's that it needs. result: numba's type. description: numba's, for callers.
    """

    def __init__(self, function: Compiled, library: Text, compiled: Any) -> None:
        self.function, self.text, self.linked = function, library.text, library.linked
        self.symbol, self.description = compiled.fndesc.llvm_func_name, compiled.fndesc
        self.result = compiled.signature.return_type


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


known_calls: dict[tuple[Any, ...], Any] = {}


@contextmanager
def calls_remembered() -> Iterator[None]:
    """Look up each call of a function, or of an operator, on some types only once.

    For each ``a + b`` or ``column[i]`` numba tries all functions that it has for the operator, which takes a quarter of
    the time until there is LLVM's text.
    """
    context = cpu_target.typing_context
    names = [name for name in ("resolve_function_type", "resolve_setitem") if name not in vars(context)]
    for name in names:  # none if this function is compiled because another calls it
        setattr(context, name, remembering(getattr(context, name)))
    try:
        yield
    finally:
        for name in names:
            delattr(context, name)


def remembering(look_up: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that looks up a signature and keeps it."""

    def resolve(function: Any, *arguments: Any) -> Any:
        if isinstance(function, str):  # an index that is a constant, which need not be hashable
            return look_up(function, *arguments)
        given = (tuple(one.items() if isinstance(one, dict) else one) for one in arguments)
        key = look_up.__name__, function, *(arguments if isinstance(arguments[0], types.Type) else given)
        found = known_calls.get(key)
        if found is None:
            found = known_calls[key] = look_up(function, *arguments)
        return found

    return resolve


def part_of(function: Compiled, kinds: tuple[Any, ...]) -> Part:
    """Return a function compiled for arguments of some types."""
    known = parts.get((function, kinds))
    if known is None:
        flags = compiler.Flags()
        cpu_target.options.parse_as_flags(flags, {**OPTIONS, "forceinline": function.inlines})
        flags.no_compile = True  # to machine code; the text suffices
        text = Text(function.__name__, function.inlines)
        pipeline = Pipeline if is_ours(function) else compiler.Compiler
        contexts = cpu_target.typing_context, cpu_target.target_context
        with not_optimized(), calls_remembered(), global_compiler_lock:
            made = compiler.compile_extra(*contexts, function.__wrapped__, kinds, None, flags, {}, text, pipeline)
        if made.typing_error is not None:
            raise made.typing_error
        known = Part(function, text, made)
        parts[function, kinds] = by_symbol[known.symbol] = known
        for watch in watchers:
            watch()
    return known


def plain(kind: Any) -> Any:
    """Return the type that functions are compiled for: words instead of constants and shorter integers."""
    kind = types.unliteral(kind)
    short = isinstance(kind, types.Integer) and kind.signed and kind.bitwidth < types.intp.bitwidth
    return types.intp if short else kind


def type_of(argument: object) -> Any:
    """Return numba's type of an argument passed by Python, or by compiled code to a function called by address."""
    if isinstance(argument, bundles.BundleType | bundles.ColumnType):
        return columns.of_layout(argument)
    if isinstance(argument, np.ndarray):
        layout = "C" if argument.flags.c_contiguous else "A"
        return types.Array(numba.from_dtype(argument.dtype), argument.ndim, layout)
    if isinstance(argument, tuple):
        return types.Tuple([type_of(one) for one in argument])
    if isinstance(argument, np.integer):
        return types.intp
    return numba.typeof(argument)


def _callable(name: str, like: inspect.Signature, typed: Callable[..., Any]) -> Any:
    """Return a numba function of a name, with the parameters of a signature, typed by *typed*."""

    def call(typing: Any, *kinds: Any) -> Any:
        return typed(kinds)

    own, call.__name__ = inspect.signature(call), name
    call.__signature__ = own.replace(parameters=[own.parameters["typing"], *like.parameters.values()])  # type: ignore[attr-defined]
    return columns.type_of_intrinsic(intrinsic(call))


def _call(function: Compiled, kinds: tuple[Any, ...]) -> Any:
    """Return the signature of a call of a compiled function, and its code generator."""
    taken = tuple(map(plain, kinds))
    part = part_of(function, taken)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.call_internal(builder, part.description, signature, arguments)

    return part.result(*taken), generate


@functools.cache
def _of_compiled(function: Compiled) -> Any:
    return _callable(function.__name__, inspect.signature(function.__wrapped__), lambda kinds: _call(function, kinds))


@functools.cache
def _of_choice(choice: ByType) -> Any:
    like = inspect.signature(choice.choose_by_type)
    return _callable(choice.__name__, like, lambda kinds: _call(choice.choose_by_type(*kinds), kinds))


@functools.cache
def _of_numbers(choice: ByNumber) -> Any:
    like = inspect.signature(next(iter(choice.functions.values())))
    number = inspect.Parameter("number", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = like.replace(parameters=[number, *like.parameters.values()])
    return _callable("by_number", named, lambda kinds: _branch(choice, kinds))


def _branch(choice: ByNumber, kinds: tuple[Any, ...]) -> Any:
    """Return the signature of a call of one of several functions by a number, and the generator of its branches."""
    taken = tuple(map(plain, kinds))
    parts = {number: part_of(function, taken[1:]) for number, function in choice.functions.items()}
    result = cpu_target.typing_context.unify_types(*(part.result for part in parts.values()))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        end, other = (builder.append_basic_block(name) for name in ("end", "other"))
        wanted, found = builder.switch(arguments[0], other), []
        for number, part in parts.items():
            block = builder.append_basic_block(part.function.__name__)
            wanted.add_case(number, block)
            builder.position_at_end(block)
            value = context.call_internal(builder, part.description, part.result(*taken[1:]), arguments[1:])
            found.append((context.cast(builder, value, part.result, result), builder.block))
            builder.branch(end)
        builder.position_at_end(other)
        builder.branch(end)
        builder.position_at_end(end)
        if result == types.none:
            return context.get_dummy_value()
        chosen = builder.phi(context.get_value_type(result))
        for value, block in (*found, (context.get_constant(result, choice.otherwise), other)):
            chosen.add_incoming(value, block)
        return chosen

    return result(*taken), generate


@typeof_impl.register(Compiled)  # type: ignore[untyped-decorator]
def _typeof_compiled(value: Compiled, context: Any) -> Any:
    return _of_compiled(value)


@typeof_impl.register(ByType)  # type: ignore[untyped-decorator]
def _typeof_choice(value: ByType, context: Any) -> Any:
    return _of_choice(value)


@typeof_impl.register(ByNumber)  # type: ignore[untyped-decorator]
def _typeof_numbers(value: ByNumber, context: Any) -> Any:
    return _of_numbers(value)
