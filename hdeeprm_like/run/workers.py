"""Processes that simulate side by side, and end with the one that has started them."""

import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

CHECK = 1.0  # s between two looks at whether the parent is still there


def workers(count: int | None = None) -> ProcessPoolExecutor:
    """Return processes that functions can be submitted to; None for one per processor of this computer."""
    context = get_context("spawn")  # a process that is forked would share the state of our threads
    return ProcessPoolExecutor(
        count or os.cpu_count() or 1, mp_context=context, initializer=end_with_parent, initargs=(os.getpid(),)
    )


def end_with_parent(parent: int) -> None:
    """Let this process end when the one that began it is no more; else it would wait for work for ever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(CHECK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
