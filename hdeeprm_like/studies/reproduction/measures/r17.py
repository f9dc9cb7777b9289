"""R17: jobs that go whole on one of nine machines, on 23 days that stand in for KSU's."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.schedule import Schedule, figures
from hdeeprm_like.cluster.synthetic.estimates import estimate_jobs
from hdeeprm_like.cluster.synthetic.jobs import Jobs, with_hdeeprm_columns
from hdeeprm_like.cluster.synthetic.lublin import LUBLIN
from hdeeprm_like.cluster.synthetic.models import ESTIMATES
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.engine.state import State
from hdeeprm_like.formats.open import load_platform, write_jobs
from hdeeprm_like.jobs_in_files import jobs_in
from hdeeprm_like.results.pictures import LIGHT_BOXES, picture
from hdeeprm_like.run.schedules import jobs_that_ran, run_to_end, schedule_of
from hdeeprm_like.studies.compare.significance import anova, one_sample
from hdeeprm_like.studies.reproduction.claims import student
from hdeeprm_like.studies.reproduction.measures.learning import played, trained_each
from hdeeprm_like.studies.reproduction.place import INPUTS, Findings, Place

DAYS, WIDEST, LOAD = 23, 64, 1.2
GPU_SHARE, GPUS, GPU_CORES = 0.02, (1, 2, 4), 48
POLICIES = {"oracle": "oracle+greedy", "sjf": "sjf+greedy", "bfbp": "bfbp", "fcfs": "fcfs"}
MINUTE = 60.0
FULL = {"training": {"episodes": 1600}}


def measure(place: Place) -> Findings:
    """Play all days under all schedulers."""
    machine = load_platform(place.example("platforms/nine_machines.csv"))
    days = [jobs_in(path, machine).workload for path in files_of_days(place, machine)]
    table = {
        key: place.part(f"days-{key}", of_days, by_baseline, machine, days, name) for key, name in POLICIES.items()
    }
    agents = trained_each(place, "wait", FULL)
    own = [place.part(f"days-{agent.folder.name}", of_days, by_agent, machine, days, agent) for agent in agents]
    table["model"] = [
        {name: float(np.mean([rows[day][name] for rows in own])) for name in ("wait", "util")} for day in range(DAYS)
    ]
    wait, util = (
        {key: np.array([row[name] for row in rows]) for key, rows in table.items()} for name in ("wait", "util")
    )
    found = Findings()
    for key in table:
        found.values |= {f"{key}_wait": wait[key], f"{key}_util": util[key]}
    found.values |= {
        "order1": wait["sjf"] / wait["oracle"],
        "order2": wait["bfbp"] / wait["sjf"],
        "order3": wait["fcfs"] / wait["bfbp"],
        "model_bfbp": 100 * (wait["model"] - wait["bfbp"]) / wait["bfbp"],
        "model_sjf": wait["model"] - wait["sjf"],
        "util_difference": util["fcfs"] - util["bfbp"],
        "anova_wait": anova(np.array(list(wait.values()))),
        "anova_util": anova(np.array(list(util.values()))),
    }
    rows = []
    for key in table:
        mean, low, high, _ = student(wait[key] - wait["model"])
        p = float(one_sample((wait[key] - wait["model"])[None], 0.0)[0]) if key != "model" else float("nan")
        rows.append([key, f"{mean:.1f} min", f"{low:.1f} to {high:.1f}", "-" if p != p else f"{p:.3g}"])
    found.table("Mean wait less that of the model, paired by day, and p of the paired t-test",
                ["scheduler", "difference", "95 %", "p"], rows)  # fmt: skip
    draw(place, {"mean wait (min)": wait, "utilization (%)": util})
    return found


def files_of_days(place: Place, machine: Platform) -> list[Path]:
    """Write the days as KSU's tables of jobs, which ``compare`` reads, too, and return their paths."""
    folder = place.settings.output / INPUTS / "days"
    files = [folder / f"day-{seed:02}.csv" for seed in range(1, DAYS + 1)]
    for seed, path in enumerate(files, start=1):
        write_jobs(day(machine, seed), path, machine.reference_flops)
    return files


def day(machine: Platform, seed: int) -> Jobs:
    """Return the jobs of a day, which ask for 1.2 times what the machine can do while they come."""
    rng = np.random.default_rng([17, seed])
    jobs = LUBLIN["whole"].on(WIDEST).draw(int(rng.integers(900, 1101)), rng)
    jobs = with_hdeeprm_columns(jobs, rng)
    small = np.flatnonzero(jobs.size <= GPU_CORES)
    chosen = rng.choice(small, round(GPU_SHARE * len(jobs)), replace=False)
    gpus = np.zeros(len(jobs), np.int64)
    gpus[chosen] = rng.choice(GPUS, len(chosen))
    room = np.where(gpus > 0, 192_000.0, 256_000.0) / jobs.size  # MB a core that the least node can give
    lasts = float((jobs.run * jobs.size).sum()) / (LOAD * machine.cores)
    jobs = replace(jobs, gpus=gpus, memory=np.minimum(jobs.memory, room), submit=jobs.submit / jobs.submit[-1] * lasts)
    return estimate_jobs(jobs, ESTIMATES["tsafrir"], rng)


def of_days(play: Callable[..., dict[str, float]], machine: Platform, days: list[Workload], who: Any) -> list[Any]:
    """Return what a scheduler makes of each day."""
    return [play(machine, jobs, who) for jobs in days]


def by_baseline(machine: Platform, jobs: Workload, name: str) -> dict[str, float]:
    """Return wait and utilization of a day, each job whole on one machine."""
    policies = PolicyActions([baseline(name)])
    state = State(machine, jobs, log=False, whole=True, needs=policies.needs)
    simulator = run_to_end(state, policies, "textbook")
    assert jobs_that_ran(simulator).all(), name
    return row_of(schedule_of(simulator, jobs))


def by_agent(machine: Platform, jobs: Workload, agent: Trained) -> dict[str, float]:
    """Return the same of an agent."""
    return row_of(played(agent, machine, jobs))


def row_of(one: Schedule) -> dict[str, float]:
    """Return wait in minutes and utilization in percent."""
    told = figures(one)
    return {"wait": told["wait"] / MINUTE, "util": 100 * told["utilization"]}


def draw(place: Place, panels: dict[str, dict[str, np.ndarray]]) -> None:
    """Draw a box for each scheduler."""
    with picture(place.folder / "boxes.svg", width=11.0, height=4.2) as figure:
        for axes, (title, table) in zip(figure.subplots(1, 2), panels.items(), strict=True):
            axes.boxplot(list(table.values()), **LIGHT_BOXES)
            axes.set_xticks(range(1, 1 + len(table)), list(table))
            axes.set_title(title)
