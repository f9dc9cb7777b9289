"""Statistics of the requests of the jobs of a workload (thesis appendix E.4, used in 5.2)."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from hdeeprm_like.cluster.workload import Workload, without_larger
from hdeeprm_like.errors import OptionsError, WorkloadError, did_you_mean
from hdeeprm_like.formats.job_reading import Reading, jobs_of, read_jobs
from hdeeprm_like.formats.open import has_ending_of, load_workload
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.trace_jobs import drawn_bandwidths, memory_of
from hdeeprm_like.types import Floats

OF_TRACES: dict[str, Callable[[Trace], Floats]] = {
    "req_time": lambda jobs: jobs.requested_time,
    "size": lambda jobs: jobs.processors.astype(np.float64),
    "mem": lambda jobs: (found := memory_of(jobs, -1.0))[found >= 0.0],
    "submit": lambda jobs: jobs.submit - jobs.submit.min(),
}
"""Fields of jobs of a trace; *mem* is that of the jobs whose memory is known."""

FIELDS: dict[str, tuple[str, Callable[[Workload], Floats]]] = {
    "req_time": ("s", lambda jobs: jobs.requested_time),
    "size": ("cores", lambda jobs: jobs.size.astype(np.float64)),
    "mem": ("MB per core", lambda jobs: jobs.memory),
    "mem_bw": ("GB/s per core", lambda jobs: jobs.bandwidth),
    "submit": ("s", lambda jobs: jobs.submit),
    "req_ops": ("flop per core", lambda jobs: jobs.requested_ops),
    "ops": ("flop per core", lambda jobs: jobs.ops),
}
"""Fields of jobs: the unit, and the column."""

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


def jobs_in(path: Path, cores: int | None = None, leave_out_larger: bool = False) -> Workload | Trace:
    """Read a trace if the file name has the suffix of one, else a workload.

    Missing operations of a workload are computed for a core of 1 Gflop/s.

    Args:
        cores: of the machine; None for those of the header. leave_out_larger: whether larger jobs are left out;
            otherwise they count, and the account names them.
    """
    if has_ending_of(path, "trace"):
        return read_jobs(path, Reading(cores, "leave out" if leave_out_larger else "keep"))
    jobs = load_workload(path, reference_flops=1e9, network=True)
    return without_larger(jobs, cores) if leave_out_larger and cores is not None else jobs


def jobstat(jobs: Workload | Trace, field: str, statistic: str, *, seed: int | None = None) -> float:
    """Return one statistic over one field of all jobs; memory is that of the jobs whose memory is known.

    Args:
        jobs: a workload, or a trace as it is in the file, or as `jobs_in` reads it.
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
    summary, columns = _summary(statistic), _columns(jobs, seed)
    if field not in columns:
        assert isinstance(jobs, Trace)
        remedy = "; give a seed to draw it" if field == "mem_bw" else ""
        raise WorkloadError(f"{jobs.path}: the trace has no {field!r}{remedy}")
    return summary(columns[field])


def job_table(jobs: Workload | Trace, *, seed: int | None = None) -> pd.DataFrame:
    """Return the statistics of `TABLE` (rows) of all known fields (columns).

    Args:
        jobs, seed: as for `jobstat`.
    """
    columns = _columns(jobs, seed)
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


def _columns(jobs: Workload | Trace, seed: int | None) -> dict[str, Floats]:
    """Return the known fields in the order of `FIELDS`."""
    if not isinstance(jobs, Trace):
        return {name: column(jobs) for name, (_, column) in FIELDS.items()}
    jobs = jobs if jobs.account is not None else jobs_of(jobs, Reading(larger="keep"))
    found = {name: column(jobs) for name, column in OF_TRACES.items()}
    if seed is not None:
        found["mem_bw"] = drawn_bandwidths(jobs, np.random.default_rng(seed))
    return {name: found[name] for name in FIELDS if name in found and len(found[name])}
