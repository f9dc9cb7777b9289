"""Run a task that is a policy on a window of a trace."""

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from hdeeprm_like.cluster.schedule import UNKNOWN, figures
from hdeeprm_like.decision.compared_policies import compared_policy
from hdeeprm_like.formats.windows import Window
from hdeeprm_like.studies.compare.inputs import Comparison, Inputs, machine_and_jobs
from hdeeprm_like.studies.compare.sampling import Windows
from hdeeprm_like.studies.compare.windows import schedule
from hdeeprm_like.studies.sweep.playing import Figures
from hdeeprm_like.studies.sweep.tasks import Task

policy_at = lru_cache(maxsize=64)(compared_policy)


def compared(task: Task, folder: Path) -> Figures:
    """Return the figures of a policy on a window, as ``compare`` runs it."""
    inputs, jobs = window_of_comparison(json.dumps(task.content["window"]))
    comparison = inputs.comparison
    found = schedule(inputs.machine, jobs, policy_at(task.content["policy"]), comparison.clock)
    return figures(found if comparison.platform else replace(found, energy=UNKNOWN))


@lru_cache(maxsize=2)
def window_of_comparison(content: str) -> tuple[Inputs, Window]:
    """Return the machine and the jobs of a window as JSON; tasks of one window are consecutive."""
    told = json.loads(content)
    comparison = comparison_of(told)
    machine, trace = of_all_windows(comparison)
    inputs = Inputs(comparison, trace, machine, [told["begin"]], told["jobs"])
    return inputs, inputs.window(0)


of_all_windows = lru_cache(maxsize=2)(machine_and_jobs)


def comparison_of(told: dict[str, Any]) -> Comparison:
    """Return a comparison without its policies."""
    platform = told.get("platform")
    return Comparison(
        Path(told["trace"]),
        (),
        Windows(),
        seed=0,
        cores=told.get("cores"),
        clock=told["clock"],
        platform=platform and Path(platform),
        jobs_by=told["jobs_by"],
        leave_out_larger=told["leave_out_larger"],
    )
