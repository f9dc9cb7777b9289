"""The interface of the engines of a sweep, submit calls and receive outcomes, and the engine on this computer."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from hdeeprm_like.errors import OptionsError, ResultsError, did_you_mean
from hdeeprm_like.plugins import function_at
from hdeeprm_like.run.workers import workers

Call: TypeAlias = tuple[Any, ...]  # the arguments of a function
TICK = 1.0  # s between two signs of life of the engine on this computer
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
    "local": "hdeeprm_like.studies.sweep.engine:local",
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


@contextmanager
def local(where: Where) -> Iterator[Engine]:
    """Open processes of this computer, by default one per processor."""
    with ExitStack() as stack:
        yield Local(where.workers or os.cpu_count() or 1, stack)


class Local:
    """Processes that are each a pool of their own: when one dies, the others continue, and its call is known."""

    def __init__(self, count: int, stack: ExitStack) -> None:
        self.workers: int | None = count
        self._stack = stack
        self._free: list[ProcessPoolExecutor] = []
        self._begun = 0
        self._waiting: deque[tuple[int, Callable[..., Any], Call]] = deque()
        self._running: dict[Future[Any], tuple[int, ProcessPoolExecutor]] = {}

    def submit(self, function: Callable[..., Any], calls: Sequence[Call]) -> None:
        """Queue calls."""
        self._waiting += [(n, function, call) for n, call in enumerate(calls)]

    def results(self) -> Iterator[Outcome | None]:
        """Yield the outcome of each call when it ends."""
        while self._waiting or self._running:
            while self._waiting and (pool := self._pool()) is not None:
                number, function, call = self._waiting.popleft()
                self._running[pool.submit(function, *call)] = number, pool
            finished, _ = wait(self._running, TICK, FIRST_COMPLETED)
            if not finished:
                yield None
            for future in finished:
                yield self._outcome(future)

    def _pool(self) -> ProcessPoolExecutor | None:
        """Return an idle process; None if all are busy."""
        if self._free:
            return self._free.pop()
        if self._begun == self.workers:
            return None
        self._begun += 1
        return self._stack.enter_context(workers(1))

    def _outcome(self, future: Future[Any]) -> Outcome:
        number, pool = self._running.pop(future)
        error = future.exception()
        if isinstance(error, BrokenProcessPool):
            self._begun -= 1  # another process replaces it
            return number, Lost(f"{NO_WORD}: it was killed, or has run out of memory")
        self._free.append(pool)
        return number, future.result() if error is None else Lost(f"{type(error).__name__}: {error}")
