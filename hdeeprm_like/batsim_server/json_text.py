"""JSON as Batsim writes and reads it.

It writes without spaces, numbers with a fraction with six decimals. It reads a number of more than 15 digits fast
rather than exactly, which puts its times off by some last bits; those decide what happens together.

Source: RapidJSON, as Batsim 4.2.1 uses it.
"""

from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

EXACT_DIGITS = 15  # of a number that every reader of JSON reads alike
EXACT_INTEGER = (1 << 53) - 1
MOST_DIGITS = 17  # that are looked at


def encode(value: Any) -> str:
    """Return a value as Batsim prints it: ``{"res":4,"walltime":3.500000}``."""
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(1 << 63) <= value < 1 << 64 else f"{float(value):f}"
    if isinstance(value, float):
        return f"{value:f}"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{encode(str(key))}:{encode(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(encode, value)) + "]"
    raise TypeError(f"{type(value).__name__} has no JSON form")


def read_float(text: str) -> float:
    """Return a number with a fraction or an exponent as Batsim reads it."""
    if len(text) <= EXACT_DIGITS and "e" not in text and "E" not in text:
        return float(text)
    mantissa, _, exponent_text = text.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    if len(whole) > MOST_DIGITS:
        return float(text)
    exponent = int(exponent_text or 0)
    significand, digits = int(whole), len(whole) - 1 if whole != "0" else 0
    taken = 0
    for digit in fraction:
        if significand > EXACT_INTEGER:
            break
        significand = significand * 10 + int(digit)
        digits += significand != 0
        taken += 1
    value = float(significand)
    for digit in fraction[taken : taken + max(MOST_DIGITS - digits, 0)]:
        value = value * 10.0 + int(digit)
        taken += 1
    exponent -= taken
    if not -308 <= exponent <= 308:
        return float(text)
    value = value * float(f"1e{exponent}") if exponent >= 0 else value / float(f"1e{-exponent}")
    return -value if text.startswith("-") else value
