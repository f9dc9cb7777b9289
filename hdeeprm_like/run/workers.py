"""Processes that simulate side by side, and end with the one that has started them."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context

from hdeeprm_like.plugins import Place, trust, trusted

CHECK = 1.0  # s between two looks at whether the parent is still there


@contextmanager
def workers(count: int | None = None) -> Iterator[ProcessPoolExecutor]:
    """Give processes that functions can be submitted to; None for one per processor of this computer.

    Where the block ends with an error, as with Ctrl-C, they end at once and what they were at is lost.
    """
    context = get_context("spawn")  # a process that is forked would share the state of our threads
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
    """Run no other code in this process than its parent may run, and end with that.

    Args:
        places: as in `plugins.trusting`.
    """
    trust(places)
    end_with_parent(parent)


def end_with_parent(parent: int) -> None:
    """Let this process end when the one that began it is no more; else it would wait for work for ever.

    Ctrl-C goes to all processes of a terminal; here it is the parent that ends its workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # there is a process for each processor: threads would only compete

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(CHECK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
