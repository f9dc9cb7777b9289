"""Units that people read times and energies in."""

from collections.abc import Sequence
from itertools import pairwise

UNITS_OF_TIME = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))


def unit_of_time(longest: float) -> tuple[float, str]:
    """Return seconds per unit, and its name, for times up to *longest* s: at least two of the unit, else seconds."""
    return next(((seconds, name) for seconds, name in UNITS_OF_TIME if longest >= 2 * seconds), (1.0, "seconds"))


PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def unit_of_energy(largest: float, unit: str = "J") -> tuple[float, str]:
    """Return how many J, or J s, are one of the unit that suits so many of them, and its name."""
    scale, prefix = next(((scale, prefix) for scale, prefix in PREFIXES if largest >= scale), (1.0, ""))
    return scale, prefix + unit


def names_of_spans(bounds: Sequence[int], last: str) -> list[str]:
    """Return what spans of whole numbers are called, ``2`` or ``3 to 8``, and the *last* one, as ``{} and more``."""
    names = [str(low) if high == low + 1 else f"{low} to {high - 1}" for low, high in pairwise(bounds)]
    return [*names, last.format(bounds[-1])]


DURATIONS = {
    "1 s": 1.0,
    "10 s": 10.0,
    "1 min": 60.0,
    "10 min": 600.0,
    "1 h": 3600.0,
    "6 h": 21600.0,
    "1 day": 86400.0,
    "1 week": 604800.0,
    "30 days": 2592000.0,
    "1 year": 31536000.0,
}  # s: what a logarithmic axis of times is marked at
