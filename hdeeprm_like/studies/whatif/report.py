"""The answer as files: one page for people, tables for programs."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hdeeprm_like.formats.files import replacing, write_json
from hdeeprm_like.results.html import Html, badge, details, element, joined, page, paragraph, section, table, write_page
from hdeeprm_like.studies.whatif.answer import LONGER, Answer, as_tables
from hdeeprm_like.studies.whatif.fidelity import MEANING, Fidelity
from hdeeprm_like.studies.whatif.mechanism import (
    ALONE,
    APART,
    IN_PLACE,
    MECHANISM,
    OTHER,
    beside_now,
    in_place_of_slurm,
)

REPORT, RECORD, GROUPS, USERS = "report.html", "whatif.json", "groups.csv", "users.csv"
KINDS = {"A": "good", "B": "fair", "C": "weak", "D": "bad"}
MOST_PEOPLE = 10  # of those who win, and of those who lose
MOST_GROUPS = 24


def write_answer(found: Answer, folder: Path) -> None:
    """Write the page and the tables.

    Raises:
        ResultsError: they cannot be written.
    """
    write_json(folder / RECORD, as_tables(found))
    _write_csv(folder / GROUPS, found.groups)
    _write_csv(folder / USERS, found.people)
    write_page(folder / REPORT, page_of(found))


def _write_csv(path: Path, lines: Sequence[dict[str, Any]]) -> None:
    with replacing(path) as file:
        if lines:
            writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)


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
    """Return how much more or less a ratio is: ``-31 %``."""
    return "not known" if ratio != ratio else f"{100 * (ratio - 1):+.0f} %"


def interval(row: dict[str, Any], name: str) -> str:
    """Return a ratio and its interval."""
    ratio, low, high = (row[f"{name}_{end}"] for end in ("ratio", "low", "high"))
    return percent(ratio) if low != low else f"{percent(ratio)} ({percent(low)} to {percent(high)})"


def sentence(row: dict[str, Any]) -> str:
    """Return what one outcome means for the users, beside what it is held beside: policy or mechanism, never both."""
    ratio, low, high = (row[f"beside_{end}"] for end in ("ratio", "low", "high"))
    name, other = row["name"], f" {row['beside']}, {ALONE}" if row["part"] == OTHER else ""
    subject = f"With {name}{f', {IN_PLACE},' if other else ''} your users would have waited"
    if row["part"] == MECHANISM:
        subject = f"{ALONE.capitalize()}: with {name}, the order of now and {IN_PLACE}, your users would have waited"
    if ratio != ratio:
        return f"{name}: no job waits {f'with{other}' if other else 'now'}, so there is nothing to compare with."
    if low == ratio == high == 1.0:
        return f"{subject} just as long{f' as with{other}' if other else ''}."
    change = ("less" if ratio < 1 else "more") + (f" than with{other}" if other else "")
    told = f"{subject} {abs(100 * (ratio - 1)):.0f} % {change}"
    if low != low:
        return f"{told}; too little of the time has waiting jobs to separate this from chance."
    if low <= 1.0 <= high:
        return f"{told}; the interval of {percent(low)} to {percent(high)} includes 0, so this may be chance."
    return f"{told} ({percent(low)} to {percent(high)})."


def page_of(found: Answer) -> Html:
    """Return the whole page."""
    present, shown, apart = found.rows[0], replace(found, rows=beside_now(found.rows)), in_place_of_slurm(found.rows)
    warning = found.fidelity.warning if found.fidelity is not None else ""
    intro = [
        *([paragraph(element("strong", warning))] if warning else []),
        paragraph(
            f"{found.jobs:,} jobs were simulated under each policy. {present['name']} stands for what the machine does "
            f"now; everything is compared with it, job by job; intervals (95 %) are over {found.blocks} blocks of time."
        ),
        *(
            [paragraph(f"What needs {IN_PLACE} stands apart: what that is worth is no merit of a policy.")]
            if apart
            else []
        ),
        *(paragraph(note + ".") for note in found.notes),
        *(
            paragraph(f"{count:,} jobs could not run with {name}; they are left out everywhere.")
            for name, count in found.never.items()
        ),
        *(paragraph(sentence(row)) for row in shown.rows[1:]),
    ]
    parts = [
        joined(intro),
        section("Does the model know your machine?", _fidelity(found.fidelity, present["name"])),
        section("Policies and changes", _outcomes(shown.rows)),
        *([section(APART, *_other_schedulers(apart))] if apart else []),
        section("Who would wait longer, and who shorter", *_people(shown)),
        section("By partition, account, size and hour", *_groups(shown)),
    ]
    return page("What if: another policy, another machine", *parts)


def _fidelity(told: Fidelity | None, now: str) -> Html:
    if told is None:
        return paragraph("The log records no waits, so how well the model reproduces it is not known.")
    share = told.left_out / (told.jobs + told.left_out)
    figures = {
        "mean wait": tuple(map(duration, told.wait)),
        "median wait": tuple(map(duration, told.median)),
        "95th percentile of the waits": tuple(map(duration, told.p95)),
        "utilization": tuple(f"{100 * value:.1f} %" for value in told.utilization),
        "order of the waits": ("1", f"{told.order:.2f} (rank correlation)"),
        "starts within 5 minutes": ("100 %", f"{100 * told.close:.0f} %"),
        "jobs left out": ("", f"{told.left_out:,} ({100 * share:.1f} %)"),
    }
    rows = [
        (name, *pair, badge(told.marks[name], KINDS[told.marks[name]]) if name in told.marks else "")
        for name, pair in figures.items()
    ]
    return joined(
        [
            paragraph("Grade ", badge(told.grade, KINDS[told.grade]), f": {MEANING[told.grade]}."),
            table(["", "recorded", f"simulated ({now})", "grade"], rows, numbers=(1, 2)),
        ]
    )


def _outcomes(rows: Sequence[dict[str, Any]]) -> Html:
    titles = [
        "",
        "mean wait",
        "to now",
        "median",
        "P95",
        "P99",
        "slowdown to now",
        "utilization",
        "energy",
        "longer",
        "shorter",
    ]
    lines = [
        (
            row["name"],
            duration(row["wait"]),
            interval(row, "wait") if place else "",
            *(duration(row[name]) for name in ("wait_median", "wait_p95", "wait_p99")),
            interval(row, "bounded_slowdown") if place else "",
            f"{100 * row['utilization']:.1f} %",
            percent(row["energy"] / rows[0]["energy"]) if place and rows[0]["energy"] > 0 else "",
            f"{100 * row['longer']:.0f} %",
            f"{100 * row['shorter']:.0f} %",
        )
        for place, row in enumerate(rows)
    ]
    note = "Longer and shorter: the share of the jobs that wait a minute or more longer, or shorter, than now."
    return joined([table(titles, lines, numbers=tuple(range(1, len(titles)))), paragraph(note)])


def _other_schedulers(rows: Sequence[dict[str, Any]]) -> list[Html]:
    titles = ["", "mean wait", "median", "P95", "utilization", "the mechanism, to now", f"the policy, to {ALONE}"]
    lines = [
        (
            row["name"] + (f", {ALONE}" if row["part"] == MECHANISM else ""),
            *(duration(row[name]) for name in ("wait", "wait_median", "wait_p95")),
            f"{100 * row['utilization']:.1f} %",
            interval(row, "beside") if row["part"] == MECHANISM else "",
            interval(row, "beside") if row["part"] == OTHER else "",
        )
        for row in rows
    ]
    return [
        *(paragraph(sentence(row)) for row in rows),
        table(titles, lines, numbers=tuple(range(1, len(titles)))),
        paragraph("These schedulers act at once and know no interval; no watch makes a Slurm into one of them."),
    ]


def _people(found: Answer) -> list[Html]:
    parts = []
    for row in found.rows[1:]:
        own = [line for line in found.people if line["name"] == row["name"]]
        chosen = own if len(own) <= 2 * MOST_PEOPLE else own[:MOST_PEOPLE] + own[-MOST_PEOPLE:]
        lines = [
            (
                line["group"],
                f"{line['jobs']:,}",
                duration(line["wait_now"]),
                duration(line["wait"]),
                f"{line['hours']:+,.1f}",
            )
            for line in chosen
        ]
        titles = ["user", "jobs", "mean wait now", "then", "hours in all"]
        lose = sum(line["hours"] > 0 for line in own)
        summary = f"{row['name']}: {lose:,} of {len(own):,} users wait longer in all; {losers(found, row['name'])}"
        parts.append(details(summary, table(titles, lines, numbers=(1, 2, 3, 4))))
    return parts


def losers(found: Answer, name: str) -> str:
    """Return which sizes of jobs wait a minute or more longer on average, the one that loses most first."""
    sizes = [line for line in found.groups if (line["name"], line["kind"]) == (name, "size")]
    lost = {line["group"]: line["wait"] - line["wait_now"] for line in sizes}
    worst = sorted((size for size in lost if lost[size] >= LONGER), key=lambda size: -lost[size])
    if not worst:
        return "no size of jobs waits longer on average"
    return "longer on average wait jobs of " + ", ".join(f"{size} (by {duration(lost[size])})" for size in worst)


def _groups(found: Answer) -> list[Html]:
    parts = []
    names = [row["name"] for row in found.rows[1:]]
    for kind in dict.fromkeys(line["kind"] for line in found.groups) if names else ():
        own = [line for line in found.groups if line["kind"] == kind]
        known = {(line["group"], line["name"]): line for line in own}
        groups = list(dict.fromkeys(line["group"] for line in own))
        groups.sort(key=lambda group: -known[group, names[0]]["jobs"] if kind in ("account", "partition") else 0)
        lines = [
            (
                group,
                f"{known[group, names[0]]['jobs']:,}",
                duration(known[group, names[0]]["wait_now"]),
                *(duration(known[group, name]["wait"]) for name in names),
            )
            for group in groups[:MOST_GROUPS]
        ]
        titles = [kind, "jobs", "now", *names]
        note = f"mean wait by {kind}" + (f", the {MOST_GROUPS} with most jobs" if len(groups) > MOST_GROUPS else "")
        parts.append(table(titles, lines, note, numbers=tuple(range(1, len(titles)))))
    return parts
