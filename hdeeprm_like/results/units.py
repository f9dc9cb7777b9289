"""Units that people read times in."""

UNITS_OF_TIME = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))


def unit_of_time(longest: float) -> tuple[float, str]:
    """Return seconds per unit, and its name, for times up to *longest* s: at least two of the unit, else seconds."""
    return next(((seconds, name) for seconds, name in UNITS_OF_TIME if longest >= 2 * seconds), (1.0, "seconds"))
