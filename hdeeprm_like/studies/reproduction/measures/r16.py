"""R16: Deep Back-Filling with windows of several splits, and inspectors of two heuristics."""

from typing import Any

import numpy as np

from hdeeprm_like.cluster.metrics import outside_window
from hdeeprm_like.cluster.schedule import Schedule
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.compared_policies import compared_policy
from hdeeprm_like.experiment import Experiment, load_experiment
from hdeeprm_like.formats.windows import Window
from hdeeprm_like.run.episodes import fragment
from hdeeprm_like.studies.compare.windows import schedule
from hdeeprm_like.studies.reproduction.claims import student
from hdeeprm_like.studies.reproduction.measures.learning import played, trained
from hdeeprm_like.studies.reproduction.measures.r09 import HOUR, PLACED, until
from hdeeprm_like.studies.reproduction.place import Findings, Place

INSPECTED = {"sjf": "smallest", "f1": "f1"}  # what D calls SJF takes the fewest cores first
SPLITS = ("10-0", "9-1", "5-5", "20-0", "10-10")
APART, ENOUGH = 1000, 2000  # jobs between two starts, and jobs that come in an episode
UNLEARNED = 3  # of the starts, the last ones
MORE_SPLITS = ("0-10", "8-0", "7-1", "16-0", "15-1", "32-0", "31-1", "64-0", "63-1", "128-0")  # of the full budget
HEURISTICS = ("fcfs+easy", "smallest+easy", "lcfs+easy")
FULL = {"training": {"episodes": 100_000}, "pybatsim": {"agent": {"hidden": [1024, 512, 256]}}}
FULL_INSPECTOR = {"training": {"episodes": 3200}}
COLUMNS = {"slowdown": "mean slowdown", "wait": "wait (h)", "queue": "queue (jobs)", "util": "utilization"}
LARGE = 128  # cores, of jobs that D sees starve


def measure(place: Place) -> Findings:
    """Train with each split, and play the same jobs."""
    splits = SPLITS + MORE_SPLITS if place.full else SPLITS
    table = {
        split: [place.part(f"placed-{split}-{seed}", rows_of, place, split, seed) for seed in place.seeds]
        for split in splits
    }

    def column(split: str, figure: str) -> np.ndarray:
        """Return the mean over the seeds for each start."""
        means: np.ndarray = np.mean([[row[figure] for row in own] for own in table[split]], axis=0)
        return means

    found = Findings(
        {
            "wait20": 100 * (1 - column("10-10", "wait") / column("20-0", "wait")),
            "queue20": 100 * (1 - column("10-10", "queue") / column("20-0", "queue")),
            "wait10": 100 * (1 - column("9-1", "wait") / column("10-0", "wait")),
            "queue": column("20-0", "queue"),
            "invisible": column("10-0", "invisible") / np.maximum(column("9-1", "invisible"), 1e-9),
            "partial": column("10-0", "partial") - column("9-1", "partial"),
        }
    )
    if place.full:
        starts = starts_of(place, "32-0")
        waits = [[row["wait"] for row in alone(place, *starts, name)] for name in HEURISTICS]
        found.values["better"] = column("32-0", "wait") / np.min(waits, axis=0)
        found.values["starve"] = column("0-10", "large") / column("9-1", "large")
    titles = {
        "wait": "wait (h)",
        "large": f"wait of jobs of more than {LARGE} cores (h)",
        "queue": "queue (jobs)",
        "util": "utilization",
        "invisible": "invisible jobs",
        "partial": "share of time with some",
    }
    parts = {
        f"Means over all {len(column('10-0', 'wait'))} starts": slice(None),
        f"The last {UNLEARNED} starts, not used in training": slice(-UNLEARNED, None),
    }
    for title, shown in parts.items():
        rows = [[split, *(f"{student(column(split, name)[shown])[0]:.3g}" for name in titles)] for split in splits]
        found.table(title, ["head-tail", *titles.values()], rows)
    inspected(place, found)
    return found


def inspected(place: Place, found: Findings) -> None:
    """Train inspectors of heuristics, and let both play the same jobs, with the inspector and without."""
    rows = []
    for key, order in INSPECTED.items():
        base = f"inspector-{key}"
        experiment, parts = starts_of(place, base)
        heuristic = alone(place, experiment, parts, order)
        own = [place.part(f"placed-{base}-{seed}", rows_of, place, base, seed, FULL_INSPECTOR) for seed in place.seeds]
        without = np.array([row["slowdown"] for row in heuristic])
        with_it = np.mean([[row["slowdown"] for row in each] for each in own], axis=0)
        found.values |= {f"base_{key}": without, f"inspector_{key}": with_it, f"gain_{key}": with_it / without}
        for title, table in ((order, [heuristic]), (f"{order}, inspected", own)):
            means = {name: np.mean([[row[name] for row in each] for each in table]) for name in COLUMNS}
            rows.append([title, *(f"{means[name]:.3g}" for name in COLUMNS)])
    found.table("Heuristics with and without an inspector, means over all starts", ["policy", *COLUMNS.values()], rows)


def alone(place: Place, experiment: Experiment, parts: list[Workload], name: str) -> list[dict[str, float]]:
    """Return the figures of a heuristic from each start."""
    found: list[dict[str, float]] = place.part(
        f"placed-{name.replace('+', '-')}",
        lambda: [
            row_of(schedule(experiment.platform, Window(part, 0.0), compared_policy(name), "one-by-one"), 1)
            for part in parts
        ],
    )
    return found


def starts_of(place: Place, name: str) -> tuple[Experiment, list[Workload]]:
    """Return the experiment of an options file, and the jobs that come from each start."""
    experiment = load_experiment(place.options(name))
    starts = range(0, len(experiment.workload) - ENOUGH + 1, APART)
    return experiment, [fragment(experiment.workload, start, ENOUGH) for start in starts]


def rows_of(place: Place, split: str, seed: int, full: dict[str, Any] = FULL) -> list[dict[str, float]]:
    """Return the figures of an agent from each start."""
    agent = trained(place, split, split, seed, **(full if place.full else {}))
    experiment, parts = starts_of(place, split)
    slots = sum(map(int, split.split("-"))) if split[0].isdigit() else 1
    return [row_of(played(agent, experiment.platform, part, "one-by-one"), slots) for part in parts]


def row_of(one: Schedule, slots: int) -> dict[str, float]:
    """Return the figures of an episode that is over with the last placement, and of what a window did not show."""
    end = float(np.sort(one.start)[PLACED - 1])
    large = one.wait[(one.size > LARGE) & (one.submit <= end)]
    there = one.submit <= end
    invisible, partial = outside_window(one.submit[there], np.minimum(one.start[there], end), slots)
    return until(one, end) | {
        "large": float(large.mean()) / HOUR if len(large) else 0.0,
        "invisible": invisible,
        "partial": partial,
    }
