"""The one door to numba: functions on arrays, compiled at their first call and cached on disk.

numba recompiles a function when its own file changes, but not when a function or a constant that it uses from another
file does. So the machine code lies in a folder named after the content of all files that it can be made of.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

PACKAGE = Path(__file__).parent
CONSTANTS = ("cluster/tables.py", "cluster/pstates.py", "decision/baselines.py")  # compiled code holds their values
KEPT = 4  # folders of machine code of other sources
UNUSED = 86400.0  # s after which such a folder is taken for unused; a running process may need a newer one

UNCOUNTED: dict[str, Any] = {"_nrt": False}  # no reference counts

F = TypeVar("F", bound=Callable[..., object])


def source_digest() -> str:
    """Return a name for the content of every file that compiled code is made of."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        name, content = path.relative_to(PACKAGE).as_posix(), path.read_bytes()
        if b"@compiled" in content or b"@inlined" in content or name in CONSTANTS:
            digest.update(name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Return a folder of the user's own for the machine code of these sources; old ones are cleared away."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hdeeprm_like"
    folder = home / source_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.utime(folder)
        others = sorted(home.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in others[KEPT:]:
            if old.stat().st_mtime < time.time() - UNUSED:
                shutil.rmtree(old, ignore_errors=True)
    except OSError:  # no home to write to: the machine code lasts as long as the process
        folder = Path(tempfile.mkdtemp(prefix="hdeeprm_like-"))
    return folder


if not os.environ.get("NUMBA_CACHE_DIR"):
    cast(Any, numba.config).CACHE_DIR = str(cache_folder())


def compiled(function: F) -> F:
    """Compile *function* with numba, keep the machine code on disk, and keep its Python type for the checker.

    It can make no arrays and return none: numba then counts no references to those it is given, which otherwise takes
    more than half of the time of a simulation.
    """
    return cast(F, numba.njit(cache=True, **UNCOUNTED)(function))


def inlined(function: F) -> F:
    """The same for a function that becomes a part of those that call it, which then take longer to compile.

    A call hands over a bundle of arrays word by word, some hundred of them, which takes more time than a small function
    itself.
    """
    return cast(F, numba.njit(cache=True, forceinline=True, **UNCOUNTED)(function))


def compiled_with_memory(function: F) -> F:
    """The same for a function that makes arrays."""
    return cast(F, numba.njit(cache=True)(function))


def direct(function: F, *arguments: object) -> F:
    """Return the machine code of a compiled function for arguments of these types.

    numba looks at the type of every array of every bundle at each call, which takes longer than a step of a simulation.
    Nobody looks any more where this is called: whoever does so answers for the types.
    """
    dispatcher = cast(Any, function)
    return cast(F, dispatcher.compile(tuple(cast(Any, numba).typeof(argument) for argument in arguments)))
