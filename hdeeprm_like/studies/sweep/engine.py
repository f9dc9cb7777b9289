"""The seam between what is to be run and where: calls go in, what became of them comes out."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from hdeeprm_like.errors import OptionsError, ResultsError, did_you_mean
from hdeeprm_like.plugins import function_at

Call: TypeAlias = tuple[Any, ...]  # the arguments of a function
NO_WORD = "the worker has ended without a word"


@dataclass(frozen=True)
class Lost:
    """A call that did not come to its end: its worker was killed, or the function has failed.

    Attributes:
        reason: what is known of it, the last lines that it has written.
    """

    reason: str


Outcome: TypeAlias = tuple[int, Any]  # the place of a call among those submitted, and its value or `Lost`


class Engine(Protocol):
    """Where calls are run.

    Attributes:
        workers: how many calls are run at a time; None where nobody can tell, as in the queue of a cluster.
    """

    workers: int | None

    def submit(self, function: Callable[..., Any], calls: Sequence[Call]) -> None:
        """Begin to run a function with each of some arguments, all picklable, once nothing is running any more."""
        ...

    def results(self) -> Iterator[Outcome | None]:
        """Yield what became of each call until none is left; None about once a second while nothing comes in."""
        ...


@dataclass(frozen=True)
class Where:
    """Which engine, and how much of it.

    Attributes:
        engine: one of `ENGINES`. folder: of what is run; Slurm's files and logs go there, and jobs are called after it.
        workers: at most so many calls at a time; None for what there is.
        parameters: of Slurm's jobs, as submitit calls them: ``{"partition": "short", "timeout_min": 60}``.
    """

    engine: str
    folder: Path
    workers: int | None = None
    parameters: dict[str, Any] = field(default_factory=dict)


ENGINES = {
    "local": "hdeeprm_like.studies.sweep.local:local",
    "slurm": "hdeeprm_like.studies.sweep.on_slurm:slurm",
    "ray": "hdeeprm_like.studies.sweep.on_ray:ray_cluster",
}
"""Name of each engine, and the context manager that opens one for a `Where`."""


def engine_named(name: str) -> Callable[[Where], AbstractContextManager[Engine]]:
    """Return what opens an engine.

    Raises:
        OptionsError: it is not known. ModuleNotFoundError: its package is not installed.
    """
    if name not in ENGINES:
        raise OptionsError(f"engine {name!r} is not known{did_you_mean(name, ENGINES)}")
    return function_at(ENGINES[name])


def opened(where: Where) -> AbstractContextManager[Engine]:
    """Open an engine; what it still runs ends with the block, but for jobs of Slurm when the block is interrupted.

    Raises:
        OptionsError: it is not known, or cannot be had here.
    """
    return engine_named(where.engine)(where)


@contextmanager
def gathering(where: Where) -> Iterator[Callable[..., list[Any]]]:
    """Open an engine, and give `gathered` on it."""
    with opened(where) as engine:
        yield partial(gathered, engine)


def gathered(engine: Engine, function: Callable[..., Any], calls: Sequence[Call]) -> list[Any]:
    """Return the values of some calls in their order, whatever worker had which; one that is lost is run once more.

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
