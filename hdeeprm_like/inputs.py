"""Reading files so that a failure is one clear line, and so that no file can fill the memory.

All input comes through `opened`, which refuses what is no regular file (a device has no end, a pipe may wait for ever)
and what holds more than `largest_input` MB once it is unpacked.
"""

import io
import json
import math
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from hdeeprm_like.errors import HDeepRMError, OptionsError, ResultsError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LIMIT = "HDEEPRM_LIKE_LARGEST_INPUT"  # MB, an environment variable
MEGA = 10**6
USUAL_LIMIT = 128  # MB; 1.5 million jobs of a trace, of which the largest of the archive has fewer
READ_AT_ONCE = 2**20  # bytes
PIECES = "[{<,\n"  # what begins or parts values in JSON, XML and CSV
PIECES_PER_MB = 40_000  # each takes up to 200 bytes once it is read, so that a file at its limit takes 1 GB


def largest_input() -> int:
    """Return how many MB a file may hold once it is unpacked.

    Raises:
        OptionsError: the environment says something that is no number of MB.
    """
    text = os.environ.get(LIMIT, "").strip() or str(USUAL_LIMIT)
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:10]) <= 10**6):
        raise OptionsError(f"{LIMIT}: is {text[:40]!r}; a number of MB from 1 to 1000000 is needed")
    return int(text)


class _Bounded(io.RawIOBase):
    """Passes on what *source* gives, and raises *error* when that becomes more than may be read."""

    def __init__(self, source: BinaryIO, path: Path, error: type[HDeepRMError], most: float) -> None:
        self._source, self._path, self._error = source, path, error
        self._most, self._bytes = most, 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Read some bytes."""
        count: int = self._source.readinto(buffer)  # type: ignore[attr-defined]
        self._bytes += count
        if self._bytes > self._most * MEGA:
            raise too_large(self._path, f"{self._most} MB", self._error)
        return count


def too_large(path: Path, limit: str, error: type[HDeepRMError]) -> HDeepRMError:
    """Return the error that says that a file holds more than may be read, and how to read it all the same."""
    return error(f"{path}: holds more than {limit}, once unpacked; if it is the right file, set {LIMIT}=MB higher")


@contextmanager
def reading(path: Path, error: type[HDeepRMError]) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one line."""
    try:
        yield
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except IsADirectoryError:
        raise error(f"{path}: is a folder; a file is needed") from None
    except UnicodeDecodeError as cause:
        raise error(f"{path}: is not UTF-8 text (byte {cause.start})") from cause
    except (OSError, EOFError, zlib.error, ValueError) as cause:  # ValueError: a zero byte in the name
        raise error(f"{path}: cannot be read: {getattr(cause, 'strerror', None) or cause}") from cause


def check_regular(path: Path, error: type[HDeepRMError]) -> None:
    """Refuse what would have no end, or what to open would wait for ever, as a pipe without a writer."""
    kind = path.stat().st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise error(f"{path}: is a device, a pipe or a socket; a regular file is needed")


def _unpacked(raw: BinaryIO) -> BinaryIO:
    import gzip  # takes some ms of every start

    return cast(BinaryIO, gzip.open(raw))


@contextmanager
def opened(path: Path, error: type[HDeepRMError], endless: bool = False) -> Iterator[BinaryIO]:
    """Open an input for reading, unpacked if its name ends in ``.gz``.

    Args:
        endless: whether it may hold more than `largest_input`, as for a reader that keeps little of it.

    Raises:
        HDeepRMError: as *error* says; it cannot be read, is no regular file, or holds more than `largest_input`.
    """
    with reading(path, error):
        check_regular(path, error)
        most = math.inf if endless else largest_input()
        if path.suffix != ".gz" and path.stat().st_size > most * MEGA:
            raise too_large(path, f"{most} MB", error)
        with (
            open(path, "rb") as raw,
            _unpacked(raw) if path.suffix == ".gz" else raw as packed,
            io.BufferedReader(_Bounded(packed, path, error, most), READ_AT_ONCE) as data,
        ):
            yield data


def read_text(path: Path, error: type[HDeepRMError], errors: str = "strict") -> str:
    """Return the text of a file, unpacked if it ends in ``.gz``; raise *error* in one line if it cannot be read."""
    with opened(path, error) as data:
        return data.read().decode("utf-8-sig", errors)  # programs of Windows begin a file with a mark


def read_document(path: Path, error: type[HDeepRMError], errors: str = "strict") -> str:
    """Return the text of JSON, XML or CSV, of which so few values can be made that they fit into 1 GB of memory.

    Raises:
        HDeepRMError: as *error* says; it cannot be read, or has too many values.
    """
    text = read_text(path, error, errors)
    most = largest_input() * PIECES_PER_MB
    if sum(map(text.count, PIECES)) > most:
        raise too_large(path, f"{most:,} values", error)
    return text


def read_json(path: Path, error: type[HDeepRMError], parse_float: Callable[[str], float] = float) -> Any:
    """Return the content of a JSON file; NaN and Infinity are refused.

    Args:
        parse_float: reads the numbers that have a fraction or an exponent.
    """

    def refuse(constant: str) -> float:
        raise error(f"{path}: {constant} is not a number that JSON knows")

    text = read_document(path, error)
    try:
        return json.loads(text, parse_constant=refuse, parse_float=parse_float)
    except json.JSONDecodeError as cause:
        raise error(f"{path}:{cause.lineno}:{cause.colno}: not valid JSON: {cause.msg}") from cause
    except RecursionError as cause:
        raise error(f"{path}: nested too deeply") from cause
    except ValueError as cause:  # an integer of thousands of digits
        raise error(f"{path}: holds a number that is too large") from cause


def sha256(*paths: Path) -> str:
    """Return the SHA-256 of the bytes of some files, one after the other.

    Raises:
        ResultsError: one cannot be read.
    """
    import hashlib

    found = hashlib.sha256()
    for path in paths:
        with reading(path, ResultsError), open(path, "rb") as file:
            while piece := file.read(READ_AT_ONCE):
                found.update(piece)
    return found.hexdigest()
