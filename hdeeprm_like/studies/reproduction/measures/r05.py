"""R05: consolidation against spreading, 100 jobs on Gaia."""

from typing import Any

import numpy as np

from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.studies.reproduction.measures.gaia import Played, of_seeds, pictures, played, recorded
from hdeeprm_like.studies.reproduction.place import Findings, Place

FAST = 19.2e9  # flop/s, the second fastest processors of Gaia


def measure(place: Place) -> Findings:
    """Play both policies for each seed."""
    found = of_seeds(place, of_seed)
    values: dict[str, Any] = dict(found)
    for key in ("wait", "fastest_first"):
        values[key] = max(found[key])
    platform = load_platform(place.example("platforms/gaia.json"))
    values["fast_cores"] = int((platform.processor_flops[platform.core_processor, 0] >= FAST).sum())
    originals = {
        key: recorded(place, f"fixedids_gaia100_{pair}", pair)
        for key, pair in (("consolidation", "shortest-high_gflops"), ("spreading", "shortest-high_mem_bw"))
    }
    one, other = originals["consolidation"], originals["spreading"]
    if one is not None and other is not None:
        values["original_consolidation"] = one.figures["makespan"]
        values["original_spreading"] = other.figures["makespan"]
        values["original_turnarounds"] = one.figures["turnaround"] / other.figures["turnaround"]
    pictures(place, ("consolidation", "spreading"))
    whole = sum(share > 99.99 for share in found["over_consolidation"])
    note = (
        f"it lasts the whole simulation for {whole} of {len(place.seeds)} seeds; for the others the last jobs are alone"
    )
    return Findings(values, {"over_consolidation": note})


def of_seed(place: Place, seed: int) -> dict[str, float]:
    """Return the figures of one draw of the run times."""
    dense, spread = (played(place, name, seed) for name in ("consolidation", "spreading"))
    over, processors = oversubscribed(dense)
    return {
        "energy": 100 * (1 - dense.figures["energy"] / spread.figures["energy"]),
        "makespan": dense.figures["makespan"] / spread.figures["makespan"],
        "turnaround": dense.figures["turnaround"] / spread.figures["turnaround"],
        "wait": max(dense.figures["wait_max"], spread.figures["wait_max"]),
        "over_consolidation": 100 * sum(end - begin for begin, end in over) / dense.figures["makespan"],
        "over_processors": float(processors),
        "over_spreading": 100 * max((end for _, end in oversubscribed(spread)[0]), default=0.0)
        / spread.figures["makespan"],
        "fastest_first": float(slow_starts(dense)),
    }  # fmt: skip


def oversubscribed(run: Played) -> tuple[list[tuple[float, float]], int]:
    """Return when at least one processor was short of bandwidth, as spans that do not touch, and how many were ever."""
    bandwidth: Any = run.spans()["mem_bw"]
    own = [record["values"] for record in bandwidth["procs"].values()]
    spans = sorted((begin, begin + lasts) for values in own for begin, lasts in values)
    joined: list[tuple[float, float]] = []
    for begin, end in spans:
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined, sum(bool(values) for values in own)


def slow_starts(run: Played) -> int:
    """Return how many jobs got a core although a faster one was free, on a node with memory for it."""
    state = run.simulator.state
    platform, jobs = state.platform, run.simulator.state.tables.jobs
    speed = platform.processor_flops[platform.core_processor, 0]
    node = platform.processor_node[platform.core_processor]
    start, finish = run.schedule.start, run.schedule.finish
    cores = [np.asarray(state.cores_of(job)) for job in range(len(start))]
    found = 0
    for job in np.lexsort((np.arange(len(start)), start)):
        taken = np.zeros(platform.cores, bool)
        used = np.zeros(platform.nodes)
        for other in np.flatnonzero((start <= start[job]) & (finish > start[job])):
            if other != job:
                taken[cores[other]] = True
                np.add.at(used, node[cores[other]], jobs["memory"][other])
        room = platform.node_memory - used >= jobs["memory"][job]
        free = ~taken & room[node]
        free[cores[job]] = False
        found += bool(free.any() and speed[free].max() > speed[cores[job]].min() + 1.0)
    return found
