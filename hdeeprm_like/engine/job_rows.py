"""Requests of a workload as rows of the engine's job record."""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from hdeeprm_like.cluster.partitions import NO_DEMAND, Demand
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.tables import JOB
from hdeeprm_like.types import Records


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
REQUESTED = ("submit", "size", "requested_time", "requested_ops", "memory", "bandwidth", "gpus", "user", "program")
IN_CACHE = 4096  # rows
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


def fill_jobs(rows: Records, jobs: Workload, reference_flops: float) -> None:
    """Write the requests of a workload into rows of jobs, and their run times at *reference_flops* flop/s."""
    columns: dict[str, Any] = {name: getattr(jobs, name) for name in REQUESTED}
    if jobs.demands is not None:  # GPUs requested per node are not bound to cores
        columns["gpus"] = np.where(jobs.demands.gpus_per_node > 0, 0.0, jobs.gpus)
    times = np.where(jobs.delay >= 0.0, jobs.delay, jobs.ops / reference_flops)
    columns |= {"run_time": np.minimum(times, jobs.walltime), "start": np.nan, "finish": np.nan}
    fill_rows(rows, columns)


def fill_rows(rows: Records, columns: Mapping[str, Any]) -> None:
    """Write columns, each an array or a number, into rows, and zeros into the other fields.

    It goes by parts that stay in the processor's cache.
    """
    memory, targets = rows.view(np.uint8), [(rows[name], values) for name, values in columns.items()]
    for first in range(0, len(rows), IN_CACHE):
        part = slice(first, first + IN_CACHE)
        memory[first * rows.itemsize : part.stop * rows.itemsize] = 0
        for target, values in targets:
            target[part] = values[part] if isinstance(values, np.ndarray) else values
