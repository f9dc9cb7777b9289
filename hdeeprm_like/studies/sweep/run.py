"""Run a sweep: pass its tasks to an engine in chunks of some minutes until each has a result or has failed twice.

The folder holds `RECORD`, `TASKS`, the lines of the workers in ``results/`` (see `ledger`), and with Slurm its files.
These lines hold the whole state, so a sweep that was killed continues from them, on another engine if needed.
"""

import json
import logging
import os
import random
import socket
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from hdeeprm_like.errors import HDeepRMError, ResultsError
from hdeeprm_like.formats.files import alone_in, replacing, write_json
from hdeeprm_like.inputs import read_json, read_text
from hdeeprm_like.plugins import Place, function_at, trusting
from hdeeprm_like.studies.sweep.engine import Engine, Lost, Where, engine_named
from hdeeprm_like.studies.sweep.ledger import Ledger, appending, file_of
from hdeeprm_like.studies.sweep.tasks import COMPARE, GO_ON, LAUNCH, REPRODUCE, TRAIN, Task, read_sweep

RECORD, TASKS = "sweep.json", "tasks.jsonl"
CHUNK = 180.0  # s of a chunk: long against the start of a job, short against the loss of a killed one
PARTS = 8  # fewest chunks for each worker, so that the last ones end at about the same time
SAMPLE = 16  # tasks that are measured before the others are packed
ATTEMPTS = 2  # for a task that fails
TOLD = 5  # last lines of an error
TWICE = 60.0  # s; shorter tasks run twice when their time is measured
PLAYED = {  # the function that runs each kind of task and returns its figures, given the folder of the sweep
    LAUNCH: "hdeeprm_like.studies.sweep.experiments:launched",
    COMPARE: "hdeeprm_like.studies.sweep.comparisons:compared",
    TRAIN: "hdeeprm_like.studies.sweep.experiments:trained",
    REPRODUCE: "hdeeprm_like.studies.sweep.reproductions:reproduced",
}


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


def sweep(
    file: Path, where: Where, chunk: float = CHUNK, trusted: tuple[Place, ...] = (), progress: bool = True
) -> tuple[list[Task], Ledger]:
    """Run or continue a sweep; return its tasks and its ledger.

    Args:
        chunk: s of a chunk. trusted: as for `plugins.trusting`.

    Raises:
        HDeepRMError: the file cannot be used, the engine is not available, or the folder belongs to something else.
    """
    folder = where.folder
    tasks = read_sweep(file)
    engine_named(where.engine)  # before anything is written
    with alone_in(folder):
        if (folder / RECORD).exists():
            left_in(folder)
        elif any(folder.iterdir()):
            raise ResultsError(f"{folder}: holds something that is no sweep; name another folder")
        write_json(folder / RECORD, record_of(where, 0))
        with replacing(folder / TASKS) as lines:
            lines.writelines(json.dumps(vars(task)) + "\n" for task in tasks)
        driver = Driver(list({task.key: task for task in tasks}.values()), where, chunk, trusted)
        with tqdm(total=driver.total, unit=" tasks", desc="sweeping", disable=not progress, leave=False) as bar:
            driver.run(bar)
    return tasks, driver.ledger


class Driver:
    """Passes the tasks of a sweep to an engine.

    Attributes:
        ledger: known results. total: number of tasks.
    """

    def __init__(self, tasks: Sequence[Task], where: Where, chunk: float, trusted: tuple[Place, ...]) -> None:
        self.total = len(tasks)
        self.ledger = Ledger(where.folder.absolute())  # workers may have another current folder
        self._tasks = tasks
        self._where, self._chunk, self._trusted = where, chunk, trusted

    def run(self, bar: Any) -> None:
        """Continue until each task has a result or has failed twice; each round has its own workers."""
        begun = False
        while True:
            with engine_named(self._where.engine)(self._where) as engine:
                self.ledger.read(wait=True)
                if not begun:
                    begun = True
                    self._begin(bar)
                left = self._left()
                if not left:
                    return
                times = [line["seconds"] for line in self.ledger.done.values()]
                if len(times) < SAMPLE and len(simulations(left)) > SAMPLE:
                    self._round(engine, sampled(left, engine.workers or 1), bar, measure=True)
                    left = self._left()
                    times = [line["seconds"] for line in self.ledger.done.values()]
                each = sum(times) / len(times) if times else self._chunk
                self._round(engine, packed(left, each, self._chunk, engine.workers), bar)
                if not self._left():
                    return

    def _begin(self, bar: Any) -> None:
        """Forget failures of earlier calls, whose cause may be fixed, and record the present process."""
        self.ledger.failures.clear()
        keys = {task.key for task in self._tasks}
        known = len(keys & self.ledger.done.keys())
        bar.update(known)
        write_json(self.ledger.folder / RECORD, record_of(self._where, known))

    def _left(self) -> list[Task]:
        known, failures = self.ledger.done, self.ledger.failures
        return [task for task in self._tasks if task.key not in known and failures[task.key] < ATTEMPTS]

    def _round(self, engine: Engine, chunks: Sequence[Sequence[Task]], bar: Any, measure: bool = False) -> None:
        """Run chunks to their ends, and read the results of their tasks."""
        folder, run = self.ledger.folder, self.ledger.next_name()
        names = [f"{run}-{number:05}" for number in range(len(chunks))]
        limit = 2.0 * self._chunk
        engine.submit(
            run_chunk,
            [(folder, name, chunk, limit, measure, self._trusted) for name, chunk in zip(names, chunks, strict=True)],
        )
        keys = {task.key for task in self._tasks}
        for outcome in engine.results():
            if outcome is not None and isinstance(outcome[1], Lost):
                self._blame(names[outcome[0]], chunks[outcome[0]], outcome[1], f"{run}-lost")
            self.ledger.read()
            bar.update(len(keys & self.ledger.done.keys()) - bar.n)

    def _blame(self, name: str, chunk: Sequence[Task], lost: Lost, file: str) -> None:
        """Record which tasks have failed with a chunk: the one that was running, or all if none was begun."""
        self.ledger.read()
        begun = file_of(self.ledger.folder, name).exists()
        told = self.ledger.told_by(name)
        missing = [task for task in chunk if task.key not in told]
        with appending(file_of(self.ledger.folder, file)) as lines:
            for task in missing[:1] if begun else missing:
                lines.add({"key": task.key, "error": lost.reason})


def record_of(where: Where, done: int) -> dict[str, Any]:
    """Return engine, process and begin of a sweep, and the number of tasks done before."""
    who = {"engine": where.engine, "host": socket.gethostname(), "pid": os.getpid()}
    return who | {"begun": time.time(), "done": done}


def simulations(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks that may take milliseconds; trainings and experiments of documents take minutes to days."""
    return [task for task in tasks if task.do not in GO_ON]


def sampled(tasks: Sequence[Task], workers: int) -> list[list[Task]]:
    """Return a chunk for each worker of tasks drawn from all; their time estimates that of the others."""
    chosen = random.Random(0).sample(simulations(tasks), SAMPLE)
    return [chunk for n in range(workers) if (chunk := chosen[n::workers])]


def packed(tasks: Sequence[Task], each: float, chunk: float, workers: int | None) -> list[list[Task]]:
    """Return tasks in chunks; each task that is no simulation has its own.

    Args:
        each: mean s of a simulation. chunk: longest s of a chunk.
        workers: number that run at a time; with few tasks for each of them chunks are shorter. None if unknown.
    """
    small = simulations(tasks)
    if workers is not None:
        chunk = min(chunk, each * len(small) / (PARTS * workers))
    size = max(1, round(chunk / max(each, 1e-6)))
    return [
        *([task] for task in tasks if task.do in GO_ON),
        *(list(small[n : n + size]) for n in range(0, len(small), size)),
    ]


def left_in(folder: Path) -> tuple[dict[str, Any], list[Task]]:
    """Return the record and the tasks of the sweep in a folder.

    Raises:
        ResultsError: there is none.
    """
    if not (folder / RECORD).exists():
        raise ResultsError(f"{folder}: has no {RECORD}; name the folder of a sweep")
    record = read_json(folder / RECORD, ResultsError)
    try:
        lines = read_text(folder / TASKS, ResultsError).splitlines()
        tasks = [Task(**json.loads(line)) for line in lines]
        return {"engine": str(record["engine"]), "begun": float(record["begun"]), **record}, tasks
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ResultsError(f"{folder}: holds no sweep ({type(error).__name__}: {error})") from None
