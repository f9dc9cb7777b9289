"""Files that say how the speed of a host changes: lines of a date in s and a share of its speed.

A line ``LOOPAFTER S`` begins the changes again, S seconds after the last one, and ``PERIODICITY S`` S seconds after
their beginning. Text after ``#`` is a comment.

Source: SimGrid 3.32, "Modeling hosts' external load" of its documentation.
"""

from pathlib import Path

from hdeeprm_like.cluster.speed_profiles import NodeSpeeds, SpeedProfile
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.files import write_lines
from hdeeprm_like.inputs import read_text
from hdeeprm_like.values import UTMOST, Number

SHARE, DATE = Number(0.0, UTMOST, noun="share of the speed"), Number(0.0, UTMOST, noun="date in s")
AGAIN = Number(0.0, UTMOST, above=True, noun="number of s")
SHORTEST_ROUND = 1e-3  # s; shorter rounds would make more changes than a simulation could follow
LOOP_AFTER, PERIOD = "LOOPAFTER", "PERIODICITY"


def read_speed_profile(path: Path) -> SpeedProfile:
    """Return the changes of a file.

    Raises:
        PlatformError: the file cannot be read, or a line is no change.
    """
    dates: list[float] = []
    shares: list[float] = []
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
        dates.append(date)
        shares.append(share)
        before = date
    if not dates:
        raise PlatformError(f"{path}: holds no change of a speed")
    if period:
        again = period - before
        if again <= 0.0:
            raise PlatformError(f"{path}: {PERIOD} {period:g} ends before the last change, at {before:g} s")
    if 0.0 < again < SHORTEST_ROUND - before:
        raise PlatformError(
            f"{path}: its changes begin again after {before + again:g} s; {SHORTEST_ROUND:g} s is the least"
        )
    return SpeedProfile(tuple(dates), tuple(shares), again)


def write_speed_profile(profile: SpeedProfile, path: Path) -> None:
    """Write a file that reads back as exactly these changes.

    Raises:
        ResultsError: the file cannot be written.
    """
    lines = [f"{date!r} {share!r}" for date, share in zip(profile.dates, profile.shares, strict=True)]
    write_lines(path, [*lines, f"{LOOP_AFTER} {profile.again!r}"] if profile.again else lines)


def speed_file_name(platform: str, number: object) -> str:
    """Return the name of the file of a profile beside a platform's file, given the name of that."""
    return f"{platform.split('.')[0]}_speed_{number}.txt"


def write_speed_files(speeds: NodeSpeeds | None, path: Path) -> list[str]:
    """Write the file of each profile beside a platform's file; return the name for each node, "" for none.

    Raises:
        ResultsError: a file cannot be written.
    """
    if speeds is None:
        return []
    for number, profile in enumerate(speeds.profiles):
        write_speed_profile(profile, path.with_name(speed_file_name(path.name, number)))
    return [speed_file_name(path.name, number) if number >= 0 else "" for number in speeds.of_node]
