"""Signals that raise an error, and raise it again where the first one was lost."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from hdeeprm_like.errors import HDeepRMError

AGAIN = 0.05  # s until what was lost is raised once more


@contextmanager
def raised_by(numbers: Iterable[int], error: Callable[[int], BaseException | None]) -> Iterator[None]:
    """Let signals raise an error in the main thread, wherever it is.

    Where C has called a function of Python's, as LLVM does while it makes machine code, an error can be raised to
    nobody: Python would print it and go on. The signal is then sent anew, a little later, and nothing is printed. Where
    code in C, or Python itself while it makes a class, makes another error of it, it takes that one's place again.
    Does nothing outside the main thread, where signals cannot be handled.

    Args:
        numbers: of the signals.
        error: returns what a signal raises by its number; None lets the signal pass. Best no `Exception`, which
            libraries may catch.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    raised: BaseException | None = None
    by = 0
    later: threading.Timer | None = None

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal raised, by
        found = error(number)
        if found is not None:
            raised, by = found, number
            raise found

    def lost(unraisable: "sys.UnraisableHookArgs") -> None:
        nonlocal later
        if raised is None or not issubclass(unraisable.exc_type, type(raised)):
            hook(unraisable)
            return
        later = threading.Timer(AGAIN, os.kill, (os.getpid(), by))
        later.daemon = True
        later.start()

    hook, before = sys.unraisablehook, {number: signal.signal(number, stop) for number in numbers}
    sys.unraisablehook = lost
    try:
        yield
    except (HDeepRMError, OSError, MemoryError):  # one line tells of these, whatever came before
        raise
    except Exception as other:
        if raised is None or other is raised:
            raise
        raise raised from other
    finally:
        if later is not None:
            later.cancel()
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
