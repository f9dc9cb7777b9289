"""Writing of files: errors become one clear line, and files are never half written; `inputs` reads them."""

import fcntl
import glob
import io
import json
import logging
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.inputs import check_regular

log = logging.getLogger(__name__)

RANDOM = 12  # random hexadecimal digits at the end of names of temporary files


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Open a text file that replaces *path* when the block succeeds, and is removed when it fails.

    It is packed if its name ends in ``.gz``; equal texts give equal bytes.

    Raises:
        ResultsError: the folder cannot be written, the disk is full, or a text holds half a surrogate pair.
    """
    try:
        with (
            replacing_bytes(path) as raw,
            packed(raw, path) as data,
            io.TextIOWrapper(data, encoding="utf-8", newline="\n") as file,
        ):
            yield file
    except UnicodeEncodeError as error:  # as JSON may hold it, in the name of a job or of a figure
        raise ResultsError(
            f"{path}: cannot be written: it would hold half a surrogate pair, which is no text"
        ) from error


def packed(raw: BinaryIO, path: Path) -> BinaryIO:
    """Return a packing stream onto *raw* if the file's name ends in .gz, else *raw* itself."""
    if path.suffix != ".gz":
        return raw
    import gzip

    return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0))


@contextmanager
def replacing_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file as `replacing` does, for bytes.

    Raises:
        ResultsError: the folder cannot be written, or the name belongs to a folder, a device, a pipe or a socket.
    """
    try:
        if path.exists():
            check_regular(path, ResultsError)  # root could replace a device by a file
            if path.is_dir():
                raise ResultsError(f"{path}: is a folder; a file is to be written there")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.urandom(RANDOM // 2).hex()}")  # `tidy` finds it
        handle = os.open(
            temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600
        )  # like `tempfile`, which is slow to import
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror or error}") from error
    try:
        with open(handle, "wb") as file:
            yield file
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:  # a full disk
        temporary.unlink(missing_ok=True)
        raise ResultsError(f"{path}: cannot be written: {error.strerror or error}") from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_not_read(flag: str, written: Path, *read: Path | None) -> None:
    """Raise an `OptionsError` if what a command writes would replace a file that it reads."""
    for path in filter(None, read):
        if os.path.exists(written) and os.path.exists(path) and os.path.samefile(written, path):
            raise OptionsError(f"{flag}{written}: is read by the same command; the name of another file is needed")


def tidy(folder: Path, *names: str) -> None:
    """Remove what a killed process has left of files that `replacing_bytes` was writing in a folder.

    No other process may be writing there, see `alone_in`.

    Args:
        names: of the files.
    """
    for name in names:
        for left in folder.glob(f".{glob.escape(name)}.{'[0-9a-f]' * RANDOM}"):
            if left.is_file() and not left.is_symlink():
                left.unlink(missing_ok=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Create a folder for results and lock out other commands until the block ends; a new one still empty then goes.

    The lock is the operating system's, on the folder itself: it leaves no file and ends with the process.

    Raises:
        ResultsError: another command is writing there, or the folder cannot be created.
    """
    existed = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be written: {error.strerror or error}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultsError(f"{folder}: another command is writing there; wait for it or name another") from None
        except OSError as error:  # file systems without locks
            log.debug("%s: cannot be locked: %s", folder, error)
        yield
    finally:
        if not existed:
            with suppress(OSError):  # something is there
                folder.rmdir()
        os.close(handle)


def write_lines(path: Path, values: Iterable[object]) -> None:
    """Write one value per line, see `replacing`."""
    with replacing(path) as file:
        file.writelines(f"{value}\n" for value in values)


def write_csv(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write some columns of rows as CSV, see `replacing`."""
    import csv  # takes some ms of every start

    with replacing(path) as file:
        writer = csv.DictWriter(file, [*columns], extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def null_for_nan(content: Any) -> Any:
    """Return content for JSON, which holds only finite numbers: unknown ones become null, at any depth."""
    if isinstance(content, dict):
        return {name: null_for_nan(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [null_for_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def write_json(path: Path, content: Any, indent: int | None = 2) -> None:
    """Write *content* as JSON, replacing *path*."""
    with replacing(path) as file:
        json.dump(content, file, indent=indent, allow_nan=False)
        file.write("\n")
