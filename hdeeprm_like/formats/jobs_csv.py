"""KSU's CSV of jobs: memory, cores, GPUs, and both durations of each job.

Source: Hutchison et al., "Scheduling for high performance computing with reinforcement learning", II.D and III.A.
"""

import csv
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.cluster.partitions import Demands
from hdeeprm_like.cluster.synthetic.jobs import Jobs
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.csv_rows import CsvRow, read_rows
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.files import replacing
from hdeeprm_like.formats.log_words import GPUS, NODES, WORDS, demands_from_words

COLUMNS = (
    "JobName",
    "RequestedMemory",  # MB, for all cores together
    "RequestedCPUs",
    "RequestedGPUs",
    "RequestedDuration",  # s, the estimate
    "ActualDuration",  # s
    "SubmitTime",  # s
)
ALLOCATED = "AllocatedCPUs"  # of importers, beside the columns of KSU


def write_jobs_csv(jobs: Jobs, path: Path) -> None:
    """Write the jobs of a model, one per line after a line of names; bandwidths and queues are left out.

    Raises:
        ResultsError: the file cannot be written.
    """
    columns = zip(
        range(1, len(jobs) + 1),
        _short((jobs.memory * jobs.size).tolist()),
        jobs.size.tolist(),
        jobs.gpus.tolist(),
        _short(jobs.requested_time.tolist()),
        _short(jobs.run.tolist()),
        _short(jobs.submit.tolist()),
        strict=True,
    )
    with replacing(path) as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(COLUMNS)
        lines.writerows(columns)


def read_jobs_csv(path: Path, *, reference_flops: float, capacity: int | None = None) -> Workload:
    """Read the jobs of such a file; they have no memory bandwidth and no walltime.

    A job has the cores that it got, where an importer has written them in the column `ALLOCATED`, else those that it
    requested; the account has how many differ.

    Args:
        path: plain or ``.gz``; its columns may be in any order, others are ignored.
        reference_flops: flop/s of the cores on which jobs take the times of the file (`Platform.reference_flops`).
        capacity: cores of the machine; None for those of the widest job.

    Raises:
        WorkloadError: the file is invalid; the message names file, line and remedy.
    """
    rows = read_rows(path, COLUMNS, WorkloadError)
    names = [row.name("JobName") for row in rows]
    requested = np.array([row.count("RequestedCPUs") for row in rows])
    got = np.array([row.count(ALLOCATED, least=0) if row.texts.get(ALLOCATED) else 0 for row in rows])
    size = np.where(got > 0, got, requested)
    account = Account(str(path), len(rows), float((size * [row.number("ActualDuration") for row in rows]).sum()))
    other, line = size != requested, np.array([int(row.where.rpartition(":")[2]) for row in rows])
    account.add("noted", "got other processors than they requested; what they got counts", other, line)
    columns = {name: np.array([row.number(name) for row in rows]) for name in (*COLUMNS[1:2], *COLUMNS[3:])}
    for row, name in zip(rows, names, strict=True):
        if "!" in name:
            raise row.wrong("JobName", name, "a name without '!'")
    ids = [f"w0!{name}" for name in names]
    order = np.array(sorted(range(len(ids)), key=lambda row: (columns["SubmitTime"][row], ids[row].encode())))
    size, columns = size[order], {name: column[order] for name, column in columns.items()}
    time, run = columns["RequestedDuration"], columns["ActualDuration"]
    return Workload(
        ids=tuple(ids[row] for row in order),
        profiles=tuple(names[row] for row in order),
        submit=columns["SubmitTime"],
        size=size,
        requested_time=time,
        requested_ops=time * reference_flops,
        ops=run * reference_flops,
        memory=columns["RequestedMemory"] / size,
        capacity=int(size.max()) if capacity is None else capacity,
        gpus=columns["RequestedGPUs"] / size,
        demands=_demands([rows[row] for row in order]),
        account=account,
    )


def _demands(rows: list[CsvRow]) -> Demands | None:
    """Return the requests of jobs by the columns that importers write beside those of KSU; None if there are none."""
    if "Partition" not in rows[0].texts:
        return None
    known = [name for name in (GPUS, NODES) if name in rows[0].texts]
    return demands_from_words({name: [row.texts.get(name, "") for row in rows] for name in (*WORDS, *known)}, len(rows))


def _short(column: list[float]) -> list[float | int]:
    """Return whole numbers as integers."""
    return [int(number) if number == int(number) else number for number in column]
