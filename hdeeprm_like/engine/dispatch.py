"""Dispatch of compiled functions by number, and checks that no number of a table is forgotten.

Each kind of thing with a number has a table by name (`ORDERS`, `OBJECTIVES`) and one from the number to its function.
`by_number` builds the chain of branches from the second table; `check_numbers`, called beside it, raises at import if a
name of the first table has no entry in the second, before anything can be computed wrongly.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])


class ForgottenBranchError(LookupError):
    """A table names something that the code which dispatches on it does not handle."""


def by_number(argument: str, functions: Mapping[int, Callable[..., object]]) -> Callable[[F], F]:
    """Make a compiled function that calls one of several by a number; a decorator below `compiled` or `inlined`.

    Args:
        argument: name of the parameter that is the number; the functions take all other parameters.
        functions: compiled functions by number. The decorated function handles all other numbers.
    """

    def chain(otherwise: F) -> F:
        names = list(inspect.signature(otherwise).parameters)
        passed = ", ".join(name for name in names if name != argument)
        calls = {f"function_{number}": function for number, function in functions.items()}
        branches = "".join(
            f"    if {argument} == {number}:\n        return {call}({passed})\n"
            for number, call in zip(functions, calls, strict=True)
        )
        every = ", ".join(names)
        above = "\n" * (otherwise.__code__.co_firstlineno - 1)  # numba reports the lines of a function
        source = f"{above}def {otherwise.__name__}({every}):\n{branches}    return otherwise({every})\n"
        place: dict[str, Any] = {**calls, "otherwise": inlined_in(otherwise), "__name__": otherwise.__module__}
        exec(compile(source, inspect.getfile(otherwise), "exec"), place)  # only names of our own functions go in
        return cast(F, functools.wraps(otherwise)(place[otherwise.__name__]))

    return chain


def check_numbers(
    kind: str, names: Mapping[str, int], known: Collection[int], where: str, count: int | None = None
) -> None:
    """Raise if a table names a number that the code behind it does not handle.

    Args:
        kind: what the table holds, for the message. known: numbers that have a function or a branch.
        where: the place of these, for the message. count: number of places, if arrays have one per number.

    Raises:
        ForgottenBranchError: a name has no function, or its number no place.
    """
    for name, number in names.items():
        if number not in known:
            raise ForgottenBranchError(f"{kind}: {name!r} has the number {number}, which has no function in {where}")
        if count is not None and not 0 <= number < count:
            raise ForgottenBranchError(f"{kind}: {name!r} has the number {number}; there are places for {count}")


def check_names(kind: str, names: Iterable[str | int], known: Iterable[str | int], where: str) -> None:
    """Raise if the names or numbers of a table, or their order, differ from those in the code behind it.

    Args:
        kind, where: as in `check_numbers`.

    Raises:
        ForgottenBranchError: they differ.
    """
    listed, found = list(names), list(known)
    if listed != found:
        one = next((name for name in listed if name not in found), None)
        other = next((name for name in found if name not in listed), None)
        what = "not in the order of" if other is None else f"{other!r} is only in"
        what = what if one is None else f"{one!r} is not in"
        raise ForgottenBranchError(f"{kind}: {what} {where}")


def numbered(constants: Mapping[str, Any], prefix: str, numbers: Iterable[int]) -> list[str]:
    """Return the names of a module's constants for some numbers: ``["log_wait"]`` of ``F_LOG_WAIT = 16``."""
    names = {value: name for name, value in constants.items() if name.startswith(prefix)}
    return [names[number].removeprefix(prefix).lower() for number in numbers]


def inlined_in(otherwise: Callable[..., object]) -> Callable[..., object]:
    """Inline the function for all other numbers into the chain."""
    from hdeeprm_like.engine.compiled import inlined

    return inlined(otherwise)
