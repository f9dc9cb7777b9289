"""Files that say how the speed of a host changes: lines of a date in s and a share of its speed.

A line ``LOOPAFTER S`` begins the changes again, S seconds after the last one, and ``PERIODICITY S`` S seconds after
their beginning. Text after ``#`` is a comment.

Source: SimGrid 3.32, "Modeling hosts' external load" of its documentation.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

from hdeeprm_like.errors import PlatformError
from hdeeprm_like.inputs import read_text
from hdeeprm_like.values import UTMOST, Number

SHARE, DATE = Number(0.0, UTMOST, noun="share of the speed"), Number(0.0, UTMOST, noun="date in s")
AGAIN = Number(0.0, UTMOST, above=True, noun="number of s")
LOOP_AFTER, PERIOD = "LOOPAFTER", "PERIODICITY"


class SpeedProfile(NamedTuple):
    """How the speed of a host changes.

    Attributes:
        changes: s since the change before, and the share of the speed from then on.
        again: s from the last change to the beginning of the next round; 0 for one round.
    """

    changes: tuple[tuple[float, float], ...]
    again: float = 0.0

    def dated(self) -> Iterator[tuple[float, float]]:
        """Yield the date in s and the share of each change, without an end if there are rounds."""
        date = 0.0
        for turn in count():
            for place, (after, share) in enumerate(self.changes):
                date += after + (self.again if turn and not place else 0.0)
                yield date, share
            if not self.again:
                return


def read_speed_profile(path: Path) -> SpeedProfile:
    """Return the changes of a file.

    Raises:
        PlatformError: the file cannot be read, or a line is no change.
    """
    changes: list[tuple[float, float]] = []
    again = period = before = 0.0
    for number, line in enumerate(read_text(path, PlatformError).splitlines(), start=1):
        words, where = line.partition("#")[0].split(), f"{path}:{number}"
        if not words:
            continue
        if len(words) != 2:
            raise PlatformError(f"{where}: {line[:40]!r} is not a date and a share, or LOOPAFTER and a time")
        if words[0] == LOOP_AFTER:
            again = AGAIN.in_text(words[1], PlatformError, where)
            continue
        if words[0] == PERIOD:
            period = AGAIN.in_text(words[1], PlatformError, where)
            continue
        date, share = DATE.in_text(words[0], PlatformError, where), SHARE.in_text(words[1], PlatformError, where)
        if date < before:
            raise PlatformError(f"{where}: the date {date:g} s is before that of the last change, {before:g} s")
        changes.append((date - before, share))
        before = date
    if not changes:
        raise PlatformError(f"{path}: holds no change of a speed")
    if period:
        again = period - before
        if again <= 0.0:
            raise PlatformError(f"{path}: {PERIOD} {period:g} ends before the last change, at {before:g} s")
    return SpeedProfile(tuple(changes), again)
