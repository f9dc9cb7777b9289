"""The one door to numba: functions on arrays, compiled at their first call and cached on disk."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile *function* with numba, keep the machine code on disk, and keep its Python type for the checker."""
    return cast(F, numba.njit(cache=True)(function))
