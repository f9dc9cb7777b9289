"""Jobs as KSU writes them: a CSV with cores, memory and GPUs, the only form here that knows GPUs."""

import csv
from pathlib import Path

from hdeeprm_like.cluster.synthetic.jobs import Jobs
from hdeeprm_like.formats.files import replacing

COLUMNS = (
    "JobName",
    "RequestedMemory",  # MB, of all cores together
    "RequestedCPUs",
    "RequestedGPUs",
    "RequestedDuration",  # s, the estimate
    "ActualDuration",  # s
    "SubmitTime",  # s
)


def write_jobs_csv(jobs: Jobs, path: Path) -> None:
    """Write the jobs of a model, one per line under a line of names; bandwidths and queues are left out.

    Raises:
        ResultsError: the file cannot be written.

    Source: Hutchison et al., "Scheduling for high performance computing with reinforcement learning", III.A.
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


def _short(column: list[float]) -> list[float | int]:
    """Return whole numbers as such."""
    return [int(number) if number == int(number) else number for number in column]
