"""Calls of compiled functions by address, so that a caller need not be compiled for all that it may call.

A bundle has the address as a word. So a run contains neither the observations nor the policies: each of these is
compiled alone, and only when it is first used. Such a call costs some nanoseconds.
"""

import numpy as np

from hdeeprm_like.engine import library, plain
from hdeeprm_like.engine.bundles import Bundle, type_of
from hdeeprm_like.engine.plain import primitive

NOWHERE = 0  # instead of an address


def address_of(function: object, *arguments: object) -> int:
    """Return the address of a compiled function for calls with arguments of these types.

    Args:
        arguments: bundles, numbers, and arrays, which the function takes as columns.

    Raises:
        MissingCode: it must be compiled, and numba is not installed.
    """
    kinds = [type_of(one) if isinstance(one, Bundle | np.ndarray) else one for one in arguments]
    return plain.number_of(function) if plain.ENABLED else library.address_of(function, tuple(kinds))  # type: ignore[arg-type]


@primitive
def call_at(address: int, *arguments: object) -> None:
    """Call the function at an address, which returns nothing."""
    plain.function_at(address)(*arguments)


@primitive
def number_at(address: int, *arguments: object) -> int:
    """Call the function at an address, which returns an integer."""
    return plain.function_at(address)(*arguments)  # type: ignore[return-value]


@primitive
def float_at(address: int, *arguments: object) -> float:
    """Call the function at an address, which returns a float."""
    return plain.function_at(address)(*arguments)  # type: ignore[return-value]
