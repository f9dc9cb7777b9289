"""Statistics of the requests of the jobs of a workload (thesis appendix E.4, used in 5.2)."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import OptionsError, WorkloadError, did_you_mean
from hdeeprm_like.formats.open import has_ending_of, load_trace, load_workload
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.trace_jobs import convert, knows_memory
from hdeeprm_like.types import Floats

FIELDS: dict[str, Callable[[Workload], Floats]] = {
    "req_time": lambda jobs: jobs.requested_time,
    "size": lambda jobs: jobs.size.astype(np.float64),
    "mem": lambda jobs: jobs.memory,
    "mem_bw": lambda jobs: jobs.bandwidth,
    "submit": lambda jobs: jobs.submit,
    "req_ops": lambda jobs: jobs.requested_ops,
    "ops": lambda jobs: jobs.ops,
}
"""Fields of jobs, in `UNITS`."""

UNITS = {
    "req_time": "s",
    "size": "cores",
    "mem": "MB per core",
    "mem_bw": "GB/s per core",
    "submit": "s",
    "req_ops": "flop per core",
    "ops": "flop per core",
}

STATISTICS: dict[str, Callable[[Floats], float]] = {
    "count": lambda column: float(len(column)),
    "min": lambda column: float(column.min()),
    "max": lambda column: float(column.max()),
    "mean": lambda column: float(column.mean()),
    "median": lambda column: float(np.median(column)),
    "std": lambda column: float(column.std()),
    "sum": lambda column: math.fsum(column),
}
"""Besides percentiles (``p95``, ``p99.9``), which are interpolated linearly; ``std`` is that of the population."""

TABLE = ("count", "min", "p5", "median", "p95", "p99", "max", "mean", "std", "sum")
UNKNOWN_IN_TRACES = ("req_ops", "ops")  # they need the reference speed of a platform


def read_jobs(path: Path) -> Workload | Trace:
    """Read a trace if the file name has the suffix of one, else a workload.

    Missing operations of a workload are computed for a core of 1 Gflop/s.
    """
    if has_ending_of(path, "trace"):
        return load_trace(path)
    return load_workload(path, reference_flops=1e9)


def jobstat(jobs: Workload | Trace, field: str, statistic: str, *, seed: int | None = None) -> float:
    """Return one statistic over one field of all jobs.

    Jobs of a trace without a known memory are left out, as in the conversion to a workload; if no job has one, all
    count.

    Args:
        jobs: a workload, or a trace as read from its file.
        field: one of `FIELDS`.
        statistic: one of `STATISTICS` or a percentile, ``"p95"``.
        seed: of the bandwidths, which a trace does not have.

    Raises:
        OptionsError: the field or the statistic is not known.
        WorkloadError: the trace does not have the field.

    Source: HDeepRM thesis 4.2 and appendix E.4.
    """
    if field not in FIELDS:
        raise OptionsError(f"job field {field!r} is not known{did_you_mean(field, FIELDS)}")
    summary = _summary(statistic)
    if isinstance(jobs, Trace):
        if field in _unknown(jobs, seed):
            remedy = "; give a seed to draw it" if field == "mem_bw" else ""
            raise WorkloadError(f"{jobs.path}: the trace has no {field!r}{remedy}")
        jobs = _converted(jobs, seed)
    return summary(FIELDS[field](jobs))


def unit_of(field: str, statistic: str) -> str:
    """Return the unit of a statistic over a field."""
    return "jobs" if statistic == "count" else UNITS[field]


def job_table(jobs: Workload | Trace, *, seed: int | None = None) -> pd.DataFrame:
    """Return the statistics of `TABLE` (rows) of all known fields (columns).

    Args:
        jobs, seed: as for `jobstat`.
    """
    unknown: tuple[str, ...] = ()
    if isinstance(jobs, Trace):
        unknown = _unknown(jobs, seed)
        jobs = _converted(jobs, seed)
    columns = {name: column(jobs) for name, column in FIELDS.items() if name not in unknown}
    table = {name: [_summary(statistic)(column) for statistic in TABLE] for name, column in columns.items()}
    return pd.DataFrame(table, index=pd.Index(TABLE, name="statistic"))


def _summary(statistic: str) -> Callable[[Floats], float]:
    """Return the function that computes a statistic."""
    if statistic in STATISTICS:
        return STATISTICS[statistic]
    digits = statistic[1:]
    if statistic[:1] != "p" or not digits.isascii() or not digits.replace(".", "", 1).isdigit():
        near = did_you_mean(statistic, [*STATISTICS, "p95"])
        raise OptionsError(f"statistic {statistic!r} is not known (percentiles are p0 to p100){near}")
    percent = float(digits)
    if percent > 100:
        raise OptionsError(f"percentile {statistic!r} is not possible; percentiles are p0 to p100")
    return lambda column: float(np.percentile(column, percent))


def _unknown(trace: Trace, seed: int | None) -> tuple[str, ...]:
    """Return the fields that are unknown in the whole trace."""
    unknown: tuple[str, ...] = UNKNOWN_IN_TRACES
    if seed is None:
        unknown += ("mem_bw",)
    return unknown if knows_memory(trace) else (*unknown, "mem")


def _converted(trace: Trace, seed: int | None) -> Workload:
    """Return the jobs of a trace; the reference speed does not affect the fields of a trace."""
    memory = None if knows_memory(trace) else 0.0
    rng = np.random.default_rng(seed)
    workload, _ = convert(trace, reference_flops=1e9, capacity=1, rng=rng, missing_memory=memory)
    return workload
