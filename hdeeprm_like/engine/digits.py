"""Numbers as text, written by compiled code byte for byte as C's and Python's formats write them.

Eight bytes are written at once: all digits of a number below a hundred million, or the six decimals of a time between
its dot and the comma behind it. What is too much is overwritten by what follows, so a buffer needs `SPARE` bytes more
than its text.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.engine.bundles import put_word, word_at
from hdeeprm_like.engine.compiled import compiled, inlined, lowest_bit

Bytes = NDArray[np.uint8]

LARGEST = 2.0**62  # larger numbers, and those that are not finite, are left to Python
MILLION, DIGITS, EIGHT = 1_000_000, 8, 100_000_000  # EIGHT: the least number of more than eight digits
MINUS, DOT = ord("-"), ord(".")
ZEROS = 0x3030_3030_3030_3030  # the letter 0 in each byte
BEHIND = (ord(",") << 56) + (0x3030_3030_3030 << 8) + DOT  # a dot, six zeros and a comma
LONGEST_NUMBER = 28  # bytes: a sign, 19 digits, a dot, six digits and the separator
SPARE = 8  # bytes behind a text that may be read or written


@inlined
def digits_of(number: int) -> int:
    """Return the eight digits of a nonnegative number below `EIGHT` as bytes, the first digit in the lowest one.

    Halves, quarters and single digits are divided side by side in one word. Each quotient is that of a product with a
    rounded up inverse, which is exact for numbers of so few digits.
    """
    high = (number * 109_951_163) >> 40  # ten thousands: 2**40 / 10**4
    halves = high | (number - high * 10_000) << 32
    high = (halves * 10_486) >> 20 & 0x7F_0000_007F  # hundreds: 2**20 / 100
    pairs = high | (halves - high * 100) << 16
    high = (pairs * 103) >> 10 & 0xF_000F_000F_000F  # tens: 2**10 / 10
    return high | (pairs - high * 10) << 8


@inlined
def put_short(out: Bytes, at: int, number: int) -> int:
    """Write a nonnegative integer below `EIGHT`; return the place of the next byte."""
    digits = digits_of(number)
    leading = min(lowest_bit(digits) >> 3, DIGITS - 1)  # zeros
    put_word(out, at, (digits + ZEROS) >> 8 * leading)
    return int(at + DIGITS - leading)


@inlined
def put_whole(out: Bytes, at: int, number: int) -> int:
    """Write a nonnegative integer; return the place of the next byte."""
    return put_short(out, at, number) if number < EIGHT else put_long(out, at, number)


@compiled
def put_long(out: Bytes, at: int, number: int) -> int:
    """Write an integer of more than eight digits; return the place of the next byte."""
    high = number // EIGHT
    if high < EIGHT:
        at = put_short(out, at, high)
    else:
        at = put_short(out, at, high // EIGHT)
        put_word(out, at, digits_of(high % EIGHT) + ZEROS)
        at += DIGITS
    put_word(out, at, digits_of(number % EIGHT) + ZEROS)
    return int(at + DIGITS)


@inlined
def put_next(out: Bytes, at: int, number: float) -> int:
    """Write a number below `LARGEST` with six decimals and a comma; return the place of the next byte.

    It is rounded as C's ``%f`` does: by its exact value, half to even. The fractional part is exact as a float.
    """
    if math.copysign(1.0, number) < 0.0:
        out[at] = MINUS
        at, number = at + 1, -number
    whole = int(number)
    rest = number - whole
    scaled = rest * 1e6
    millionths = int(scaled)
    if scaled - millionths >= 0.5 and rounds_up(rest, scaled, millionths):
        millionths += 1
        if millionths == MILLION:
            whole, millionths = whole + 1, 0
    at = put_whole(out, at, whole)
    put_word(out, at, (digits_of(millionths) >> 8) + BEHIND)  # of its eight digits the first two are 0
    return int(at + 8)


@inlined
def rounds_up(rest: float, scaled: float, millionths: int) -> bool:
    """Return whether a product with a million, at least half above a whole number, is rounded to the next one.

    Dekker's product ("A floating-point technique for extending the available precision", 1971) gives its rounding
    error, so that exact ties are distinguished from values near them.
    """
    if scaled - millionths > 0.5:
        return True
    big = rest * 134217729.0
    high = big - (big - rest)
    error = (high * 1e6 - scaled) + (rest - high) * 1e6
    return error > 0.0 or (error == 0.0 and millionths & 1 == 1)


@inlined
def put_text(out: Bytes, at: int, text: Bytes, begin: int, end: int) -> int:
    """Write the bytes of a text from *begin* up to, not including, *end*; return the place of the next byte."""
    for place in range(begin, end, 8):
        put_word(out, at + place - begin, word_at(text, place))
    return at + end - begin
