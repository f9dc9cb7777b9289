"""How the answer to a what-if reads: times, ratios with their intervals, and one sentence for each outcome."""

from collections.abc import Iterable, Mapping
from typing import Any

from hdeeprm_like.studies.whatif.answer import Answer
from hdeeprm_like.studies.whatif.figures import LONGER, UNKNOWN
from hdeeprm_like.studies.whatif.mechanism import ALONE, IN_PLACE, MECHANISM, OTHER

MOST_NAMED = 3  # users by name
MANY_FOLD = 11.0  # ratios from which on percents are hard to read


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
