"""Numbers in columns of a text, parsed at once by numpy: faster than one by one, with bit-identical results."""

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.types import Bools, Floats, Ints

LINE_END, SPACE, TAB, MINUS, DOT, ZERO = b"\n \t-.0"
MOST_DIGITS = 18  # more do not fit into 64 bits
EXACT = 2**53  # below, numbers and powers of ten are exact as floats, so that their quotient is rounded only once
POWERS_OF_TEN = np.array([float(10**decimals) for decimals in range(MOST_DIGITS + 1)])


def plain_numbers(text: str) -> Floats | None:
    """Return the numbers of a text if all are plain, such as -12 or 0.25, and all lines have equally many.

    Returns:
        (lines, numbers per line), without blank lines; None if the text contains anything else, even valid numbers.
    """
    signs = np.frombuffer(text.encode(), np.uint8)
    blank = (signs == SPACE) | (signs == LINE_END) | (signs == TAB)
    edges = np.flatnonzero(np.diff(blank, prepend=True, append=True))
    begins, ends = edges[::2], edges[1::2]
    width = equal_count(begins, np.flatnonzero(signs == LINE_END))
    if not width:
        return None
    digits = signs - np.uint8(ZERO)  # 10 or more if no digit
    is_digit = digits < 10
    negative = signs[begins] == MINUS
    dots = np.flatnonzero(signs == DOT)
    with_dot = np.searchsorted(begins, dots, side="right") - 1  # number that contains each dot
    others = len(signs) - np.count_nonzero(blank) - np.count_nonzero(is_digit)
    if others != np.count_nonzero(negative) + len(dots) or not (np.diff(with_dot) > 0).all():
        return None
    numbers = whole_numbers(digits, is_digit, begins, ends)
    if numbers is None:
        return None
    values = numbers.astype(np.float64)
    decimals = ends[with_dot] - dots - 1
    if len(dots) and not (numbers[with_dot] < EXACT).all():
        return None
    values[with_dot] /= POWERS_OF_TEN[decimals]
    values[negative] *= -1.0
    return values.reshape(-1, width)


def equal_count(begins: Ints, line_ends: Ints) -> int:
    """Return the numbers per nonblank line; 0 if there are none, or if lines differ."""
    counts = np.diff(np.searchsorted(begins, line_ends), prepend=0, append=len(begins))
    counts = counts[counts > 0]
    return int(counts[0]) if len(counts) and (counts == counts[0]).all() else 0


def whole_numbers(digits: NDArray[np.uint8], is_digit: Bools, begins: Ints, ends: Ints) -> Ints | None:
    """Return the integers formed by the digits between pairs of places; None if one has no digits, or too many.

    Args:
        digits, is_digit: of each place of a text. begins, ends: the places.
    """
    before = np.zeros(len(digits) + 1, np.int32)
    np.cumsum(is_digit, out=before[1:])
    first = before[begins]
    counts = before[ends] - first
    if not 1 <= counts.min() <= counts.max() <= MOST_DIGITS:
        return None
    digits = digits[is_digit]
    numbers = digits[first].astype(np.int64)
    longer = np.flatnonzero(counts > 1)
    for place in range(1, int(counts.max())):
        numbers[longer] = numbers[longer] * 10 + digits[first[longer] + place]
        longer = longer[counts[longer] > place + 1]
    return numbers
