"""Numbers as SimGrid writes them: with units, ``1.5Gf``, ``10Gbps``, ``500us``, and lists of them, ``0-15,20``.

Source: SimGrid 3.32, "Describing your platform in XML".
"""

from collections.abc import Mapping

from hdeeprm_like.errors import PlatformError, did_you_mean
from hdeeprm_like.values import UTMOST, Number, whole_in

_PREFIXES = {"": 1.0} | {
    name: value
    for power, letter in enumerate("kMGTPEZY", start=1)
    for name, value in ((letter, 1000.0**power), (letter.upper() + "i", 1024.0**power), (letter + "i", 1024.0**power))
}
SPEEDS = {prefix + unit: value for prefix, value in _PREFIXES.items() for unit in ("f", "flops")}
BANDWIDTHS = {
    prefix + unit: value * bytes_
    for prefix, value in _PREFIXES.items()
    for unit, bytes_ in (("Bps", 1.0), ("bps", 0.125))
}
TIMES = {
    **{"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12},
    **{"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0},
}
AMOUNT, POSITIVE = Number(0.0, UTMOST), Number(0.0, UTMOST, above=True)
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
HOST_LIMIT = 1 << 20  # hosts in one cluster


def measure(text: str, units: Mapping[str, float], where: str) -> float:
    """Return a text like ``10Gbps`` in the base unit; a number without a unit is in the base unit.

    Raises:
        PlatformError: it is no such number. The message begins with *where*.
    """
    digits = text.strip().rstrip(LETTERS)
    unit = text.strip()[len(digits) :]
    if unit and unit not in units:
        raise PlatformError(f"{where}: {text!r} has an unknown unit{did_you_mean(unit, units)}")
    return AMOUNT.in_text(digits.strip(), PlatformError, where) * (units[unit] if unit else 1.0)


def seconds(text: str) -> float:
    """Return a latency in s, as `measure` does."""
    return measure(text, TIMES, "latency")


def bytes_per_second(text: str) -> float:
    """Return a bandwidth above 0 in bytes per second, as `measure` does."""
    found = measure(text, BANDWIDTHS, "bandwidth")
    if found == 0.0:
        raise PlatformError(f"bandwidth: is {text!r}; one above 0 is needed")
    return found


def radical(text: str, where: str) -> list[int]:
    """Return the numbers in a list of intervals like ``0-15,20``."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        low, high = whole_in(first), whole_in(last if dash else first)
        if min(low, high) < 0 or high - low > HOST_LIMIT:
            raise PlatformError(f"{where}: radical {text!r} is not a list of intervals such as '0-15,20'")
        found += range(low, high + 1)
    return found
