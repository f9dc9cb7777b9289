"""Frozen records without the module ``dataclasses``, for what short commands load at their start.

A dataclass compiles the text of its methods, which takes thirty times as long as a class of this kind, and importing
``dataclasses`` imports ``inspect``. An instance takes longer to make than that of a dataclass, so the rows of long
files are none of these.
"""

from typing import Any, ClassVar, NoReturn, Self, dataclass_transform


@dataclass_transform(frozen_default=True)
class Record:
    """A base class that makes a frozen dataclass of what is annotated in its subclasses, for type checkers too."""

    _names: ClassVar[tuple[str, ...]] = ()
    __match_args__ = _names  # as a dataclass has them

    def __init_subclass__(cls) -> None:
        """Take note of the fields, those of the base class first."""
        annotated = cls.__annotations__.items()
        own = [name for name, kind in annotated if getattr(kind, "__origin__", kind) is not ClassVar]
        cls._names = cls.__match_args__ = tuple(dict.fromkeys((*cls._names, *own)))

    def __init__(self, *values: Any, **named: Any) -> None:
        """Set the fields, in their order or by name; a default is the value of the class."""
        given = dict(zip(self._names, values, strict=False)) | named
        unknown = given.keys() - set(self._names)
        missing = [name for name in self._names if name not in given and not hasattr(self, name)]
        if unknown or missing or len(given) != len(values) + len(named):
            raise TypeError(
                f"{type(self).__name__}: fields {', '.join(self._names)}; unknown {unknown}, missing {missing}"
            )
        self.__dict__.update(given)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the fields, in their order."""
        return cls._names

    def replaced(self, **changes: Any) -> Self:
        """Return a record with other values of some fields."""
        return type(self)(**(self._values() | changes))

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names}

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse changes."""
        raise AttributeError(f"{type(self).__name__}: {name} cannot be changed")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Record) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *self._values().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._values().items())})"
