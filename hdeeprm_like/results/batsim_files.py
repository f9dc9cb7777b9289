"""The output files of a run, byte for byte as Batsim 4 writes them.

Times in ``out_jobs.csv``, ``out_schedule.csv`` and ``out_consumed_energy.csv`` have six decimals (C's ``%f``); those in
``out_machine_states.csv`` and ``out_pstate_changes.csv`` have six significant digits (C's ``%g``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hdeeprm_like.errors import HDeepRMError, ResultsError
from hdeeprm_like.formats.files import replacing, replacing_bytes

BATSIM_VERSION = "v4.2.1"  # whose files these are
SHORTEST_RUN = 1e-5  # s, what Batsim writes for a run of no time at all

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
    energy: float  # J, -1.0 when nobody measured it
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
    for part in text.split():
        first, dash, last = part.partition("-")
        if not (first.isascii() and first.isdigit() and (not dash or (last.isascii() and last.isdigit()))):
            raise error(f"{text[:80]!r}: not a set of intervals such as '0-3 6'")
        low, high = int(first[:20]), int((last or first)[:20])
        if high < low or high >= below:
            raise error(f"{text[:80]!r}: {part[:40]!r} is not an interval of numbers below {below}")
        ids.update(range(low, high + 1))
    return sorted(ids)


def job_line(row: JobRow) -> str:
    """Return the line of ``out_jobs.csv`` for one job, without its end of line."""
    head = (
        f"{row.job_id},{row.workload},{row.profile},{row.submission_time:f},{row.size},{row.walltime:f},"
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


def write_job_lines(path: Path, parts: Iterable[bytes]) -> None:
    """Write ``out_jobs.csv`` of lines that are there already, some at a time."""
    with replacing_bytes(path) as file:
        file.write(f"{JOB_COLUMNS}\n".encode())
        file.writelines(parts)


def write_machine_states(path: Path, rows: Iterable[MachineStateRow]) -> None:
    """Write ``out_machine_states.csv``: how many machines are in which state, after each change."""
    _write(path, MACHINE_STATE_COLUMNS, (f"{time:g},{a},{b},{c},{d},{e}" for time, a, b, c, d, e in rows))


def write_pstate_changes(path: Path, rows: Iterable[PstateRow]) -> None:
    """Write ``out_pstate_changes.csv``: which machines take which P-state when."""
    _write(path, PSTATE_CHANGE_COLUMNS, (f"{time:g},{machines},{pstate}" for time, machines, pstate in rows))


def write_consumed_energy(path: Path, rows: Iterable[EnergyRow]) -> None:
    """Write ``out_consumed_energy.csv``: the energy used so far, at each job start, job end and P-state change."""
    lines = (
        f"{time:f},{joules:f},{kind},{least:f},{'NA' if watts is None else f'{watts:f}'}"
        for time, joules, kind, least, watts in rows
    )
    _write(path, CONSUMED_ENERGY_COLUMNS, lines)


def write_schedule(path: Path, values: Mapping[str, str | int | float]) -> None:
    """Write ``out_schedule.csv``: a line of names and a line of values (see `schedule_summary`)."""
    _write(path, ",".join(values), [",".join(map(_schedule_value, values.values()))])


def schedule_summary(
    rows: Sequence[JobRow],
    *,
    machines: int,
    consumed_joules: float,
    machine_seconds: Mapping[str, float],
    grouped_switches: int,
    machine_switches: int,
    scheduling_time: float,
    simulation_time: float,
) -> dict[str, str | int | float]:
    """Return every column of ``out_schedule.csv`` in its order.

    The means divide by all jobs, rejected ones included, as Batsim does; they are nan when there is no job.

    Args:
        rows: every job that ended or was rejected.
        machine_seconds: seconds of all machines in each state of `MACHINE_TIMES`; missing states count 0.
        grouped_switches, machine_switches: orders to change P-states, and machines named in them.
        scheduling_time, simulation_time: s of wall clock, spent waiting for decisions, and in all.
    """
    ran = [
        (row.submission_time, row.starting_time, row.execution_time or SHORTEST_RUN)
        for row in rows
        if row.starting_time is not None and row.execution_time is not None
    ]
    waiting = [start - submit for submit, start, _ in ran]
    turnaround = [start + run - submit for submit, start, run in ran]
    slowdown = [lasted / run for lasted, (_, _, run) in zip(turnaround, ran, strict=True)]
    successes = sum(row.success for row in rows)

    def mean(total: float) -> float:
        return total / len(rows) if rows else float("nan")

    summary: dict[str, str | int | float] = {
        "batsim_version": BATSIM_VERSION,
        "consumed_joules": float(consumed_joules),
        "makespan": max((start + run for _, start, run in ran), default=0.0),
        "max_slowdown": max(slowdown, default=0.0),
        "max_turnaround_time": max(turnaround, default=0.0),
        "max_waiting_time": max(waiting, default=0.0),
        "mean_slowdown": mean(sum(slowdown)),
        "mean_turnaround_time": mean(sum(turnaround)),
        "mean_waiting_time": mean(sum(waiting)),
        "nb_computing_machines": machines,
        "nb_grouped_switches": grouped_switches,
        "nb_jobs": len(rows),
        "nb_jobs_finished": len(ran),
        "nb_jobs_killed": len(ran) - successes,
        "nb_jobs_rejected": len(rows) - len(ran),
        "nb_jobs_success": successes,
        "nb_machine_switches": machine_switches,
        "scheduling_time": float(scheduling_time),
        "simulation_time": float(simulation_time),
        "success_rate": mean(float(successes)),
    }
    return summary | {f"time_{state}": float(machine_seconds.get(state, 0.0)) for state in MACHINE_TIMES}


def _schedule_value(value: str | int | float) -> str:
    if isinstance(value, float):
        return "-nan" if value != value else f"{value:f}"
    return str(value)


def _write(path: Path, header: str, lines: Iterable[str]) -> None:
    ending: Callable[[str], str] = "{}\n".format
    with replacing(path) as file:
        file.write(header + "\n")
        file.writelines(map(ending, lines))
