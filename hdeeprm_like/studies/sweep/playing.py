"""Running tasks: one simulation or training each, in chunks that take some minutes."""

import logging
import time
import traceback
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import HDeepRMError, ResultsError
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.formats.open import load_platform, load_trace
from hdeeprm_like.inputs import read_rows, read_text
from hdeeprm_like.plugins import Place, function_at, trusting
from hdeeprm_like.studies.sweep.ledger import appending, file_of
from hdeeprm_like.studies.sweep.tasks import COMPARE, GO_ON, LAUNCH, REPRODUCE, TRAIN, Task

TOLD = 5  # last lines of an error
TWICE = 60.0  # s; what takes less is run twice where its time is to be known

Figures = dict[str, float]

trace_at = lru_cache(maxsize=2)(load_trace)  # a process of a sweep ends with it, and its inputs may not change before
platform_at = lru_cache(maxsize=8)(load_platform)


def run_chunk(
    folder: Path, name: str, tasks: Sequence[Task], seconds: float, measure: bool, trusted: tuple[Place, ...]
) -> int:
    """Run tasks one after the other, and write a line for each as soon as it is over; return how many were run.

    Args:
        folder: of the sweep. name: of the file of lines; tasks that it knows from a worker before are not run again.
        seconds: after which no further task is begun, the first one apart: the rest waits for another chunk.
        measure: whether to run each task twice and tell the time of the second run, for the first reads and compiles;
            but for those that would go on where they are.
        trusted: what code may be run, as of `plugins.trusting`.

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
    play: Callable[[Task, Path], Figures] = function_at(PLAYED[task.do])
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


def trained(task: Task, folder: Path) -> Figures:
    """Train an agent in a folder of the sweep, or go on with that; return what became of it.

    ``reward`` is the mean over the last tenth of the episodes; the last evaluation and what the best agent did on held
    out episodes are there if the options ask for them.
    """
    from hdeeprm_like.experiment import load_experiment
    from hdeeprm_like.launch.learned import EVALUATIONS, HELD_OUT, train_learner
    from hdeeprm_like.launch.learner import AgentChoice, Learner
    from hdeeprm_like.launch.resuming import resume_learner, training_options
    from hdeeprm_like.results.run_values import number_of

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
    rewards = numbers_in(output / "rewards.log")
    tenth = rewards[-max(1, len(rewards) // 10) :]
    found = {"episodes": float(episodes), "reward": sum(tenth) / len(tenth)}
    for file, row, prefix in ((output / EVALUATIONS, -1, "evaluation_"), (output / HELD_OUT, 0, "held_out_")):
        if file.exists():
            told = read_rows(file, (), ResultsError)[row]
            found |= {
                prefix + key: number_of(value, f"{file}: {key}")
                for key, value in told.items()
                if key not in ("episode", "name")
            }
    return found


def numbers_in(path: Path) -> list[float]:
    """Return the numbers of a log with one on each line."""
    from hdeeprm_like.results.run_values import (
        number_of,
    )  # loads pandas, which those who share out tasks can do without

    lines = enumerate(read_text(path, ResultsError).splitlines(), start=1)
    return [number_of(text, f"{path}:{line}") for line, text in lines]


PLAYED = {
    LAUNCH: "hdeeprm_like.studies.sweep.launching:launched",
    COMPARE: "hdeeprm_like.studies.sweep.comparing:compared",
    TRAIN: "hdeeprm_like.studies.sweep.playing:trained",
    REPRODUCE: "hdeeprm_like.studies.sweep.reproductions:reproduced",
}
"""What runs a task of each kind and returns its figures, given the folder of the sweep; loaded by those who run one."""
