"""The report of finished runs, or of a training, as one HTML page."""

import math
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np

from hdeeprm_like.cluster.metrics import bounded_slowdown, outside_window
from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.training_logs import PROGRESS
from hdeeprm_like.results import plots, report
from hdeeprm_like.results.html import pieces, write_page
from hdeeprm_like.results.html.schedules import can_be_played, gantt_of, player_of
from hdeeprm_like.results.pictures import COLOURS, log_scale, picture
from hdeeprm_like.results.plots.classes import draw_shares, slowdowns_of, waits_of
from hdeeprm_like.results.plots.learning import POINTS, learning_curves
from hdeeprm_like.results.power import ENERGY
from hdeeprm_like.results.run_reader import JOBS, RECORD, Run, open_runs
from hdeeprm_like.results.units import names_of_spans
from hdeeprm_like.types import Floats, Ints

SIZES = (1, 2, 5, 9, 17, 33, 65, 129, 257, 1025)  # cores at which a row of the table begins
LASTS = {"1 min": 60.0, "10 min": 600.0, "1 h": 3600.0, "6 h": 21600.0}  # s, where a column of run times begins
USERS = 20  # those with the most core time
HOUR = 3600.0
LEARNING = {
    "rewards.log": ("rewards", "Reward of each episode."),
    "losses.log": ("losses", "Loss of each episode."),
    "probs.json": ("action_preferences", "Probability of each action after each episode."),
}


class Cells(NamedTuple):
    """A table of a page: all columns but the first are numbers."""

    titles: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ""


def write_run_page(runs: Sequence[Path], save: Path) -> None:
    """Write the report of runs into one file.

    Raises:
        ResultsError: a run is missing or cannot be read, or the file cannot be written.
    """
    opened = open_runs(runs)
    scheduled = {name: run for name, run in opened.items() if run.has(JOBS)}
    with tempfile.TemporaryDirectory() as place:
        content = {**schedules(scheduled, Path(place)), **trainings(opened, Path(place))}
        if not (scheduled or content["curves"] or content["learned"]):
            raise ResultsError(f"{', '.join(map(str, runs))}: no jobs of a run are there, and no logs of a training")
        title = f"Report of {' and '.join(opened)}"
        write_page(save, "results/run.html", title=title, names=list(opened), head=head_of(opened), **content)


def schedules(runs: dict[str, Run], place: Path) -> dict[str, Any]:
    """Return what the page says of the jobs, with pictures in a folder."""
    if not runs:
        return {"sentences": [], "figures": None, "scheduled": []}
    folders = [run.folder for run in runs.values()]
    explained = pieces().explained
    table = report.metrics_table(folders)
    rows = [
        [explained(title, figure.meaning), *texts]
        for figure, (title, *texts) in zip(FIGURES.values(), report.told_rows(table), strict=True)
    ]
    plots.compare(folders, place / "load.png")
    draw_distributions(runs, place / "distributions.svg")
    return {
        "sentences": report.in_words(table),
        "figures": Cells(["figure", *runs], rows),
        "player": player_of(runs) if can_be_played(runs) else "",
        "load": place / "load.png",
        "distributions": place / "distributions.svg",
        "scheduled": [jobs_of(name, run, place / f"power-{row}.png") for row, (name, run) in enumerate(runs.items())],
    }


def jobs_of(name: str, run: Run, power: Path) -> dict[str, Any]:
    """Return what the page says of the jobs of one run."""
    if run.has(ENERGY):
        plots.draw("power", run.folder, power)
    return {
        "name": name,
        "power": power if run.has(ENERGY) else None,
        "unseen": unseen_jobs(run),
        "tables": [*(waits(run) for waits in (waits_by_size, waits_by_kind)), *waits_by_user(run)],
        "gantt": gantt_of(run),
    }


def trainings(runs: dict[str, Run], place: Path) -> dict[str, Any]:
    """Return what the page says of learning, with pictures in a folder."""
    learned = {name: run for name, run in runs.items() if run.has(PROGRESS)}
    if learned:
        with picture(place / "curves.svg", width=15.0, height=4.2) as figure:
            learning_curves(figure, learned)
    found = []
    for number, (name, run) in enumerate(runs.items()):
        drawn = []
        for log, (kind, caption) in LEARNING.items():
            if run.has(log):
                path = place / f"{kind}-{number}.png"
                plots.draw(kind, run.folder, path)
                drawn.append((path, caption))
        if drawn:
            found.append({"name": name, "pictures": drawn})
    return {"curves": place / "curves.svg" if learned else None, "points": POINTS, "learned": found}


def unseen_jobs(run: Run) -> str:
    """Return how much of the queue an agent with a window did not see; nothing for other runs."""
    slots = slots_of(run)
    jobs, ran = run.jobs, run.jobs.ran
    if slots == 0 or not ran.any():
        return ""
    unseen, share = outside_window(jobs.submit[ran], jobs.start[ran], slots)
    if math.isnan(share):
        return ""
    return (
        f"The agent chose from a window of {slots} slots: {unseen:,.1f} jobs waited outside it on average, "
        f"some of them in {100 * share:.1f} % of the time."
    )


def slots_of(run: Run) -> int:
    """Return the slots of the window that the agent of a run chose from, 0 where none did."""
    env = part(run.record, "options", "pybatsim", "env")
    preset = PRESETS.get(str(env.get("preset")))
    if preset is None or preset.actions == "policies":
        return 0
    window = part(env, "window")
    own = (window.get("head"), preset.head), (window.get("tail"), preset.tail)
    return sum(given if isinstance(given, int) else usual for given, usual in own)


def waits_by_size(run: Run) -> Cells:
    """Return how long jobs of which sizes wait."""
    jobs, ran = run.jobs, run.jobs.ran
    group, names = size_groups(jobs.size[ran])
    columns = jobs.wait[ran], jobs.run[ran], jobs.size[ran]
    rows = [[name, *row_of(*columns, group == number)] for number, name in names.items()]
    return Cells(["cores", *COLUMNS], rows, "By size")


def waits_by_kind(run: Run) -> Cells:
    """Return the mean wait of jobs by size and run time."""
    jobs, ran = run.jobs, run.jobs.ran
    group, names = size_groups(jobs.size[ran])
    lasts = np.searchsorted(list(LASTS.values()), jobs.run[ran], side="right")
    rows = []
    for number, name in names.items():
        cells = [jobs.wait[ran][(group == number) & (lasts == place)] for place in range(1 + len(LASTS))]
        rows.append([name, *(f"{waits.mean() / HOUR:,.2f}" if len(waits) else "-" for waits in cells)])
    bounds = list(LASTS)
    titles = [f"below {bounds[0]}", *(f"{low} to {high}" for low, high in pairwise(bounds)), f"{bounds[-1]} and more"]
    return Cells(["cores", *titles], rows, "Mean wait (h) by size and run time")


def size_groups(size: Ints) -> tuple[Ints, dict[int, str]]:
    """Return (J,) the group of each job by its cores, and what those that occur are called."""
    group = np.searchsorted(SIZES, size, side="right") - 1
    names = names_of_spans(SIZES, "{} and more")
    return group, {number: names[number] for number in np.unique(group).tolist()}


COLUMNS = ("jobs", "core hours", "mean wait (h)", "longest wait (h)", "mean bounded slowdown")


def waits_by_user(run: Run) -> list[Cells]:
    """Return the same for the users with the most core time, nothing if users are unknown."""
    user = run.requests.user
    if user is None:
        return []
    jobs, ran = run.jobs, run.jobs.ran
    own, work = user[ran], (jobs.run * jobs.held)[ran]
    names, place = np.unique(own, return_inverse=True)
    total = np.bincount(place, weights=work)
    most = np.argsort(-total, kind="stable")[:USERS]
    rows = [[str(names[one]), *row_of(jobs.wait[ran], jobs.run[ran], jobs.size[ran], place == one)] for one in most]
    return [Cells(["user", *COLUMNS], rows, "Users with the most core time")]


def row_of(wait: Floats, run: Floats, size: Ints, chosen: np.ndarray) -> list[str]:
    """Return the cells of some jobs."""
    slowdown = bounded_slowdown(wait[chosen], run[chosen])
    hours = float((run * size)[chosen].sum()) / HOUR
    waits = wait[chosen] / HOUR
    return [
        f"{chosen.sum():,}",
        f"{hours:,.1f}",
        f"{waits.mean():,.2f}",
        f"{waits.max():,.2f}",
        f"{slowdown.mean():,.2f}",
    ]


def draw_distributions(runs: dict[str, Run], save: Path) -> None:
    """Draw the distributions of waits and bounded slowdowns of all runs."""
    with picture(save, width=11.0, height=4.2) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        for (name, run), colour in zip(runs.items(), COLOURS * len(runs), strict=False):
            for axes, values in ((left, waits_of(run)), (right, slowdowns_of(run))):
                draw_shares(axes, values, colour, name, width=1.5)
        if any(run.jobs.ran.any() for run in runs.values()):  # an axis of no values has no logarithm
            log_scale(left, "x")
            log_scale(right, "x")
        left.set(xlabel="wait (s), at least 1", ylabel="share of the jobs")
        right.set(xlabel="bounded slowdown")
        right.legend(fontsize="small")


UNKNOWN = "not recorded"


def head_of(runs: Mapping[str, Run]) -> list[list[object]]:
    """Return the rows of a table with a column for each run."""
    facts = [facts_of(run) for run in runs.values()]
    return [[name, *(own[name] for own in facts)] for name in facts[0]] if facts else []


def facts_of(run: Run) -> dict[str, object]:
    """Return what is recorded about a run, in the order in which it is read."""
    record = run.record
    options, versions = part(record, "options"), part(record, "versions")
    seed = record.get("seed", UNKNOWN)
    version = str(versions.get("hdeeprm_like", UNKNOWN))
    simulator = record.get("simulator")
    return {
        "machine": machine(run, part(record, "platform")),
        "workload": workload(run, part(record, "workload")),
        "policy": policy(options),
        "seed": seed,
        "version": f"hdeeprm_like {version}" if version != UNKNOWN else UNKNOWN,
        "simulator": simulator if isinstance(simulator, str) else UNKNOWN,
        "date": date(run),
        "command": command(run),
    }


def machine(run: Run, platform: dict[str, Any]) -> str:
    """Return the platform's name and size."""
    cores = f"{run.cores:,} cores" if run.has(JOBS) else f"{platform.get('cores', UNKNOWN)} cores"
    nodes = platform.get("nodes")
    return ", ".join([*name_of(platform), cores, *([f"{nodes:,} nodes"] if isinstance(nodes, int) else [])])


def workload(run: Run, jobs: dict[str, Any]) -> str:
    """Return the workload's name and how many jobs it has."""
    count = len(run.jobs) if run.has(JOBS) else jobs.get("jobs", UNKNOWN)
    account = part(jobs, "account").get("summary")
    more = [f"of the file {account}"] if isinstance(account, str) else []
    return ", ".join([*name_of(jobs), f"{count:,} jobs" if isinstance(count, int) else f"{count} jobs", *more])


def policy(options: dict[str, Any]) -> str:
    """Return which policy or agent decided."""
    agent = part(options, "pybatsim", "agent")
    own = options.get("policy") or agent.get("policy_pair")
    if isinstance(own, str):
        return own
    program = agent.get("run")
    kind = agent.get("type")
    named = [str(kind)] if kind else []
    return " ".join([*named, *([PurePath(str(program)).name] if program else [])]) or UNKNOWN


def date(run: Run) -> str:
    """Return when the files of a run were last written."""
    path = run.path(RECORD) if run.has(RECORD) else run.folder
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M UTC")


def command(run: Run) -> object:
    """Return the command that runs the same again, where the run left its inputs."""
    if not run.has("options.json") or not run.has(RECORD):
        return UNKNOWN
    return pieces().code(f"hdeeprm-like launch --options {run.folder}/options.json --output again")


def name_of(part_of_record: dict[str, Any]) -> list[str]:
    """Return the name of a file in a record, without its folder; none if the record has none."""
    file = part_of_record.get("file")
    return [PurePath(file).name] if isinstance(file, str) else []


def part(content: Any, *names: str) -> dict[str, Any]:
    """Return the object that stands below some names in JSON, an empty one where there is none."""
    for name in names:
        content = content.get(name) if isinstance(content, dict) else None
    return content if isinstance(content, dict) else {}
