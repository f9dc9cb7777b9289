"""R08: heuristics on windows of traces of real machines."""

from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.results.pictures import LIGHT_BOXES, RED, log_scale, picture
from hdeeprm_like.studies.compare.sampling import Windows
from hdeeprm_like.studies.reproduction.claims import student
from hdeeprm_like.studies.reproduction.measures.windows import COUNT, JOBS, MACHINES, by_heuristic, windows_of
from hdeeprm_like.studies.reproduction.place import Findings, Place

MANY = Windows(100, JOBS)
POLICIES = {  # what a row of the table is taken to be
    "sjf": "sjf",
    "packing": "tetris_srtf",
    "actual": "actual",
    "dot": "tetris",
    "greedy": "sjf+greedy",
}
SHOWN = {"sjf": "shortest first", "packing": "packing", "actual": "actual", "dot": "dot product", "greedy": "skipping"}


def measure(place: Place) -> Findings:
    """Schedule the windows of each trace that is there."""
    found, boxes, rows = Findings(), {}, []
    ten = place.part("ctc-ten", of_windows, shipped(place), MACHINES["ctc"][1], Windows(COUNT, JOBS, "disjoint"))
    for key, (name, cores) in MACHINES.items():
        path = place.trace(name)
        if path is not None:
            table = place.part(key, of_windows, path, cores, MANY)
        elif key == "ctc":
            table = ten
        else:
            continue
        of_all = path is not None
        of_machine = [one for one in keys(place) if one.startswith(f"{key}_") and not one.startswith("ctc_ten")]
        count = len(table["sjf"]["bsld"])
        kind = "random windows of the whole trace" if of_all else "windows that come with the package"
        found.budgets |= dict.fromkeys(of_machine, f"{count} {kind}")
        found.reduced |= set() if of_all else set(of_machine)
        for policy in POLICIES:
            told = table[policy]
            if f"{key}_{policy}_bsld" in keys(place):
                found.values |= {f"{key}_{policy}_bsld": told["bsld"], f"{key}_{policy}_util": told["util_rls"]}
            row = [key, POLICIES[policy], len(told["bsld"])]
            for values in told.values():
                mean, low, high, std = student(values)
                row += [f"{mean:.3f} ± {std:.3f}", f"{low:.3f} to {high:.3f}"]
            rows.append(row)
        boxes[key] = table
        if key == "ctc":
            ratio = np.array(table["sjf"]["bsld"]) / np.array(table["packing"]["bsld"])
            found.values |= {
                "ctc_ratio": ratio.tolist(),
                "ctc_dot": table["dot"]["bsld"],
                "ctc_greedy": table["greedy"]["bsld"],
            }
    found.values["ctc_ten_sjf"] = ten["sjf"]["bsld"]
    found.budgets["ctc_ten_sjf"] = "10 windows that come with the package"
    columns = ["trace", "policy", "windows", "bounded slowdown", "95 %", "utilization", "95 %", "RLScheduler's", "95 %"]
    found.table("All policies; utilization in both definitions", columns, rows)
    draw(place, boxes)
    return found


def keys(place: Place) -> set[str]:
    """Return the keys of the published numbers."""
    return {number.key for number in place.experiment.numbers}


def shipped(place: Place) -> Path:
    """Return the ten windows of CTC-SP2 that come with the package."""
    return place.example("workloads/ctc_sp2_windows.swf.gz")


def of_windows(path: Path, cores: int, how: Windows) -> dict[str, dict[str, list[float]]]:
    """Return by policy and figure its value on each window of a trace."""
    windows = windows_of(path, cores, how)
    return {policy: by_heuristic(windows, cores, name) for policy, name in POLICIES.items()}


def draw(place: Place, boxes: dict[str, Any]) -> None:
    """Draw the bounded slowdowns of the windows of each trace."""
    published = {number.key: number.value for number in place.experiment.numbers}
    with picture(place.folder / "windows.svg", width=4.0 + 4.0 * len(boxes), height=4.2) as figure:
        grid = figure.subplots(1, len(boxes), squeeze=False)[0]
        for axes, (key, table) in zip(grid, boxes.items(), strict=True):
            axes.boxplot([table[policy]["bsld"] for policy in POLICIES], **LIGHT_BOXES)
            for at, policy in enumerate(POLICIES, start=1):
                value = published.get(f"{key}_{policy}_bsld")
                if value:
                    axes.plot(at, value, "x", color=RED, markersize=9)
            log_scale(axes, "y")
            axes.set_xticks(range(1, 1 + len(POLICIES)), [SHOWN[policy] for policy in POLICIES], fontsize=9)
            axes.set_title(MACHINES[key][0], fontsize=11)
            axes.set_ylabel("mean bounded slowdown of a window")
