"""Arrays of one run's observation in compiled code, and the scaling of features.

Features are shares of their limit, the largest possible value; features with a wide range are log-transformed first:
log(1 + x) / log(1 + limit) (000, section 4.7.3). Work in core x s counts as s of the whole cluster, so that weights fit
clusters of other sizes. Values above their limit appear as 1.

| limit | of | value |
|---|---|---|
| cores | cores used, free, requested | cores of the cluster |
| time | requested, remaining and waiting times, times until an end, work still to do | longest request of a job |
| span | submission times, queued work | 30 days |
| queue | waiting jobs, jobs outside the window | 1000 |
| node | what a job requests where nodes are chosen | the largest cores, MB and GPUs of a node |
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.layout import Block, names_of
from hdeeprm_like.decision.window.arrays import Window
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import callback, compiled, inlined
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Float64s, Floats, Records

SPAN = 30 * 86400.0  # s
QUEUE = 1000.0  # jobs

VIEW = np.dtype(
    [
        ("step", "f8"),  # s of a time step
        ("sensitivity", "f8"),  # relative change of the queue's length that fills the scale
        ("per_core", "f8"),  # one over the limits above, 0 where a limit is 0
        ("per_time", "f8"),
        ("per_log_time", "f8"),
        ("per_log_span", "f8"),
        ("per_log_queue", "f8"),
        ("per_node_core", "f8"),
        ("per_node_memory", "f8"),
        ("per_node_gpu", "f8"),
        ("memory", "f8"),  # MB of all nodes
        ("seen", "i8"),  # job rows whose features are stored
        ("features", "i4"),  # features stored per job
        ("horizon", "i4"),  # time steps or events, H
        ("backlog", "i4"),  # jobs outside the window shown in an image, B
        ("memory_units", "i4"),  # columns of an image for memory
        ("raw", "i4"),  # 1 for unscaled features
        ("kind", "i4"),  # number of the observation, see ``view``
    ],
    align=True,
)


class ViewArrays(Bundle, shared=("rate_times", "rates")):
    """Arrays of the observation of one run in compiled code; J jobs.

    Attributes:
        params: (1,) VIEW.
        features: (J, F) features of each job since its submission, see ``features``; empty if not shown.
        limits: (4,) the largest requests of jobs, in the order of ``summary.REQUESTS``.
        memory: (M,) what the observation remembers from one time to the next; only its module knows what.
        rates: (T, K) rates of energy from each of *rate_times* (s) on, see ``appended``; (0, 0) if not shown.
    """

    params: Records
    features: Floats
    limits: Floats
    memory: Floats
    rate_times: Floats
    rates: Floats


@dataclass(frozen=True)
class ViewOptions:
    """What an observation shows beside its kind.

    Attributes:
        horizon: time steps of an image and of the compact state, events of the semi-MDP.
        backlog: jobs outside the window shown in an image. step: s of a time step, 0 for 1 s.
        memory_units: columns of an image for the memory of the cluster, 0 to leave it out.
        queue_sensitivity: relative change of the queue's length that fills the scale of a summary.
        wait: whether waiting times of jobs and the clock are also shown.
    """

    horizon: int = 20
    backlog: int = 60
    step: float = 0.0
    memory_units: int = 0
    queue_sensitivity: float = 0.05
    wait: bool = False


@dataclass(frozen=True)
class Sizes:
    """The quantities that determine the size of an observation: the machine, slots of the window, and options."""

    platform: Platform
    slots: int
    options: ViewOptions


@dataclass(frozen=True)
class Observation:
    """A kind of observation, completely described. `view.OBSERVATIONS` is the table of all kinds.

    Attributes:
        name: in options. blocks: of its columns; an image has one block, of its rows.
        write: compiled function of tables, window, view and (F,) float32 to write to.
        features: stored for each job since its submission, see ``features``.
        memory: (M,) what it remembers before the first time, see `ViewArrays`.
        orders: of the sorted lists of waiting jobs that it reads. lists: whether it reads the window and running jobs.
        shows_cores: whether it shows which cores a job has; if not, cores of a pool need no names.
        is_image: whether it has a row for each thing of its only block.
        shows_waits: whether it shows the waiting times of the jobs in the slots.
    """

    name: str
    blocks: Callable[[Sizes], tuple[Block, ...]]
    write: Callable[[Tables, Window, "ViewArrays", Floats], None]
    features: tuple[str, ...] = ()
    memory: tuple[float, ...] = ()
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
    """Scale times by the longest request of a job, in s."""
    view.params[0].per_time = 1.0 / longest if longest > 0.0 else 0.0
    view.params[0].per_log_time = 1.0 / np.log(1.0 + longest) if longest > 0.0 else 0.0


@callback
def set_limits(view: ViewArrays, limits: Float64s) -> None:
    """Scale features by the largest requests of jobs, in the order of ``summary.REQUESTS``."""
    scale_times(view, limits[0])
    for kind in range(4):
        view.limits[kind] = limits[kind]


def one_over(limit: float) -> float:
    """Return the scaling factor of a feature with that limit."""
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
    return params


@inlined
def share(raw: int, value: float, per: float) -> float:
    """Return a value as a share of its limit; *per* is one over the limit."""
    return max(value, 0.0) if raw else min(max(value, 0.0) * per, 1.0)


@inlined
def log_share(raw: int, value: float, per: float) -> float:
    """Return a log-transformed value as a share of its log-transformed limit; *per* is one over the latter."""
    return max(value, 0.0) if raw else min(float(np.log(np.float32(1.0 + max(value, 0.0)))) * per, 1.0)
