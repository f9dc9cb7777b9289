"""What compiled code keeps of one run's observation, and how it scales what it shows.

Features are shares of the largest possible value; what times span is log-transformed first: log(1 + x) / log(1 + most)
(000, section 4.7.3). Work in core x s counts as s of the whole cluster, so that weights fit clusters of other sizes.
Whatever exceeds its limit is shown as 1.

| limit | of | value |
|---|---|---|
| cores | cores used, free, asked for | cores of the cluster |
| time | requested, remaining and waiting times, times until an end, work still to do | longest request of a job |
| span | submission times, queued work | 30 days |
| queue | waiting jobs, jobs outside the window | 1000 |
| node | what a job asks for where nodes are chosen | the most that a node has of cores, MB and GPUs each |
"""

from typing import NamedTuple

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.observations.summary import QueueColumns
from hdeeprm_like.engine.bundles import bundle
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Rows
from hdeeprm_like.types import Floats

SPAN = 30 * 86400.0  # s
QUEUE = 1000.0  # jobs

VIEW = np.dtype(
    [
        ("step", "f8"),  # s of a time step
        ("sensitivity", "f8"),  # share of change of the queue's length that fills the scale
        ("per_core", "f8"),  # one over the limits above, 0 where a limit is 0
        ("per_time", "f8"),
        ("per_log_time", "f8"),
        ("per_log_span", "f8"),
        ("per_log_queue", "f8"),
        ("per_node_core", "f8"),
        ("per_node_memory", "f8"),
        ("per_node_gpu", "f8"),
        ("memory", "f8"),  # MB of all nodes
        ("seen", "i8"),  # job rows whose features are kept
        ("kind", "i4"),
        ("horizon", "i4"),  # time steps or events, H
        ("backlog", "i4"),  # jobs outside the window that an image shows, B
        ("memory_units", "i4"),  # columns that the memory takes in an image
        ("raw", "i4"),  # 1: nothing is scaled
    ],
    align=True,
)


@bundle()
class ViewRows(NamedTuple):
    """The observation of one run in compiled code; J jobs.

    Attributes:
        rule: (1,) VIEW.
        features: (J, F) of each job since its submission, see ``features``; empty where they are not shown.
        queue: for the summaries, empty for others.
    """

    rule: Rows
    features: Floats
    queue: QueueColumns


@compiled
def one_over(limit: float) -> float:
    """Return what scales a feature with that limit."""
    return 1.0 / limit if limit > 0.0 else 0.0


@compiled
def scale_times(rule: Rows, longest: float) -> None:
    """Let a (1,) VIEW scale times by the longest request of a job, in s."""
    rule[0].per_time = one_over(longest)
    rule[0].per_log_time = one_over(np.log(1.0 + longest))


def new_rule(platform: Platform, limits: JobLimits) -> Rows:
    """Return a (1,) VIEW with the limits of a platform and its jobs."""
    rule = np.zeros(1, VIEW)
    node_cores = np.bincount(platform.processor_node, platform.processor_cores, platform.nodes)
    rule["per_core"] = one_over(platform.cores)
    rule["per_log_span"] = one_over(np.log(1.0 + SPAN))
    rule["per_log_queue"] = one_over(np.log(1.0 + QUEUE))
    rule["per_node_core"] = one_over(float(node_cores.max()))
    rule["per_node_memory"] = one_over(float(platform.node_memory.max()))
    rule["per_node_gpu"] = one_over(float(platform.node_gpus.max()))
    rule["memory"] = platform.node_memory.sum()
    scale_times(rule, limits.time)
    return rule


@compiled
def share(raw: int, value: float, per: float) -> float:
    """Return a value as a share of its limit, given by one over it."""
    return max(value, 0.0) if raw else min(max(value, 0.0) * per, 1.0)


@compiled
def log_share(raw: int, value: float, per: float) -> float:
    """Return the logarithm of a value as a share of that of its limit, given by one over that."""
    return max(value, 0.0) if raw else min(float(np.log(np.float32(1.0 + max(value, 0.0)))) * per, 1.0)
