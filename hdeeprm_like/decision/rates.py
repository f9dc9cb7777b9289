"""Cost or CO2 emission per kWh over time; imports nothing heavy.

An objective names the file after a colon, ``"cost:tariff.csv"`` or ``"carbon:intensity.csv"``.
"""

from pathlib import Path
from typing import NamedTuple

from hdeeprm_like.csv_rows import read_rows
from hdeeprm_like.errors import HDeepRMError, OptionsError

RATED = {"cost": "tariff.csv", "carbon": "intensity.csv"}  # objectives that need a file, with an example of its name
KILOWATT_HOUR = 3.6e6  # J


class Rates(NamedTuple):
    """Cost or CO2 emission per kWh over time.

    Attributes:
        times: (T,) s of the simulation, increasing from 0 on. values: (T,) per kWh, from each time on.
    """

    times: tuple[float, ...]
    values: tuple[float, ...]


def read_rates(path: Path, error: type[HDeepRMError] = OptionsError) -> Rates:
    """Read a tariff or a carbon intensity: a CSV with the columns time (s of the simulation) and value (per kWh).

    A value holds from its time until the next one's; the first line must have time 0.

    Raises:
        HDeepRMError: of the class *error*; the file is unreadable, or its times do not begin with 0 or do not increase.
    """
    rows = read_rows(path, ("time", "value"), error)
    rates = Rates(tuple(row.number("time") for row in rows), tuple(row.number("value") for row in rows))
    if rates.times[0] != 0.0:
        raise error(f"{rows[0].where}: time: is {rates.times[0]:g}; the first line must be of time 0")
    for row, before, now in zip(rows[1:], rates.times[:-1], rates.times[1:], strict=True):
        if not now > before:
            raise error(f"{row.where}: time: is {now:g} and not after {before:g}, the time of the line before")
    return rates


def file_of_rates(name: str) -> str | None:
    """Return the file in the name of an objective, None for objectives without a file.

    Raises:
        OptionsError: the objective needs a file, and the name has none.
    """
    kind, _, file = name.partition(":")
    if kind not in RATED:
        return None
    if not file:
        raise OptionsError(f"objective {kind!r} needs a file of times and values, as '{kind}:{RATED[kind]}'")
    return file
