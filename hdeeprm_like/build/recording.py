"""Recording of the compiled functions that kinds of runs call, which run as plain Python, to compile them then."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hdeeprm_like.build import frontend
from hdeeprm_like.engine import library


class Recorder(library.Recorder):
    """Records which compiled functions Python calls, and which of them compiled code calls by address.

    Attributes:
        calls: kind of call -> the function and numba's types of its arguments.
    """

    def __init__(self) -> None:
        self.calls: dict[str, tuple[Any, tuple[Any, ...]]] = {}
        self._inside = False

    def __call__(self, function: Any, arguments: tuple[object, ...]) -> object:
        """Run a function; calls within it are not recorded."""
        if self._inside:
            return function.in_python(*arguments)
        self._note(library.kind_of_call(function, arguments), function, arguments)
        self._inside = True
        try:
            return function.in_python(*arguments)
        finally:
            self._inside = False

    def note_address(self, function: Any, kinds: tuple[object, ...]) -> None:
        """Record that compiled code calls a function by address."""
        self._note(library.BY_ADDRESS + library.kind_of_call(function, kinds), function, kinds)

    def _note(self, kind: str, function: Any, arguments: tuple[object, ...]) -> None:
        if kind not in self.calls:
            self.calls[kind] = function, tuple(map(frontend.type_of, arguments))


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Send all calls to a recorder."""
    before, library.recorder = library.recorder, recorder
    try:
        yield
    finally:
        library.recorder = before
