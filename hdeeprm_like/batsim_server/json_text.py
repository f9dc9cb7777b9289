"""JSON as Batsim writes it: without spaces, non-integers with six decimals.

See `hdeeprm_like.formats.batsim_numbers` for how it reads numbers.

Source: RapidJSON, as used by Batsim 4.2.1.
"""

from collections.abc import Mapping
from json.encoder import encode_basestring
from math import isfinite
from typing import Any


def encode(value: Any) -> str:
    """Return a value as Batsim prints it: ``{"res":4,"walltime":3.500000}``.

    Raises:
        OverflowError: it contains a number too large for a double.
        RecursionError: it is nested too deeply.
    """
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if kind is int and -1 << 63 <= value < 1 << 64:
        return str(value)
    if kind is float and isfinite(value):
        return f"{value:f}"
    if kind is dict:
        return "{" + ",".join([f"{encode_basestring(str(key))}:{encode(part)}" for key, part in value.items()]) + "}"
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
        return encode(dict(value))
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(encode, value)) + "]"
    raise TypeError(f"{type(value).__name__} has no JSON form")
