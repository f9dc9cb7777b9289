"""Signals that raise an error, and raise it again where the first one was lost."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from hdeeprm_like.errors import HDeepRMError

AGAIN = 0.05  # s until what was lost is raised once more
SOON = 2.0  # s within which another error that comes after a signal's is taken for one that was made of it


_ours: set[Any] = set()  # the handlers that are set here


@contextmanager
def raised_by(numbers: Iterable[int], error: Callable[[int], BaseException | None]) -> Iterator[None]:
    """Let signals raise an error in the main thread, wherever it is.

    Where C has called a function of Python's, as LLVM does while it makes machine code, an error can be raised to
    nobody: Python would print it and go on. The signal is then sent anew, a little later, and nothing is printed; what
    is lost last of all is handed to the `raised_by` around this one, if there is one. Where code in C, or Python itself
    while it makes a class, makes another error of it, it takes that one's place again. Does nothing outside the main
    thread, where signals cannot be handled.

    Args:
        numbers: of the signals.
        error: returns what a signal raises by its number; None lets the signal pass. Best no `Exception`, which
            libraries may catch.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    raised: BaseException | None = None
    by, at = 0, 0.0
    later: threading.Timer | None = None

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal raised, by, at
        found = error(number)
        if found is not None:
            raised, by, at = found, number, time.monotonic()
            raise found

    def lost(unraisable: "sys.UnraisableHookArgs") -> None:
        nonlocal later
        if raised is None or not issubclass(unraisable.exc_type, type(raised)):
            hook(unraisable)
            return
        if later is not None:
            later.cancel()
        later = threading.Timer(AGAIN, os.kill, (os.getpid(), by))
        later.daemon = True
        later.start()

    _ours.add(stop)
    hook, before = sys.unraisablehook, {number: signal.signal(number, stop) for number in numbers}
    sys.unraisablehook = lost
    try:
        yield
    except (HDeepRMError, OSError, MemoryError):  # one line tells of these, whatever came before
        raise
    except Exception as other:
        if raised is None or other is raised or time.monotonic() > at + SOON:
            raise
        raise raised from other
    finally:
        pending = later is not None and later.is_alive()
        if later is not None:
            later.cancel()
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
        _ours.discard(stop)
        if pending and before.get(by) in _ours:
            os.kill(os.getpid(), by)
