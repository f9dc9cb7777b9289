"""Which jobs of a file a platform can take."""

from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.node_sets import refuse_demands
from hdeeprm_like.errors import WorkloadError


def check_jobs(path: Path, workload: Workload, platform: Platform) -> None:
    """Refuse a workload with a job that requests more cores than the platform has, or an unknown partition.

    The decision system rejects a job that only lacks memory.
    """
    check_sizes(path, workload, platform)
    check_demands(path, workload, platform)


def check_sizes(path: Path, workload: Workload, platform: Platform) -> None:
    """Refuse a workload with a job that requests more cores than the platform has."""
    largest = int(np.argmax(workload.size))
    if workload.size[largest] > platform.cores:
        _, _, job = workload.ids[largest].partition("!")
        raise WorkloadError(
            f"{path}: job {job} requests {workload.size[largest]} cores; the platform has {platform.cores}; "
            "--leave-out-larger leaves such jobs out"
        )


def check_demands(path: Path, workload: Workload, platform: Platform) -> None:
    """Refuse a workload with a job that requests an unknown partition, or nodes on a platform without partitions."""
    if workload.demands is None:
        return
    try:
        if platform.partitions is None:
            refuse_demands(workload.ids, workload.demands)
        else:
            for name in dict.fromkeys(workload.demands.partition):
                platform.partitions.number_of(name)
    except WorkloadError as error:
        raise WorkloadError(f"{path}: {error}") from None
