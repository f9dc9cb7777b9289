"""Where in a user's file something went wrong."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import AgentError, HDeepRMError
from hdeeprm_like.plugins import where

PACKAGE = Path(__file__).resolve().parent.parent


def code_of(defined: type | Callable[..., Any]) -> str:
    """Return ``"file:line"`` at which a class or function is defined."""
    try:
        return f"{inspect.getsourcefile(defined)}:{inspect.getsourcelines(defined)[1]}"
    except (OSError, TypeError):
        return getattr(defined, "__qualname__", str(defined))


def files_of(kind: type) -> list[Path]:
    """Return the files of a class and those of its bases that are the user's, the class's own first."""
    files: list[Path] = []
    for base in kind.__mro__:
        try:
            path = Path(inspect.getfile(base)).resolve()
        except (OSError, TypeError):
            continue
        if path not in files and PACKAGE not in path.parents and "site-packages" not in path.parts:
            files.append(path)
    return files


@contextmanager
def reported(kind: type) -> Iterator[None]:
    """Report an exception that passed through the file of a user's class as an error with that place.

    Raises:
        AgentError: in place of any exception from inside the user's file; others pass.
    """
    try:
        yield
    except HDeepRMError:
        raise
    except Exception as cause:
        for path in files_of(kind):
            place = where(cause, path)
            if place:
                text = " ".join(str(cause).split())
                raise AgentError(f"{place}: {type(cause).__name__}: {text}") from cause
        raise
