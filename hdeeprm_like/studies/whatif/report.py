"""The answer as files: one page for people, tables for programs."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hdeeprm_like.formats.files import replacing, write_json
from hdeeprm_like.results.html import Html, badge, details, element, joined, page, paragraph, section, table, write_page
from hdeeprm_like.studies.whatif import chart
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
from hdeeprm_like.studies.whatif.wording import (
    MOST_NAMED,
    changed_classes,
    duration,
    interval,
    losers,
    names_users,
    percent,
    sentence,
    users_sentence,
)

REPORT, RECORD, GROUPS, USERS = "report.html", "whatif.json", "groups.csv", "users.csv"
OVER_TIME = "over_time.csv"
BADGES = {"A": "good", "B": "fair", "C": "weak", "D": "bad"}
MOST_PEOPLE = 10  # of those who win, and of those who lose
MOST_GROUPS = 24
CLASS_NAMES = {"size": "jobs of", "partition": "partition", "account": "account"}
NO_GRADE = "a log without recorded waits shows nothing of how well the model reproduces it"


def write_answer(found: Answer, folder: Path) -> None:
    """Write the page and the tables.

    Raises:
        ResultsError: they cannot be written.
    """
    write_json(folder / RECORD, as_tables(found))
    _write_csv(folder / GROUPS, found.groups)
    _write_csv(folder / USERS, found.people)
    _write_csv(folder / OVER_TIME, _lines_over_time(found))
    write_page(folder / REPORT, page_of(found))


def _lines_over_time(found: Answer) -> list[dict[str, Any]]:
    """Return the queue and the utilization of each span, in s from the first job on."""
    return [
        {"name": row["name"], "from": begin, "to": end, "waiting": waiting, "used": used}
        for row, one in zip(found.rows, found.over_time, strict=bool(found.over_time))
        for begin, end, waiting, used in zip(
            one.edges[:-1].tolist(), one.edges[1:].tolist(), one.waiting.tolist(), one.used.tolist(), strict=True
        )
    ]


def _write_csv(path: Path, lines: Sequence[dict[str, Any]]) -> None:
    with replacing(path) as file:
        if lines:
            writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)


def page_of(found: Answer) -> Html:
    """Return the whole page."""
    shown, apart = replace(found, rows=beside_now(found.rows)), in_place_of_slurm(found.rows)
    present = found.rows[0]["name"]
    parts = [
        *_first_screen(shown),
        section("What this means", *_meaning(shown, bool(apart))),
        *([section("Queue and utilization over time", *_over_time(found, shown))] if found.over_time else []),
        section("Does the model know your machine?", _fidelity(found.fidelity, present)),
        section("Policies and changes", _outcomes(shown.rows)),
        *([section(APART, *_other_schedulers(apart))] if apart else []),
        section("Who would wait longer, and who shorter", *_people(shown)),
        section("By partition, account, size and hour", *_groups(shown)),
    ]
    return page("What if: another policy, another machine", *parts, style=chart.STYLE)


def _first_screen(shown: Answer) -> list[Html]:
    """Return what a reader sees first: the question, the grade, the waits, and who wins and who loses."""
    about, fidelity = shown.subject, shown.fidelity
    warning = fidelity.warning if fidelity is not None else ""
    pairs: dict[str, object] = {}
    if about is not None:
        nodes = f"{about.nodes:,} nodes, " if about.nodes else ""
        pairs["machine"] = f"{about.machine}: {nodes}{about.cores:,} cores"
        pairs["log"] = about.log or "not named"
        pairs["dates"] = (
            f"{chart.date(about.begin)} to {chart.date(about.end)}"
            if about.dated
            else f"{duration(about.end - about.begin)}; the log has no dates"
        )
        pairs["jobs"] = f"{shown.jobs:,} of {about.read:,} compared, {about.left_out:,} left out"
    grade: object = "none: the log records no waits"
    if fidelity is not None:
        grade = joined([badge(fidelity.grade, BADGES[fidelity.grade]), " of A to D"], "")
    pairs["grade of the model"] = grade
    meaning = MEANING[fidelity.grade] if fidelity is not None else NO_GRADE
    return [
        *([paragraph(element("strong", warning))] if warning else []),
        chart.facts(pairs),
        element("p", f"The grade: {meaning}.", class_="note"),
        element(
            "div",
            section("How long jobs wait, now and then", chart.waits(shown.rows)),
            section("Who wins and who loses", *(_wins_and_losses(shown, row["name"]) for row in shown.rows[1:])),
            class_="first",
        ),
    ]


def _wins_and_losses(found: Answer, name: str) -> Html:
    """Return which classes of jobs and which users wait longer under an outcome, and which classes wait shorter."""
    lines = []
    for title, sign in (("Wait longer", 1.0), ("Wait shorter", -1.0)):
        own = [
            f"{CLASS_NAMES[kind]} " + ", ".join(f"{line['group']} (by {duration(by)})" for line, by in changed)
            for kind in CLASS_NAMES
            if (changed := most_changed(found, name, kind, sign))
        ]
        text = chart.unbroken("; ".join(own)) or "no class of jobs"
        lines.append(element("p", element("strong", f"{title}: "), text, "."))
    if names_users(found):
        users = chart.unbroken(users_sentence(found, name))
        lines.insert(1, paragraph(users[0].upper() + users[1:] + "."))
    return element("div", element("b", name), *lines, class_="who")


def most_changed(found: Answer, name: str, kind: str, sign: float) -> list[tuple[Mapping[str, Any], float]]:
    """Return the classes of a kind that wait longer (*sign* 1) or shorter (-1).

    All sizes, small ones first; of other kinds those that change most.
    """
    changed = changed_classes(found, name, (kind,), sign)
    return changed if kind == "size" else sorted(changed, key=lambda pair: -pair[1])[:MOST_NAMED]


def _meaning(shown: Answer, apart: bool) -> list[Html]:
    present = shown.rows[0]["name"]
    return [
        *(paragraph(sentence(row)) for row in shown.rows[1:]),
        paragraph(
            f"{shown.jobs:,} jobs were simulated under each policy. {present} stands for what the machine does "
            f"now; everything is compared with it, job by job; intervals (95 %) are over {shown.blocks} blocks of time."
        ),
        *([paragraph(f"What needs {IN_PLACE} stands apart: what that is worth is no merit of a policy.")] * apart),
        *(paragraph(note + ".") for note in shown.notes),
        *(
            paragraph(f"{count:,} jobs could not run with {name}; they are left out everywhere.")
            for name, count in shown.never.items()
        ),
    ]


def _over_time(found: Answer, shown: Answer) -> list[Html]:
    """Return the pictures of each outcome that is compared with now."""
    about, now = found.subject, found.over_time[0]
    begin, dated = (about.begin, about.dated) if about is not None else (0.0, False)
    keys = element("span", class_="key now"), " now, ", element("span", class_="key then"), " then. "
    names = {row["name"] for row in shown.rows[1:]}
    drawn = [
        section(row["name"], chart.pictures(now, then, begin, dated), level=3)
        for row, then in zip(found.rows, found.over_time, strict=True)
        if row["name"] in names
    ]
    if not drawn:
        drawn = [chart.pictures(now, now, begin, dated)]
    return [element("p", joined(keys, ""), "Each point is the mean of a span.", class_="note"), *drawn]


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
        (name, *pair, badge(told.marks[name], BADGES[told.marks[name]]) if name in told.marks else "")
        for name, pair in figures.items()
    ]
    return joined(
        [
            paragraph("Grade ", badge(told.grade, BADGES[told.grade]), f": {MEANING[told.grade]}."),
            table(["", "recorded", f"simulated ({now})", "grade"], rows, numbers=(1, 2), stacked=True),
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
            chart.unbroken(interval(row, "wait")) if place else "",
            *(duration(row[name]) for name in ("wait_median", "wait_p95", "wait_p99")),
            chart.unbroken(interval(row, "bounded_slowdown")) if place else "",
            f"{100 * row['utilization']:.1f} %",
            percent(row["energy"] / rows[0]["energy"]) if place and rows[0]["energy"] > 0 else "",
            f"{100 * row['longer']:.0f} %",
            f"{100 * row['shorter']:.0f} %",
        )
        for place, row in enumerate(rows)
    ]
    note = "Longer and shorter: the share of the jobs that wait a minute or more longer, or shorter, than now."
    return joined([table(titles, lines, numbers=tuple(range(1, len(titles))), stacked=True), paragraph(note)])


def _other_schedulers(rows: Sequence[dict[str, Any]]) -> list[Html]:
    titles = ["", "mean wait", "median", "P95", "utilization", "the mechanism, to now", f"the policy, to {ALONE}"]
    lines = [
        (
            row["name"] + (f", {ALONE}" if row["part"] == MECHANISM else ""),
            *(duration(row[name]) for name in ("wait", "wait_median", "wait_p95")),
            f"{100 * row['utilization']:.1f} %",
            chart.unbroken(interval(row, "beside")) if row["part"] == MECHANISM else "",
            chart.unbroken(interval(row, "beside")) if row["part"] == OTHER else "",
        )
        for row in rows
    ]
    return [
        *(paragraph(sentence(row)) for row in rows),
        table(titles, lines, numbers=tuple(range(1, len(titles))), stacked=True),
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
                f"{line['worst_size']} (by {duration(line['worst_longer'])})" if line["worst_longer"] >= LONGER else "",
            )
            for line in chosen
        ]
        titles = ["user", "jobs", "mean wait now", "then", "hours in all", "waits longer most"]
        summary = f"{row['name']}: {users_sentence(found, row['name'])}; {losers(found, row['name'])}"
        parts.append(details(summary, table(titles, lines, numbers=(1, 2, 3, 4), stacked=True)))
    return parts


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
        parts.append(table(titles, lines, note, numbers=tuple(range(1, len(titles))), stacked=True))
    return parts
