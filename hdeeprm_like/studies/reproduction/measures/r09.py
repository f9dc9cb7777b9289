"""R09: heuristics that place 1,000 jobs while others keep arriving, on the trace of Deep Back-Filling."""

from typing import Any

import numpy as np

from hdeeprm_like.cluster.metrics import load, time_average
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.schedule import Schedule
from hdeeprm_like.decision.compared_policies import compared_policy
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.job_reading import Reading, read_jobs
from hdeeprm_like.formats.job_rules import RLSCHEDULER
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.windows import window
from hdeeprm_like.results.pictures import BLUE, log_scale, picture
from hdeeprm_like.studies.compare.windows import schedule
from hdeeprm_like.studies.reproduction.claims import student
from hdeeprm_like.studies.reproduction.place import Findings, Place

CORES, PLACED = 256, 1000
ENOUGH = 2000  # jobs to simulate at first; more where not so many have been placed before the last of them came
LAST_START = 4000  # jobs that must follow the random start
HEADS = ("fcfs", "smallest", "lcfs")
POLICIES = (*(f"{order}{mode}" for mode in ("", "+greedy", "+easy") for order in HEADS), "f1+easy")
FIGURES = {"slowdown": "mean slowdown", "wait": "mean wait (h)", "queue": "mean queue (jobs)", "util": "utilization"}
HOUR = 3600.0  # s


def measure(place: Place) -> Findings:
    """Play all policies from the same random starts."""
    reading = Reading(CORES, rules=RLSCHEDULER, memory=False)
    trace = read_jobs(place.example("workloads/lublin_256.swf.gz"), reading)
    starts = np.random.default_rng(1).integers(len(trace) - LAST_START, size=len(place.seeds))
    table = {
        name: place.part(name.replace("+", "-"), lambda name=name: [online(trace, begin, name) for begin in starts])
        for name in POLICIES
    }

    def column(name: str, figure: str) -> np.ndarray:
        return np.array([row[figure] for row in table[name]])

    found = Findings(
        {
            "sjf_slowdown": column("smallest+greedy", "slowdown"),
            "sjf_strict": column("smallest", "slowdown"),
            "backfilling_utilization": column("fcfs+easy", "util") - column("fcfs", "util"),
            "backfilling_wait": column("fcfs+easy", "wait") / np.maximum(column("fcfs", "wait"), 1e-3),
            "best_queue": column("smallest+greedy", "queue"),
        }
    )
    rows = []
    for name in sorted(POLICIES, key=lambda name: column(name, "wait").mean()):
        rows.append([name, *(told(column(name, figure)) for figure in FIGURES)])
    found.table("All policies, in the order of their mean waits", ["policy", *FIGURES.values()], rows)
    draw(place, table)
    return found


def told(values: np.ndarray) -> str:
    """Return mean and interval in words."""
    mean, low, high, _ = student(values)
    mean, low, high = (float(f"{value:.3g}") for value in (mean, low, high))
    return f"{mean:,g} ({low:,g} to {high:,g})"


def online(trace: Trace, begin: int, policy: str) -> dict[str, float]:
    """Return the figures of one episode.

    Raises:
        WorkloadError: fewer jobs are placed before the trace ends.
    """
    jobs = ENOUGH
    while jobs <= len(trace) - begin:
        part = window(take(trace, np.arange(begin, begin + jobs)), CORES)
        played = schedule(pool(CORES), part, compared_policy(policy))
        end = float(np.sort(played.start)[PLACED - 1])
        if end <= played.submit[-1]:
            return until(played, end)
        jobs = min(2 * jobs, len(trace) - begin) if jobs < len(trace) - begin else jobs + 1
    raise WorkloadError(f"{trace.path}: from job {begin} on {policy} places fewer than {PLACED} jobs in time")


def until(played: Schedule, end: float) -> dict[str, float]:
    """Return the figures of the jobs that are placed first, and of the time until the last of them is.

    Args:
        end: s, when it is placed.
    """
    placed = np.argsort(played.start, kind="stable")[:PLACED]
    wait, run = played.wait[placed], played.run_time[placed]
    there = played.submit <= end
    queue = load(played.submit[there], np.minimum(played.start[there], end), np.ones(int(there.sum()), np.int64))
    busy = np.minimum(played.finish[placed], end) - played.start[placed]
    return {
        "slowdown": float(np.mean(1.0 + wait / run)),
        "wait": float(wait.mean()) / HOUR,
        "queue": time_average(*queue, end),
        "util": float((busy * played.size[placed]).sum()) / (end * played.cores),
    }


def draw(place: Place, table: dict[str, list[dict[str, Any]]]) -> None:
    """Draw the figures of all policies side by side."""
    shown = {name: title for name, title in FIGURES.items() if name != "slowdown"}
    with picture(place.folder / "waits.svg", width=13.0, height=4.6) as figure:
        grid = figure.subplots(1, len(shown), sharey=True)
        for axes, (name, title) in zip(grid, shown.items(), strict=True):
            for at, policy in enumerate(POLICIES):
                mean, low, high, _ = student([row[name] for row in table[policy]])
                axes.barh(at, mean, color=BLUE, alpha=0.75)
                axes.plot([low, high], [at, at], color="black", linewidth=1.5)
            axes.set_title(title, fontsize=11)
            if name != "util":
                log_scale(axes, "x")
        grid[0].set_yticks(range(len(POLICIES)), POLICIES)
        grid[0].invert_yaxis()
