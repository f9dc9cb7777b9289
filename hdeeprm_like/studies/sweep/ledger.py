"""The results of the tasks: files of lines, each file written by one worker, each line complete or ignored.

A line is ``{"key": ..., "seconds": ..., "figures": {...}}`` or ``{"key": ..., "error": "..."}``. A worker that is
killed while it writes leaves a line without an end, which is ignored.
"""

import fcntl
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.inputs import check_regular, opened_as_it_is, read_bytes, read_from
from hdeeprm_like.values import whole_in

RESULTS = "results"  # the folder of the files
LINES = "*.jsonl"


def file_of(folder: Path, name: str) -> Path:
    """Return the file of a chunk."""
    return folder / RESULTS / f"{name}.jsonl"


class Lines:
    """Appends lines to a file.

    Attributes:
        keys: of the tasks that have lines in the file.
    """

    def __init__(self, file: BinaryIO, keys: set[str]) -> None:
        self._file = file
        self.keys = keys

    def add(self, line: dict[str, Any]) -> None:
        """Write a line; the operating system has it when this returns."""
        self._file.write(json.dumps(line, allow_nan=False).encode() + b"\n")
        self._file.flush()


@contextmanager
def appending(path: Path) -> Iterator[Lines]:
    """Open a file of lines; keep only the complete lines of an earlier worker.

    While the file is open, a restarted sweep waits before it reads the ledger (see `Ledger.read`).

    Raises:
        ResultsError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            check_regular(path, ResultsError)
        with path.open("ab") as file:
            with suppress(OSError):  # file systems without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            whole = read_bytes(path, ResultsError)
            whole = whole[: whole.rfind(b"\n") + 1]
            file.truncate(len(whole))
            yield Lines(file, keys_in(path, whole))
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror or error}") from error


def keys_in(path: Path, content: bytes) -> set[str]:
    """Return the keys of the tasks with complete lines in a file.

    Raises:
        ResultsError: a line belongs to no sweep.
    """
    try:
        return {str(json.loads(line)["key"]) for line in content[: content.rfind(b"\n") + 1].splitlines()}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ResultsError(f"{path}: has a line that no sweep has written") from error


class Ledger:
    """The results of the tasks of a sweep.

    Attributes:
        folder: of the sweep. done: by key, the first line with figures. errors: by key, the last error.
        failures: by key, number of failures since the count was cleared.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: dict[str, dict[str, Any]] = {}
        self.errors: dict[str, str] = {}
        self.failures: Counter[str] = Counter()
        self._read: dict[Path, int] = {}  # bytes

    def read(self, wait: bool = False) -> None:
        """Read the lines written since the last time.

        Args:
            wait: for workers that still write, as those of a killed sweep do for a moment.

        Raises:
            ResultsError: a file cannot be read, or another program wrote to it.
        """
        for path in sorted((self.folder / RESULTS).glob(LINES)):
            begin = self._read.get(path, 0)
            if wait:
                with opened_as_it_is(path) as file, suppress(OSError):  # file systems without locks
                    fcntl.flock(file, fcntl.LOCK_SH)
            new = read_from(path, begin, ResultsError)
            new = new[: new.rfind(b"\n") + 1]
            self._read[path] = begin + len(new)
            for line in new.splitlines():
                self._take(path, line)

    def _take(self, path: Path, line: bytes) -> None:
        try:
            told = json.loads(line)
            key = told["key"]
            if "error" in told:
                self.errors[key] = str(told["error"])
                self.failures[key] += 1
            else:
                self.done.setdefault(key, {"seconds": told["seconds"], "figures": told["figures"]})
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ResultsError(f"{path}: has a line that no sweep has written: {line[:60]!r}") from error

    def told_by(self, name: str) -> set[str]:
        """Return the keys of the tasks with lines in a chunk's file."""
        path = file_of(self.folder, name)
        if not path.exists():
            return set()
        return keys_in(path, read_bytes(path, ResultsError))

    def next_name(self) -> str:
        """Return a prefix for the files of a new round, different from all existing ones."""
        numbers = [path.name.partition("-")[0] for path in (self.folder / RESULTS).glob(LINES)]
        return f"{1 + max(map(whole_in, numbers), default=0):04}"
