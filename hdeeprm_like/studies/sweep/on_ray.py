"""The engine on Ray: a running cluster, or a new one on the processors of this computer."""

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ray
from ray.exceptions import RayError

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.studies.sweep.engine import Call, Engine, Lost, Outcome, Where

TICK = 1.0  # s between two signs of life
ADDRESS = "RAY_ADDRESS"  # the environment variable of Ray that names a cluster
TOLD = 5  # last lines of an error


@contextmanager
def handler_kept(number: int) -> Iterator[None]:
    """Handle a signal after the block as before it; Ray takes SIGTERM, and ends with another status."""
    before = signal.getsignal(number)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(number, before)


@contextmanager
def ray_cluster(where: Where) -> Iterator[Engine]:
    """Open the cluster that ``RAY_ADDRESS`` names, or start one here with a worker per processor.

    Raises:
        OptionsError: the cluster does not answer.
    """
    address = os.environ.get(ADDRESS)
    count = where.workers or os.cpu_count() or 1
    own = {} if address else {"num_cpus": count, "include_dashboard": False}
    numbers = random.getstate()  # Ray draws from Python's own generator, which may be that of a training
    with handler_kept(signal.SIGTERM):
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise OptionsError(f"Ray: {' '.join(str(error).split())[:200]}") from None
        except SystemExit:  # of Ray's own handler, which a signal found before ours was back
            raise KeyboardInterrupt from None
    random.setstate(numbers)
    try:
        there = int(ray.cluster_resources().get("CPU", 1))
        yield OnRay(min(there, where.workers or there))
    finally:
        ray.shutdown()


class OnRay:
    """Calls as tasks of Ray, with a limit; Ray itself never repeats one, because the ledger must record it."""

    def __init__(self, count: int) -> None:
        self.workers: int | None = count
        self._function: Any = None
        self._waiting: list[tuple[int, Call]] = []
        self._running: dict[Any, int] = {}

    def submit(self, function: Callable[..., Any], calls: Sequence[Call]) -> None:
        """Queue calls."""
        self._function = ray.remote(max_retries=0, num_cpus=1)(function)
        self._waiting = list(enumerate(calls))[::-1]

    def results(self) -> Iterator[Outcome | None]:
        """Yield the outcome of each call when it ends."""
        while self._waiting or self._running:
            while self._waiting and len(self._running) < (self.workers or 1):
                number, call = self._waiting.pop()
                self._running[self._function.remote(*call)] = number
            finished, _ = ray.wait(list(self._running), timeout=TICK)
            if not finished:
                yield None
            for reference in finished:
                yield self._running.pop(reference), value_of(reference)


def value_of(reference: Any) -> Any:
    """Return the value of a call, or `Lost` if its worker has died or its function has failed."""
    try:
        return ray.get(reference)
    except RayError as error:
        return Lost("\n".join(str(error).strip().splitlines()[-TOLD:]))
