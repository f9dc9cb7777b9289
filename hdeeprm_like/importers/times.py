"""Dates and times of logs as seconds since 1970, whatever clock the site's wall shows."""

import calendar
import re
import time as clock
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.types import Floats, Ints

UNKNOWN = {"", "unknown", "none", "n/a", "na", "nat", "nan", "null", "(null)", "undefined", "invalid", "\\n"}
DAY = 86400
LAST = 2.0**32  # s since 1970, in 2106
EPOCH_LENGTH = 10  # digits of the s since 1970, from 2001 to 2286
ISO_LENGTH = 19  # of 2024-03-31T02:30:00
EPOCH = re.compile(r"-?\d{1,11}(\.\d+)?", re.ASCII)
MANY = 50_000  # texts whose meaning is remembered


class Moments(NamedTuple):
    """Both readings of each time of a wall clock, which differ in the hour that autumn repeats; NaN where unknown.

    In the hour that spring leaves out, *first* is the later one; elsewhere both are the same.
    """

    first: Floats
    second: Floats


class WallClock:
    """Reads times: ISO, seconds since 1970, with or without an offset from UTC, or in a form of the site's own.

    Args:
        zone: of times that have no offset, as ``Europe/Madrid``; None for UTC.
        form: of times that are neither ISO nor seconds, as `time.strptime` knows it; None if there are none.
        report: where a value that is not understood is counted.

    Raises:
        OptionsError: there is no such time zone.
    """

    def __init__(self, zone: str | None, form: str | None, report: Account) -> None:
        self.zone = _zone(zone)
        self.form = form
        self.report = report
        self.local = False  # whether any time without an offset was read
        self._read: dict[str, tuple[bool, float]] = {}
        self._begin, self._end = 0, 0  # s between which the changes of the clock are known
        self._first, self._second, self._offset = np.zeros(0), np.zeros(0), np.zeros(1)

    def read(self, texts: Sequence[str], column: str) -> Moments:
        """Return the times of *texts*."""
        absolute = np.zeros(len(texts), np.bool_)
        seconds = _epoch_seconds(texts)
        if seconds is not None:
            absolute[:] = True
        else:
            seconds = _iso_seconds(texts)
            for row in np.flatnonzero(np.isnan(seconds)).tolist():
                absolute[row], seconds[row] = self._meaning(texts[row].strip(), column)
        seconds[(seconds <= DAY) | (seconds > LAST)] = np.nan  # 1970 stands for "not yet"
        self.local |= bool((~absolute & ~np.isnan(seconds)).any())
        if self.zone is None or absolute.all():
            return Moments(seconds, seconds)
        first, second = self._utc(seconds)
        return Moments(np.where(absolute, seconds, first), np.where(absolute, seconds, second))

    def _meaning(self, text: str, column: str) -> tuple[bool, float]:
        """Return whether a text is free of time zones, and its seconds on its clock."""
        known = self._read.get(text)
        if known is None:
            if len(self._read) >= MANY:
                self._read.clear()
            known = self._read[text] = self._parse(text)
        if np.isnan(known[1]) and text.lower() not in UNKNOWN:
            self.report.misunderstood(column, text)
        return known

    def _parse(self, text: str) -> tuple[bool, float]:
        if text.lower() in UNKNOWN:
            return False, np.nan
        if EPOCH.fullmatch(text):
            return True, float(text)
        try:
            if self.form:
                return False, float(calendar.timegm(clock.strptime(text, self.form)))
            moment = datetime.fromisoformat(text)
        except ValueError:
            return False, np.nan
        return moment.tzinfo is not None, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()

    def _utc(self, local: Floats) -> Moments:
        known = local[~np.isnan(local)]
        if len(known) and not (self._begin <= known.min() and known.max() <= self._end):
            self._learn(int(known.min()), int(known.max()))
        first = local - self._offset[np.searchsorted(self._first, local, side="right")]
        second = local - self._offset[np.searchsorted(self._second, local, side="right")]
        return Moments(first, second)

    def _learn(self, begin: int, end: int) -> None:
        """Find when the clock changes between two times and a year around them."""
        assert self.zone is not None
        spread = 366 * DAY
        self._begin = min(self._begin or begin, begin) - spread
        self._end = max(self._end, end) + spread
        changes: list[tuple[int, int, int]] = []
        before = _offset(self.zone, self._begin)
        for day in range(self._begin, self._end + DAY, DAY):
            after = _offset(self.zone, day)
            if after != before:
                low, high = day - DAY, day
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (middle, high) if _offset(self.zone, middle) == before else (low, middle)
                changes.append((high, before, after))
                before = after
        # On the wall the clock jumps from t + before to t + after. Of the times between, the first reading takes the
        # offset before the change, the second that behind it.
        self._first = np.array([moment + max(old, new) for moment, old, new in changes], np.float64)
        self._second = np.array([moment + min(old, new) for moment, old, new in changes], np.float64)
        start = _offset(self.zone, self._begin)
        self._offset = np.array([start, *(new for _, _, new in changes)], np.float64)


def _epoch_seconds(texts: Sequence[str]) -> Floats | None:
    """Return (n,) s if all texts are seconds since 1970 of ten digits, which is quick to check and to read."""
    joined = "".join(texts)
    if len(joined) != EPOCH_LENGTH * len(texts) or not (joined.isascii() and joined.isdecimal()):
        return None
    if set(map(len, texts)) != {EPOCH_LENGTH}:
        return None
    digits = np.frombuffer(joined.encode("ascii"), np.uint8).reshape(-1, EPOCH_LENGTH) - ord("0")
    seconds: Floats = digits @ (10.0 ** np.arange(EPOCH_LENGTH - 1, -1, -1))
    return seconds


def _iso_seconds(texts: Sequence[str]) -> Floats:
    """Return (n,) s of ISO times as they are written, NaN for all else."""
    usual = [text if len(text) == ISO_LENGTH and text[4] == "-" and text[16] == ":" else "NaT" for text in texts]
    try:
        with warnings.catch_warnings(action="error", category=UserWarning):  # of offsets, which numpy would add
            moments = np.array(usual, dtype="datetime64[s]")
    except (ValueError, UserWarning):  # one that only looks like a time, or has an offset
        return np.full(len(texts), np.nan)
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(np.float64))


def _zone(name: str | None) -> ZoneInfo | None:
    if name is None or name.upper() in ("UTC", "GMT"):
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise OptionsError(f"--timezone: {name[:40]!r} is no time zone; a name as Europe/Madrid is needed") from None


def _offset(zone: ZoneInfo, moment: int) -> int:
    offset = datetime.fromtimestamp(moment, zone).utcoffset()
    return int((offset or timedelta()).total_seconds())


def repeated(moments: Moments) -> Ints:
    """Return the rows whose time the wall clock showed twice."""
    return np.flatnonzero(moments.second > moments.first)


def left_out(moments: Moments) -> Ints:
    """Return the rows whose time the wall clock never showed."""
    return np.flatnonzero(moments.second < moments.first)
