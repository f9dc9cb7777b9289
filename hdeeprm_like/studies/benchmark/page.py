"""The card of a policy as one HTML page, and the cards of many as a table."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.inputs import read_object
from hdeeprm_like.results.html import pieces, write_page

HOUR = 3600.0
SHOWN = "bounded_slowdown"


def write_card_page(card: Mapping[str, Any], save: Path) -> None:
    """Write a card as a page.

    Raises:
        ResultsError: it cannot be written.
    """
    cases = [case | table_of_case(case, card) for case in card["cases"]]
    write_page(save, "studies/benchmark/page.html", title=f"Benchmark of {card['policy']}", card=card, cases=cases)


def table_of_case(case: Mapping[str, Any], card: Mapping[str, Any]) -> dict[str, Any]:
    """Return the titles and the rows of the figures of a case."""
    energy = any(row.get("energy") is not None for row in case["figures"].values())
    titles = ["policy", "bounded slowdown", "95 % interval", f"less {card['against']}", "95 % interval", "mean wait"]
    titles += ["longest wait", "utilization", *(["energy"] if energy else [])]
    rows = []
    for policy, row in sorted(case["figures"].items(), key=lambda item: float(item[1][SHOWN])):
        line = [
            pieces().strong(policy) if policy == card["policy"] else policy,
            f"{row[SHOWN]:,.2f}",
            interval(row, SHOWN),
            "" if policy == card["against"] else f"{row[f'{SHOWN}_difference']:+,.2f}",
            "" if policy == card["against"] else interval(row, f"{SHOWN}_difference", "+"),
            f"{row['wait'] / HOUR:,.2f} h",
            f"{row['wait_max'] / HOUR:,.1f} h",
            f"{100 * row['utilization']:.1f} %",
        ]
        rows.append(line + ([f"{row['energy'] / 1e9:,.3g} GJ"] if energy else []))
    return {"titles": titles, "rows": rows}


def interval(row: Mapping[str, Any], name: str, sign: str = "") -> str:
    """Return the bounds of a figure; nothing where one window gives none."""
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is None or high is None or math.isnan(low):
        return ""
    return f"[{low:{sign},.2f}, {high:{sign},.2f}]"


def read_card(path: Path) -> dict[str, Any]:
    """Return a card.

    Raises:
        ResultsError: it is none.
    """
    card = read_object(path, ResultsError)
    for name in ("protocol", "quick", "policy", "version", "against", "cost", "cases"):
        if name not in card:
            raise ResultsError(f"{path}: has no {name!r}; a card of `hdeeprm-like benchmark` is needed")
    return card


def table_of(cards: Iterable[Mapping[str, Any]]) -> str:
    """Return cards of one protocol side by side as a table in Markdown, the mean bounded slowdown of each case.

    Raises:
        ResultsError: they are of several protocols, or some are quick.
    """
    found = list(cards)
    if len({(card["protocol"], card["quick"]) for card in found}) > 1:
        raise ResultsError("cards: are of several protocols, or some are quick; figures of one protocol go together")
    names = [case["name"] for case in found[0]["cases"]]
    lines = [
        "| policy | " + " | ".join(names) + " | longest wait | µs a job |",
        "|---|" + "--:|" * (len(names) + 2),
    ]
    for card in found:
        own = [case["figures"].get(card["policy"]) for case in card["cases"]]
        cells = ["cannot" if row is None else f"{row[SHOWN]:,.1f}" for row in own]
        longest = max((row["wait_max"] for row in own if row is not None), default=0.0) / HOUR
        cost = 1e6 * card["cost"]["seconds_per_job"]
        lines.append(f"| `{card['policy']}` | " + " | ".join(cells) + f" | {longest:,.0f} h | {cost:,.1f} |")
    return "\n".join(lines) + "\n"
