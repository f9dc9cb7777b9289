"""The first use of a command where no library has the machine code: short runs begin at once, as plain Python.

Compiling takes half a minute, which a run of some seconds need not wait for. A command that knows what its run takes
says so (`expect`). If machine code is missing then, its process begins again with ``HDEEPRM_LIKE_PYTHON=1``, so that
no run is part machine code. Both give the same results. A run that takes longer is compiled; so is the next run, once
all these runs together have taken as long as compiling.
"""

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

COMPILING = 30.0  # s that runs may take together as plain Python until one is compiled
SHOWN = "HDEEPRM_LIKE_SHOWN"  # environment variable: number of log messages shown before the process began again
SPENT = "plain-python-seconds"  # file beside the machine code that is compiled on this machine


class BeginAgain(BaseException):
    """Ends a command in good order, before its process begins again as plain Python."""


_replaceable = False
_expected: tuple[float, bool] | None = None  # s, and whether the user reads about it


@contextmanager
def replaceable(whole: bool) -> Iterator[None]:
    """Mark a command; only the process of a whole command line may begin again.

    Args:
        whole: whether this process was started for the command.
    """
    global _replaceable, _expected
    _replaceable = whole and not any(map(is_read_once, sys.argv[1:]))
    try:
        yield
    finally:
        _replaceable, _expected = False, None


def is_read_once(argument: str) -> bool:
    """Return whether an argument names what a second process could not read again."""
    try:
        return argument == "-" or Path(argument).is_fifo()
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False


def expect(seconds: float, shown: bool = True) -> None:
    """Note what the runs of this command take as plain Python, before they begin.

    Args:
        seconds: infinite if they should be compiled. shown: whether a line says that a run is plain Python.
    """
    global _expected
    if _replaceable:
        _expected = seconds, shown


def begin_again_if_short(folder: Path, compiler: bool) -> None:
    """End the command if its run is short; its machine code is missing.

    Args:
        folder: for machine code compiled on this machine. compiler: whether there is one.

    Raises:
        BeginAgain: it is.
    """
    if _expected is None:
        return
    seconds, shown = _expected
    spent = seconds_in(folder / SPENT) + seconds
    if (spent if compiler else seconds) > COMPILING:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SPENT).write_text(f"{spent:.3f}\n")
    except OSError:
        pass  # a folder that cannot be written keeps no machine code either
    if shown:
        sys.stderr.write(
            f"hdeeprm-like: no machine code is built yet; this run is plain Python, about {max(seconds, 1.0):.0f} s; "
            "python -m hdeeprm_like.build builds it, once\n"
        )
    raise BeginAgain


def seconds_in(path: Path) -> float:
    """Return the number in a file, 0 if there is none or it is no time."""
    try:
        found = float(path.read_text())
    except (OSError, ValueError):
        return 0.0
    return found if 0.0 <= found < math.inf else 0.0


class Messages:
    """A filter of log messages: a process that has begun again shows none a second time.

    Attributes:
        count: of messages in this process.
    """

    def __init__(self) -> None:
        shown = os.environ.pop(SHOWN, "")
        self.shown, self.count = int(shown) if shown.isdecimal() else 0, 0

    def filter(self, record: object) -> bool:
        """Return whether a message is new; they come in the same order again."""
        self.count += 1
        return self.count > self.shown


def begin_again(messages: Messages) -> NoReturn:
    """Replace this process by one that runs the same command as plain Python."""
    sys.stdout.flush()
    sys.stderr.flush()
    environment = {**os.environ, "HDEEPRM_LIKE_PYTHON": "1", SHOWN: str(messages.count)}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
