"""R08: heuristics on windows of traces of real machines."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.schedule import figures
from hdeeprm_like.decision.compared_policies import compared_policy
from hdeeprm_like.formats.job_reading import Reading, read_jobs
from hdeeprm_like.formats.job_rules import RLSCHEDULER
from hdeeprm_like.formats.swf_cuts import disjoint_begins, take, window_begins
from hdeeprm_like.formats.windows import window
from hdeeprm_like.results.pictures import LIGHT_BOXES, RED, log_scale, picture
from hdeeprm_like.studies.compare.windows import schedule
from hdeeprm_like.studies.reproduction.claims import student
from hdeeprm_like.studies.reproduction.place import Findings, Place

JOBS, WINDOWS = 1024, 100
POLICIES = {  # what a row of the table is taken to be
    "sjf": "sjf",
    "packing": "tetris_srtf",
    "actual": "actual",
    "dot": "tetris",
    "greedy": "sjf+greedy",
}
TOLD = {"bsld": "bounded_slowdown", "util": "utilization", "util_rls": "utilization_to_last_start"}  # figures
SHOWN = {"sjf": "shortest first", "packing": "packing", "actual": "actual", "dot": "dot product", "greedy": "skipping"}


@dataclass(frozen=True)
class Machine:
    """A trace and the cores of its machine (C, table 5.8)."""

    trace: str
    cores: int


MACHINES = {
    "sdsc_sp2": Machine("SDSC-SP2-1998-4.2-cln", 128),
    "ctc": Machine("CTC-SP2-1996-3.1-cln", 338),
    "hpc2n": Machine("HPC2N-2002-2.2-cln", 240),
    "blue": Machine("SDSC-BLUE-2000-4.2-cln", 1152),
    "intrepid": Machine("ANL-Intrepid-2009-1", 163840),
}


def measure(place: Place) -> Findings:
    """Schedule the windows of each trace that is there."""
    found, boxes, rows = Findings(), {}, []
    ten = place.part("ctc-ten", of_windows, shipped(place), MACHINES["ctc"].cores, True)
    for key, machine in MACHINES.items():
        path = place.trace(machine.trace)
        if path is not None:
            table = place.part(key, of_windows, path, machine.cores)
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
            for figure in TOLD:
                mean, low, high, std = student(told[figure])
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


def of_windows(path: Path, cores: int, tens: bool = False) -> dict[str, dict[str, list[float]]]:
    """Return by policy and figure its value on each window of a trace.

    Args:
        tens: takes windows one after the other in place of random ones.
    """
    trace = read_jobs(path, Reading(cores, rules=RLSCHEDULER, memory=False))
    random = np.random.default_rng(1)
    begins = disjoint_begins(trace, JOBS, 10) if tens else window_begins(trace, JOBS, WINDOWS, random)
    found: dict[str, Any] = {policy: {figure: [] for figure in TOLD} for policy in POLICIES}
    for begin in begins:
        jobs = window(take(trace, np.arange(begin, begin + JOBS)), cores)
        for policy, name in POLICIES.items():
            played = schedule(pool(cores), jobs, compared_policy(name))
            row = figures(played)
            for figure, name_of in TOLD.items():
                found[policy][figure].append(row[name_of])
    return found


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
            axes.set_title(MACHINES[key].trace, fontsize=11)
            axes.set_ylabel("mean bounded slowdown of a window")
