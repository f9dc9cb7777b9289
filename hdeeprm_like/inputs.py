"""Read files: report failures in one clear line, and limit the size.

All input comes through this module, which a test enforces. It refuses files that are not regular (a device has no end,
a pipe may wait forever) and files of more than `largest_input` MB after decompression.
"""

import io
import json
import math
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from hdeeprm_like.errors import HDeepRMError, OptionsError, ResultsError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LIMIT = "HDEEPRM_LIKE_LARGEST_INPUT"  # MB, an environment variable
MEGA = 10**6
USUAL_LIMIT = 128  # MB; 1.5 million jobs of a trace, more than the largest of the archive
READ_AT_ONCE = 2**20  # bytes
MOST_BLANK = 2**20  # consecutive bytes of blanks and line ends; more would take minutes to read
PIECES = "[{<,\n"  # characters that begin or separate values in JSON, XML and CSV
MOST_WALKED = 2**24  # characters of JSON; larger files are workloads and platforms, which nothing walks
DEEPEST = 100  # levels of lists and objects
NESTED = (list, dict)
PIECES_PER_MB = 40_000  # each takes up to 200 bytes once it is read, so that a file at its limit takes 1 GB


def largest_input() -> int:
    """Return the largest size of a file after decompression, in MB.

    Raises:
        OptionsError: the environment says something that is no number of MB.
    """
    text = os.environ.get(LIMIT, "").strip() or str(USUAL_LIMIT)
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:10]) <= 10**6):
        raise OptionsError(f"{LIMIT}: is {text[:40]!r}; a number of MB from 1 to 1000000 is needed")
    return int(text)


class _Bounded(io.RawIOBase):
    """A reader of *source* that raises *error* beyond the size limit, or for nothing but blanks."""

    def __init__(self, source: BinaryIO, path: Path, error: type[HDeepRMError], most: float) -> None:
        self._source, self._path, self._error = source, path, error
        self._most, self._bytes, self._blanks = most, 0, 0

    def readable(self) -> bool:
        """Return that the stream is readable."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Read some bytes."""
        count: int = self._source.readinto(buffer)  # type: ignore[attr-defined]
        self._bytes += count
        if self._bytes > self._most * MEGA:
            raise too_large(self._path, f"{self._most} MB", self._error)
        self._blanks = self._blanks + count if bytes(memoryview(buffer)[:count]).isspace() else 0
        if self._blanks > MOST_BLANK:
            raise self._error(f"{self._path}: holds more than {MOST_BLANK >> 20} MiB of blanks and line ends in a row")
        return count


def too_large(path: Path, limit: str, error: type[HDeepRMError]) -> HDeepRMError:
    """Return the error for a file above the size limit, which names the variable to raise it."""
    return error(f"{path}: holds more than {limit}, once unpacked; if it is the right file, set {LIMIT}=MB higher")


@contextmanager
def reading(path: Path, error: type[HDeepRMError]) -> Iterator[None]:
    """Convert any failure of reading a file to an error of one line."""
    try:
        yield
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except IsADirectoryError:
        raise error(f"{path}: is a folder; a file is needed") from None
    except UnicodeDecodeError as cause:
        raise error(f"{path}: is not UTF-8 text (byte {cause.start})") from cause
    except _unreadable() as cause:
        raise error(f"{path}: cannot be read: {getattr(cause, 'strerror', None) or cause}") from cause


def _unreadable() -> tuple[type[Exception], ...]:
    """Return the exceptions of unreadable files, that of lzma only if lzma is loaded."""
    of_lzma = (sys.modules["lzma"].LZMAError,) if "lzma" in sys.modules else ()
    return OSError, EOFError, zlib.error, ValueError, *of_lzma  # ValueError: a zero byte in the name


def check_regular(path: Path, error: type[HDeepRMError]) -> None:
    """Refuse files without an end, and files that block when opened, such as a pipe without a writer."""
    kind = path.stat().st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise error(f"{path}: is a device, a pipe or a socket; a regular file is needed")


def _unpacked(raw: BinaryIO) -> BinaryIO:
    import gzip  # takes some ms of every start

    return cast(BinaryIO, gzip.open(raw))


@contextmanager
def opened(path: Path, error: type[HDeepRMError], endless: bool = False) -> Iterator["io.BufferedReader[Any]"]:
    """Open an input for reading, unpacked if its name ends in ``.gz`` or its content is that of such a file.

    Args:
        endless: whether it may hold more than `largest_input`, as for a reader that keeps little of it.

    Raises:
        HDeepRMError: as *error* says; it cannot be read, is no regular file, or holds more than `largest_input`.
    """
    with reading(path, error):
        check_regular(path, error)
        most = math.inf if endless else largest_input()
        with open(path, "rb") as file:
            is_packed = path.suffix == ".gz" or file.read(len(GZIP)) == GZIP
        if not is_packed and path.stat().st_size > most * MEGA:
            raise too_large(path, f"{most} MB", error)
        with (
            open(path, "rb") as raw,
            _unpacked(raw) if is_packed else raw as packed,
            io.BufferedReader(_Bounded(packed, path, error, most), READ_AT_ONCE) as data,
        ):
            yield data


GZIP = b"\x1f\x8b"
PACKED: Mapping[bytes, str] = {GZIP: "gzip", b"BZh": "bz2", b"\xfd7zXZ": "lzma"}  # modules that unpack
STANDARD_INPUT = "-"
HEAD = 2**16  # bytes that are looked at before anything is read
MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}  # a PowerShell writes the second


def encoding_of(data: "io.BufferedReader[Any]", path: Path, error: type[HDeepRMError]) -> str:
    """Return the encoding of a text by its first bytes, which stay unread.

    Raises:
        HDeepRMError: as *error* says; it is no text.
    """
    start = data.peek(HEAD)[:HEAD]
    encoding = next((name for mark, name in MARKS.items() if start.startswith(mark)), "utf-8")
    if start.count(0) * 4 > len(start) and encoding != "utf-16":  # one in a name does no harm
        raise error(f"{path}: is no text (byte {start.index(0)} is zero)")
    return encoding


@contextmanager
def opened_whatever_packed(path: Path, error: type[HDeepRMError]) -> Iterator["io.BufferedReader[Any]"]:
    """Open an input for a reader that keeps little of it: of any size, packed by gzip, bzip2 or xz whatever its name.

    ``-`` is the standard input.

    Raises:
        HDeepRMError: as *error* says; it cannot be read, or is no regular file.
    """
    with reading(path, error):
        standard = str(path) == STANDARD_INPUT
        if not standard:
            check_regular(path, error)
        with open(sys.stdin.fileno(), "rb", closefd=False) if standard else open(path, "rb") as raw:
            head = raw.peek(8)[:8]
            packed = next((module for magic, module in PACKED.items() if head.startswith(magic)), None)
            data: Any = raw
            if packed is not None:
                import importlib

                data = importlib.import_module(packed).open(raw, "rb")
            with io.BufferedReader(_Bounded(data, path, error, math.inf), READ_AT_ONCE) as buffered:
                yield buffered


def check_unpacks(packed: bytes, most: int, where: str, error: type[HDeepRMError]) -> None:
    """Refuse bytes that are no gzip data, or that hold more than *most* bytes; discard their content.

    Args:
        where: they come from, for messages.
    """
    held = 0
    try:
        with _unpacked(io.BytesIO(packed)) as data:
            while piece := data.read(READ_AT_ONCE):
                held += len(piece)
                if held > most:
                    raise error(f"{where}: holds more than {most >> 20} MiB, once unpacked")
    except (OSError, EOFError, zlib.error) as cause:
        raise error(f"{where}: is no gzip file: {cause}") from None


def read_bytes(path: Path, error: type[HDeepRMError]) -> bytes:
    """Return the bytes of a file, unpacked if it ends in ``.gz``; raise *error* in one line if it cannot be read."""
    with opened(path, error) as data:
        return data.read()


def read_packed(path: Path, most: int, error: type[HDeepRMError]) -> bytes:
    """Return the bytes of a file of at most so many as they are, packed or not; else raise *error* in one line."""
    with reading(path, error):
        check_regular(path, error)
        if path.stat().st_size > most:
            raise error(f"{path}: has more than {most >> 20} MiB")
        return path.read_bytes()


def read_archive(path: Path, error: type[HDeepRMError]) -> io.BytesIO:
    """Return the content of a file that may be a zip archive, as torch writes them, for a reader that unpacks it.

    Raises:
        HDeepRMError: as *error* says; it cannot be read, or holds more than `largest_input` once it is unpacked.
    """
    import zipfile

    content = io.BytesIO(read_bytes(path, error))
    if zipfile.is_zipfile(content):
        with reading(path, error):
            try:
                held = sum(entry.file_size for entry in zipfile.ZipFile(content).infolist())
            except zipfile.BadZipFile as cause:
                raise error(f"{path}: is a damaged archive: {cause}") from cause
        if held > largest_input() * MEGA:
            raise too_large(path, f"{largest_input()} MB", error)
    content.seek(0)
    return content


def read_end(path: Path, most: int, error: type[HDeepRMError]) -> bytes:
    """Return the last bytes of a file, at most so many; raise *error* in one line if it cannot be read."""
    return read_from(path, max(0, size_of(path, error) - most), error)[:most]


def size_of(path: Path, error: type[HDeepRMError]) -> int:
    """Return how many bytes a regular file has; raise *error* in one line if it is none."""
    with reading(path, error):
        check_regular(path, error)
        return path.stat().st_size


def read_from(path: Path, begin: int, error: type[HDeepRMError]) -> bytes:
    """Return the bytes of a file from a place on; raise *error* in one line if they cannot be read, or are too many."""
    with reading(path, error):
        check_regular(path, error)
        if path.stat().st_size - begin > largest_input() * MEGA:
            raise too_large(path, f"{largest_input()} MB", error)
        with open(path, "rb") as file:
            file.seek(begin)
            return file.read()


def read_text(path: Path, error: type[HDeepRMError], errors: str = "strict") -> str:
    """Return the text of a file, unpacked if it ends in ``.gz``; raise *error* in one line if it cannot be read."""
    with opened(path, error) as data:
        return data.read().decode("utf-8-sig", errors)  # programs of Windows begin a file with a mark


def read_document(path: Path, error: type[HDeepRMError], errors: str = "strict") -> str:
    """Return the text of JSON, XML or CSV if its values fit into 1 GB of memory.

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
        content = json.loads(text, parse_constant=refuse, parse_float=parse_float)
    except json.JSONDecodeError as cause:
        raise error(f"{path}:{cause.lineno}:{cause.colno}: not valid JSON: {cause.msg}") from cause
    except RecursionError as cause:
        raise error(f"{path}: nested too deeply") from cause
    except ValueError as cause:  # an integer of thousands of digits
        raise error(f"{path}: holds a number that is too large") from cause
    if len(text) <= MOST_WALKED and is_deeper(content, DEEPEST):
        raise error(f"{path}: nested too deeply, in more than {DEEPEST} levels")
    return content


def is_deeper(content: Any, levels: int) -> bool:
    """Return whether lists and objects are nested in more than so many levels."""
    inner = [content] if isinstance(content, NESTED) else []
    while inner and levels > 0:
        parts = chain.from_iterable(one.values() if isinstance(one, dict) else one for one in inner)
        inner, levels = [part for part in parts if isinstance(part, NESTED)], levels - 1
    return bool(inner)


def read_object(path: Path, error: type[HDeepRMError]) -> dict[str, Any]:
    """Return the content of a JSON file that is an object; else raise *error* in one line."""
    content = read_json(path, error)
    if not isinstance(content, dict):
        raise error(f"{path}: is no object; it was not written by this program, or is damaged")
    return content


def read_rows(path: Path, columns: Sequence[str], error: type[HDeepRMError]) -> list[dict[str, str]]:
    """Return the rows of a CSV file by the names of its columns.

    Args:
        columns: that it needs; it may have others.

    Raises:
        HDeepRMError: as *error* says; it cannot be read, breaks off, lacks a column, or a row is of another width.
    """
    import csv  # takes some ms of every start

    text = read_document(path, error)
    if text and not text.endswith("\n"):
        raise error(f"{path}: breaks off in its last line")
    lines = csv.reader(io.StringIO(text, newline=""))
    try:
        names = next(lines, [])
        missing = [name for name in columns if name not in names]
        if missing:
            raise error(f"{path}: has no column {missing[0]!r}; it is empty, damaged or another table")
        found = []
        for row in filter(None, lines):
            if len(row) != len(names):
                raise error(f"{path}:{lines.line_num}: has {len(row)} cells; the table has {len(names)} columns")
            found.append(dict(zip(names, row, strict=True)))
        return found
    except csv.Error as cause:
        raise error(f"{path}:{lines.line_num}: is no row of a table: {cause}") from cause


def sha256(*paths: Path) -> str:
    """Return the SHA-256 of the bytes of some files, one after the other.

    Raises:
        ResultsError: one cannot be read.
    """
    import hashlib

    found = hashlib.sha256()
    for path in paths:
        with opened_as_it_is(path) as file:
            while piece := file.read(READ_AT_ONCE):
                found.update(piece)
    return found.hexdigest()


@contextmanager
def opened_as_it_is(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file of any size, packed or not, for a reader that keeps nothing of it.

    Raises:
        ResultsError: it cannot be read.
    """
    with reading(path, ResultsError):
        check_regular(path, ResultsError)
        with open(path, "rb") as file:
            yield file
