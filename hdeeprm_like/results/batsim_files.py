"""The output files of a run, byte for byte as Batsim 4 writes them.

Times in ``out_jobs.csv``, ``out_schedule.csv`` and ``out_consumed_energy.csv`` have six decimals (C's ``%f``); those in
``out_machine_states.csv`` and ``out_pstate_changes.csv`` have six significant digits (C's ``%g``).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hdeeprm_like.errors import HDeepRMError, ResultsError
from hdeeprm_like.formats.files import replacing, replacing_bytes
from hdeeprm_like.formats.text_lines import lines_of

BATSIM_VERSION = "v4.2.1"  # whose files these are
SHORTEST_RUN = 1e-5  # s, what Batsim writes for a run of no time at all
SHORT = 4_000  # characters; Python makes an integer of any word of so few

JOB_COLUMNS = (
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,"
    "starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,"
    "consumed_energy,metadata"
)
MACHINE_STATE_COLUMNS = "time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing"
PSTATE_CHANGE_COLUMNS = "time,machine_id,new_pstate"
CONSUMED_ENERGY_COLUMNS = "time,energy,event_type,wattmin,epower"
MACHINE_TIMES = ("computing", "idle", "sleeping", "switching_off", "switching_on", "unavailable")

MachineStateRow = tuple[float, int, int, int, int, int]  # time, sleeping, switching on, switching off, idle, computing
PstateRow = tuple[float, str, int]  # time, machines as an interval set, P-state (-1 and -2: on its way up and down)
EnergyRow = tuple[float, float, str, float, float | None]  # time, J, "s" "e" or "p", W at least, W since the last row


class JobRow(NamedTuple):
    """One job that ended or was rejected; all times are in seconds, and None for a rejected job."""

    job_id: str  # without its workload's name
    workload: str
    profile: str
    submission_time: float
    size: int  # machines asked for
    walltime: float  # -1.0 without limit
    success: bool
    final_state: str  # COMPLETED_SUCCESSFULLY, COMPLETED_FAILED, COMPLETED_WALLTIME_REACHED, COMPLETED_KILLED, REJECTED
    starting_time: float | None
    execution_time: float | None
    allocated: str  # an interval set
    energy: float  # J, -1.0 if not measured
    metadata: str = ""


def interval_set(ids: Iterable[int]) -> str:
    """Return ids as Batsim writes them, sorted and without repetition: ``0-3 6``."""
    parts: list[str] = []
    first = last = -2
    for number in sorted(set(ids)):
        if number == last + 1:
            last = number
            continue
        if last >= 0:
            parts.append(f"{first}-{last}" if last > first else str(first))
        first = last = number
    if last >= 0:
        parts.append(f"{first}-{last}" if last > first else str(first))
    return " ".join(parts)


def parse_interval_set(text: str, *, below: int = 1 << 24, error: type[HDeepRMError] = ResultsError) -> list[int]:
    """Return the sorted ids of an interval set such as ``0-3 6``.

    Args:
        below: ids must be smaller than this.

    Raises:
        error: the text is no interval set, or an id is too large.
    """
    ids: set[int] = set()
    words = text.split()
    if len(text) < SHORT and text.isascii() and "".join(words).isdigit():  # no intervals, the usual case
        ids.update(map(int, words))
        if max(ids) < below:
            return sorted(ids)
        ids.clear()
    for part in words:
        first, dash, last = part.partition("-")
        if not (first.isascii() and first.isdigit() and (not dash or (last.isascii() and last.isdigit()))):
            raise error(f"{text[:80]!r}: not a set of intervals such as '0-3 6'")
        low, high = int(first[:20]), int((last or first)[:20])
        if high < low or high >= below:
            raise error(f"{text[:80]!r}: {part[:40]!r} is not an interval of numbers below {below}")
        ids.update(range(low, high + 1))
    return sorted(ids)


def quoted(text: str) -> str:
    """Return a name as CSV writes it: in quotation marks if a reader would split it."""
    split = any(letter in text for letter in ',"\n\r')
    return '"' + text.replace('"', '""') + '"' if split else text


def unquoted(text: str) -> str:
    """Return the name that `quoted` has written."""
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


def job_line(row: JobRow) -> str:
    """Return the line of ``out_jobs.csv`` for one job, without its end of line."""
    words, joined = (row.job_id, row.workload, row.profile), f"{row.job_id}{row.workload}{row.profile}"
    if "," in joined or '"' in joined or "\n" in joined or "\r" in joined:  # a call for each takes as long as the rest
        words = quoted(row.job_id), quoted(row.workload), quoted(row.profile)
    head = (
        f"{words[0]},{words[1]},{words[2]},{row.submission_time:f},{row.size},{row.walltime:f},"
        f"{row.success:d},{row.final_state},"
    )
    start, run = row.starting_time, row.execution_time
    if start is None or run is None:
        return f'{head},,,,,,,,"{row.metadata}"'
    run = run or SHORTEST_RUN
    finish = start + run
    turnaround = finish - row.submission_time
    return (
        f"{head}{start:f},{run:f},{finish:f},{start - row.submission_time:f},{turnaround:f},{turnaround / run:f},"
        f'{row.allocated},{row.energy:f},"{row.metadata}"'
    )


def write_jobs(path: Path, rows: Iterable[JobRow]) -> None:
    """Write ``out_jobs.csv``: one line per job, in the order given."""
    _write(path, JOB_COLUMNS, map(job_line, rows))


def write_job_lines(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write ``out_jobs.csv`` of lines that are there already, some at a time."""
    with replacing_bytes(path) as file:
        file.write(f"{JOB_COLUMNS}\n".encode())
        file.writelines(parts)


def write_machine_states(path: Path, rows: Iterable[MachineStateRow]) -> None:
    """Write ``out_machine_states.csv``: how many machines are in which state, after each change."""
    write_columns(path, MACHINE_STATE_COLUMNS, "%g,%d,%d,%d,%d,%d", *_columns(rows, 6))


def write_pstate_changes(path: Path, rows: Iterable[PstateRow]) -> None:
    """Write ``out_pstate_changes.csv``: which machines take which P-state when."""
    write_columns(path, PSTATE_CHANGE_COLUMNS, "%g,%s,%d", *_columns(rows, 3))


def write_consumed_energy(path: Path, rows: Iterable[EnergyRow]) -> None:
    """Write ``out_consumed_energy.csv``: the energy used so far, at each job start, job end and P-state change."""
    *columns, watts = _columns(rows, 5)
    between = ["NA" if value is None else f"{value:f}" for value in watts]
    write_columns(path, CONSUMED_ENERGY_COLUMNS, "%f,%f,%s,%f,%s", *columns, between)


def _columns(rows: Iterable[tuple[Any, ...]], count: int) -> Sequence[Sequence[Any]]:
    """Return rows of so many values as columns."""
    return list(zip(*rows, strict=True)) or [()] * count


def write_columns(path: Path, header: str, form: str, *columns: Sequence[Any]) -> None:
    """Write a CSV of columns.

    Args:
        form: of a line, for ``%``.
    """
    with replacing(path) as file:
        file.write(header + "\n")
        file.writelines(lines_of(f"{form}\n", *columns))


def write_schedule(path: Path, values: Mapping[str, str | int | float]) -> None:
    """Write ``out_schedule.csv``: a line of names and a line of values (see `summary_of_ended`)."""
    _write(path, ",".join(values), [",".join(map(_schedule_value, values.values()))])


class Ended(NamedTuple):
    """The jobs of a run as its figures count them.

    Attributes:
        submit, start, run: s, of each job that ran, in the order in which they ended; none ran no time at all.
        jobs: how many ended or were rejected. successes: how many of them succeeded.
    """

    submit: Sequence[float]
    start: Sequence[float]
    run: Sequence[float]
    jobs: int
    successes: int


def ended_of(rows: Sequence[JobRow]) -> Ended:
    """Return what the summary needs of the jobs.

    Args:
        rows: every job that ended or was rejected.
    """
    ran = [
        (row.submission_time, row.starting_time, row.execution_time or SHORTEST_RUN)
        for row in rows
        if row.starting_time is not None and row.execution_time is not None
    ]
    submit, start, run = _columns(ran, 3)
    return Ended(submit, start, run, len(rows), sum(row.success for row in rows))


def summary_of_ended(
    ended: Ended,
    *,
    machines: int,
    consumed_joules: float,
    machine_seconds: Mapping[str, float],
    switches: tuple[int, int],
    wall_clock: tuple[float, float],
) -> dict[str, str | int | float]:
    """Return every column of ``out_schedule.csv`` in its order.

    The means divide by all jobs, rejected ones included, as Batsim does; they are nan when there is no job.

    Args:
        machine_seconds: seconds of all machines in each state of `MACHINE_TIMES`; missing states count 0.
        switches: orders to change P-states, and machines named in them.
        wall_clock: s, spent waiting for decisions, and in all.
    """
    submit, start, run = ended.submit, ended.start, ended.run
    waiting = [begin - came for came, begin in zip(submit, start, strict=True)]
    finish = [begin + lasted for begin, lasted in zip(start, run, strict=True)]
    turnaround = [end - came for end, came in zip(finish, submit, strict=True)]
    slowdown = [whole / lasted for whole, lasted in zip(turnaround, run, strict=True)]

    def mean(total: float) -> float:
        return total / ended.jobs if ended.jobs else float("nan")

    summary: dict[str, str | int | float] = {
        "batsim_version": BATSIM_VERSION,
        "consumed_joules": float(consumed_joules),
        "makespan": max(finish, default=0.0),
        "max_slowdown": max(slowdown, default=0.0),
        "max_turnaround_time": max(turnaround, default=0.0),
        "max_waiting_time": max(waiting, default=0.0),
        "mean_slowdown": mean(sum(slowdown)),
        "mean_turnaround_time": mean(sum(turnaround)),
        "mean_waiting_time": mean(sum(waiting)),
        "nb_computing_machines": machines,
        "nb_grouped_switches": switches[0],
        "nb_jobs": ended.jobs,
        "nb_jobs_finished": len(start),
        "nb_jobs_killed": len(start) - ended.successes,
        "nb_jobs_rejected": ended.jobs - len(start),
        "nb_jobs_success": ended.successes,
        "nb_machine_switches": switches[1],
        "scheduling_time": float(wall_clock[0]),
        "simulation_time": float(wall_clock[1]),
        "success_rate": mean(float(ended.successes)),
    }
    return summary | {f"time_{state}": float(machine_seconds.get(state, 0.0)) for state in MACHINE_TIMES}


def _schedule_value(value: str | int | float) -> str:
    if isinstance(value, float):
        return "-nan" if value != value else f"{value:f}"
    return str(value)


def _write(path: Path, header: str, lines: Iterable[str]) -> None:
    with replacing(path) as file:
        file.write(header + "\n")
        file.writelines(map("{}\n".format, lines))
