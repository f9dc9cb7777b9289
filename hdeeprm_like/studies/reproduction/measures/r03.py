"""R03: first arrived against shortest, 1000 jobs on Gaia."""

import numpy as np

from hdeeprm_like.cluster.metrics import load
from hdeeprm_like.studies.reproduction.measures.gaia import Played, of_seeds, pictures, played, recorded
from hdeeprm_like.studies.reproduction.place import Findings, Place

RATIOS = {"max_slowdown": "slowdown_max", "mean_slowdown": "slowdown", "makespan": "makespan", "energy": "energy"}


def measure(place: Place) -> Findings:
    """Play both policies for each seed."""
    found = of_seeds(place, of_seed)
    values: dict[str, object] = dict(found)
    values["memory_bubbles"] = max(found["memory_bubbles"])
    original = recorded(place, "fixedids_gaia1000_first-high_gflops", "first-high_gflops")
    if original is not None:
        told = {"energy": "energy", "makespan": "makespan", "turnaround": "turnaround", "slowdown": "slowdown"}
        values |= {f"original_{key}": original.figures[name] for key, name in told.items()}
    pictures(place, ("first", "shortest"))
    return Findings(values)


def of_seed(place: Place, seed: int) -> dict[str, float]:
    """Return the figures of one draw of the run times."""
    first, shortest = (played(place, name, seed) for name in ("first", "shortest"))
    seconds, busy = first.busy()
    cores, whole = first.schedule.cores, float(first.schedule.finish.max())
    waiting_times, waiting = load(first.schedule.submit, first.schedule.start, np.ones(len(first.schedule), np.int64))
    return {
        **{key: first.figures[name] / shortest.figures[name] for key, name in RATIOS.items()},
        "full_95": 100 * float(seconds[busy >= 0.95 * cores].sum()) / whole,
        "full_99": 100 * float(seconds[busy >= 0.99 * cores].sum()) / whole,
        "queued": 100 * float(np.diff(waiting_times)[waiting[:-1] > 0].sum()) / whole,
        "queue": largest_queue(first) / largest_queue(shortest),
        "memory_bubbles": float(len(first.spans()["mem"]) + len(shortest.spans()["mem"])),  # type: ignore[arg-type]
        "bubbles": 100 * idle_while_waiting(first),
    }


def largest_queue(run: Played) -> float:
    """Return the most cores that waiting jobs ask for at once."""
    return float(load(run.schedule.submit, run.schedule.start, run.schedule.size)[1].max())


def idle_while_waiting(run: Played) -> float:
    """Return the mean share of the cores that are idle, over the time in which jobs wait."""
    schedule = run.schedule
    edges = np.unique(np.concatenate([schedule.submit, schedule.start, schedule.finish]))
    one = np.ones(len(schedule), np.int64)

    def at(begin: np.ndarray, end: np.ndarray, amount: np.ndarray) -> np.ndarray:
        times, total = load(begin, end, amount)
        places = np.searchsorted(times, edges[:-1], side="right") - 1
        return np.where(places >= 0, total[places], 0)

    busy = at(schedule.start, schedule.finish, schedule.size)
    waiting = at(schedule.submit, schedule.start, one)
    idle = np.diff(edges) * (schedule.cores - busy) * (waiting > 0)
    return float(idle.sum()) / (schedule.cores * float(np.diff(edges)[waiting > 0].sum()))
