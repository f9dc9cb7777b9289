"""R15: agents of the semi-MDP for six sizes and six models of estimates."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.experiment import HELD_OUT, episodes_of, load_experiment, made_jobs
from hdeeprm_like.formats.windows import Window
from hdeeprm_like.options import Options
from hdeeprm_like.studies.compare.significance import wilcoxon
from hdeeprm_like.studies.reproduction.measures.learning import merged, trained
from hdeeprm_like.studies.reproduction.measures.windows import MACHINES, by_agent, windows_of
from hdeeprm_like.studies.reproduction.place import Findings, Place

ESTIMATES = ("accurate", "nu_0.5", "nu_1.0", "nu_1.5", "nu_2.0", "Tsafrir")
SIZES = (128, 256, 512, 1024, 2048, 16384)
FEW_ESTIMATES, FEW_SIZES = ("accurate", "nu_1.0", "Tsafrir"), (128, 256, 16384)  # of the small budget
LEARNED_ON = {"sdsc_sp2": 128, "ctc": 256, "hpc2n": 256, "blue": 2048, "intrepid": 16384}  # size, by trace
WORKLOADS, LARGEST = 10, 163_840
FULL = {"training": {"episodes": 4000}}
LEVEL = 0.05


def measure(place: Place) -> Findings:
    """Train and evaluate what the budget has."""
    sizes = SIZES if place.full else FEW_SIZES
    estimates = ESTIMATES if place.full else FEW_ESTIMATES
    found, differ = Findings(), 0
    for size in sizes:
        own: dict[str, list[float]] = {}
        for name in estimates:
            agent = trained(place, f"{size}-{name}", f"{size}-{name}", 1, **(FULL if place.full else {}))
            own[name] = place.part(f"lublin-{size}-{name}", on_lublin, place, size, agent)
            found.values[f"l_{size}_{name}"] = own[name]
            found.values |= on_traces(place, name, size, agent)
        if size == SIZES[-1]:
            found.values["cost"] = seconds_a_job(place, agent, LARGEST) / seconds_a_job(place, agent, size)
        for name in estimates[1:]:
            p = wilcoxon(np.array([own["accurate"]]), np.array([own[name]]))[0]
            differ += bool(p < LEVEL)
    found.values["tests"] = differ
    return found


def on_lublin(place: Place, size: int, agent: Trained) -> list[float]:
    """Return the bounded slowdown of ten held-out workloads of Lublin's jobs with Tsafrir's estimates."""
    experiment = load_experiment(place.options(f"{size}-Tsafrir"))
    _, _, jobs_of = episodes_of(experiment)
    windows = [Window(jobs_of(number), 0.0) for number in range(WORKLOADS)]
    return by_agent(windows, size, agent)["bsld"]


def seconds_a_job(place: Place, agent: Trained, cores: int) -> float:
    """Return the CPU time that an agent takes for a job of Lublin's on a pool of some processors, in s."""
    content = place.experiment.options[f"{SIZES[-1]}-accurate"]
    options = merged(content, {"platform_file_path": "", "workload": {"parameters": {"nodes": cores}}})
    jobs = made_jobs(Path(), Options.model_validate(options), pool(cores), HELD_OUT)
    for _ in range(2):  # the first time compiles
        before = time.process_time()
        by_agent([Window(jobs, 0.0)], cores, agent)
        spent = time.process_time() - before
    return spent / len(jobs)


def on_traces(place: Place, name: str, size: int, agent: Trained) -> dict[str, Any]:
    """Return bounded slowdown and utilization of the traces that are played by agents of a size."""
    found: dict[str, Any] = {}
    for key, (trace, cores) in MACHINES.items():
        path = place.trace(trace)
        if LEARNED_ON[key] != size or path is None:
            continue
        both = place.part(f"{key}-{name}", by_agent, windows_of(path, cores), cores, agent)
        found |= {f"{key}_{name}_bsld": both["bsld"], f"{key}_{name}_util": both["util_rls"]}
    return found
