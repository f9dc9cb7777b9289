"""JSON as Batsim writes it: without spaces, numbers with a fraction with six decimals.

How it reads numbers is in `hdeeprm_like.formats.batsim_numbers`.

Source: RapidJSON, as Batsim 4.2.1 uses it.
"""

from collections.abc import Mapping
from json.encoder import encode_basestring
from math import isfinite
from typing import Any


def encode(value: Any) -> str:
    """Return a value as Batsim prints it: ``{"res":4,"walltime":3.500000}``.

    Raises:
        OverflowError: it holds a number that no double can.
        RecursionError: it is nested too deeply.
    """
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(1 << 63) <= value < 1 << 64 else f"{float(value):f}"
    if isinstance(value, float):
        if not isfinite(value):
            raise OverflowError("a number is too large")
        return f"{value:f}"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{encode(str(key))}:{encode(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(encode, value)) + "]"
    raise TypeError(f"{type(value).__name__} has no JSON form")
