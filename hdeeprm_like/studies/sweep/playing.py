"""Run tasks, one simulation or training each, in chunks of some minutes."""

import logging
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import HDeepRMError
from hdeeprm_like.plugins import Place, function_at, trusting
from hdeeprm_like.studies.sweep.ledger import appending, file_of
from hdeeprm_like.studies.sweep.tasks import COMPARE, GO_ON, LAUNCH, REPRODUCE, TRAIN, Task

TOLD = 5  # last lines of an error
TWICE = 60.0  # s; shorter tasks run twice when their time is measured


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
    play: Callable[[Task, Path], dict[str, float]] = function_at(PLAYED[task.do])
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


PLAYED = {
    LAUNCH: "hdeeprm_like.studies.sweep.experiments:launched",
    COMPARE: "hdeeprm_like.studies.sweep.comparisons:compared",
    TRAIN: "hdeeprm_like.studies.sweep.experiments:trained",
    REPRODUCE: "hdeeprm_like.studies.sweep.reproductions:reproduced",
}
"""The function that runs each kind of task and returns its figures, given the folder of the sweep; loaded by
workers."""
