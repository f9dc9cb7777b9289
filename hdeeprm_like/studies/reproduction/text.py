"""Format results and experiments as lines of text."""

from collections.abc import Mapping, Sequence
from typing import Any

from hdeeprm_like.studies.reproduction.claims import QUOTED
from hdeeprm_like.studies.reproduction.experiment import DOCUMENTS, Experiment, experiment
from hdeeprm_like.studies.reproduction.place import Place, Scale, Settings


def listed(experiments: Sequence[Experiment], settings: Settings) -> str:
    """Return one line for each experiment: id, document and figure, tier, CPU minutes, inputs."""
    lines = []
    for one in experiments:
        place = Place(one, settings)
        found = {name: place.trace(name) is not None for name in one.traces}
        inputs = ", ".join(f"{name} {'found' if there else 'missing'}" for name, there in found.items())
        line = f"{one.id}  {one.tier:<6}  {cost_of(one, settings.scale):>7}  {one.document} {one.shows}: {one.title}"
        lines.append(line + (f" ({inputs})" if inputs else ""))
    return "\n".join(lines) + "\n"


def cost_of(one: Experiment, scale: Scale) -> str:
    """Return the approximate CPU time of an experiment."""
    minutes = one.minutes[scale]
    return f"{minutes:g} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def described(result: Mapping[str, Any]) -> str:
    """Return one line for each published number of a result."""
    lines = []
    for row in result["numbers"]:
        published = f"published {row['published']}" if row["published"] else "ours alone"
        words = [
            f"{result['id']} {source_of(result, row)}",
            row["what"],
            published,
            f"ours {ours_of(row)}",
            row["verdict"],
        ]
        if row.get("allowed"):
            words[2] += f" (allowed: {row['allowed']})"
        if row.get("budget"):
            words[3] += f" ({row['budget']})"
        if row["verdict"] == QUOTED and row["note"]:
            words[-1] += f" ({row['note']})"
        lines.append("   ".join(words) + (f" (x {row['ratio']:.3g})" if row["ratio"] is not None else ""))
    return "\n".join(lines) + "\n"


def source_of(result: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Return where a number was published: the letter of its document and the place in it, e.g. ``T fig. 5.6``."""
    source: str = row["source"]
    has_letter = source[:1] in DOCUMENTS and source[1:2] == " "
    return source if has_letter else f"{experiment(result['id']).document[0]} {source}"


def ours_of(row: Mapping[str, Any]) -> str:
    """Return our result with its interval, deviation and number."""
    ours = row["ours"]
    if ours is None:
        return "-"
    if not isinstance(ours, float | int) or isinstance(ours, bool):
        return str(ours)
    text = short(ours)
    if row["low"] is not None:
        text += f" [{short(row['low'])}, {short(row['high'])}]"
    if row["n"] > 1:
        text += f" n={row['n']}"
    return text


def short(value: float) -> str:
    """Return a number with the digits that count."""
    size = abs(value)
    if value == round(value) and size < 1e9:
        return f"{value:,.0f}"
    if size >= 1e7:
        return f"{value:.6e}"
    if size >= 1000:
        return f"{value:,.1f}"
    return f"{value:.2f}" if size >= 10 else f"{value:.4g}"
