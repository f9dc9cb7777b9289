"""What a simulated Slurm knows of limits of running jobs and of windows that close nodes, see `slurm_limits`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.types import Bools, Floats, Ints, Records

JOB_LIMITS, WINDOWS = "job_limits", "windows"  # settings of partitions: a `JobLimits`, and a sequence of `Window`
MOST_WINDOWS = 64
WINDOW = np.dtype([("known", "f8"), ("begin", "f8"), ("end", "f8"), ("gone", "f8")], align=True)  # s, see `Window`


@dataclass(frozen=True, eq=False)
class JobLimits:
    """Limits of what the running jobs may have together; L limits, E pairs of a job and a limit.

    Attributes:
        most: (L,). job, limit: (E,) a job that counts for a limit, and the limit. amount: (E,) by how much.
        held: (E,) whether the limit may keep the job from starting; if not, its QOS has a limit of the same kind.
    """

    most: Floats
    job: Ints
    limit: Ints
    amount: Floats
    held: Bools


@dataclass(frozen=True, eq=False)
class Window:
    """Dates between which nodes are closed.

    Attributes:
        known: s, from when on the schedulers know of it. begin, end: s, when they expect it to close and to open nodes.
        gone: s, when it really opens them. nodes: (N,) which.
    """

    known: float
    begin: float
    end: float
    gone: float
    nodes: Bools


class SlurmLimits(Bundle):
    """The same for compiled functions; J jobs, L limits, E pairs of a job and a limit, O windows, N nodes.

    Attributes:
        most: (L,) of the sum that running jobs have. used: (L,) that sum.
        first: (J + 1,) where the limits of each job begin in the next three. limit, amount: (E,). held: (E,) 1 or 0.
        windows: (O,) WINDOW. closed: (O, N) 1 where a window closes a node.
    """

    most: Floats
    used: Floats
    first: Ints
    limit: Ints
    amount: Floats
    held: Ints
    windows: Records
    closed: Ints


def new_slurm_limits(settings: Mapping[str, Any], jobs: int, nodes: int) -> SlurmLimits:
    """Return the limits and the windows that settings have; none where they have none."""
    none = np.zeros(0, np.int64)
    limits = settings.get(JOB_LIMITS) or JobLimits(np.zeros(0), none, none, np.zeros(0), none > 0)
    order = np.argsort(limits.job, kind="stable")
    windows: tuple[Window, ...] = tuple(settings.get(WINDOWS) or ())
    counts = np.bincount(limits.job, minlength=jobs)
    return SlurmLimits(
        most=limits.most.astype(np.float64),
        used=np.zeros(len(limits.most)),
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        limit=limits.limit[order].astype(np.int64),
        amount=limits.amount[order].astype(np.float64),
        held=limits.held[order].astype(np.int64),
        windows=np.array([(one.known, one.begin, one.end, one.gone) for one in windows], WINDOW),
        closed=np.array([one.nodes for one in windows], np.int64).reshape(len(windows), nodes),
    )
