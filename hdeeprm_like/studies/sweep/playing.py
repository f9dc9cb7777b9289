"""Running tasks: one simulation or training each, in chunks that take some minutes."""

import csv
import json
import logging
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from hdeeprm_like.cluster.schedule import UNKNOWN, figures
from hdeeprm_like.decision.presets import classic_policies
from hdeeprm_like.errors import HDeepRMError, WorkloadError
from hdeeprm_like.experiment import Experiment, Readers, experiment_of, load_experiment
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.formats.open import load_platform, load_trace
from hdeeprm_like.formats.windows import Window, usable, with_requested_times
from hdeeprm_like.options import Options
from hdeeprm_like.plugins import trusting
from hdeeprm_like.run.schedules import jobs_that_ran, run_to_end, schedule_of
from hdeeprm_like.studies.compare.inputs import Comparison, Inputs, machine_of
from hdeeprm_like.studies.compare.policies import policy_named
from hdeeprm_like.studies.compare.sampling import Windows
from hdeeprm_like.studies.compare.windows import schedule
from hdeeprm_like.studies.sweep.ledger import appending, file_of
from hdeeprm_like.studies.sweep.tasks import COMPARE, GO_ON, LAUNCH, REPRODUCE, TRAIN, WHO, Task

TOLD = 5  # last lines of an error
TWICE = 60.0  # s; what takes less is run twice where its time is to be known

Figures = dict[str, float]

trace_at = lru_cache(maxsize=2)(load_trace)  # a process of a sweep ends with it, and its inputs may not change before
platform_at = lru_cache(maxsize=8)(load_platform)
policy_at = lru_cache(maxsize=64)(policy_named)
READERS = Readers(lambda path, types: platform_at(path, tuple(types)), trace_at)


def run_chunk(
    folder: Path, name: str, tasks: Sequence[Task], seconds: float, measure: bool, trusted: tuple[Path, ...]
) -> int:
    """Run tasks one after the other, and write a line for each as soon as it is over; return how many were run.

    Args:
        folder: of the sweep. name: of the file of lines; tasks that it knows from a worker before are not run again.
        seconds: after which no further task is begun, the first one apart: the rest waits for another chunk.
        measure: whether to run each task twice and tell the time of the second run, for the first reads and compiles;
            but for those that would go on where they are.
        trusted: files and folders whose Python code may be run, as of `plugins.trusting`.

    Raises:
        ResultsError: the file cannot be written.
    """
    logging.getLogger("hdeeprm_like").setLevel("ERROR")  # what is to be said of inputs is said once, not by each worker
    begun, run = time.perf_counter(), 0
    with appending(file_of(folder, name)) as lines, trusting(*trusted):
        for task in tasks:
            if task.key in lines.keys:
                continue
            if run and time.perf_counter() - begun > seconds:
                break
            lines.add(line_of(task, folder, measure))
            begun = begun if run else time.perf_counter()  # the first one reads and compiles for all
            run += 1
    return run


def line_of(task: Task, folder: Path, measure: bool) -> dict[str, Any]:
    """Return what the ledger is told of a task, once it has run."""
    play = PLAYED[task.do]
    try:
        for _ in range(2 if measure and task.do not in GO_ON else 1):
            begun = time.perf_counter()
            found = play(task, folder)
            spent = time.perf_counter() - begun
            if spent > TWICE:
                break
    except HDeepRMError as error:
        return {"key": task.key, "error": str(error)}
    except Exception:
        return {"key": task.key, "error": "\n".join(traceback.format_exc().splitlines()[-TOLD:])}
    known = {name: value for name, value in found.items() if value == value}
    return {"key": task.key, "seconds": round(spent, 6), "figures": known}


def launched(task: Task, folder: Path) -> Figures:
    """Return the figures of a simulation as ``launch`` runs it."""
    content = task.content["options"]
    options = Options.model_validate(content)
    jobs = json.dumps({key: value for key, value in content.items() if key not in WHO})
    experiment = replace(inputs_of_launch(jobs, Path(task.content["file"])), options=options)
    policies = classic_policies(*options.classic_pair)
    simulator = run_to_end(experiment.platform, experiment.workload, policies, "batsim", seed=experiment.policy_seed)
    ran = jobs_that_ran(simulator)
    if not ran.any():
        raise WorkloadError(f"none of {len(ran)} jobs fits {experiment.platform_path}, so none has run")
    return figures(schedule_of(simulator, experiment.workload))


@lru_cache(maxsize=2)
def inputs_of_launch(content: str, file: Path) -> Experiment:
    """Return platform and jobs of options as JSON, whoever decides; the tasks of one such experiment come in a row."""
    options = Options.model_validate({**json.loads(content), "policy": "fcfs"})
    return experiment_of(file, options, readers=READERS)


def compared(task: Task, folder: Path) -> Figures:
    """Return the figures of a policy on a window, as ``compare`` runs it."""
    inputs, jobs = window_of_comparison(json.dumps(task.content["window"]))
    comparison = inputs.comparison
    found = schedule(inputs.machine, jobs, policy_at(task.content["policy"]), comparison.clock)
    return figures(found if comparison.platform else replace(found, energy=UNKNOWN))


@lru_cache(maxsize=2)
def window_of_comparison(content: str) -> tuple[Inputs, Window]:
    """Return the machine and the jobs of a window as JSON; the policies of one window come in a row."""
    told = json.loads(content)
    comparison = comparison_of(told)
    machine, trace = machine_and_trace(comparison)
    inputs = Inputs(comparison, trace, machine, [told["begin"]], told["jobs"])
    return inputs, inputs.window(0)


@lru_cache(maxsize=2)
def machine_and_trace(comparison: Comparison) -> tuple[Any, Any]:
    """Return what all windows of a comparison share."""
    trace = usable(trace_at(comparison.trace))
    return machine_of(comparison, trace), with_requested_times(trace)


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
    )


def trained(task: Task, folder: Path) -> Figures:
    """Train an agent in a folder of the sweep, or go on with that; return what became of it.

    ``reward`` is the mean over the last tenth of the episodes; the last evaluation and what the best agent did on held
    out episodes are there if the options ask for them.
    """
    from hdeeprm_like.launch.learned import EVALUATIONS, HELD_OUT, train_learner
    from hdeeprm_like.launch.learner import AgentChoice, Learner
    from hdeeprm_like.launch.resuming import resume_learner, training_options

    output = folder / "trainings" / task.key
    file = output.with_suffix(".json")
    begun = (output / "run.json").exists()
    if begun:
        learner, how = resume_learner(output, None, None)
    else:
        write_json(file, task.content["options"])
        learner = Learner(load_experiment(file), AgentChoice(task.content["agent"]))
        how = training_options(learner.experiment, None, None)
    episodes = train_learner(learner, output, how, begun, progress=False)
    rewards = [float(line) for line in (output / "rewards.log").read_text(encoding="utf-8").splitlines()]
    tenth = rewards[-max(1, len(rewards) // 10) :]
    found = {"episodes": float(episodes), "reward": sum(tenth) / len(tenth)}
    for file, row, prefix in ((output / EVALUATIONS, -1, "evaluation_"), (output / HELD_OUT, 0, "held_out_")):
        if file.exists():
            with file.open(encoding="utf-8", newline="") as lines:
                told = list(csv.DictReader(lines))[row]
            found |= {prefix + key: float(value) for key, value in told.items() if key not in ("episode", "name")}
    return found


def reproduced(task: Task, folder: Path) -> Figures:
    """Return how many published numbers of an experiment have each verdict, and what that took."""
    from hdeeprm_like.studies.sweep import reproductions

    return reproductions.reproduced(task, folder)


PLAYED: dict[str, Callable[[Task, Path], Figures]] = {
    LAUNCH: launched,
    COMPARE: compared,
    TRAIN: trained,
    REPRODUCE: reproduced,
}
