"""What compiled code keeps of one run's observation, and how it scales what it shows.

Features are shares of the largest possible value; what times span is log-transformed first: log(1 + x) / log(1 + most)
(000, section 4.7.3). Work in core x s counts as s of the whole cluster, so that weights fit clusters of other sizes.
Whatever exceeds its limit is shown as 1.

| limit | of | value |
|---|---|---|
| cores | cores used, free, requested | cores of the cluster |
| time | requested, remaining and waiting times, times until an end, work still to do | longest request of a job |
| span | submission times, queued work | 30 days |
| queue | waiting jobs, jobs outside the window | 1000 |
| node | what a job requests where nodes are chosen | the most that a node has of cores, MB and GPUs each |
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.layout import Block, names_of
from hdeeprm_like.decision.window.arrays import Window
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats, Records

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
        ("longest_wait", "f8"),  # s, the longest that any job had waited when one was last shown
        ("last_queue", "i8"),  # waiting jobs at the last observation of a summary, -1 before
        ("seen", "i8"),  # job rows whose features are kept
        ("features", "i4"),  # kept of each job
        ("horizon", "i4"),  # time steps or events, H
        ("backlog", "i4"),  # jobs outside the window that an image shows, B
        ("memory_units", "i4"),  # columns that the memory takes in an image
        ("raw", "i4"),  # 1: nothing is scaled
        ("kind", "i4"),  # number of the observation, see ``view``
    ],
    align=True,
)


class ViewArrays(Bundle):
    """The observation of one run in compiled code; J jobs.

    Attributes:
        params: (1,) VIEW.
        features: (J, F) of each job since its submission, see ``features``; empty where they are not shown.
        limits: (4,) the largest requests of jobs, in the order of ``summary.REQUESTS``.
    """

    params: Records
    features: Floats
    limits: Floats


@dataclass(frozen=True)
class Sizes:
    """What the size of an observation depends on.

    Attributes:
        platform: what exists. slots: of the window. horizon: time steps or events that it looks ahead.
        backlog: jobs outside the window that an image shows. memory_units: columns that an image has for memory.
    """

    platform: Platform
    slots: int
    horizon: int
    backlog: int
    memory_units: int


@dataclass(frozen=True)
class Observation:
    """A kind of observation: all that there is to know of it. `view.OBSERVATIONS` is the table of them.

    Attributes:
        name: in options. blocks: of its columns, of an image a block of its rows.
        write: compiled function of tables, window, view and (F,) float32 to write to.
        features: what is kept of each job since its submission, see ``features``.
        orders: of the lists of waiting jobs that it looks at. lists: whether it looks at the window and running jobs.
        shows_cores: whether it shows which cores a job has; where it does not, cores of a pool need no names.
        is_image: whether it has a row for each thing of its only block.
        shows_waits: whether it shows how long the jobs in the slots have waited.
    """

    name: str
    blocks: Callable[[Sizes], tuple[Block, ...]]
    write: Callable[[Tables, Window, "ViewArrays", Floats], None]
    features: tuple[str, ...] = ()
    orders: tuple[int, ...] = ()
    lists: bool = True
    shows_cores: bool = True
    is_image: bool = False
    shows_waits: bool = False

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape of an observation."""
        blocks = self.blocks(sizes)
        return (blocks[0].count, len(blocks[0].features)) if self.is_image else (sum(block.width for block in blocks),)

    def names(self, sizes: Sizes) -> tuple[str, ...]:
        """Return the name of each column, of an image row by row."""
        return names_of(self.blocks(sizes))


@compiled
def scale_times(view: ViewArrays, longest: float) -> None:
    """Let a view scale times by the longest request of a job, in s."""
    view.params[0].per_time = 1.0 / longest if longest > 0.0 else 0.0
    view.params[0].per_log_time = 1.0 / np.log(1.0 + longest) if longest > 0.0 else 0.0


@compiled
def set_limits(view: ViewArrays, limits: Floats) -> None:
    """Let a view scale what it shows by the largest requests of jobs, in the order of ``summary.REQUESTS``."""
    scale_times(view, limits[0])
    for kind in range(4):
        view.limits[kind] = limits[kind]


def one_over(limit: float) -> float:
    """Return what scales a feature with that limit."""
    return 1.0 / limit if limit > 0.0 else 0.0


def new_params(platform: Platform, limits: JobLimits) -> Records:
    """Return a (1,) VIEW with the limits of a platform and its jobs."""
    params = np.zeros(1, VIEW)
    node_cores = np.bincount(platform.processor_node, platform.processor_cores, platform.nodes)
    params["per_core"] = one_over(platform.cores)
    params["per_log_span"] = one_over(np.log(1.0 + SPAN))
    params["per_log_queue"] = one_over(np.log(1.0 + QUEUE))
    params["per_node_core"] = one_over(float(node_cores.max()))
    params["per_node_memory"] = one_over(float(platform.node_memory.max()))
    params["per_node_gpu"] = one_over(float(platform.node_gpus.max()))
    params["memory"] = platform.node_memory.sum()
    params["per_time"], params["per_log_time"] = one_over(limits.time), one_over(np.log(1.0 + limits.time))
    params["last_queue"] = -1
    return params


@inlined
def share(raw: int, value: float, per: float) -> float:
    """Return a value as a share of its limit, given by one over it."""
    return max(value, 0.0) if raw else min(max(value, 0.0) * per, 1.0)


@inlined
def log_share(raw: int, value: float, per: float) -> float:
    """Return the logarithm of a value as a share of that of its limit, given by one over that."""
    return max(value, 0.0) if raw else min(float(np.log(np.float32(1.0 + max(value, 0.0)))) * per, 1.0)
