"""The digest of the sources of machine code, and the folders in which libraries of it lie."""

import functools
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from zlib import crc32

PACKAGE = Path(__file__).parent.parent
SHIPPED = PACKAGE / "data" / "machine_code"  # in a wheel, or after `make library`
SOURCES = ("cluster", "engine", "decision", "run", "compiler")  # folders with the sources of compiled functions
COMPILER = "compiler"  # that of these in which no function is compiled
MAKERS = ("columns.py", "emit.py", "frontend.py", "overlaps.py")  # its files that say what becomes of a function
CACHE = "HDEEPRM_LIKE_CACHE"  # environment variable: the folder for machine code compiled on this machine
CHECKED = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("0", "")  # whether every index is checked
COARSEST_DATE = 3.0  # s, more than the steps of the dates of any file system


@functools.cache
def source_digest() -> str:
    """Return a digest of all files that compiled code is made from, and of how it is compiled.

    To read them all takes a tenth of a short command, so the digest is kept together with the size, the dates and the
    number of each file. It counts as long as these are the same, which is more than Python requires of its own
    compiled files: of these it compares size and date, in whole seconds. Files that have just changed may change again
    without another date, so their digest is not kept.
    """
    found = {path: os.stat(path) for path in _sources()}
    words = [f"{path} {at.st_size} {at.st_mtime_ns} {at.st_ctime_ns} {at.st_ino}" for path, at in found.items()]
    state = "\n".join(words).encode(errors="surrogateescape")
    note = kept_in() / f"sources-{_installation():08x}"
    try:
        digest, _, of = note.read_bytes().partition(b"\n")
    except OSError:
        digest, of = b"", b""
    if of == state:
        return digest.decode()
    made = _digest_of(list(found))
    newest = max(max(at.st_mtime, at.st_ctime) for at in found.values())
    if newest < time.time() - COARSEST_DATE:
        _keep(note, made.encode() + b"\n" + state)
    return made


@functools.cache
def digest_of_compiler() -> str:
    """Return a digest of the files that say how functions are compiled, whatever these are."""
    return _digest_of([path for path in _sources((COMPILER,)) if path.endswith(MAKERS)])


@functools.cache
def version_of_numba() -> str | None:
    """Return the version of the compiler, None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("numba")
    except PackageNotFoundError:
        return None


def _sources(folders: tuple[str, ...] = SOURCES) -> list[str]:
    """Return the paths of the files that compiled code is made from."""
    paths: list[str] = []
    for folder in folders:
        found = [f"{at}{os.sep}{name}" for at, _, names in os.walk(PACKAGE / folder) for name in names]
        paths += sorted(name for name in found if name.endswith(".py"))
    return paths


def _digest_of(paths: list[str]) -> str:
    import hashlib  # loads OpenSSL

    digest = hashlib.sha256(f"{CHECKED}".encode())
    start = len(str(PACKAGE)) + 1
    for path in paths:
        with open(path, "rb") as file:
            digest.update(path[start:].replace(os.sep, "/").encode() + b"\0" + file.read() + b"\0")
    return digest.hexdigest()[:16]


def _keep(note: Path, content: bytes) -> None:
    """Write a note, at once for those that read it; without one the next process makes the digest again."""
    part = note.with_name(f"{note.name}.{os.getpid()}")
    with suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(note)


def kept_in() -> Path:
    """Return the folder for machine code compiled on this machine."""
    given = os.environ.get(CACHE)
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hdeeprm_like"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hdeeprm_like"


def kept_for(processor: str | None) -> Path:
    """Return the folder in it for the machine code of this installation, for a kind of processor."""
    return kept_in() / f"{processor}-{_installation():08x}"


def _installation() -> int:
    """Return a number for this installation, and for whether every index is checked."""
    return crc32(f"{CHECKED} {PACKAGE}".encode(errors="surrogateescape"))
