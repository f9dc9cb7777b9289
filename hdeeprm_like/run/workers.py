"""Parallel worker processes that end with the process that started them."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children
from multiprocessing.context import SpawnContext, SpawnProcess

from hdeeprm_like.plugins import Place, trust, trusted
from hdeeprm_like.signals import deferred

CHECK = 1.0  # s between two checks that the parent still exists


class Undisturbed(SpawnProcess):
    """A process whose start no signal interrupts: the child would print that what it is to do breaks off."""

    def start(self) -> None:
        """Start it; a signal counts afterwards."""
        with deferred(signal.SIGTERM, signal.SIGINT):
            super().start()


class Spawning(SpawnContext):
    """Starts processes so."""

    Process = Undisturbed


@contextmanager
def workers(count: int | None = None) -> Iterator[ProcessPoolExecutor]:
    """Yield an executor of worker processes; None for one per processor of this computer.

    If the block ends with an error, such as Ctrl-C, they end at once and their work is lost.
    """
    context = Spawning()  # a forked process would share the state of our threads
    before = set(active_children())
    with ProcessPoolExecutor(
        count or os.cpu_count() or 1, mp_context=context, initializer=begin_worker, initargs=(os.getpid(), trusted())
    ) as executor:
        try:
            yield executor
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            for process in set(active_children()) - before:
                process.kill()
            raise


def begin_worker(parent: int, places: tuple[Place, ...]) -> None:
    """Initialize a worker: trust only the code places of its parent, and end with the parent.

    Args:
        places: as in `plugins.trusting`.
    """
    trust(places)
    end_with_parent(parent)


def end_with_parent(parent: int) -> None:
    """Make this process end when its parent does; otherwise it would wait for work for ever.

    Ctrl-C reaches all processes of a terminal; here the parent ends its workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # with one process per processor, threads would only compete

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(CHECK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
