"""Runs a command, and ends it with all its children when its parent ends or asks for that.

A separate script, started as the leader of a process group with a pipe as its standard input::

    python reaper.py COMMAND [ARGUMENT ...]

The pipe closes when the parent ends, in whatever way. Exit status: the command's, 128 + n if signal n ended it, 127 if
there is no such command.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time

GRACE = 5.0  # s between SIGTERM and SIGKILL
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def end_with_parent() -> None:
    """Make Linux kill this process when the reaper is killed; on other systems only the group's end does."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)


def wait(child: "subprocess.Popen[bytes]", parent: int, signals: int) -> bool:
    """Wait until the child has ended or must be ended; return whether it has ended."""
    while child.poll() is None:
        ready, _, _ = select.select([parent, signals], [], [])
        if parent in ready and not os.read(parent, 1):
            return False
        if signals in ready and signal.SIGTERM in os.read(signals, 64):
            return False
    return True


def end_group(child: "subprocess.Popen[bytes]") -> None:
    """Terminate all processes of the group, and kill them, including this one, if the child does not end."""
    os.killpg(0, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    if child.poll() is None:
        os.killpg(0, signal.SIGKILL)


def main(command: list[str]) -> int:
    """Run a command and reap it; return its exit status."""
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    signals, wakeup = os.pipe()
    for end in (signals, wakeup):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wakeup)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return 127
    ended = wait(child, sys.stdin.fileno(), signals)
    end_group(child)
    status = child.wait()
    return status if status >= 0 and ended else 128 + abs(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
