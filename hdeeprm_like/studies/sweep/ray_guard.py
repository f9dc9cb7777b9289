"""Ends the processes of a cluster of Ray that a command has started here, once that command ends, however it ends.

Run as a separate script, with a pipe as its standard input that closes with the parent::

    python ray_guard.py MARK

Ray ends its server and its scheduler itself. Their agents, and workers that still begin, notice up to a minute later,
because they wait for the server that has gone.
"""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

MARK = "HDEEPRM_LIKE_RAY"  # an environment variable that Ray's processes inherit
PROCESSES = "/proc"  # of Linux; Ray starts its own guard on other systems
AGAIN = 0.05  # s between two looks
LONGEST = 4.0  # s after which this gives up


@contextmanager
def guarding() -> Iterator[None]:
    """End the processes that the block starts when the block or this process ends."""
    mark = uuid.uuid4().hex
    # a session of its own: Ctrl+C in a terminal is for the parent alone
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, mark], stdin=subprocess.PIPE, start_new_session=True
    )
    os.environ[MARK] = mark
    try:
        yield
    finally:
        os.environ.pop(MARK, None)
        guard.communicate()


def marked(mark: bytes) -> list[int]:
    """Return the processes that have a mark in their environment."""
    found = []
    for name in filter(str.isdigit, os.listdir(PROCESSES)):
        with suppress(OSError), open(f"{PROCESSES}/{name}/environ", "rb") as file:
            if mark in file.read():
                found.append(int(name))
    return found


def main(mark: str) -> None:
    """Wait until the parent has ended or closes the pipe, then kill what has the mark."""
    sys.stdin.buffer.read()
    if not os.path.isdir(PROCESSES):
        return
    last = time.monotonic() + LONGEST
    while (left := marked(f"{MARK}={mark}".encode())) and time.monotonic() < last:
        for number in left:
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)
        time.sleep(AGAIN)


if __name__ == "__main__":
    main(sys.argv[1])
