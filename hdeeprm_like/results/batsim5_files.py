"""The output files of a run that Batsim 5 writes otherwise than Batsim 4, byte for byte as it writes them.

``jobs.csv`` names profiles with their workload and leaves its metadata empty. ``schedule.json`` takes the place of
``schedule.csv``: times of wall clock are in ``real_exec_info.json``, and the makespan begins with the first submission.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hdeeprm_like.formats.files import replacing
from hdeeprm_like.results.batsim_files import JOB_COLUMNS, JobRow, job_line

WALL_CLOCK = ("scheduling_time", "simulation_time")  # columns of schedule.csv that schedule.json lacks
MEMORY = ("VmHWM", "VmPeak")  # kB, from /proc/self/status


def write_jobs(path: Path, rows: Iterable[JobRow]) -> None:
    """Write ``jobs.csv``: one line per job, in the order given."""
    with replacing(path) as file:
        file.write(f"{JOB_COLUMNS}\n")
        for row in rows:
            file.write(job_line(row).removesuffix(f'"{row.metadata}"') + "\n")


def write_schedule(path: Path, summary: Mapping[str, str | int | float], rows: Sequence[JobRow], version: str) -> None:
    """Write ``schedule.json``.

    Args:
        summary: what Batsim 4 would say (see `summary_of_ended`). rows: of all jobs. version: of Batsim.
    """
    first = min((row.submission_time for row in rows), default=0.0)
    values = {key: value for key, value in summary.items() if key not in WALL_CLOCK}
    values |= {"batsim_version": version, "makespan": max(float(values["makespan"]) - first, 0.0)}
    with replacing(path) as file:
        file.write("{\n" + ",\n".join(f'  "{key}": {_written(value)}' for key, value in sorted(values.items())))
        file.write("\n}\n")


def write_execution(path: Path, *, in_scheduler: float, in_all: float) -> None:
    """Write ``real_exec_info.json``: this process's memory, and s of wall clock waiting for decisions and in all."""
    known = memory()
    values: dict[str, int | float] = {f"memory_{name}_kB": known.get(name, 0) for name in MEMORY}
    values |= {"time_in_edc_seconds": in_scheduler, "time_in_simu_seconds": in_all}
    with replacing(path) as file:
        file.write("{\n" + ",\n".join(f'  "{key}": {_written(value)}' for key, value in values.items()) + "\n}\n")


def memory() -> dict[str, int]:
    """Return the memory figures of this process in kB, as Linux reports them; none elsewhere."""
    try:
        text = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return {}
    return {name: int(kilobytes) for name, kilobytes in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}


def _written(value: str | int | float) -> str:
    if isinstance(value, float):
        return "null" if value != value else f"{value:f}"
    return f'"{value}"' if isinstance(value, str) else str(value)
