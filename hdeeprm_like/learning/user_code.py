"""Errors in a user's agent, reported with the file and line of the user's code."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import AgentError, HDeepRMError
from hdeeprm_like.plugins import where

PACKAGE = Path(__file__).resolve().parent.parent


def code_of(defined: type | Callable[..., Any]) -> str:
    """Return ``"file:line"`` where a class or function is defined, or its name if its source cannot be found."""
    try:
        return f"{inspect.getsourcefile(defined)}:{inspect.getsourcelines(defined)[1]}"
    except (OSError, TypeError):
        return getattr(defined, "__qualname__", str(defined))


def files_of(kind: type) -> list[Path]:
    """Return the files that define a class and its bases, without those of this package and of installed ones."""
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
def locating_errors(kind: type) -> Iterator[None]:
    """Replace an exception raised in the file of a user's class by an error that names file and line.

    Raises:
        AgentError: in place of an exception whose traceback passes through the user's file; others are left alone.
    """
    try:
        yield
    except HDeepRMError:
        raise
    except Exception as cause:
        for path in files_of(kind):
            place = where(cause, path)
            if place:
                text = " ".join(str(cause).partition("\n")[0].split())  # torch's frames follow in more lines
                raise AgentError(f"{place}: {type(cause).__name__}: {text}") from cause
        raise
