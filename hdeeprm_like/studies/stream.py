"""Simulate a trace of any length under one policy: read, simulate and write it in parts."""

import json
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.schedule import Schedule
from hdeeprm_like.cluster.totals import Totals
from hdeeprm_like.decision.actions import policy_named
from hdeeprm_like.engine.job_texts import Intervals, JobLines
from hdeeprm_like.engine.tasks import TASK
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.experiment import seed_of_policies
from hdeeprm_like.formats.files import alone_in, null_for_nan, replacing_bytes, tidy
from hdeeprm_like.formats.job_reading import Reading, larger_of, machine_size, parts_of_jobs
from hdeeprm_like.formats.windows import window
from hdeeprm_like.refusals import STREAM
from hdeeprm_like.results.batsim_files import JOB_COLUMNS
from hdeeprm_like.results.job_lines import ids_of, job_lines, lines_of, same
from hdeeprm_like.run.simulator import Clock
from hdeeprm_like.run.streamed import Stream, check_streams
from hdeeprm_like.types import Records
from hdeeprm_like.values import COUNT

JOBS, FIGURES = "out_jobs.csv", "figures.json"


class Streaming(NamedTuple):
    """What to simulate.

    Attributes:
        trace: SWF, plain or ``.gz``, in the order of submission. policy: a baseline or a pair. output: the folder.
        cores: of the pool; None for those of the header. clock, seed: as for `hdeeprm_like.api.simulate`.
        leave_out_larger: whether jobs larger than the pool are left out; otherwise they are an error.
    """

    trace: Path
    policy: str
    output: Path
    cores: int | None = None
    clock: Clock = "textbook"
    seed: int = 0
    leave_out_larger: bool = False


def stream(asked: Streaming, progress: bool = True) -> dict[str, float]:
    """Simulate a trace on a pool; write its jobs as they end, and the figures at the end.

    `JOBS` has a line for each job in the order of their ends, in the columns of Batsim. The id of a job is its number
    among those that count, from 0; cores have no names, and energy is not measured. Either both files are written at
    the end, or neither.

    Returns:
        The figures, see `Totals`.

    Raises:
        OptionsError: the policy or the clock cannot be streamed, or the number of cores is unknown.
        WorkloadError: the trace cannot be used, or is not in the order of submission.
        ResultsError: the folder cannot be written.
    """
    trace, policy, output, cores, clock, seed, leave_out_larger = asked
    chosen = policy_named(policy, STREAM)  # refuses before a file is read or Python that it names is run
    check_streams(chosen, clock)
    if cores is not None:
        COUNT.of(cores, OptionsError, "cores")
    parts = parts_of_jobs(trace, Reading(cores, larger_of(leave_out_larger), memory=False))
    first = next(parts)
    cores, epoch = machine_size(first), float(first.submit[0])
    totals = Totals(cores)
    hidden = None if progress else True  # on a terminal only
    with (
        alone_in(output),
        tqdm(unit=" jobs", desc="streaming", unit_scale=True, delay=1.0, disable=hidden, leave=False) as bar,
    ):
        tidy(output, JOBS, FIGURES)
        workloads = (window(part, cores, epoch=epoch, named=False).workload for part in chain([first], parts))
        run = Stream(pool(cores), workloads, chosen, clock, seed_of_policies(seed), epoch)
        with replacing_bytes(output / FIGURES) as summary, replacing_bytes(output / JOBS) as file:
            file.write(f"{JOB_COLUMNS}\n".encode())
            for ended in run.ended():
                totals.add(schedule_of(ended, cores))
                file.writelines(job_lines(lines_of_ended(ended), energy=False))
                bar.update(len(ended))
            figures = totals.figures()
            assert first.account is not None
            written = null_for_nan(figures) | {"account": first.account.content()}
            summary.write(f"{json.dumps(written, indent=2, allow_nan=False)}\n".encode())
            summary.flush()  # detects a full disk before either file is in place
            file.flush()
    return figures


def schedule_of(ended: Records, cores: int) -> Schedule:
    """Return the schedule of jobs that have ended on so many cores."""
    submit, start, finish, size, requested, user = (
        ended[name].copy() for name in ("submit", "start", "finish", "size", "requested_time", "user")
    )
    return Schedule(submit, start, finish, size, cores, requested_time=requested, user=user)


def lines_of_ended(ended: Records) -> JobLines:
    """Return what the lines of ``out_jobs.csv`` of jobs that have ended are made of; their cores have no names."""
    count = len(ended)
    tasks = np.zeros(count, TASK)
    for name in ("start", "finish", "outcome"):
        tasks[name] = ended[name]
    return lines_of(
        rows=np.arange(count),
        names=(ids_of("w0", ended["number"].copy()), same("window", count)),
        asked=(ended["submit"], np.full(count, np.inf), ended["size"]),
        tasks=tasks,
        cores=Intervals(np.zeros(count + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)),
    )
