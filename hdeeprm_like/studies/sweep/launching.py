"""Run a task that is a simulation of an options file."""

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from hdeeprm_like.cluster.schedule import figures
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.experiment import Experiment, Readers, experiment_of
from hdeeprm_like.options import Options
from hdeeprm_like.refusals import LAUNCH
from hdeeprm_like.run.schedules import jobs_that_ran, run_to_end, schedule_of
from hdeeprm_like.studies.sweep.playing import Figures, platform_at, trace_at
from hdeeprm_like.studies.sweep.tasks import WHO, Task

READERS = Readers(lambda path, types: platform_at(path, tuple(types)), lambda path, enough: trace_at(path))


def launched(task: Task, folder: Path) -> Figures:
    """Return the figures of a simulation as ``launch`` runs it."""
    content = task.content["options"]
    options = Options.model_validate(content)
    jobs = json.dumps({key: value for key, value in content.items() if key not in WHO})
    experiment = replace(inputs_of_launch(jobs, Path(task.content["file"])), options=options)
    policies = PolicyActions([policy_named(options.classic_policy, LAUNCH)])
    simulator = run_to_end(
        experiment.platform,
        experiment.workload,
        policies,
        "batsim",
        seed=experiment.policy_seed,
        whole=options.whole,
    )
    ran = jobs_that_ran(simulator)
    if not ran.any():
        raise WorkloadError(f"none of {len(ran)} jobs fits {experiment.platform_path}, so none has run")
    return figures(schedule_of(simulator, experiment.workload))


@lru_cache(maxsize=2)
def inputs_of_launch(content: str, file: Path) -> Experiment:
    """Return platform and jobs of options as JSON, without the policy; tasks of one experiment are consecutive."""
    options = Options.model_validate({**json.loads(content), "policy": "fcfs"})
    return experiment_of(file, options, readers=READERS)
