"""Requests of a workload as rows of the engine's job record."""

from inspect import get_annotations
from typing import Any, NamedTuple, cast

import numpy as np

from hdeeprm_like.cluster.partitions import NO_DEMAND, Demand
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import entry
from hdeeprm_like.engine.tables import JOB
from hdeeprm_like.types import Floats, Ints, Records


class Request(NamedTuple):
    """What a job requests, with the fields of its row in ``Tables.jobs``.

    Attributes:
        submit: s. size: cores. time: s. ops: flop per core. memory: MB per core. bandwidth: GB/s per core.
        gpus: per core. user: number of the submitting user, -1 if unknown.
        demand: what it requests on a platform with partitions.
        program: number of its executable or job name, -1 if unknown.
    """

    submit: float
    size: int
    time: float
    ops: float
    memory: float
    bandwidth: float
    gpus: float = 0.0
    user: int = -1
    demand: Demand = NO_DEMAND
    program: int = -1


NAMES = cast(tuple[str, ...], JOB.names)
WHOLE = ("size", "user", "program")  # columns of whole numbers
EMPTY_JOB = dict.fromkeys(NAMES, 0.0) | dict.fromkeys(("start", "finish", "run_time"), np.nan)


def fill_job(rows: Records, row: int, request: Request) -> None:
    """Write a newly submitted job, whose run time is not known yet, into its row."""
    requested = {
        "submit": request.submit,
        "size": request.size,
        "requested_time": request.time,
        "requested_ops": request.ops,
        "memory": request.memory,
        "bandwidth": request.bandwidth,
        "user": request.user,
        "program": request.program,
        "gpus": 0.0 if request.demand.gpus_per_node > 0 else request.gpus,
    }
    rows[row] = tuple((EMPTY_JOB | requested).values())  # faster in numpy than one field after the other


def countable(platform: Platform, jobs: Workload | None) -> bool:
    """Return whether cores may be counted instead of named; jobs that arrive later must request only cores."""
    requested = jobs is not None and (jobs.memory.any() or jobs.bandwidth.any() or jobs.gpus.any())
    return platform.processors == 1 and platform.partitions is None and not requested


class Requests(Bundle):
    """The columns of a workload that its rows take, and these rows; J jobs, units as in `Workload`.

    Attributes:
        rows: (J,) JOB, written from (J,) all others.
    """

    rows: Records
    submit: Floats
    size: Ints
    requested_time: Floats
    requested_ops: Floats
    memory: Floats
    gpus: Floats
    bandwidth: Floats
    user: Ints
    program: Ints
    ops: Floats
    delay: Floats
    walltime: Floats


def columns_of(jobs: Workload, bundle: type[Bundle]) -> dict[str, Any]:
    """Return the columns of a workload that a bundle takes besides the rows, as contiguous arrays."""
    columns = {name: getattr(jobs, name) for name in get_annotations(bundle) if name != "rows"}
    return {name: np.ascontiguousarray(of, np.int64 if name in WHOLE else np.float64) for name, of in columns.items()}


def fill_jobs(rows: Records, jobs: Workload, reference_flops: float) -> None:
    """Write the requests of a workload into rows of jobs, and their run times at *reference_flops* flop/s."""
    columns = columns_of(jobs, Requests)
    if jobs.demands is not None:  # GPUs requested per node are not bound to cores
        columns["gpus"] = np.where(jobs.demands.gpus_per_node > 0, 0.0, jobs.gpus)
    write_rows(Requests(rows=rows, **columns), reference_flops)


@entry
def write_rows(requests: Requests, reference_flops: float) -> None:
    """Write rows of jobs, field by field in one go: column after column took three times as long."""
    for j in range(len(requests.rows)):
        row = requests.rows[j]
        row.submit, row.size = requests.submit[j], requests.size[j]
        row.requested_time, row.requested_ops = requests.requested_time[j], requests.requested_ops[j]
        row.memory, row.gpus, row.bandwidth = requests.memory[j], requests.gpus[j], requests.bandwidth[j]
        row.user, row.program = requests.user[j], requests.program[j]
        time = requests.delay[j] if requests.delay[j] >= 0.0 else requests.ops[j] / reference_flops
        row.run_time = min(time, requests.walltime[j])
        row.start = row.finish = np.nan
        row.done = row.speed = row.as_of = 0.0
        row.first = row.status = row.place = row.lacks = row.stretches = 0
