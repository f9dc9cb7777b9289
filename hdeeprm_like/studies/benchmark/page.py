"""The card of a policy as one HTML page, and the cards of many as a table."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.inputs import read_object
from hdeeprm_like.results.html import pieces, write_page
from hdeeprm_like.studies.compare.text import summary_lines

HOUR = 3600.0


def label_of(card: Mapping[str, Any]) -> str:
    """Return the name of the policy of a card, or of several seeds."""
    names = [one["name"] for one in card["policies"]]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more seeds"


def write_card_page(card: Mapping[str, Any], save: Path) -> None:
    """Write a card as a page.

    Raises:
        ResultsError: it cannot be written.
    """
    own = {one["name"] for one in card["policies"]}
    label = label_of(card)
    cases = [case | {"table": table_of_case(case, own)} for case in card["cases"]]
    score = {group: interval(one) for group, one in card["score"].items()}
    write_page(save, "studies/benchmark/page.html", title=f"Benchmark of {label}", card=card, cases=cases, score=score)


def interval(score: Mapping[str, Any]) -> str:
    """Return an aggregated score with its interval."""
    return f"{score['mean']:.2f} [{score['low']:.2f}, {score['high']:.2f}]"


def table_of_case(case: Mapping[str, Any], own: Iterable[str]) -> list[list[str]]:
    """Return titles and a line for each policy of a case: its cost, its score and its figures."""
    rows = [{name: math.nan if value is None else value for name, value in row.items()} for row in case["summary"]]
    titles, *lines = summary_lines(rows, case["shown"])
    lines.sort(key=lambda line: float(case["costs"][line[0]]))
    told = [
        [pieces().strong(name) if name in own else name, f"{case['costs'][name]:,.4g}", cell_of(case, [name]), *cells]
        for name, *cells in lines
    ]
    return [["policy", "cost", "score", *titles[1:]], *told]


def read_card(path: Path) -> dict[str, Any]:
    """Return a card.

    Raises:
        ResultsError: it is none.
    """
    card = read_object(path, ResultsError)
    for name in ("protocol", "quick", "policies", "fresh", "version", "cost", "cases", "score"):
        if name not in card:
            raise ResultsError(f"{path}: has no {name!r}; a card of `hdeeprm-like benchmark` is needed")
    return card


def table_of(cards: Iterable[Mapping[str, Any]]) -> str:
    """Return cards of one protocol side by side as a table in Markdown, the best first: scores, and costs of each case.

    Raises:
        ResultsError: they are of several protocols, or some are quick.
    """
    found = sorted(cards, key=lambda card: -float(card["score"]["fixed"]["mean"]))
    if len({(card["protocol"], card["quick"]) for card in found}) > 1:
        raise ResultsError("cards: are of several protocols, or some are quick; figures of one protocol go together")
    names = [case["name"] for case in found[0]["cases"]]
    lines = [
        "| policy | score | fresh | played | " + " | ".join(names) + " | longest wait | µs a job |",
        "|---|--:|--:|--:|" + "--:|" * (len(names) + 2),
    ]
    for card in found:
        own = [one["name"] for one in card["policies"]]
        scores = card["score"]
        played = sum(scores[group]["played"] for group in scores)
        row = [f"`{label_of(card)}`", interval(scores["fixed"]), f"{scores['fresh']['mean']:.2f}"]
        row += [f"{played} of {len(names)}"]
        row += [cell_of(case, own) for case in card["cases"]]
        waits = [one["wait_max"] for case in card["cases"] for one in case["summary"] if one["policy"] in own]
        row += [f"{max(waits, default=0.0) / HOUR:,.0f} h", f"{1e6 * card['cost']['seconds_per_job']:,.1f}"]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def cell_of(case: Mapping[str, Any], own: Iterable[str]) -> str:
    """Return the mean score of policies in a case, a dash where none plays it."""
    scores = [case["scores"][name] for name in own if case["scores"].get(name) is not None]
    return f"{sum(scores) / len(scores):.2f}" if scores else "-"
