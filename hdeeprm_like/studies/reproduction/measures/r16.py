"""R16: Deep Back-Filling with windows of several splits."""

import numpy as np

from hdeeprm_like.cluster.metrics import load
from hdeeprm_like.cluster.schedule import Schedule
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.run.episodes import fragment
from hdeeprm_like.studies.reproduction.claims import student
from hdeeprm_like.studies.reproduction.measures.learning import played, trained
from hdeeprm_like.studies.reproduction.measures.r09 import HOUR, PLACED, until
from hdeeprm_like.studies.reproduction.place import Findings, Place

SPLITS = ("10-0", "9-1", "5-5", "20-0", "10-10")
APART, ENOUGH = 1000, 2000  # jobs between two starts, and jobs that come in an episode
UNLEARNED = 3  # of the starts, the last ones
FULL = {"training": {"episodes": 100_000}}
LARGE = 128  # cores, of jobs that D sees starve


def measure(place: Place) -> Findings:
    """Train with each split, and play the same jobs."""
    table = {
        split: [
            place.part(f"placed-{split}-{seed}", lambda split=split, seed=seed: rows_of(place, split, seed))  # type: ignore[misc]
            for seed in place.seeds
        ]
        for split in SPLITS
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
        f"The last {UNLEARNED} starts, of which nothing was learned": slice(-UNLEARNED, None),
    }
    for title, starts in parts.items():
        rows = [[split, *(f"{student(column(split, name)[starts])[0]:.3g}" for name in titles)] for split in SPLITS]
        found.table(title, ["head-tail", *titles.values()], rows)
    return found


def rows_of(place: Place, split: str, seed: int) -> list[dict[str, float]]:
    """Return the figures of an agent from each start."""
    agent = trained(place, split, split, seed, **(FULL if place.full else {}))
    experiment = load_experiment(place.options(split))
    slots = sum(map(int, split.split("-")))
    starts = range(0, len(experiment.workload) - ENOUGH + 1, APART)
    parts = [fragment(experiment.workload, start, ENOUGH) for start in starts]
    return [row_of(played(agent, experiment.platform, part, "one-by-one"), slots) for part in parts]


def row_of(one: Schedule, slots: int) -> dict[str, float]:
    """Return the figures of an episode that is over with the last placement, and of what a window did not show."""
    end = float(np.sort(one.start)[PLACED - 1])
    large = one.wait[(one.size > LARGE) & (one.submit <= end)]
    there = one.submit <= end
    times, queue = load(one.submit[there], np.minimum(one.start[there], end), np.ones(int(there.sum()), np.int64))
    lasts, outside = np.diff(times), np.maximum(queue[:-1] - slots, 0)
    return until(one, end) | {
        "large": float(large.mean()) / HOUR if len(large) else 0.0,
        "invisible": float((lasts * outside).sum() / lasts.sum()),
        "partial": float(lasts[outside > 0].sum() / lasts.sum()),
    }
