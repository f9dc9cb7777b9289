"""A run as a trace for the Perfetto viewer: jobs as slices, and queue, busy cores and power as counters.

The file is of the Trace Event Format of Chromium, which ui.perfetto.dev opens: times in microseconds, and on each
lane slices that do not overlap.
"""

import heapq
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.cluster.metrics import load
from hdeeprm_like.formats.files import replacing
from hdeeprm_like.results.power import ENERGY, consumed
from hdeeprm_like.results.run_reader import Run, open_run
from hdeeprm_like.types import Floats, Ints

MICRO = 1e6
JOBS, COUNTERS = 1, 2  # processes of the trace


def write_perfetto(folder: Path, save: Path) -> int:
    """Write the trace of a run, packed if the name ends in ``.gz``; return how many lanes its jobs take.

    Raises:
        ResultsError: the run cannot be read, or the file not written.
    """
    run = open_run(folder)
    order = np.flatnonzero(run.jobs.ran)
    order = order[np.argsort(run.jobs.start[order], kind="stable")]
    lanes = lanes_of(run.jobs.start[order], run.jobs.finish[order])
    with replacing(save) as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
        events = [*names_of(run.name), *slices(run, order, lanes), *counters(run)]
        file.write(",\n".join(json.dumps(event, separators=(",", ":")) for event in events))
        file.write("\n]}\n")
    return int(lanes.max(initial=-1)) + 1


def lanes_of(start: Floats, finish: Floats) -> Ints:
    """Return (J,) for each job, in the order of their starts, the lowest lane on which nothing runs then."""
    busy: list[tuple[float, int]] = []
    free: list[int] = []
    lanes = np.zeros(len(start), np.int64)
    for job, (begin, end) in enumerate(zip(start.tolist(), finish.tolist(), strict=True)):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lanes[job] = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (end, int(lanes[job])))
    return lanes


def names_of(name: str) -> Iterator[dict[str, Any]]:
    """Yield the names of the two groups of tracks."""
    for process, title in ((JOBS, f"jobs of {name}"), (COUNTERS, "cluster")):
        yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": title}}


def slices(run: Run, order: Ints, lanes: Ints) -> Iterator[dict[str, Any]]:
    """Yield a slice for each job."""
    jobs, user = run.jobs, run.requests.user
    held = jobs.held
    for job, lane in zip(order.tolist(), lanes.tolist(), strict=True):
        told = {"cores": int(held[job]), "wait_s": round(float(jobs.wait[job]), 3)}
        if user is not None:
            told["user"] = int(user[job])
        times = {"ts": round(jobs.start[job] * MICRO), "dur": round((jobs.finish[job] - jobs.start[job]) * MICRO)}
        yield {"ph": "X", "name": jobs.ids[job], "pid": JOBS, "tid": lane + 1, **times, "args": told}


def counters(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the waiting jobs, the busy cores and, where it was measured, the power over time."""
    jobs, ran = run.jobs, run.jobs.ran
    one = np.ones(int(ran.sum()), np.int64)
    series: dict[str, tuple[Floats, Floats | Ints]] = {
        "waiting jobs": load(jobs.submit[ran], jobs.start[ran], one),
        "busy cores": load(jobs.start[ran], jobs.finish[ran], jobs.held[ran]),
    }
    if run.has(ENERGY):
        power = consumed(run)
        series["power (W)"] = power.times, power.watts
    for name, (times, values) in series.items():
        for time, value in zip(times.tolist(), values.tolist(), strict=True):
            yield {"ph": "C", "name": name, "pid": COUNTERS, "ts": round(time * MICRO), "args": {name: value}}
