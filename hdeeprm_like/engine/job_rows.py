"""What a workload asks for, as rows of the record that the engine keeps of jobs."""

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.types import Records


def countable(platform: Platform, jobs: Workload | None) -> bool:
    """Tell whether it makes no difference which cores the jobs have; those that are not known must ask for no more."""
    asked = jobs is not None and (jobs.memory.any() or jobs.bandwidth.any() or jobs.gpus.any())
    return platform.processors == 1 and platform.partitions is None and not asked


def fill_jobs(rows: Records, jobs: Workload, reference_flops: float) -> None:
    """Write the requests of a workload into rows of jobs, and how long they run at so many flop/s."""
    rows["submit"], rows["size"] = jobs.submit, jobs.size
    rows["requested_time"], rows["requested_ops"] = jobs.requested_time, jobs.requested_ops
    rows["memory"], rows["bandwidth"], rows["gpus"] = jobs.memory, jobs.bandwidth, jobs.gpus
    if jobs.demands is not None:
        rows["gpus"][jobs.demands.gpus_per_node > 0] = 0.0  # those that a job has on each node do not go with cores
    rows["user"] = jobs.user
    rows["start"] = rows["finish"] = np.nan
    times = np.where(jobs.delay >= 0.0, jobs.delay, jobs.ops / reference_flops)
    rows["run_time"] = np.minimum(times, jobs.walltime)
