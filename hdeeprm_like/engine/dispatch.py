"""Compiled functions that do one of several things by a number, and checks that none of these numbers is forgotten.

Each kind of thing with a number has a table by name (`ORDERS`, `OBJECTIVES`) and one from the number to its function.
`by_number` makes the chain of branches from the second; `check_numbers`, called where that stands, refuses a name of
the first without an entry of the second when the module is imported, before anything can be computed wrongly.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])


class ForgottenBranchError(LookupError):
    """A table names something that the code which dispatches on it does not know."""


def by_number(argument: str, functions: Mapping[int, Callable[..., object]]) -> Callable[[F], F]:
    """Make a function for numba that calls one of several by a number; it stands below `compiled` or `inlined`.

    Args:
        argument: the name of the parameter that is the number; the functions take all other parameters.
        functions: compiled functions by number. What is decorated answers for all other numbers.
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
        above = "\n" * (otherwise.__code__.co_firstlineno - 1)  # numba says where a function stands
        source = f"{above}def {otherwise.__name__}({every}):\n{branches}    return otherwise({every})\n"
        place: dict[str, Any] = {**calls, "otherwise": inlined_in(otherwise), "__name__": otherwise.__module__}
        exec(compile(source, inspect.getfile(otherwise), "exec"), place)  # names of our own functions alone go in
        return cast(F, functools.wraps(otherwise)(place[otherwise.__name__]))

    return chain


def check_numbers(
    kind: str, names: Mapping[str, int], known: Collection[int], where: str, count: int | None = None
) -> None:
    """Refuse a table that names a number which the code behind it does not know.

    Args:
        kind: what the table holds, for the message. known: numbers that have a function or a branch.
        where: these are found, for the message. count: of all numbers, where arrays have so many places.

    Raises:
        ForgottenBranchError: a name has no function, or its number no place.
    """
    for name, number in names.items():
        if number not in known:
            raise ForgottenBranchError(f"{kind}: {name!r} has the number {number}, which has no function in {where}")
        if count is not None and not 0 <= number < count:
            raise ForgottenBranchError(f"{kind}: {name!r} has the number {number}; there are places for {count}")


def check_names(kind: str, names: Iterable[str | int], known: Iterable[str | int], where: str) -> None:
    """Refuse a table that has other names or numbers, or in another order, than the code behind it writes down.

    Args:
        kind, where: as of `check_numbers`.

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


def inlined_in(otherwise: Callable[..., object]) -> Callable[..., object]:
    """Compile what answers for all other numbers into the chain."""
    from hdeeprm_like.engine.compiled import inlined

    return inlined(otherwise)
