"""JSON as both versions of Batsim write it.

See `hdeeprm_like.formats.batsim_numbers` for how it reads numbers.

Source: RapidJSON, as used by Batsim 4.2.1, and FlatBuffers, as used by Batsim 5.
"""

from collections.abc import Callable, Mapping
from json.encoder import encode_basestring, encode_basestring_ascii
from math import isfinite
from typing import Any, NamedTuple


class Style(NamedTuple):
    """How a version of Batsim writes JSON: what follows a name, and the writers of texts and of other numbers."""

    colon: str
    text: Callable[[str], str]
    decimal: Callable[[float], str]

    def encode(self, value: Any) -> str:
        """Return a value as this version prints it.

        Raises:
            OverflowError: it contains a number too large for a double.
            RecursionError: it is nested too deeply.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int) and -(1 << 63) <= value < 1 << 64:
            return str(value)
        if isinstance(value, int | float):
            if not isfinite(value):
                raise OverflowError("a number is too large")
            return self.decimal(float(value))
        if isinstance(value, Mapping):
            pairs = [f"{self.text(str(key))}{self.colon}{self.encode(part)}" for key, part in value.items()]
            return "{" + ",".join(pairs) + "}"
        if isinstance(value, list | tuple):
            return "[" + ",".join(map(self.encode, value)) + "]"
        if value is None:
            return "null"
        raise TypeError(f"{type(value).__name__} has no JSON form")


def decimal5(value: float) -> str:
    """Return a number as Batsim 5 prints it, with one to twelve decimals: ``0.0000000003``, ``10000000000.0``."""
    text = f"{value:.12f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


encode = Style(":", encode_basestring, "{:f}".format).encode  # {"res":4,"walltime":3.500000}
encode5 = Style(": ", encode_basestring_ascii, decimal5).encode  # {"res": 4,"walltime": 3.5}
