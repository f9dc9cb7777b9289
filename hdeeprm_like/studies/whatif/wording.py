"""How the answer to a what-if reads and looks: times, ratios, a sentence for each outcome, and the pictures.

Pictures are waits as bars with their intervals, and the queue and the utilization over time. They are markup of the
page itself and as wide as the screen or the sheet; their texts keep the size of all other text. Blue and orange are
those of Okabe and Ito, which colour-blind readers can distinguish; the present is always grey.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from hdeeprm_like.studies.whatif.answer import Answer
from hdeeprm_like.studies.whatif.figures import LONGER, UNKNOWN, OverTime
from hdeeprm_like.studies.whatif.mechanism import ALONE, IN_PLACE, MECHANISM, OTHER
from hdeeprm_like.types import Floats

MOST_NAMED = 3  # users by name
MANY_FOLD = 11.0  # ratios from which on percents are hard to read
STEPS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400)  # s
TICKS = 4  # at most, behind that of 0
EDGE = 0.06  # share of an axis at its ends, where a mark stands beside its place
DAY = 86400.0  # s
NO_BREAK = "\u00a0"
TIME = re.compile(r"(?<=\d) (?=(?:h|min|s|days|%|cores?)\b|%)|(?<=\d\u00a0h) (?=\d)|(?<=\d h) (?=\d)")


def duration(seconds: float) -> str:
    """Return a time as people say it: ``3 h 20 min``."""
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60:02} min"
    return f"{minutes / 1440:.1f} days"


def percent(ratio: float) -> str:
    """Return how much more or less a ratio is: ``-31 %``; large ones as ``25-fold``."""
    if ratio != ratio:
        return "not known"
    return f"{ratio:.0f}-fold" if ratio >= MANY_FOLD else f"{round(100 * (ratio - 1)):+} %"


def interval(row: Mapping[str, Any], name: str) -> str:
    """Return a ratio and its interval; of waits only where there are some."""
    if row["no_queue"] and name in ("wait", "beside"):
        return "hardly any waits"
    ratio, low, high = (row[f"{name}_{end}"] for end in ("ratio", "low", "high"))
    return percent(ratio) if low != low else f"{percent(ratio)} ({percent(low)} to {percent(high)})"


def sentence(row: Mapping[str, Any]) -> str:
    """Return what one outcome means for the users, beside what it is held beside: policy or mechanism, never both."""
    ratio, low, high = (row[f"beside_{end}"] for end in ("ratio", "low", "high"))
    name, other = row["name"], f" {row['beside']}, {ALONE}" if row["part"] == OTHER else ""
    subject = f"With {name}{f', {IN_PLACE},' if other else ''} your users would have waited"
    if row["part"] == MECHANISM:
        subject = f"{ALONE.capitalize()}: with {name}, the order of now and {IN_PLACE}, your users would have waited"
    if row["no_queue"]:
        queue = f"with{other}" if other else "now"
        return f"{name}: hardly any job waits on this machine, then or {queue}, so there is nothing to gain."
    if ratio != ratio:
        return f"{name}: no job waits {f'with{other}' if other else 'now'}, so there is nothing to compare with."
    if low == ratio == high == 1.0:
        return f"{subject} just as long{f' as with{other}' if other else ''}."
    change = ("less" if ratio < 1 else "more") + (f" than with{other}" if other else "")
    found = f"{subject} {abs(100 * (ratio - 1)):.0f} % {change}"
    if round(100 * (ratio - 1)) == 0:
        found = f"{subject} about as long{f' as with{other}' if other else ''}"
    if low != low:
        return f"{found}; too little of the time has waiting jobs to separate this from chance."
    if low <= 1.0 <= high:
        return f"{found}; the interval of {percent(low)} to {percent(high)} includes 0, so this may be chance."
    return f"{found} ({percent(low)} to {percent(high)})."


def sentences(found: Answer, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what some outcomes mean; where the model does not reproduce the log, that they mean nothing."""
    if found.fidelity is not None and found.fidelity.warning:
        return [found.fidelity.warning]
    return [sentence(row) for row in rows if row["beside"] is not None]


def users_who_lose(found: Answer, name: str) -> list[dict[str, Any]]:
    """Return the users who have a size of jobs that waits a minute or more longer, the one who loses most first.

    Where a size of jobs waits longer on average, at least one user has jobs of that size that wait as much longer; so
    this list is never empty beside such a size, as a list of users by the mean of all their jobs may be.
    """
    own = [line for line in found.people if line["name"] == name and line["worst_longer"] >= LONGER]
    return sorted(own, key=lambda line: -line["worst_longer"])


def names_users(found: Answer) -> bool:
    """Return whether the log names at least one user."""
    return any(line["group"] != UNKNOWN for line in found.people)


def users_sentence(found: Answer, name: str) -> str:
    """Return how many users have jobs that wait longer, and the names of those who lose most."""
    if not names_users(found):
        return "the log names no users"
    lose, users = users_who_lose(found, name), sum(line["name"] == name for line in found.people)
    if not lose:
        return f"none of {users:,} users has a size of jobs that waits longer on average"
    named = [
        f"{'user ' * who.isdigit()}{who} (by {duration(line['worst_longer'])}, {line['worst_size']})"
        for line in lose[:MOST_NAMED]
        for who in (line["group"],)
    ]
    more = f" and {len(lose) - MOST_NAMED:,} more" if len(lose) > MOST_NAMED else ""
    return f"{len(lose):,} of {users:,} users have a size of jobs that waits longer on average: " + (
        ", ".join(named) + more
    )


def losers(found: Answer, name: str) -> str:
    """Return which sizes of jobs wait a minute or more longer on average, small ones first."""
    lost = changed_classes(found, name, ("size",), 1.0)
    if not lost:
        return "no size of jobs waits longer on average"
    sizes = ", ".join(f"{line['group']} (by {duration(by)})" for line, by in lost)
    return f"jobs of {sizes} wait longer on average"


def changed_classes(
    found: Answer, name: str, kinds: Iterable[str], sign: float
) -> list[tuple[Mapping[str, Any], float]]:
    """Return the classes of jobs that wait a minute or more longer on average, and by how many s each.

    Args:
        kinds: of classes. sign: 1 for those that wait longer, -1 for those that wait shorter.
    """
    lines = [line for kind in kinds for line in found.groups if (line["name"], line["kind"]) == (name, kind)]
    differences = [(line, sign * (line["wait"] - line["wait_now"])) for line in lines]
    return [(line, by) for line, by in differences if by >= LONGER]


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
