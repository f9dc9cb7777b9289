"""What values the options of an agent may have: the annotations of its constructor's parameters.

A parameter is an option. Its annotation says of which type it is, and may state bounds and a meaning, from which errors
and the page of reference are made::

    def __init__(self, gamma: float, action_size: int, clip: Annotated[float, POSITIVE, "clipping range"] = 0.2): ...

A wrong value is refused before anything is compiled or played.
"""

import contextlib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, get_type_hints

from hdeeprm_like.errors import OptionsError


class Option(Protocol):
    """What an option may be."""

    @property
    def wanted(self) -> str:
        """Say it, for the message."""
        ...

    def fits(self, value: Any) -> bool:
        """Return whether a value is allowed."""
        ...


@dataclass(frozen=True)
class Number:
    """A number from *least* to *most*, both possible; *above* is not."""

    least: float = -math.inf
    most: float = math.inf
    whole: bool = False
    above: float = -math.inf

    @property
    def wanted(self) -> str:
        """Say it."""
        bounds = [f"{word} {bound:g}" for word, bound in (("from", self.least), ("above", self.above))]
        bounds = [text for text in bounds if not text.endswith("-inf")]
        bounds += [f"to {self.most:,.0f}" if self.whole else f"to {self.most:g}"] if self.most < math.inf else []
        return " ".join(["a whole number" if self.whole else "a number", *bounds])

    def fits(self, value: Any) -> bool:
        """Return whether a value is allowed."""
        kinds = int if self.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds):
            return False
        return self.least <= value <= self.most and value > self.above and abs(value) < math.inf


@dataclass(frozen=True)
class Choice:
    """One of some names."""

    names: tuple[str, ...]

    @property
    def wanted(self) -> str:
        """Say it."""
        return " or ".join(map(repr, self.names))

    def fits(self, value: Any) -> bool:
        """Return whether a value is allowed."""
        return isinstance(value, str) and value in self.names


@dataclass(frozen=True)
class Kind:
    """A value of a type."""

    wanted: str
    types: tuple[type, ...]

    def fits(self, value: Any) -> bool:
        """Return whether a value is allowed."""
        return isinstance(value, self.types) and (bool in self.types or not isinstance(value, bool))


@dataclass(frozen=True)
class Several:
    """A list with valid elements."""

    element: Option

    @property
    def wanted(self) -> str:
        """Say it."""
        return f"a list, in which each is {self.element.wanted}"

    def fits(self, value: Any) -> bool:
        """Return whether a value is allowed."""
        return isinstance(value, list | tuple) and all(map(self.element.fits, value))


SHARE = Number(0.0, 1.0)
POSITIVE = Number(above=0.0)
NOT_NEGATIVE = Number(0.0)
COUNT = Number(1, 2**31 - 1, whole=True)
FLAG = Kind("true or false", (bool,))
BY_TYPE: dict[Any, Option] = {
    int: Number(-(2**31), 2**31 - 1, whole=True),
    float: Number(),
    bool: FLAG,
    str: Kind("a text", (str,)),
}


def constructors(kind: type, until: type) -> list[Callable[..., Any]]:
    """Return the constructors that the options of an agent reach.

    The first is its class's own; one that takes ``**more`` hands on what it does not name, so the one of its base class
    follows. Those of *until* and of its base classes are not among them.
    """
    found: list[Callable[..., Any]] = []
    for base in kind.__mro__[: kind.__mro__.index(until)]:
        if "__init__" in vars(base):
            found.append(vars(base)["__init__"])
            if not takes_more(found[-1]):
                break
    return found or [vars(until)["__init__"]]


def takes_more(constructor: Callable[..., Any]) -> bool:
    """Return whether a constructor accepts arbitrary options."""
    return any(one.kind is one.VAR_KEYWORD for one in inspect.signature(constructor).parameters.values())


def parameters_of(reached: Sequence[Callable[..., Any]]) -> dict[str, inspect.Parameter]:
    """Return what some constructors name, the first of them deciding; not those that take any number of values."""
    several = inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
    found: dict[str, inspect.Parameter] = {}
    for constructor in reached:
        for name, parameter in list(inspect.signature(constructor).parameters.items())[1:]:
            if parameter.kind not in several:
                found.setdefault(name, parameter)
    return found


def options_of(reached: Sequence[Callable[..., Any]]) -> dict[str, tuple[Option | None, str]]:
    """Return what each parameter of some constructors may be, None for anything, and what it means."""
    types: dict[str, Any] = {}
    for constructor in reached:
        with contextlib.suppress(NameError, TypeError):  # a user's file may name types that only a checker knows
            types = {**get_type_hints(constructor, include_extras=True), **types}
    return {name: annotated(types.get(name)) for name in parameters_of(reached)}


def annotated(kind: Any) -> tuple[Option | None, str]:
    """Return what an annotation allows, the bounds in it or those of its type, and the meaning that it states."""
    more = getattr(kind, "__metadata__", ())
    kind = kind.__origin__ if more else kind
    option = next((one for one in more if not isinstance(one, str)), None) or BY_TYPE.get(kind)
    return option, next((one for one in more if isinstance(one, str)), "")


def check_options(reached: Sequence[Callable[..., Any]], options: Mapping[str, Any], where: str) -> None:
    """Refuse values of options that are not possible.

    Args:
        reached: constructors, see `constructors`. where: begins the message.

    Raises:
        OptionsError: a value is not possible; the message says which would be.
    """
    for name, (option, _) in options_of(reached).items():
        if name in options and option is not None and not option.fits(options[name]):
            raise OptionsError(f"{where}.{name} is {options[name]!r:.60}; {option.wanted} is needed")
