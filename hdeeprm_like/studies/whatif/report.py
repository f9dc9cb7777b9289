"""The answer as files: one page for people, tables for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hdeeprm_like.formats.files import write_csv, write_json, write_lines
from hdeeprm_like.results.html import write_page
from hdeeprm_like.studies.whatif.answer import Answer, as_tables
from hdeeprm_like.studies.whatif.fidelity import MEANING, Fidelity
from hdeeprm_like.studies.whatif.figures import LONGER
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
    date,
    duration,
    interval,
    losers,
    names_users,
    percent,
    pictures,
    sentences,
    unbroken,
    users_sentence,
    waits,
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
    for name, lines in ((GROUPS, found.groups), (USERS, found.people), (OVER_TIME, _lines_over_time(found))):
        if lines:
            write_csv(folder / name, lines[0], lines)
        else:
            write_lines(folder / name, ())
    write_page(folder / REPORT, "studies/whatif/report.html", **content_of(found))


def _lines_over_time(found: Answer) -> list[dict[str, Any]]:
    """Return the queue and the utilization of each span, in s from the first job on."""
    return [
        {"name": row["name"], "from": begin, "to": end, "waiting": waiting, "used": used}
        for row, one in zip(found.rows, found.over_time, strict=bool(found.over_time))
        for begin, end, waiting, used in zip(
            one.edges[:-1].tolist(), one.edges[1:].tolist(), one.waiting.tolist(), one.used.tolist(), strict=True
        )
    ]


def content_of(found: Answer) -> dict[str, Any]:
    """Return what the page shows."""
    shown, apart = replace(found, rows=beside_now(found.rows)), in_place_of_slurm(found.rows)
    fidelity = found.fidelity
    return {
        "title": "What if: another policy, another machine",
        "fidelity": fidelity,
        "badges": BADGES,
        "about": _about(shown),
        "meaning": MEANING[fidelity.grade] if fidelity is not None else NO_GRADE,
        "chart": waits(shown.rows),
        "who": [{"name": row["name"], "lines": _wins_and_losses(shown, row["name"])} for row in shown.rows[1:]],
        "texts": _meaning(shown, bool(apart)),
        "over_time": _over_time(found, shown) if found.over_time else [],
        "present": found.rows[0]["name"],
        "figures": _figures(fidelity) if fidelity is not None else [],
        "outcomes": _outcomes(shown.rows),
        "apart": APART,
        "schedulers": _other_schedulers(apart) if apart else [],
        "scheduler_texts": sentences(found, apart),
        "people": _people(shown),
        "groups": _groups(shown),
    }


def _about(shown: Answer) -> dict[str, str]:
    """Return machine, log, dates and jobs, as far as they are known."""
    about = shown.subject
    if about is None:
        return {}
    nodes = f"{about.nodes:,} nodes, " if about.nodes else ""
    return {
        "machine": f"{about.machine}: {nodes}{about.cores:,} cores",
        "log": about.log or "not named",
        "dates": f"{date(about.begin)} to {date(about.end)}"
        if about.dated
        else f"{duration(about.end - about.begin)}; the log has no dates",
        "jobs": f"{shown.jobs:,} of {about.read:,} compared, {about.left_out:,} left out",
    }


def _wins_and_losses(found: Answer, name: str) -> list[tuple[str, str]]:
    """Return which classes of jobs and which users wait longer under an outcome, and which classes wait shorter."""
    lines = []
    for title, sign in (("Wait longer", 1.0), ("Wait shorter", -1.0)):
        own = [
            f"{CLASS_NAMES[kind]} " + ", ".join(f"{line['group']} (by {duration(by)})" for line, by in changed)
            for kind in CLASS_NAMES
            if (changed := most_changed(found, name, kind, sign))
        ]
        lines.append((title, unbroken("; ".join(own)) or "no class of jobs"))
    if names_users(found):
        users = unbroken(users_sentence(found, name))
        lines.insert(1, ("", users[0].upper() + users[1:]))
    return lines


def most_changed(found: Answer, name: str, kind: str, sign: float) -> list[tuple[Mapping[str, Any], float]]:
    """Return the classes of a kind that wait longer (*sign* 1) or shorter (-1).

    All sizes, small ones first; of other kinds those that change most.
    """
    changed = changed_classes(found, name, (kind,), sign)
    return changed if kind == "size" else sorted(changed, key=lambda pair: -pair[1])[:MOST_NAMED]


def _meaning(shown: Answer, apart: bool) -> list[str]:
    """Return the paragraphs that say what the figures mean."""
    present = shown.rows[0]["name"]
    return [
        *sentences(shown, shown.rows),
        f"{shown.jobs:,} jobs were simulated under each policy. {present} stands for what the machine does "
        f"now; everything is compared with it, job by job; intervals (95 %) are over {shown.blocks} blocks of time.",
        *([f"What {IN_PLACE} would change is below in a table of its own, as it is no gain of a policy."] * apart),
        *(note + "." for note in shown.notes),
        *(
            f"{count:,} jobs could not run with {name}; they are left out everywhere."
            for name, count in shown.never.items()
        ),
    ]


def _over_time(found: Answer, shown: Answer) -> list[tuple[str, dict[str, Any]]]:
    """Return the pictures of each outcome that is compared with now, by name; those of now alone if there is none."""
    about, now = found.subject, found.over_time[0]
    begin, dated = (about.begin, about.dated) if about is not None else (0.0, False)
    names = {row["name"] for row in shown.rows[1:]}
    drawn = [
        (row["name"], pictures(now, then, begin, dated))
        for row, then in zip(found.rows, found.over_time, strict=True)
        if row["name"] in names
    ]
    return drawn or [("", pictures(now, now, begin, dated))]


def _figures(told: Fidelity) -> list[tuple[str, str, str]]:
    """Return what the log records beside what the model has."""
    share = told.left_out / (told.jobs + told.left_out)
    pairs = {"mean wait": told.wait, "median wait": told.median, "95th percentile of the waits": told.p95}
    recorded, simulated = (f"{100 * value:.1f} %" for value in told.utilization)
    return [
        *((name, duration(one), duration(other)) for name, (one, other) in pairs.items()),
        ("utilization", recorded, simulated),
        ("order of the waits", "1", f"{told.order:.2f} (rank correlation)"),
        ("starts within 5 minutes", "100 %", f"{100 * told.close:.0f} %"),
        ("jobs not graded", "", f"{told.left_out:,} ({100 * share:.1f} %)"),
    ]


def _outcomes(rows: Sequence[dict[str, Any]]) -> list[Sequence[str]]:
    """Return the titles and the lines of the table of all outcomes."""
    titles = ["", "mean wait", "against now", "median", "P95", "P99"]
    titles += ["slowdown against now", "utilization", "energy", "longer", "shorter"]
    lines = [
        (
            row["name"],
            unbroken(duration(row["wait"])),
            unbroken(interval(row, "wait")) if place else "",
            *(unbroken(duration(row[name])) for name in ("wait_median", "wait_p95", "wait_p99")),
            unbroken(interval(row, "bounded_slowdown")) if place else "",
            f"{100 * row['utilization']:.1f} %",
            percent(row["energy"] / rows[0]["energy"]) if place and rows[0]["energy"] > 0 else "",
            f"{100 * row['longer']:.0f} %",
            f"{100 * row['shorter']:.0f} %",
        )
        for place, row in enumerate(rows)
    ]
    return [titles, *lines]


def _other_schedulers(rows: Sequence[dict[str, Any]]) -> list[Sequence[str]]:
    """Return the titles and the lines of the table of schedulers in Slurm's place."""
    titles = ["", "mean wait", "median", "P95", "utilization", "the mechanism, against now"]
    titles += [f"the policy, against {ALONE}"]
    lines = [
        (
            row["name"] + (f", {ALONE}" if row["part"] == MECHANISM else ""),
            *(unbroken(duration(row[name])) for name in ("wait", "wait_median", "wait_p95")),
            f"{100 * row['utilization']:.1f} %",
            unbroken(interval(row, "beside")) if row["part"] == MECHANISM else "",
            unbroken(interval(row, "beside")) if row["part"] == OTHER else "",
        )
        for row in rows
    ]
    return [titles, *lines]


def _people(found: Answer) -> list[tuple[str, list[Sequence[str]]]]:
    """Return the users who win and lose most under each outcome, a line each, below a summary."""
    parts: list[tuple[str, list[Sequence[str]]]] = []
    for row in found.rows[1:]:
        own = [line for line in found.people if line["name"] == row["name"]]
        chosen = own if len(own) <= 2 * MOST_PEOPLE else own[:MOST_PEOPLE] + own[-MOST_PEOPLE:]
        lines: list[Sequence[str]] = [
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
        summary = f"{row['name']}: {users_sentence(found, row['name'])}; {losers(found, row['name'])}"
        parts.append((summary, lines))
    return parts


def _groups(found: Answer) -> list[dict[str, Any]]:
    """Return a table of mean waits for each kind of group."""
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
        parts.append({"titles": titles, "rows": lines, "caption": note})
    return parts
