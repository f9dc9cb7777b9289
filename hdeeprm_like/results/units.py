"""Units that people read times in."""

UNITS_OF_TIME = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))


def unit_of_time(longest: float) -> tuple[float, str]:
    """Return seconds per unit, and its name, for times up to *longest* s: at least two of the unit, else seconds."""
    return next(((seconds, name) for seconds, name in UNITS_OF_TIME if longest >= 2 * seconds), (1.0, "seconds"))


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
