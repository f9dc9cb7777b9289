"""Simulate a trace of any length under one policy: read, simulate and write it in parts."""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from tqdm import tqdm

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.schedule import Schedule
from hdeeprm_like.cluster.totals import Totals
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import policy_named
from hdeeprm_like.engine.job_texts import Intervals, JobLines
from hdeeprm_like.engine.tasks import TASK
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.experiment import seed_of_policies
from hdeeprm_like.formats.files import alone_in, null_for_nan, replacing_bytes, tidy
from hdeeprm_like.formats.swf import swf_parts
from hdeeprm_like.formats.windows import Window, windows_in_order
from hdeeprm_like.limits import CORES, refusal
from hdeeprm_like.refusals import STREAM
from hdeeprm_like.results.batsim_files import JOB_COLUMNS
from hdeeprm_like.results.job_lines import ids_of, job_lines, lines_of, same
from hdeeprm_like.run.simulator import Clock
from hdeeprm_like.run.streamed import Stream, check_streams
from hdeeprm_like.studies.compare.inputs import GIVE, header_size
from hdeeprm_like.types import Records
from hdeeprm_like.values import COUNT

JOBS, FIGURES = "out_jobs.csv", "figures.json"


def stream(
    trace: Path,
    policy: str,
    output: Path,
    cores: int | None = None,
    clock: Clock = "textbook",
    seed: int = 0,
    progress: bool = True,
) -> dict[str, float]:
    """Simulate a trace on a pool; write its jobs as they end, and the figures at the end.

    `JOBS` has a line for each job in the order of their ends, in the columns of Batsim. The id of a job is its number
    among the usable ones, from 0; cores have no names, and energy is not measured. Either both files are written at the
    end, or neither.

    Args:
        trace: SWF, plain or ``.gz``, in the order of submission. policy: a baseline or a pair.
        cores: of the pool; None for those of the header. clock, seed: as for `hdeeprm_like.api.simulate`.

    Returns:
        The figures, see `Totals`.

    Raises:
        OptionsError: the policy or the clock cannot be streamed, or the number of cores is unknown.
        WorkloadError: the trace cannot be used, or is not in the order of submission.
        ResultsError: the folder cannot be written.
    """
    chosen = policy_named(policy, STREAM)  # refuses before a file is read or Python that it names is run
    check_streams(chosen, clock)
    parts = swf_parts(trace, endless=True)
    first = next(parts)
    cores = header_size(first) if cores is None else cores
    if cores is None:
        raise OptionsError(f"{trace}: its header has no number of processors (MaxProcs); {GIVE}")
    COUNT.of(cores, OptionsError, "cores")
    if cores > CORES.most:
        raise OptionsError(f"a pool of {cores} cores is too large: {refusal(CORES)}")
    totals = Totals(cores)
    hidden = None if progress else True  # on a terminal only
    with (
        alone_in(output),
        tqdm(unit=" jobs", desc="streaming", unit_scale=True, delay=1.0, disable=hidden, leave=False) as bar,
    ):
        tidy(output, JOBS, FIGURES)
        windows = windows_in_order(chain([first], parts), cores)
        opening = next(windows)
        workloads = workloads_of(chain([opening], windows))
        run = Stream(pool(cores), workloads, chosen, clock, seed_of_policies(seed), opening.epoch)
        with replacing_bytes(output / FIGURES) as summary, replacing_bytes(output / JOBS) as file:
            file.write(f"{JOB_COLUMNS}\n".encode())
            for ended in run.ended():
                totals.add(schedule_of(ended, cores))
                file.writelines(job_lines(lines_of_ended(ended), energy=False))
                bar.update(len(ended))
            figures = totals.figures()
            summary.write(f"{json.dumps(null_for_nan(figures), indent=2, allow_nan=False)}\n".encode())
            summary.flush()  # detects a full disk before either file is in place
            file.flush()
    return figures


def workloads_of(windows: Iterator[Window]) -> Iterator[Workload]:
    """Yield the jobs of windows on one clock."""
    for window in windows:
        yield window.workload


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
        ids=ids_of("w0", ended["number"].copy()),
        profiles=same("window", count),
        times=(ended["submit"], np.full(count, np.inf)),
        size=ended["size"],
        tasks=tasks,
        cores=Intervals(np.zeros(count + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)),
    )
