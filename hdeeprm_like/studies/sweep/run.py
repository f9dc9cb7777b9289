"""Run a sweep: pass its tasks to an engine in chunks of some minutes until each has a result or has failed twice.

The folder holds `RECORD`, `TASKS`, the lines of the workers in ``results/`` (see `ledger`), and with Slurm its files.
These lines hold the whole state, so a sweep that was killed continues from them, on another engine if needed.
"""

import json
import os
import random
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.files import alone_in, replacing, write_json
from hdeeprm_like.inputs import read_json, read_text
from hdeeprm_like.plugins import Place
from hdeeprm_like.studies.sweep.engine import Engine, Lost, Where, engine_named
from hdeeprm_like.studies.sweep.ledger import Ledger, appending, file_of
from hdeeprm_like.studies.sweep.playing import run_chunk
from hdeeprm_like.studies.sweep.tasks import GO_ON, Task, read_sweep

RECORD, TASKS = "sweep.json", "tasks.jsonl"
CHUNK = 180.0  # s of a chunk: long against the start of a job, short against the loss of a killed one
PARTS = 8  # fewest chunks for each worker, so that the last ones end at about the same time
SAMPLE = 16  # tasks that are measured before the others are packed
ATTEMPTS = 2  # for a task that fails


@dataclass(frozen=True)
class Settings:
    """The settings of a sweep.

    Attributes:
        where: the engine. chunk: s of a chunk. trusted: as for `plugins.trusting`.
    """

    where: Where
    chunk: float = CHUNK
    trusted: tuple[Place, ...] = ()


def sweep(file: Path, settings: Settings, progress: bool = True) -> tuple[list[Task], Ledger]:
    """Run or continue a sweep; return its tasks and its ledger.

    Raises:
        HDeepRMError: the file cannot be used, the engine is not available, or the folder belongs to something else.
    """
    folder = settings.where.folder
    tasks = read_sweep(file)
    engine_named(settings.where.engine)  # before anything is written
    with alone_in(folder):
        if (folder / RECORD).exists():
            left_in(folder)
        elif any(folder.iterdir()):
            raise ResultsError(f"{folder}: holds something that is no sweep; name another folder")
        write_json(folder / RECORD, record_of(settings.where, 0))
        with replacing(folder / TASKS) as lines:
            lines.writelines(json.dumps(vars(task)) + "\n" for task in tasks)
        driver = Driver(list({task.key: task for task in tasks}.values()), settings)
        with tqdm(total=driver.total, unit=" tasks", desc="sweeping", disable=not progress, leave=False) as bar:
            driver.run(bar)
    return tasks, driver.ledger


class Driver:
    """Passes the tasks of a sweep to an engine.

    Attributes:
        ledger: known results. total: number of tasks.
    """

    def __init__(self, tasks: Sequence[Task], settings: Settings) -> None:
        self.total = len(tasks)
        self.ledger = Ledger(settings.where.folder.absolute())  # workers may have another current folder
        self._tasks = tasks
        self._settings = settings

    def run(self, bar: Any) -> None:
        """Continue until each task has a result or has failed twice; each round has its own workers."""
        begun = False
        while True:
            with engine_named(self._settings.where.engine)(self._settings.where) as engine:
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
                each = sum(times) / len(times) if times else self._settings.chunk
                self._round(engine, packed(left, each, self._settings.chunk, engine.workers), bar)
                if not self._left():
                    return

    def _begin(self, bar: Any) -> None:
        """Forget failures of earlier calls, whose cause may be fixed, and record the present process."""
        self.ledger.failures.clear()
        keys = {task.key for task in self._tasks}
        known = len(keys & self.ledger.done.keys())
        bar.update(known)
        write_json(self.ledger.folder / RECORD, record_of(self._settings.where, known))

    def _left(self) -> list[Task]:
        known, failures = self.ledger.done, self.ledger.failures
        return [task for task in self._tasks if task.key not in known and failures[task.key] < ATTEMPTS]

    def _round(self, engine: Engine, chunks: Sequence[Sequence[Task]], bar: Any, measure: bool = False) -> None:
        """Run chunks to their ends, and read the results of their tasks."""
        folder, settings, run = self.ledger.folder, self._settings, self.ledger.next_name()
        names = [f"{run}-{number:05}" for number in range(len(chunks))]
        limit = 2.0 * settings.chunk
        engine.submit(
            run_chunk,
            [
                (folder, name, chunk, limit, measure, settings.trusted)
                for name, chunk in zip(names, chunks, strict=True)
            ],
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
