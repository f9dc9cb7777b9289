"""R16: Deep Back-Filling with windows of several splits."""

import numpy as np

from hdeeprm_like.cluster.metrics import load
from hdeeprm_like.cluster.schedule import Schedule, figures
from hdeeprm_like.experiment import episodes_of, load_experiment
from hdeeprm_like.studies.reproduction.claims import student
from hdeeprm_like.studies.reproduction.measures.learning import played, trained
from hdeeprm_like.studies.reproduction.place import Findings, Place

SPLITS = ("10-0", "9-1", "5-5", "20-0", "10-10")
EPISODES = 2  # held out, of a trace of two stretches
FULL = {"training": {"episodes": 100_000}}
HOUR = 3600.0


def measure(place: Place) -> Findings:
    """Train with each split, and play the held-out jobs."""
    experiment = load_experiment(place.options("10-0"))
    _, choose, hold = episodes_of(experiment)
    jobs = [hold(number) for number in range(EPISODES)] + [choose(number) for number in range(EPISODES)]
    table: dict[str, dict[str, np.ndarray]] = {}
    for split in SPLITS:
        slots = sum(map(int, split.split("-")))
        rows = [
            place.part(
                f"held-out-{split}-{seed}",
                lambda split=split, seed=seed, slots=slots: [  # type: ignore[misc]
                    row_of(played(agent_of(place, split, seed), experiment.platform, one), slots) for one in jobs
                ],
            )
            for seed in place.seeds
        ]
        names = rows[0][0]
        table[split] = {name: np.array([[row[name] for row in own] for own in rows]).ravel() for name in names}
    found = Findings(
        {
            "wait20": 100 * (1 - table["10-10"]["wait"] / table["20-0"]["wait"]),
            "queue20": 100 * (1 - table["10-10"]["queue"] / table["20-0"]["queue"]),
            "wait10": 100 * (1 - table["9-1"]["wait"] / table["10-0"]["wait"]),
            "queue": table["20-0"]["queue"],
            "invisible": table["10-0"]["invisible"] / np.maximum(table["9-1"]["invisible"], 1e-9),
        },
        notes={
            "": "Evaluated on four fragments of 1,000 jobs; two of them chose which weights of a training are kept."
        },
    )
    shown = [[split, *(f"{student(row[name])[0]:.3g}" for name in row)] for split, row in table.items()]
    columns = ["head-tail", "wait (h)", "queue (jobs)", "utilization", "invisible jobs", "share of time with some"]
    found.table("Means over the fragments", columns, shown)
    return found


def agent_of(place: Place, split: str, seed: int):  # type: ignore[no-untyped-def]
    """Return the agent of a split."""
    return trained(place, split, split, seed, **(FULL if place.full else {}))


def row_of(one: Schedule, slots: int) -> dict[str, float]:
    """Return the figures of an episode, with how many jobs are outside a window of so many slots over time."""
    told = figures(one)
    times, queue = load(one.submit, one.start, np.ones(len(one), np.int64))
    lasts, outside = np.diff(times), np.maximum(queue[:-1] - slots, 0)
    return {
        "wait": told["wait"] / HOUR,
        "queue": told["queue_length"],
        "utilization": told["utilization"],
        "invisible": float((lasts * outside).sum() / lasts.sum()),
        "partial": float(lasts[outside > 0].sum() / lasts.sum()),
    }
