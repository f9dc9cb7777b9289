"""The engine on the processors of this computer, by the standard library alone."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from typing import Any

from hdeeprm_like.run.workers import workers
from hdeeprm_like.studies.sweep.engine import NO_WORD, Call, Engine, Lost, Outcome, Where

TICK = 1.0  # s between two signs of life


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
