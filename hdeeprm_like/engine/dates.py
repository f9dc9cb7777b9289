"""Dates: which ones count as the same, when a requested call comes, and what a message shows of a date.

Batsim sends and reads dates with six digits, the embedded clocks have all. A call is dated neither before the date that
it is for nor before now, so that what waits for the date finds that it has come; and it is requested once.
"""

import numpy as np

from hdeeprm_like.engine.compiled import compiled, entry, inlined
from hdeeprm_like.engine.tables import Tables

SAME_DATE = 1e-5  # s within which two computed dates are one; also the shortest wait for a call, as in Batsim
REPORTED_LATE = 0.1  # s, largest delay of the report of an end or a call by messages, their digits or other events


@compiled
def wire_time(time: float) -> float:
    """Round a time to the microseconds that the wire carries, exactly as printf and a parser would."""
    scaled = time * 1e6
    big = time * 134217729.0  # Dekker's product: error is the rounding error of the multiplication
    high = big - (big - time)
    low = time - high
    error = (high * 1e6 - scaled) + low * 1e6
    whole = np.floor(scaled)
    rest = scaled - whole
    # the error may be too small to change a half by addition
    if rest > 0.5 or (rest == 0.5 and (error > 0.0 or (error == 0.0 and whole % 2.0 == 1.0))):
        whole += 1.0
    return float(whole / 1e6)


@inlined
def call_date(wanted: float, now: float) -> float:
    """Return the date of a call that is requested now for a date."""
    return float(max(wanted, now + SAME_DATE, np.nextafter(now, np.inf)))


@entry
def request_call(tables: Tables, wanted: float) -> float:
    """Return the date of a call to request in a message, and note it; infinite if none is, or one is on its way.

    If too many are on their way the latest is forgotten; at worst its call is requested twice.
    """
    clock = tables.clock[0]
    if wanted == np.inf:
        return np.inf
    exact = call_date(wanted, clock.now)
    date = wire_time(exact)
    if date < exact:
        date = max(wire_time(date + 1e-6), exact)
    place = 0
    for i in range(len(clock.calls)):
        call = clock.calls[i]
        if call > clock.now and wanted <= call <= date:
            return np.inf
        if call <= clock.now or (clock.calls[place] > clock.now and call > clock.calls[place]):
            place = i
    clock.calls[place] = date
    return float(date)
