"""How much Python a call takes, by a count that is the same on every machine, fast or slow, idle or busy."""

import sys


def calls_of(function):
    """Return how many functions, of Python and of C, a call calls."""
    count = 0

    def heard(frame, event, argument):
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    before = sys.getprofile()
    sys.setprofile(heard)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count
