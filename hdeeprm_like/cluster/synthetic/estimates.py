"""Models of users' estimates: the requested time, given the actual run time."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from hdeeprm_like.cluster.synthetic.jobs import FROM_0, Jobs, check
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Floats

SHORTEST = 1.0  # s, lower limit of estimates (dissertation 2.4.1)

ACCURACY_STEPS = np.arange(1, 26) / 20  # 0.05, 0.10, ..., 1.25: run time over requested time
PERCENT = (
    *(15.5, 8.5, 7, 4.5, 4, 4, 4, 3.5, 3.5, 3, 2.5, 2.5, 2.5),  # 0.05 to 0.65: many jobs end long before
    *(2, 2, 2, 2, 2, 2, 2, 2, 2.5, 2.5, 5.5, 8.5),  # 0.70 to 1.25: and some overrun
)
ACCURACY = np.array(PERCENT) / 100
"""Probability of each of `ACCURACY_STEPS`; sums to one.

The thesis (3.1.3) only says that its histogram is similar to figure 2 of Tsafrir et al. (2007). These are the 604
draws recorded in a run of the original over the first 1000 Gaia jobs, smoothed to half percents; a test compares them.
"""


Estimates: TypeAlias = Callable[[Floats, np.random.Generator], Floats]
"""A model of estimates: (J,) s of run times, and numbers drawn at random, to (J,) s of requested times."""


@dataclass(frozen=True)
class Exact:
    """Users know the run times of their jobs."""

    def __call__(self, run: Floats, rng: np.random.Generator) -> Floats:
        """Return the run times."""
        return run.copy()


@dataclass(frozen=True)
class Gaussian:
    """Run time plus a normal error whose standard deviation is *nu* run times.

    Attributes:
        nu: factor of the run time; 0 is exact.
        side: ``over`` and ``under`` fold the error to one side.

    Source: Cunha's dissertation, equation 2.6.
    """

    nu: float = 1.0
    side: Literal["over", "under", "both"] = "over"

    def __post_init__(self) -> None:
        check("gaussian", self, {"nu": FROM_0})
        if self.side not in ("over", "under", "both"):
            raise WorkloadError(f"gaussian: side: is {self.side!r}; known: over, under, both")

    def __call__(self, run: Floats, rng: np.random.Generator) -> Floats:
        """Return estimates of `SHORTEST` or more."""
        error = rng.standard_normal(len(run)) * self.nu * run
        if self.side != "both":
            error = np.abs(error) if self.side == "over" else -np.abs(error)
        return np.maximum(run + error, SHORTEST)


@dataclass(frozen=True)
class Accuracy:
    """Run time over an accuracy drawn from HDeepRM's histogram; one job in five runs longer than requested.

    HDeepRM's converter works in the opposite direction, from requests of a trace to run times (`trace_jobs.convert`).

    Attributes:
        overrun: whether accuracies above 1 are kept; otherwise they count as 1.
    """

    overrun: bool = True

    def __call__(self, run: Floats, rng: np.random.Generator) -> Floats:
        """Return estimates of `SHORTEST` or more."""
        accuracy = rng.choice(ACCURACY_STEPS, len(run), p=ACCURACY)
        if not self.overrun:
            accuracy = np.minimum(accuracy, 1.0)
        estimates: Floats = np.maximum(run / accuracy, SHORTEST)
        return estimates


def estimate_jobs(jobs: Jobs, estimates: Estimates, rng: np.random.Generator) -> Jobs:
    """Return the jobs of a model with new requested times."""
    return replace(jobs, requested_time=estimates(jobs.run, rng))


def estimate_workload(workload: Workload, estimates: Estimates, rng: np.random.Generator) -> Workload:
    """Return a workload with new requested times, and the matching requested operations.

    The run time of a job is its delay, or its operations at the speed that its requested time and operations imply.

    Raises:
        WorkloadError: a job has no requested time or operations, so its speed is unknown.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        speed = workload.requested_ops / workload.requested_time
    computes = workload.delay < 0
    unknown = np.flatnonzero(computes & ~((speed > 0) & np.isfinite(speed)))
    if len(unknown):
        raise WorkloadError(f"job {workload.ids[unknown[0]]}: has no requested time or no operations to estimate from")
    run = np.where(computes, workload.ops / np.where(computes, speed, 1.0), workload.delay)
    time = estimates(run, rng)
    ops = np.where(np.isfinite(speed), time * np.where(np.isfinite(speed), speed, 0.0), 0.0)
    ops = np.where(computes & (time >= run), np.maximum(ops, workload.ops), ops)  # rounding must not cause overruns
    return replace(workload, requested_time=time, requested_ops=ops)
