"""Child processes that cannot outlive us: each runs under a reaper that ends its process group when we end."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from hdeeprm_like.batsim import reaper
from hdeeprm_like.errors import ProtocolError, ResultsError
from hdeeprm_like.inputs import read_end
from hdeeprm_like.signals import raised_by

LONGEST_TAIL = 1 << 16  # bytes at the end of a log to search for its last lines


class ReapedProcess:
    """A command that ends when this process does, with its output in a file.

    Attributes:
        name: for messages. log: file of its output.
    """

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        """Start a command.

        Raises:
            OptionsError: there is no such command.
        """
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", reaper.__file__, *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> "ReapedProcess":
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the command, even after an error."""
        self.end()

    def gone(self) -> str | None:
        """Return how the command has ended, None while it runs."""
        status = self._process.poll()
        return None if status is None else f"{self.name} has ended before the simulation did ({in_words(status)})"

    def wait(self, seconds: float) -> int | None:
        """Return its exit status, None if it still runs after *seconds* s."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """End the command and all its children: SIGTERM first, SIGKILL after `reaper.GRACE`."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self.wait(reaper.GRACE + 1.0) is None or self._left():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _left(self) -> bool:
        """Return whether processes of the group have outlived their reaper."""
        try:
            os.killpg(self._process.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def last_lines(self, count: int = 10) -> list[str]:
        """Return the last lines of its output."""
        return last_lines(self.log, count)


def in_words(status: int) -> str:
    """Return an exit status in words."""
    number = -status if status < 0 else status - 128
    if number in {known.value for known in signal.Signals}:
        return signal.Signals(number).name
    return f"exit status {status}"


def last_lines(log: Path, count: int) -> list[str]:
    """Return the last nonempty lines of a file."""
    with contextlib.suppress(ResultsError):
        lines = read_end(log, LONGEST_TAIL, ResultsError).decode(errors="replace").splitlines()
        return [line for line in lines if line.strip()][-count:]
    return []


class Stopped(BaseException):
    """A signal ended this process; not an `Exception`, which agents and libraries may catch."""


@contextmanager
def interruptible(
    thinking_since: Callable[[], float | None], patience: float | None, over: Callable[[], bool]
) -> Iterator[None]:
    """Turn SIGTERM and SIGINT into `Stopped`, and decisions that take longer than *patience* s into `ProtocolError`.

    Does nothing outside the main thread, where signals cannot be handled.

    Args:
        thinking_since: returns when the current decision began on `time.monotonic`, None if there is none.
        over: returns whether only the last files are left, so that finishing is better than stopping.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(number: int) -> BaseException | None:
        if number != signal.SIGALRM:
            return None if over() else Stopped(f"stopped by {signal.Signals(number).name}")
        since = thinking_since()
        if since is None or patience is None or time.monotonic() - since <= patience:
            return None
        return ProtocolError(f"the decision system has not decided for {patience:g} s")

    with raised_by((signal.SIGTERM, signal.SIGINT, signal.SIGALRM), on_signal):
        if patience is not None:
            every = min(1.0, patience / 4)
            signal.setitimer(signal.ITIMER_REAL, every, every)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
