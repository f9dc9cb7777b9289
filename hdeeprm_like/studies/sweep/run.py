"""Running a sweep: its tasks go to an engine in chunks of some minutes until each has a result or has failed twice.

The folder holds `RECORD`, `TASKS`, the lines of the workers in ``results/`` (see `ledger`), and with Slurm its files.
All that is known is in these lines, so a sweep that was killed goes on from them, on another engine if need be.
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
from hdeeprm_like.studies.sweep.engine import Engine, Lost, Where, engine_named, opened
from hdeeprm_like.studies.sweep.ledger import Ledger, appending, file_of
from hdeeprm_like.studies.sweep.playing import run_chunk
from hdeeprm_like.studies.sweep.reading import read_sweep
from hdeeprm_like.studies.sweep.tasks import GO_ON, Task

RECORD, TASKS = "sweep.json", "tasks.jsonl"
CHUNK = 180.0  # s that a chunk takes: long beside what starting a job costs, short beside what a killed one loses
PARTS = 8  # chunks for each worker at least, so that the last ones end at about the same time
SAMPLE = 16  # tasks whose time is measured before the others are packed
ATTEMPTS = 2  # of a task that fails


@dataclass(frozen=True)
class Settings:
    """How a sweep is run.

    Attributes:
        where: the engine. chunk: s that a chunk takes. trusted: as of `plugins.trusting`.
    """

    where: Where
    chunk: float = CHUNK
    trusted: tuple[Place, ...] = ()


def sweep(file: Path, settings: Settings, progress: bool = True) -> tuple[list[Task], Ledger]:
    """Run a sweep, or what is left of it; return its tasks and what is known of them.

    Raises:
        HDeepRMError: the file cannot be used, the engine cannot be had, or the folder belongs to something else.
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
    """Hands the tasks of a sweep to an engine.

    Attributes:
        ledger: what is known. total: how many tasks there are.
    """

    def __init__(self, tasks: Sequence[Task], settings: Settings) -> None:
        self.total = len(tasks)
        self.ledger = Ledger(settings.where.folder.absolute())  # workers may stand in another folder
        self._tasks = tasks
        self._settings = settings

    def run(self, bar: Any) -> None:
        """Go on until each task has a result or has failed twice; each round has workers of its own."""
        begun = False
        while True:
            with opened(self._settings.where) as engine:
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

    def _begin(self, bar: Any) -> None:
        """Forget how often tasks have failed in earlier calls, whose cause may be mended, and say who is at work."""
        self.ledger.failures.clear()
        keys = {task.key for task in self._tasks}
        known = len(keys & self.ledger.done.keys())
        bar.update(known)
        write_json(self.ledger.folder / RECORD, record_of(self._settings.where, known))

    def _left(self) -> list[Task]:
        known, failures = self.ledger.done, self.ledger.failures
        return [task for task in self._tasks if task.key not in known and failures[task.key] < ATTEMPTS]

    def _round(self, engine: Engine, chunks: Sequence[Sequence[Task]], bar: Any, measure: bool = False) -> None:
        """Run chunks to their ends, and read what has become of their tasks."""
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
        """Tell the ledger which tasks have failed with a chunk: the one that was running, or all if none was begun."""
        self.ledger.read()
        begun = file_of(self.ledger.folder, name).exists()
        told = self.ledger.told_by(name)
        missing = [task for task in chunk if task.key not in told]
        with appending(file_of(self.ledger.folder, file)) as lines:
            for task in missing[:1] if begun else missing:
                lines.add({"key": task.key, "error": lost.reason})


def record_of(where: Where, done: int) -> dict[str, Any]:
    """Return who sweeps where and since when, and how many tasks were done before."""
    who = {"engine": where.engine, "host": socket.gethostname(), "pid": os.getpid()}
    return who | {"begun": time.time(), "done": done}


def simulations(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks that may be of milliseconds; trainings and experiments of documents take minutes to days."""
    return [task for task in tasks if task.do not in GO_ON]


def sampled(tasks: Sequence[Task], workers: int) -> list[list[Task]]:
    """Return a chunk for each worker of some tasks drawn from all, whose time tells that of the others."""
    chosen = random.Random(0).sample(simulations(tasks), SAMPLE)
    return [chunk for n in range(workers) if (chunk := chosen[n::workers])]


def packed(tasks: Sequence[Task], each: float, chunk: float, workers: int | None) -> list[list[Task]]:
    """Return tasks in chunks, each that is no simulation alone.

    Args:
        each: s that a simulation takes in the mean. chunk: s that a chunk may take.
        workers: how many run at a time; with few tasks for each of them chunks are shorter. None where nobody knows.
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
    except (ValueError, TypeError, KeyError) as error:
        raise ResultsError(f"{folder}: holds no sweep ({type(error).__name__}: {error})") from None
