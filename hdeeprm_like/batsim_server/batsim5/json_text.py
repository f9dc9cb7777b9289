"""JSON as printed by FlatBuffers for Batsim 5: a space after colons, twelve decimals at most."""

from collections.abc import Mapping
from json.encoder import encode_basestring_ascii
from typing import Any


def encode(value: Any) -> str:
    """Return a value as Batsim 5 prints it: ``{"res": 4,"walltime": 3.5}``; integers stay integers."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return decimal(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{encode_basestring_ascii(key)}: {encode(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(encode, value)) + "]"
    return str(int(value))


def decimal(value: float) -> str:
    """Return a number with one to twelve decimals: ``0.0000000003``, ``10000000000.0``."""
    text = f"{value:.12f}".rstrip("0")
    return text + "0" if text.endswith(".") else text
