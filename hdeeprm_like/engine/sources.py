"""The digest of the sources of machine code, and the folders in which libraries of it lie."""

import functools
import hashlib
import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
SHIPPED = PACKAGE / "data" / "machine_code"  # in a wheel, or after `make library`
SOURCES = ("cluster", "engine", "decision", "run", "build")  # folders with the sources of compiled functions
CACHE = "HDEEPRM_LIKE_CACHE"  # environment variable: the folder for machine code compiled on this machine
CHECKED = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("0", "")  # whether every index is checked


@functools.cache
def source_digest() -> str:
    """Return a digest of all files that compiled code is made from, and of how it is compiled."""
    digest = hashlib.sha256(f"{CHECKED}".encode())
    start = len(str(PACKAGE)) + 1
    for folder in SOURCES:
        found = [f"{at}{os.sep}{name}" for at, _, names in os.walk(PACKAGE / folder) for name in names]
        for path in sorted(name for name in found if name.endswith(".py")):
            with open(path, "rb") as file:
                digest.update(path[start:].replace(os.sep, "/").encode() + b"\0" + file.read() + b"\0")
    return digest.hexdigest()[:16]


def kept_in() -> Path:
    """Return the folder for machine code compiled on this machine."""
    given = os.environ.get(CACHE)
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hdeeprm_like"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hdeeprm_like"
