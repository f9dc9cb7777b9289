"""The interface of the engines of a sweep: submit calls, receive outcomes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from hdeeprm_like.errors import OptionsError, ResultsError, did_you_mean
from hdeeprm_like.plugins import function_at

Call: TypeAlias = tuple[Any, ...]  # the arguments of a function
NO_WORD = "the worker has ended without a message"


@dataclass(frozen=True)
class Lost:
    """A failed call: its worker was killed, or the function raised an error.

    Attributes:
        reason: the last lines that it has written, if any.
    """

    reason: str


Outcome: TypeAlias = tuple[int, Any]  # the place of a call among those submitted, and its value or `Lost`


class Engine(Protocol):
    """An engine that runs calls.

    Attributes:
        workers: number of calls that run at a time; None if unknown, as in the queue of a cluster.
    """

    workers: int | None

    def submit(self, function: Callable[..., Any], calls: Sequence[Call]) -> None:
        """Start a function with each of some arguments, all picklable, when no earlier call runs any more."""
        ...

    def results(self) -> Iterator[Outcome | None]:
        """Yield the outcome of each call until none is left; yield None about once a second in between."""
        ...


@dataclass(frozen=True)
class Where:
    """The engine to use, with its limits.

    Attributes:
        engine: one of `ENGINES`. folder: of the work; it holds Slurm's files and logs, and names the jobs.
        workers: most calls at a time; None for all available.
        parameters: of Slurm's jobs, with submitit's names: ``{"partition": "short", "timeout_min": 60}``.
    """

    engine: str
    folder: Path
    workers: int | None = None
    parameters: dict[str, Any] = field(default_factory=dict)


ENGINES = {
    "local": "hdeeprm_like.studies.sweep.local:local",
    "slurm": "hdeeprm_like.studies.sweep.on_slurm:slurm",
}
"""Name of each engine, and the context manager that opens one for a `Where`."""


def engine_named(name: str) -> Callable[[Where], AbstractContextManager[Engine]]:
    """Return the context manager that opens an engine; its calls end with the block.

    Jobs of Slurm go on where the block is interrupted.

    Raises:
        OptionsError: it is not known. ModuleNotFoundError: its package is not installed.
    """
    if name not in ENGINES:
        raise OptionsError(f"engine {name!r} is not known{did_you_mean(name, ENGINES)}")
    return function_at(ENGINES[name])


@contextmanager
def gathering(where: Where) -> Iterator[Callable[..., list[Any]]]:
    """Open an engine, and yield `gathered` on it."""
    with engine_named(where.engine)(where) as engine:
        yield partial(gathered, engine)


def gathered(engine: Engine, function: Callable[..., Any], calls: Sequence[Call]) -> list[Any]:
    """Return the values of some calls in their order, for any assignment to workers; a lost call runs again once.

    Raises:
        ResultsError: a call was lost twice.
    """
    found: list[Any] = [Lost("never begun")] * len(calls)
    for _ in range(2):
        missing = [n for n, value in enumerate(found) if isinstance(value, Lost)]
        engine.submit(function, [calls[n] for n in missing])
        for outcome in engine.results():
            if outcome is not None:
                found[missing[outcome[0]]] = outcome[1]
    for n, value in enumerate(found):
        if isinstance(value, Lost):
            raise ResultsError(f"call {n + 1} of {len(calls)} was lost twice: {value.reason}")
    return found
