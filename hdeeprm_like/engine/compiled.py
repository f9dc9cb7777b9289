"""Functions on arrays that run as machine code, and how Python finds that code.

| decorator | for |
|---|---|
| `compiled` | functions that other compiled functions call |
| `inlined` | functions in hot loops, small or called from few places: they are inlined into each caller |
| `entry` | functions that Python calls |
| `released` | the same, for several threads at once: they release the GIL |
| `callback` | functions that compiled code calls by address, see `calls` |

What Python or an address reaches declares its types: the library has machine code for each `entry` and `callback` of
this package, for the types that its parameters are annotated with, and for all that it calls (`compiler.kinds`). So no
use needs a compiler. A user's own functions may be called by Python with arguments of any types.

In all of them x / 0 is infinite or nan, as in numpy. They are written in the subset of Python that numba compiles, but
this module does not import numba: `engine.library` holds prebuilt machine code, and `hdeeprm_like.compiler` makes it.
With ``HDEEPRM_LIKE_PYTHON=1`` the same functions run as plain Python, slowly, for debuggers and coverage.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from hdeeprm_like.engine import library, plain
from hdeeprm_like.engine.plain import count_bits as count_bits
from hdeeprm_like.engine.plain import lowest_bit as lowest_bit
from hdeeprm_like.engine.plain import shift_left as shift_left
from hdeeprm_like.engine.plain import zeros_above as zeros_above

F = TypeVar("F", bound=Callable[..., object])


class Compiled:
    """A function that runs as machine code when Python calls it.

    Attributes:
        inlines: whether it is inlined into each caller. releases: whether it releases the GIL.
        is_entry: whether Python calls it. is_callback: whether compiled code calls it by address.
    """

    __name__: str
    __wrapped__: Callable[..., object]

    def __init__(self, function: Callable[..., object]) -> None:
        functools.update_wrapper(self, function)
        self.inlines = self.releases = self.is_entry = self.is_callback = False
        self._by_kinds: dict[tuple[Any, ...], Callable[..., object]] = {}

    def __call__(self, *arguments: object) -> object:
        """Call it from Python."""
        kinds = tuple([getattr(argument, "type_id", None) or library.kind_of(argument) for argument in arguments])
        known = self._by_kinds.get(kinds)
        if known is None:
            known = self._by_kinds[kinds] = library.machine_code(self, arguments)
        return known(*arguments)


class Built(Compiled):
    """A compiled function in the process that builds the library, where it runs as plain Python."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._in_python = in_python(function)

    def __call__(self, *arguments: object) -> object:
        """Call it from Python or from another such function."""
        return self._in_python(*arguments)


def in_python(function: F) -> F:
    """Return a function as plain Python."""
    from hdeeprm_like.engine.plain_divisions import as_compiled  # late: processes with machine code do without

    return as_compiled(function)


def marked(function: F, **marks: bool) -> F:
    """Return a function as a compiled one with some marks, or as plain Python if that is asked for."""
    if plain.ENABLED and not plain.BUILDS:
        return in_python(function)
    made = function if isinstance(function, Compiled) else (Built if plain.BUILDS else Compiled)(function)
    for mark, value in marks.items():
        setattr(made, mark, value)
    return cast(F, made)


def compiled(function: F) -> F:
    """Mark a function as compiled; type checkers still see its Python type."""
    return marked(function)


def inlined(function: F) -> F:
    """Mark a function as inlined into each of its callers, however large these are."""
    return marked(function, inlines=True)


def entry(function: F) -> F:
    """Mark a function as one that Python calls, with arguments of the types that its parameters are annotated with."""
    return marked(function, is_entry=True)


def released(function: F) -> F:
    """Mark a function as one that Python calls and that releases the GIL."""
    return marked(function, is_entry=True, releases=True)


def callback(function: F) -> F:
    """Mark a function as one that compiled code calls by address, see `calls.address_of`."""
    return marked(function, is_callback=True)


class ByType:
    """A stand-in for several compiled functions, chosen by the types of the arguments.

    So one loop serves all clocks, observations and action spaces, and each run contains only the parts that it uses.
    """

    __name__: str

    def __init__(self, choose: Callable[..., Any]) -> None:
        functools.update_wrapper(self, choose)
        self.choose_by_type = choose

    def __call__(self, *arguments: object) -> object:
        """Choose and call in plain Python; compiled functions choose at compile time."""
        return self.choose_by_type(*[getattr(argument, "layout", None) for argument in arguments])(*arguments)


def by_type(choose: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that chooses a compiled function by the types of its arguments.

    Args:
        choose: takes the `bundles.BundleType` of each argument that is a bundle, returns the compiled function.
    """
    return ByType(choose)


def of_two(condition: Callable[[Any], bool], one: Any, other: Any) -> Callable[..., Any]:
    """Return a stand-in for two functions with the same parameters, of which either may be a stand-in itself.

    Args:
        condition: whether the type of an argument is one for which *one* of them is chosen, and not the *other*.
    """

    def choose(*kinds: Any) -> object:
        chosen = one if any(condition(kind) for kind in kinds) else other
        return chosen.choose_by_type(*kinds) if isinstance(chosen, ByType) else chosen

    choose.__name__, choose.__doc__ = one.__name__, one.__doc__
    choose.__signature__ = inspect.signature(one)  # type: ignore[attr-defined]
    return ByType(choose)


def direct(function: F, *arguments: object) -> F:
    """Return the machine code of a compiled function for arguments of these types.

    Calling it skips the check of the types of the arguments: the caller is responsible for them.
    """
    return function if plain.ENABLED else cast(F, library.machine_code(cast(Any, function), arguments))
