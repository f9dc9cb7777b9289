"""The pictures of an answer: waits as bars with their intervals, and the queue and the utilization over time.

They are markup of the page itself and as wide as the screen or the sheet; their texts keep the size of all other text.
Blue and orange are those of Okabe and Ito, which colour-blind readers can distinguish; now is always grey.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from hdeeprm_like.results.html import Html, element, joined
from hdeeprm_like.studies.whatif.over_time import OverTime
from hdeeprm_like.studies.whatif.wording import duration, interval
from hdeeprm_like.types import Floats

STYLE = """
.facts { display: flex; flex-wrap: wrap; gap: .5rem 1.8rem; margin: .8rem 0; }
.facts div { min-width: 0; max-width: 100%; }
.facts dt { color: var(--soft); font-size: .8rem; }
.facts dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
.first { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 0 2.4rem; }
.first h2 { margin-top: .8rem; }
.outcome { break-inside: avoid; padding: .35rem 0 .45rem; border-bottom: 1px solid var(--line); }
.outcome .name { display: flex; flex-wrap: wrap; gap: 0 .7rem; justify-content: space-between; font-size: .92rem; }
.outcome .name b { overflow-wrap: anywhere; }
.bar { display: grid; grid-template-columns: 2.8rem minmax(0, 1fr) 11rem; gap: .5rem; align-items: center;
  font-size: .84rem; line-height: 1.35; font-variant-numeric: tabular-nums; }
.bar small { color: var(--soft); font-size: .78rem; display: block; }
.track { position: relative; height: .95rem; background: var(--ground); }
.track i { position: absolute; left: 0; top: 0; bottom: 0; }
.track .mean { background: #0072B2; }
.track .tail { background: repeating-linear-gradient(135deg, #E69F00 0 5px, #F3CB75 5px 8px); }
.track .between { top: 50%; bottom: auto; height: 2px; margin-top: -1px; background: #000; }
.track .end { width: 2px; left: auto; top: 15%; bottom: 15%; margin-left: -1px; background: #000; }
.ticks { position: relative; height: 1.1rem; }
.ticks span { position: absolute; white-space: nowrap; color: var(--soft); font-size: .75rem; }
.key { display: inline-block; width: 1.6em; height: .75em; position: relative; vertical-align: baseline; }
.key.mean { background: #0072B2; }
.key.tail { background: repeating-linear-gradient(135deg, #E69F00 0 5px, #F3CB75 5px 8px); }
.key.interval { border: solid #000; border-width: 0 2px; height: .7em;
  background: linear-gradient(#000, #000) center / 100% 2px no-repeat; }
.key.now { background: #d4d7da; border-top: 2px solid #6b6f74; }
.key.then { border-top: 3px solid #0072B2; height: .3em; }
.note { color: var(--soft); font-size: .84rem; }
.who { break-inside: avoid; padding: .35rem 0 .45rem; border-bottom: 1px solid var(--line); font-size: .88rem; }
.who b, .who p { overflow-wrap: anywhere; }
.who p { margin: .15rem 0; }
.pictures { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .2rem 1.6rem; break-inside: avoid; }
.picture { min-width: 0; }
.picture .title { display: flex; justify-content: space-between; gap: .6rem; font-size: .8rem; color: var(--soft); }
.picture svg { display: block; width: 100%; height: 8rem; border: solid var(--soft); border-width: 0 0 1px 1px; }
.picture .dates { display: flex; justify-content: space-between; font-size: .75rem; color: var(--soft); }
h3 { overflow-wrap: anywhere; }
@media (max-width: 820px) { .first, .pictures { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 480px) { .bar { grid-template-columns: 2.5rem minmax(0, 1fr) 6.2rem; } }
@media print {
  .first { display: block; }
  .picture svg { height: 5.5rem; }
  .pictures { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .scroll td:first-child { min-width: 9em; overflow-wrap: anywhere; }
}
"""
STEPS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400)  # s
TICKS = 4  # at most, behind that of 0
EDGE = 0.06  # share of an axis at its ends, where a mark stands beside its place
DAY = 86400.0  # s
NO_BREAK = "\u00a0"
TIME = re.compile(r"(?<=\d) (?=(?:h|min|s|days|%|cores?)\b|%)|(?<=\d\u00a0h) (?=\d)|(?<=\d h) (?=\d)")


def facts(pairs: Mapping[str, object]) -> Html:
    """Return names and values beside each other, as many on a line as there is room for."""
    return element(
        "dl",
        joined(element("div", element("dt", name), element("dd", value)) for name, value in pairs.items()),
        class_="facts",
    )


def unbroken(text: str) -> str:
    """Return a text whose figures stay on one line with their units."""
    return TIME.sub(NO_BREAK, text).replace("% to ", f"%{NO_BREAK}to{NO_BREAK}")


def waits(rows: Sequence[Mapping[str, Any]]) -> Html:
    """Return the chart of the mean wait and the 95th percentile of each outcome, with their intervals."""
    most = max(_ends(row, name)[1] for row in rows for name in ("mean", "p95")) or 1.0
    step = step_for(most)
    width = max(most, step)
    ticks = np.arange(0.0, width + 0.02 * width, step)
    parts = [
        element(
            "div",
            element(
                "div",
                element("b", row["name"]),
                element("span", "now" if row["beside"] is None else unbroken(f"mean wait {interval(row, 'beside')}")),
                class_="name",
            ),
            _bar("mean", "mean", row["wait"], _ends(row, "mean"), width),
            _bar("P95", "tail", row["wait_p95"], _ends(row, "p95"), width),
            class_="outcome",
        )
        for row in rows
    ]
    scale = joined((_tick(_short(tick), tick / width) for tick in ticks.tolist()), "")
    parts.append(element("div", element("span"), element("div", scale, class_="ticks"), element("span"), class_="bar"))
    legend = (
        *(element("span", class_="key mean"), " mean wait, "),
        *(element("span", class_="key tail"), " wait that 5 % of the jobs exceed (P95), "),
        *(element("span", class_="key interval"), " interval of 95 %, also below each figure."),
    )
    return joined([*parts, element("p", joined(legend, ""), class_="note")])


def _ends(row: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return the interval of a figure; the figure itself where that is not known."""
    value = float(row["wait"] if name == "mean" else row["wait_p95"])
    low, high = float(row[f"wait_{name}_from"]), float(row[f"wait_{name}_to"])
    return (value, value) if low != low else (low, high)


def _bar(title: str, kind: str, value: float, ends: tuple[float, float], width: float) -> Html:
    low, high = (100.0 * end / width for end in ends)
    track = [element("i", class_=kind, style=f"width:{100 * value / width:.2f}%")]
    text = element("span", unbroken(duration(value)))
    if ends[1] > ends[0]:
        track += [
            element("i", class_="between", style=f"left:{low:.2f}%;width:{high - low:.2f}%"),
            *(element("i", class_="end", style=f"left:{end:.2f}%") for end in (low, high)),
        ]
        between = unbroken(f"{duration(ends[0])} to {duration(ends[1])}")
        text = element("span", unbroken(duration(value)), element("small", between))
    return element("div", element("span", title), element("div", joined(track, ""), class_="track"), text, class_="bar")


def _tick(text: str, place: float) -> Html:
    """Return a mark of an axis: below its place, but not beyond the ends."""
    moved = 0 if place < EDGE else 100 if place > 1.0 - EDGE else 50
    return element("span", text, style=f"left:{100 * place:.2f}%;transform:translateX(-{moved}%)")


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


def pictures(now: OverTime, then: OverTime, begin: float, dated: bool) -> Html:
    """Return the queue and the utilization over time, now and in an outcome.

    Args:
        begin: s since 1970, when the first job arrives. dated: whether the log has dates.
    """
    most = max(float(now.waiting.max()), float(then.waiting.max()))
    marks = element(
        "div",
        joined((element("span", text) for text in _dates(now.edges, begin, dated)), ""),
        class_="dates",
    )
    drawn = [
        element(
            "div",
            element("div", element("span", title), element("span", f"top: {top}"), class_="title"),
            _lines(one / high, other / high, title),
            marks,
            class_="picture",
        )
        for title, top, high, one, other in (
            ("jobs that wait", f"{most:,.0f} jobs", most or 1.0, now.waiting, then.waiting),
            ("cores in use", "100 %", 1.0, now.used, then.used),
        )
    ]
    return element("div", joined(drawn, ""), class_="pictures")


def _lines(now: Floats, then: Floats, title: str) -> Html:
    """Return two columns of shares of 1 over time: now as a grey ground, then as a line."""
    count = len(now)

    def path(column: Floats) -> str:
        points = [f"{place} {100 - 98 * value:.1f}" for place, value in enumerate(column.tolist())]
        return "M" + "L".join(points)

    ground = f"{path(now)}L{count - 1} 100L0 100Z"
    shapes = (
        element("path", d=ground, fill="#d4d7da"),
        element(
            "path", d=path(now), fill="none", stroke="#6b6f74", stroke_width="1", vector_effect="non-scaling-stroke"
        ),
        element(
            "path", d=path(then), fill="none", stroke="#0072B2", stroke_width="2", vector_effect="non-scaling-stroke"
        ),
    )
    return element(
        "svg",
        joined(shapes, ""),
        viewBox=f"0 0 {count - 1} 100",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{title} over time, now and then",
    )


def _dates(edges: Floats, begin: float, dated: bool) -> list[str]:
    """Return the first, the middle and the last date of a picture."""
    places = (float(edges[0]), float(edges[0] + edges[-1]) / 2.0, float(edges[-1]))
    if dated:
        return [date(begin + place, edges[-1] - edges[0] < 3 * DAY) for place in places]
    return [duration(place) if place else "0" for place in places]


def date(moment: float, exact: bool = False) -> str:
    """Return a date by UTC, with the time of day where that is wanted."""
    return f"{datetime.fromtimestamp(moment, UTC):{'%Y-%m-%d %H:%M' if exact else '%Y-%m-%d'}}"
