"""Reading and writing files so that a failure is one clear line and never half a file."""

import io
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from hdeeprm_like.errors import HDeepRMError, ResultsError


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes the place of *path* when the block ends well, and vanishes when it does not.

    It is packed if its name ends in ``.gz``; equal texts give equal bytes.

    Raises:
        ResultsError: the folder cannot be written, or the disk is full.
    """
    with (
        replacing_bytes(path) as raw,
        packed(raw, path) as data,
        io.TextIOWrapper(data, encoding="utf-8", newline="\n") as file,
    ):
        yield file


def packed(raw: BinaryIO, path: Path) -> BinaryIO:
    """Return what packs all that is written to *raw*, or *raw* itself, as the name of the file says."""
    if path.suffix != ".gz":
        return raw
    import gzip

    return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0))


@contextmanager
def replacing_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file as `replacing` does, for bytes.

    Raises:
        ResultsError: the folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror or error}") from error
    temporary = Path(name)
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


def read_text(path: Path, error: type[HDeepRMError], errors: str = "strict") -> str:
    """Return the text of a file, unpacked if it ends in ``.gz``; raise *error* in one line if it cannot be read."""
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            import gzip

            data = gzip.decompress(data)
        return data.decode("utf-8", errors)
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except IsADirectoryError:
        raise error(f"{path}: is a folder; a file is needed") from None
    except UnicodeDecodeError as cause:
        raise error(f"{path}: is not UTF-8 text (byte {cause.start})") from cause
    except (OSError, EOFError, zlib.error) as cause:
        raise error(f"{path}: cannot be read: {getattr(cause, 'strerror', None) or cause}") from cause


def read_json(path: Path, error: type[HDeepRMError], parse_float: Callable[[str], float] = float) -> Any:
    """Return the content of a JSON file; NaN and Infinity are refused.

    Args:
        parse_float: reads the numbers that have a fraction or an exponent.
    """

    def refuse(constant: str) -> float:
        raise error(f"{path}: {constant} is not a number that JSON knows")

    try:
        return json.loads(read_text(path, error), parse_constant=refuse, parse_float=parse_float)
    except json.JSONDecodeError as cause:
        raise error(f"{path}:{cause.lineno}:{cause.colno}: not valid JSON: {cause.msg}") from cause
    except RecursionError as cause:
        raise error(f"{path}: nested too deeply") from cause
    except ValueError as cause:  # an integer of thousands of digits
        raise error(f"{path}: holds a number that is too large") from cause


def write_json(path: Path, content: Any, indent: int | None = 2) -> None:
    """Write *content* as JSON in the place of *path*."""
    with replacing(path) as file:
        json.dump(content, file, indent=indent, allow_nan=False)
        file.write("\n")
