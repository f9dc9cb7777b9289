"""The modes in which a baseline applies its order of the queue: a class for each, which owns all that is its own.

To add a mode, write a module in `decision.policies` with its class, and a line in `MODES`. The names of policies, error
messages, completion, the pages of reference and machine code are made from that. Nothing heavy is imported until a
mode is looked up.
"""

import functools
import re
from collections import ChainMap
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self, get_args, get_origin

from hdeeprm_like.decision.specs import code_of
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.records import Record

if TYPE_CHECKING:
    from hdeeprm_like.engine.bundles import Bundle
    from hdeeprm_like.engine.state import State

IN_ORDER, BY_ARRIVAL, SHORTEST_FIRST = 0, 1, 2  # orders of the candidates for backfilling
GUARANTEED, SCORED, SLURM = "bounded", "scored", "slurm"  # modes that are treated apart in names of policies

MODES: dict[str, str] = {
    "strict": "easy:Strict",
    "greedy": "easy:Greedy",
    "commit": "easy:Commit",
    "easy": "easy:Easy",
    "conservative": "conservative:Conservative",
    "packing": "easy:Packing",
    "easyfcfs": "easy:EasyFcfs",
    "easysjf": "easy:EasySjf",
    "commitbackfill": "easy:CommitBackfill",
    "scored": "scored:ByScore",
    "reserve": "easy:Reserve",
    "slurm": "slurm:LikeSlurm",
    "bounded": "bounded:Bounded",
}
"""The class of each mode, ``module:Class`` in `decision.policies`."""

DECIMAL, WHOLE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?|\.[0-9]{1,6}"), re.compile(r"[0-9]{1,10}")


class Option(NamedTuple):
    """An option of a mode, a number behind a colon in a policy's name.

    Attributes:
        meaning: with its unit. example: as in a name. least, most: what it may be.
    """

    meaning: str
    example: str
    least: float = 0.0
    most: float = float("inf")

    @property
    def text(self) -> str:
        """The meaning, with the range if there is one."""
        if self.most == float("inf"):
            return self.meaning
        return f"{self.meaning}, from {self.least:g} to {self.most:,.12g}"


class Mode(Record):
    """A mode; its fields are its options, in their order, and its docstring says what it does.

    Attributes:
        name: in the names of policies. source: where it was published, empty if here.
        starts: a callback that starts jobs of baseline *k* at a decision, given ``(tables, plans, k)``, or ``(tables,
            plans, memory, k)``, or ``(tables, plans, knowledge, memory, k)``.
        starts_on_nodes: the same on a platform with partitions.
        streams: whether jobs can be streamed through it: it keeps nothing of a job but the job's row.
        candidates: in which order jobs behind the head are examined. looks_at_ends: whether it reads when running jobs
            are expected to end. profiles: whether it reserves for each job, on a profile of what is free at each date.
        serves_itself: whether it sorts the queue of a platform with partitions and looks at its nodes by itself.
        margin: s that pass there from the end of a job to a reservation of its nodes.
    """

    name: ClassVar[str]
    source: ClassVar[str] = ""
    starts: ClassVar[Callable[..., None]]
    starts_on_nodes: ClassVar[Callable[..., None]]
    streams: ClassVar[bool] = False
    candidates: ClassVar[int] = IN_ORDER
    looks_at_ends: ClassVar[bool] = True
    profiles: ClassVar[bool] = False
    serves_itself: ClassVar[bool] = False
    margin: ClassVar[float] = 0.0

    def starting(self, on_nodes: bool) -> Callable[..., None]:
        """Return the callback that starts jobs, with or without partitions."""
        return type(self).starts_on_nodes if on_nodes else type(self).starts

    def new_memory(self, state: "State", baseline: Any, jobs: int) -> "Bundle | None":
        """Return what a baseline remembers between decisions, with capacity for so many jobs; None for nothing."""
        return None

    @property
    def bound(self) -> float:
        """Multiple of the machine's time for all work within which each job is guaranteed to start, 0 without."""
        return 0.0

    @property
    def watches(self) -> bool:
        """Whether a watch sets the priorities of a Slurm, as far as the options say."""
        return False

    @classmethod
    def summary(cls) -> str:
        """Return what it does, in one line."""
        line = (cls.__doc__ or "").partition("\n")[0].removesuffix(".")
        return line[:1].lower() + line[1:]

    @classmethod
    def options(cls) -> dict[str, tuple[type, Option]]:
        """Return the kind of number and the meaning of each option."""
        annotated = ChainMap(*(vars(one).get("__annotations__", {}) for one in cls.__mro__))
        kinds = ((name, annotated[name]) for name in cls.names())
        return {name: get_args(kind)[:2] for name, kind in kinds if get_origin(kind) is Annotated}

    @classmethod
    def form(cls) -> str:
        """Return how it is written with its options: ``reserve[:KEPT[:SHORT]]``."""
        names = [name.upper() for name in cls.options()]
        return cls.name + "".join(f"[:{name}" for name in names) + "]" * len(names)

    @classmethod
    def example(cls) -> str:
        """Return how it looks with its options: ``reserve:64:600``."""
        return ":".join((cls.name, *(option.example for _, option in cls.options().values())))

    @classmethod
    def read(cls, policy: str, text: str | None) -> Self:
        """Return the mode with the options that stand behind its colon, None for no colon.

        Raises:
            OptionsError: it has no such options.
        """
        if text is None:
            return cls()
        options, texts = cls.options(), text.split(":")
        if not options:
            others = [one for one in map(mode_named, MODES) if one.options()]
            raise OptionsError(
                f"baseline {policy!r:.80}: {cls.name!r} has no options; only {', '.join(one.name for one in others)} "
                f"have, as {', '.join(f'saf+{one.example()}' for one in others)}"
            )
        found = [
            number_of_option(one, kind, option) for one, (kind, option) in zip(texts, options.values(), strict=False)
        ]
        if None in found or len(texts) > len(options):
            meanings = "; ".join(f"{name.upper()}: {option.text}" for name, (_, option) in options.items())
            raise OptionsError(
                f"baseline {policy!r:.60}: {cls.name}:{text:.20} is not known; write {cls.form()}, {meanings}; "
                f"as saf+{cls.example()}"
            )
        return cls(**dict(zip(options, found, strict=False)))

    @property
    def text(self) -> str:
        """How it is written in a policy's name, without options that are the usual ones."""
        values = [(getattr(self, name), getattr(type(self), name)) for name in self.options()]
        while values and values[-1][0] == values[-1][1]:
            values.pop()
        return ":".join((self.name, *(f"{value:.12g}" for value, _ in values)))


def number_of_option(text: str, kind: type, option: Option) -> Any:
    """Return the number of an option; None if the text is none or it is out of range."""
    if not (WHOLE if kind is int else DECIMAL).fullmatch(text):
        return None
    value = kind(text)
    return value if option.least <= value <= option.most else None


@functools.cache
def mode_named(name: str) -> type[Mode]:
    """Return the class of a mode."""
    found: type[Mode] = code_of("modes", name, f"policies.{MODES[name]}")
    return found
