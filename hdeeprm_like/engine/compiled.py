"""Functions on arrays that run as machine code, and how Python finds that machine code.

| mark | for |
|---|---|
| `compiled` | functions that Python or other compiled functions call |
| `inlined` | functions in hot loops, small or called from few places: they become part of each that calls them |
| `released` | functions that several threads run at once: they release the interpreter lock |

In all of them x / 0 is infinite or nan, as in numpy. They are written in the part of Python that numba compiles, but
this module imports no numba: `engine.library` holds machine code that was built before, and `hdeeprm_like.build`
compiles what is missing there, where numba is installed. With ``HDEEPRM_LIKE_PYTHON=1`` the same functions run as plain
Python, slowly, for debuggers and coverage.
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
        inlines: whether it becomes part of each function that calls it. releases: whether it releases the interpreter
            lock.
    """

    __name__: str
    __wrapped__: Callable[..., object]

    def __init__(self, function: Callable[..., object], inlines: bool = False, releases: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.inlines, self.releases = inlines, releases
        self._by_kinds: dict[tuple[Any, ...], Callable[..., object]] = {}

    def __call__(self, *arguments: object) -> object:
        """Call it from Python."""
        kinds = tuple([getattr(argument, "type_id", None) or library.kind_of(argument) for argument in arguments])
        known = self._by_kinds.get(kinds)
        if known is None:
            known = self._by_kinds[kinds] = library.machine_code(self, arguments)
        return known(*arguments)


def compiled(function: F) -> F:
    """Mark a function as compiled and keep its Python type for the checker."""
    return cast(F, function if plain.ENABLED else Compiled(function))


def inlined(function: F) -> F:
    """Mark a small function as one that becomes part of each of its callers, however large these are."""
    return cast(F, function if plain.ENABLED else Compiled(function, inlines=True))


def released(function: F) -> F:
    """Mark a function as one that releases the interpreter lock where Python calls it."""
    return cast(F, function if plain.ENABLED else Compiled(function, releases=True))


class ByType:
    """Stands for several compiled functions: the types of the arguments choose one.

    So one loop serves all clocks, observations and action spaces, and each run contains only those that it has.
    """

    __name__: str

    def __init__(self, choose: Callable[..., Any]) -> None:
        functools.update_wrapper(self, choose)
        self.choose = choose

    def __call__(self, *arguments: object) -> object:
        """Choose and call in plain Python; compiled functions choose when they are compiled."""
        return self.choose(*[getattr(argument, "layout", None) for argument in arguments])(*arguments)


def by_type(choose: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that chooses a compiled function by the types of its arguments.

    Args:
        choose: takes the `bundles.BundleType` of each argument that is a bundle, returns the compiled function.
    """
    return ByType(choose)


def direct(function: F, *arguments: object) -> F:
    """Return the machine code of a compiled function for arguments of these types.

    Calling it saves the look at the types of the arguments: the caller answers for them.
    """
    return function if plain.ENABLED else cast(F, library.machine_code(cast(Any, function), arguments))


def parameters_of(function: Callable[..., object]) -> str:
    """Return the names of a function's parameters, separated by commas."""
    return ", ".join(inspect.signature(function).parameters)
