"""SimGrid's units for link figures, ``"10Gbps"`` and ``"75us"``, as plain numbers."""

import re
from math import inf

from hdeeprm_like.errors import PlatformError

PREFIXES = {
    "": 1.0,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
}
SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, "m": 60.0, "h": 3600.0, "d": 86400.0}
BYTES = {"bps": 1 / 8, "Bps": 1.0, "": 1.0}

QUANTITY = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*")


def split(text: str) -> tuple[float, str]:
    """Split ``"75us"`` into 75.0 and ``"us"``."""
    match = QUANTITY.fullmatch(text)
    try:
        number = float(match[1]) if match else inf
    except ValueError:
        number = inf
    if match is None or number == inf:
        raise PlatformError(f"{text!r} is no quantity; a number and a unit are needed, as in '10Gbps' or '75us'")
    return number, match[2]


def seconds(text: str) -> float:
    """Return a latency in s."""
    number, unit = split(text)
    if unit not in SECONDS:
        raise PlatformError(
            f"{text!r}: {unit!r} is no unit of time; one of {', '.join(filter(None, SECONDS))} is needed"
        )
    return number * SECONDS[unit]


def bytes_per_second(text: str) -> float:
    """Return a bandwidth in bytes per second."""
    number, unit = split(text)
    if number == 0.0:
        raise PlatformError(f"{text!r}: a bandwidth above 0 is needed")
    for suffix, factor in BYTES.items():
        prefix = unit.removesuffix(suffix) if suffix else unit
        if unit.endswith(suffix) and prefix in PREFIXES:
            return number * PREFIXES[prefix] * factor
    raise PlatformError(
        f"{text!r}: {unit!r} is no unit of bandwidth; bps or Bps with a prefix is needed, as in '10Gbps'"
    )
