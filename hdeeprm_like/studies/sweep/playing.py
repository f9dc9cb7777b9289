"""Run tasks, one simulation or training each, in chunks of some minutes."""

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
from hdeeprm_like.values import FINITE

TOLD = 5  # last lines of an error
TWICE = 60.0  # s; shorter tasks run twice when their time is measured

Figures = dict[str, float]

trace_at = lru_cache(maxsize=2)(load_trace)  # inputs may not change during a sweep, and its processes end with it
platform_at = lru_cache(maxsize=8)(load_platform)


def run_chunk(
    folder: Path, name: str, tasks: Sequence[Task], seconds: float, measure: bool, trusted: tuple[Place, ...]
) -> int:
    """Run tasks one after the other, and write a line for each at its end; return the number of tasks run.

    Args:
        folder: of the sweep. name: of the file of lines; tasks with a line of an earlier worker are not run again.
        seconds: after which no further task begins, except the first; another chunk gets the rest.
        measure: whether to run each task twice and record the time of the second run, because the first reads and
        compiles; tasks that would continue from a checkpoint run once.
        trusted: allowed Python code, as for `plugins.trusting`.

    Raises:
        ResultsError: the file cannot be written.
    """
    logging.getLogger("hdeeprm_like").setLevel("ERROR")  # the command warns of inputs once, not each worker
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
    """Return the ledger's line for a task, after running it."""
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
    """Train an agent in a folder of the sweep, or continue its training; return its figures.

    ``reward`` is the mean over the last tenth of the episodes; the last evaluation and the results of the best agent on
    held-out episodes are included if the options enable them.
    """
    from hdeeprm_like.experiment import load_experiment
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
    rewards = numbers_in(output / "rewards.log")
    tenth = rewards[-max(1, len(rewards) // 10) :]
    found = {"episodes": float(episodes), "reward": sum(tenth) / len(tenth)}
    for file, row, prefix in ((output / EVALUATIONS, -1, "evaluation_"), (output / HELD_OUT, 0, "held_out_")):
        if file.exists():
            told = read_rows(file, (), ResultsError)[row]
            found |= {
                prefix + key: FINITE.in_text(value, ResultsError, file, key)
                for key, value in told.items()
                if key not in ("episode", "name")
            }
    return found


def numbers_in(path: Path) -> list[float]:
    """Return the numbers of a log with one on each line."""
    lines = enumerate(read_text(path, ResultsError).splitlines(), start=1)
    return [FINITE.in_text(text, ResultsError, f"{path}:{line}") for line, text in lines]


PLAYED = {
    LAUNCH: "hdeeprm_like.studies.sweep.launching:launched",
    COMPARE: "hdeeprm_like.studies.sweep.comparing:compared",
    TRAIN: "hdeeprm_like.studies.sweep.playing:trained",
    REPRODUCE: "hdeeprm_like.studies.sweep.reproductions:reproduced",
}
"""The function that runs each kind of task and returns its figures, given the folder of the sweep; loaded by
workers."""
