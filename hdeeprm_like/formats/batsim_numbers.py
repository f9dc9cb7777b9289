"""Numbers in JSON as Batsim reads them, and writing of numbers so that Batsim reads the same value.

Batsim reads a number of more than 15 digits fast rather than exactly, which changes times in their last bits; these
decide which events coincide. So everything here that simulates the jobs of a file reads numbers in the same way, and
everything written for Batsim is written so that both read the same value.

Source: RapidJSON, as used by Batsim 4.2.1.
"""

import json
from itertools import product
from math import floor, log10, ulp
from typing import Any

EXACT_DIGITS = 15  # digits that every JSON reader reads identically
EXACT_INTEGER = (1 << 53) - 1
LARGEST_INTEGER = (1 << 64) - 1  # limit of integers that Batsim reads digit by digit
ALWAYS_WHOLE = 19  # digits that always fit
MOST_DIGITS = 17  # digits that count, before and after the point
MOST_MORE = 60  # further digits that the search for a number's text tries
POWERS = tuple(float(f"1e{power}") for power in range(MOST_DIGITS + 1))
NEAR = 2  # neighbouring numbers that the search tries with each


def read_number(text: str) -> float:
    """Return the value that Batsim reads from a number with a fraction or an exponent."""
    if len(text) <= EXACT_DIGITS and "e" not in text and "E" not in text:
        return float(text)
    whole, _, fraction = text.partition(".")
    if len(whole + fraction) <= MOST_DIGITS and (whole + fraction).isdecimal() and whole[0] != "0":  # as below, quickly
        number = int(whole + fraction)
        first, last = divmod(number, 10) if len(whole + fraction) == MOST_DIGITS else (0, 0)
        value = float(first) * 10.0 + last if first > EXACT_INTEGER else float(number)
        return value / POWERS[len(fraction)]
    mantissa, _, exponent_text = text.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    exponent = int(exponent_text or 0)
    start = whole[:ALWAYS_WHOLE] if int(whole[: ALWAYS_WHOLE + 1]) > LARGEST_INTEGER else whole[: ALWAYS_WHOLE + 1]
    significand, digits = int(start), len(whole) - 1 if whole != "0" else 0
    taken = 0
    for digit in fraction:
        if significand > EXACT_INTEGER:
            break
        significand = significand * 10 + int(digit)
        digits += significand != 0
        taken += 1
    value = float(significand)
    for digit in whole[len(start) :]:
        value = value * 10.0 + int(digit)
    for digit in fraction[taken : taken + max(MOST_DIGITS - digits, 0)]:
        value = value * 10.0 + int(digit)
        taken += 1
    exponent -= taken
    if not -308 <= exponent <= 308:
        return float(text)
    value = value * float(f"1e{exponent}") if exponent >= 0 else value / float(f"1e{-exponent}")
    return -value if text.startswith("-") else value


def write_number(value: float) -> str:
    """Return the shortest text that Batsim reads as a finite number, if there is one.

    For nine in ten numbers every reader agrees; for the others some reader may read a neighbouring number.
    """
    text = repr(value)
    return text if len(text) <= EXACT_DIGITS or read_number(text) == value else _other_text(value) or text


def _other_text(value: float) -> str | None:
    """Return an integer times a power of ten that Batsim reads as the number; None if none is found.

    Each number of digits, and each further digit, is rounded differently by the reader.
    """
    sign, (above, below) = "-" if value < 0.0 else "", abs(value).as_integer_ratio()
    magnitude = floor(log10(abs(value)))
    for places in range(MOST_DIGITS - 2 - magnitude, ALWAYS_WHOLE + 1 - magnitude):
        parts, whole = above * 10 ** max(places, 0), below * 10 ** max(-places, 0)
        nearest = (2 * parts + whole) // (2 * whole)
        if not EXACT_INTEGER < nearest <= LARGEST_INTEGER:
            continue
        step = max(int(ulp(float(nearest))), 1)
        for more, digit, off in product(range(MOST_MORE), "0123456789", range(-NEAR, NEAR + 1)):
            text = f"{sign}{nearest + off * step}{digit * more}e{-places - more}"
            if read_number(text) == value:
                return text
    return None


def json_text(value: Any) -> str:
    """Return a value as JSON text, with numbers written for Batsim."""
    if isinstance(value, float):
        return write_number(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {json_text(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(json_text, value)) + "]"
    return json.dumps(value)
