"""Handle signals by raising an error, and raise it again if it was lost.

An error raised in a Python function that C code has called, as LLVM does while it compiles, is lost: Python prints it
and continues. In this case nothing is printed and the signal is sent again a little later; an error still lost at the
end goes to an enclosing `raised_by`, if there is one. C code, or Python while it creates a class, may replace the error
by another one; it is then restored.
"""

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

AGAIN = 0.05  # s until a lost error is raised again
SOON = 2.0  # s within which a later error counts as caused by that of the signal


_ours: set[Any] = set()  # handlers of this module


@contextmanager
def raised_by(numbers: Iterable[int], error: Callable[[int], BaseException | None]) -> Iterator[None]:
    """Raise an error in the main thread when a signal arrives, at any place of the program.

    Outside the main thread, where signals cannot be handled, this does nothing.

    Args:
        numbers: of the signals.
        error: returns the error to raise for the number of a signal; None ignores the signal. Prefer an error that is
            no `Exception`, because libraries may catch those.
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
    except (HDeepRMError, OSError, MemoryError):  # these become one line, whatever came before
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


@contextmanager
def deferred(*numbers: int) -> Iterator[None]:
    """Hold signals back until the block ends. Outside the main thread, where none is handled, this does nothing.

    A mask would not do: another thread receives the signal then, and the main thread handles it all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    before = {number: signal.signal(number, lambda number, frame: arrived.append(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in arrived:
            os.kill(os.getpid(), number)
