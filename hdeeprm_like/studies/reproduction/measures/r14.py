"""R14: agents of the semi-MDP on RLScheduler's windows."""

from typing import Any

import numpy as np

from hdeeprm_like.results.pictures import LIGHT_BOXES, RED, log_scale, picture
from hdeeprm_like.studies.compare.sampling import Windows
from hdeeprm_like.studies.compare.significance import one_sample
from hdeeprm_like.studies.reproduction.claims import student
from hdeeprm_like.studies.reproduction.measures.learning import trained_each
from hdeeprm_like.studies.reproduction.measures.windows import (
    COUNT,
    JOBS,
    MACHINES,
    RANDOM,
    by_agent,
    by_heuristic,
    windows_of,
)
from hdeeprm_like.studies.reproduction.place import Findings, Place

HEURISTICS = ("sjf+greedy", "f1+easy", "fcfs+easy")
RLS = {"lublin_1": 254.67, "lublin_2": 724.51, "hpc2n": 117.01, "sdsc_sp2": 466.44}  # RLScheduler's, table 5.6
RLSB = {"lublin_1": 58.64, "lublin_2": 118.79, "hpc2n": 86.14, "sdsc_sp2": 397.82}  # the same with backfilling
PUBLISHED = {"lublin_1": 67.55, "lublin_2": 225.58}
FULL = {"training": {"episodes": 4000}}  # some 1e6 decisions
ARCHIVE = ("hpc2n", "sdsc_sp2")


def measure(place: Place) -> Findings:
    """Train with each seed, and play the windows of the traces that are there."""
    agents = trained_each(place, "smdp", FULL)
    found, rows, boxes = Findings(), [], {}
    for key, (path, cores, how) in traces(place).items():
        windows = windows_of(path, cores, how)
        table: dict[str, Any] = {
            name: place.part(f"{key}-{name}", by_heuristic, windows, cores, name) for name in HEURISTICS
        }
        own = [place.part(f"{key}-{agent.folder.name}", by_agent, windows, cores, agent) for agent in agents]
        table["agent"] = {figure: np.mean([one[figure] for one in own], axis=0) for figure in ("bsld", "util_rls")}
        found.values |= {
            f"{key}_smdp": [float(np.mean(one["bsld"])) for one in own],
            f"{key}_util": [float(np.mean(one["util_rls"])) for one in own],
            f"{key}_below_rls": table["agent"]["bsld"] - RLS[key],
            f"{key}_rlsb": float(one_sample(table["agent"]["bsld"][None], RLSB[key])[0]),
        }
        for short, name in (("greedy", "sjf+greedy"), ("f1", "f1+easy")):
            if key in PUBLISHED:
                found.values[f"l{key[-1]}_{short}"] = np.array(table[name]["bsld"]) - PUBLISHED[key]
        for name, values in table.items():
            told = [f"{mean:.3f} ± {std:.3f}" for mean, _, _, std in (student(values[f]) for f in ("bsld", "util_rls"))]
            rows.append([key, name, *told])
        boxes[key] = table
    found.table("All policies over ten windows", ["trace", "policy", "bounded slowdown", "utilization"], rows)
    draw(place, boxes)
    return found


def traces(place: Place) -> dict[str, Any]:
    """Return path, cores and windows of the traces that are there."""
    found: dict[str, Any] = {
        f"lublin_{number}": (
            place.example(f"workloads/lublin_256{ending}.swf.gz"),
            256,
            Windows(COUNT, JOBS, "offsets", place.example(f"workloads/rlscheduler_lublin_256{ending}.csv")),
        )
        for number, ending in ((1, ""), (2, "_2"))
    }
    archive = {key: (place.trace(MACHINES[key][0]), MACHINES[key][1], RANDOM) for key in ARCHIVE}
    return found | {key: entry for key, entry in archive.items() if entry[0] is not None}


def draw(place: Place, boxes: dict[str, Any]) -> None:
    """Draw the windows of each trace."""
    with picture(place.folder / "windows.svg", width=11.0, height=4.5) as figure:
        grid = figure.subplots(1, len(boxes), squeeze=False)[0]
        for axes, (key, table) in zip(grid, boxes.items(), strict=True):
            axes.boxplot([values["bsld"] for values in table.values()], **LIGHT_BOXES)
            if key in PUBLISHED:
                axes.plot(len(table), PUBLISHED[key], "x", color=RED, markersize=9)
            axes.set_xticks(range(1, 1 + len(table)), list(table), fontsize=9)
            log_scale(axes, "y")
            axes.set_title(key)
        grid[0].set_ylabel("bounded slowdown of a window")
