"""The pictures of an answer: waits as bars with their intervals, and the queue and the utilization over time.

They are markup of the page itself and as wide as the screen or the sheet; their texts keep the size of all other text.
Blue and orange are those of Okabe and Ito, which colour-blind readers can distinguish; the present is always grey.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from hdeeprm_like.studies.whatif.figures import OverTime
from hdeeprm_like.studies.whatif.wording import duration, interval
from hdeeprm_like.types import Floats

STEPS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400)  # s
TICKS = 4  # at most, behind that of 0
EDGE = 0.06  # share of an axis at its ends, where a mark stands beside its place
DAY = 86400.0  # s
NO_BREAK = "\u00a0"
TIME = re.compile(r"(?<=\d) (?=(?:h|min|s|days|%|cores?)\b|%)|(?<=\d\u00a0h) (?=\d)|(?<=\d h) (?=\d)")


def unbroken(text: str) -> str:
    """Return a text whose figures stay on one line with their units."""
    return TIME.sub(NO_BREAK, text).replace("% to ", f"%{NO_BREAK}to{NO_BREAK}")


def waits(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the chart of waits draws: the mean wait and the 95th percentile of each outcome, with intervals."""
    most = max(_ends(row, name)[1] for row in rows for name in ("mean", "p95")) or 1.0
    step = step_for(most)
    width = max(most, step)
    ticks = np.arange(0.0, width + 0.02 * width, step)
    return {
        "rows": [
            {
                "name": row["name"],
                "beside": "now" if row["beside"] is None else unbroken(f"mean wait {interval(row, 'beside')}"),
                "mean": _bar(row["wait"], _ends(row, "mean"), width),
                "p95": _bar(row["wait_p95"], _ends(row, "p95"), width),
            }
            for row in rows
        ],
        "ticks": [(_short(tick), *_place(tick / width)) for tick in ticks.tolist()],
    }


def _ends(row: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return the interval of a figure; the figure itself where that is not known."""
    value = float(row["wait"] if name == "mean" else row["wait_p95"])
    low, high = float(row[f"wait_{name}_from"]), float(row[f"wait_{name}_to"])
    return (value, value) if low != low else (low, high)


def _bar(value: float, ends: tuple[float, float], width: float) -> dict[str, Any]:
    """Return a bar with its interval, in percent of an axis, and their texts."""
    low, high = (100.0 * end / width for end in ends)
    between = unbroken(f"{duration(ends[0])} to {duration(ends[1])}") if ends[1] > ends[0] else ""
    return {
        "value": 100 * value / width,
        "low": low,
        "high": high,
        "text": unbroken(duration(value)),
        "between": between,
    }


def _place(share: float) -> tuple[float, int]:
    """Return where a mark of an axis stands and how far it is moved, in percent: below its place, not beyond an end."""
    return 100 * share, 0 if share < EDGE else 100 if share > 1.0 - EDGE else 50


def step_for(most: float) -> float:
    """Return the distance of the marks of an axis of times that is *most* s long."""
    days = [DAY * 10**power * digit for power in range(6) for digit in (1, 2, 5)]
    return float(next((step for step in (*STEPS, *days) if most / step <= TICKS), days[-1]))


def _short(seconds: float) -> str:
    """Return a mark of an axis: ``0``, ``30 min``, ``6 h``, ``2 d``."""
    for unit, length in (("d", DAY), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length and seconds % length == 0.0:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds else "0"


def pictures(now: OverTime, then: OverTime, begin: float, dated: bool) -> dict[str, Any]:
    """Return what the pictures of the queue and the utilization over time draw, now and in an outcome.

    Args:
        begin: s since 1970, when the first job arrives. dated: whether the log has dates.
    """
    most = max(float(now.waiting.max()), float(then.waiting.max()))
    columns = [
        {"title": title, "top": top, "now": _line(one / high), "then": _line(other / high)}
        for title, top, high, one, other in (
            ("jobs that wait", f"{most:,.0f} jobs", most or 1.0, now.waiting, then.waiting),
            ("cores in use", "100 %", 1.0, now.used, then.used),
        )
    ]
    return {"columns": columns, "last": len(now.waiting) - 1, "dates": _dates(now.edges, begin, dated)}


def _line(shares: Floats) -> str:
    """Return shares of 1 over time as a path of SVG."""
    return "M" + "L".join(f"{place} {100 - 98 * value:.1f}" for place, value in enumerate(shares.tolist()))


def _dates(edges: Floats, begin: float, dated: bool) -> list[str]:
    """Return the first, the middle and the last date of a picture."""
    places = (float(edges[0]), float(edges[0] + edges[-1]) / 2.0, float(edges[-1]))
    if dated:
        return [date(begin + place, edges[-1] - edges[0] < 3 * DAY) for place in places]
    return [duration(place) if place else "0" for place in places]


def date(moment: float, exact: bool = False) -> str:
    """Return a date by UTC, with the time of day where that is wanted."""
    return f"{datetime.fromtimestamp(moment, UTC):{'%Y-%m-%d %H:%M' if exact else '%Y-%m-%d'}}"
