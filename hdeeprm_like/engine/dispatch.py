"""Dispatch of compiled functions by number, and checks that no number of a table is forgotten.

Each kind of thing with a number has a table by name (`ORDERS`, `OBJECTIVES`) and one from the number to its function.
`by_number` makes branches of the second table; `check_numbers`, called beside it, raises at import if a
name of the first table has no entry in the second, before anything can be computed wrongly.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

R = TypeVar("R")


class ForgottenBranchError(LookupError):
    """A table names something that the code which dispatches on it does not handle."""


class ByNumber:
    """A stand-in for several compiled functions with the same parameters, chosen in a run by a number before these.

    Attributes:
        functions: by their numbers. otherwise: what it returns for all other numbers, if the functions return floats.
    """

    def __init__(self, functions: Mapping[int, Any], otherwise: float) -> None:
        self.functions, self.otherwise = functions, otherwise

    def __call__(self, number: int, *arguments: object) -> Any:
        """Call a function in plain Python; compiled functions branch."""
        function = self.functions.get(int(number))
        return self.otherwise if function is None else function(*arguments)


def by_number(functions: Mapping[int, Callable[..., R]], otherwise: float = math.nan) -> Callable[..., R]:
    """Return what calls one of some compiled functions by a number, its first argument, with all other arguments."""
    return ByNumber(functions, otherwise)


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
