"""The state of a sweep, its cancellation, and its results as one table."""

import fcntl
import json
import os
import signal
import socket
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.formats.files import replacing_bytes, write_csv
from hdeeprm_like.studies.sweep.ledger import Ledger
from hdeeprm_like.studies.sweep.run import left_in
from hdeeprm_like.studies.sweep.tasks import Task, columns_of

PATIENCE = 30.0  # s that a sweep may take to end
SHOWN = 10  # failures that are listed


def told_failures(failures: tuple[tuple[str, str], ...]) -> str:
    """Return the first failures as text, each with its last lines."""
    lines = []
    for values, error in failures[:SHOWN]:
        lines += [f"failed: {values}", *(f"    {line}" for line in error.splitlines())]
    if len(failures) > SHOWN:
        lines.append(f"and {len(failures) - SHOWN} more; all are in results/")
    return "".join(f"{line}\n" for line in lines)


def failures_of(tasks: list[Task], ledger: Ledger) -> tuple[tuple[str, str], ...]:
    """Return the varied options of the tasks with an error and no result, and the error."""
    failed = [task for task in tasks if task.key not in ledger.done and task.key in ledger.errors]
    columns = columns_of(tasks) if failed else []
    return tuple((values_of(task, columns) or task.key, ledger.errors[task.key]) for task in failed)


def values_of(task: Task, columns: list[str]) -> str:
    """Return the varied options of a task in one line."""
    return ", ".join(f"{name}={task.values[name]}" for name in columns if name in task.values)


def status_of(folder: Path) -> str:
    """Return the state of the sweep in a folder in words, with the time until its end at the present pace.

    Raises:
        ResultsError: there is none.
    """
    record, tasks = left_in(folder)
    ledger = Ledger(folder)
    ledger.read()
    done, running, failures = (
        sum(task.key in ledger.done for task in tasks),
        not is_free(folder),
        failures_of(tasks, ledger),
    )
    state = "running" if running else "complete" if done == len(tasks) else "not running"
    text = f"{done} of {len(tasks)} tasks done, {len(failures)} failed; {state}"
    if record["engine"] == "slurm":
        from hdeeprm_like.studies.sweep.on_slurm import queued_jobs

        queued = len(queued_jobs(folder))
        text += f"; {queued} jobs in the queue of Slurm" if queued else ""
    pace = (done - int(record.get("done", 0))) / max(time.time() - record["begun"], 1e-3)
    if running and pace > 0.0:
        end = datetime.fromtimestamp(time.time() + (len(tasks) - done) / pace).strftime("%Y-%m-%d %H:%M:%S")
        text += f"; ends at about {end}"
    return f"{text}\n{told_failures(failures)}"


def is_free(folder: Path) -> bool:
    """Return whether no process works on a sweep; see `formats.files.alone_in`."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # file systems without locks
        return True
    finally:
        os.close(handle)
    return True


def cancel(folder: Path) -> int:
    """End a sweep and all its workers; return how many jobs of Slurm were cancelled.

    Raises:
        ResultsError: there is none, or it runs on another computer, or does not end.
    """
    record, _ = left_in(folder)
    if not is_free(folder):
        if record.get("host") != socket.gethostname():
            raise ResultsError(f"{folder}: is running on {record.get('host')}; cancel it there")
        os.kill(int(record["pid"]), signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while not is_free(folder):
            if time.monotonic() > deadline:
                raise ResultsError(f"{folder}: process {record['pid']} does not end")
            time.sleep(0.1)
    if record["engine"] != "slurm":
        return 0
    from hdeeprm_like.studies.sweep.on_slurm import cancel_jobs

    return cancel_jobs(folder)


def collect(folder: Path, output: Path) -> int:
    """Write one row for each task with a result: varied options, seconds, figures; return the number of rows.

    Args:
        output: a ``.csv``, or a ``.parquet`` with pyarrow.

    Raises:
        ResultsError: there is no sweep, or the table cannot be written.
        OptionsError: the suffix is another, or pyarrow is missing.
    """
    write = WRITERS.get(output.suffix)
    if write is None:
        raise OptionsError(f"{output}: a table ends in {' or '.join(WRITERS)}")
    _, tasks = left_in(folder)
    ledger = Ledger(folder)
    ledger.read()
    columns = columns_of(tasks)
    rows = [
        {name: task.values.get(name) for name in columns} | {"seconds": line["seconds"]} | line["figures"]
        for task in tasks
        if (line := ledger.done.get(task.key)) is not None
    ]
    rows = [{name: plain(value) for name, value in row.items()} for row in rows]
    write(output, list(dict.fromkeys([*columns, "seconds", *(name for row in rows for name in row)])), rows)
    return len(rows)


def plain(value: Any) -> Any:
    """Return a value in the form of a table cell."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def write_parquet(path: Path, columns: list[str], rows: list[dict[str, Any]]) -> None:
    """Write a table as Parquet.

    Raises:
        OptionsError: pyarrow is missing.
    """
    import pandas as pd

    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        raise OptionsError(f"{path}: needs pyarrow; install it with: pip install pyarrow, or write a .csv") from None
    with replacing_bytes(path) as file:
        pd.DataFrame(rows, columns=columns).to_parquet(file, index=False)


WRITERS: dict[str, Callable[[Path, list[str], list[dict[str, Any]]], None]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
}
