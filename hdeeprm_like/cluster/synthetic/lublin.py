"""The workload model of Lublin and Feitelson: sizes, run times and arrivals of rigid jobs."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hdeeprm_like.cluster.synthetic.jobs import ABOVE_0, BATCH, INTERACTIVE, PROBABILITY, Jobs, check, plain_jobs
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Floats, Ints
from hdeeprm_like.values import COUNT

HALF_HOUR = 1800.0  # s, a bucket of the daily cycle
BUCKETS = 48
FIRST_POINT = 11  # the cycle's gamma density is evaluated at points 11 to 58; point i is half hour i - 1
MEDIUM_BELOW_HIGH = 2.5  # log2; the published range is 1.5 to 3.5
KINDS = {
    "nodes": COUNT,
    **dict.fromkeys(("serial", "power_of_two", "size_first_stage"), PROBABILITY),
    **dict.fromkeys(("run_shape_1", "run_scale_1", "run_shape_2", "run_scale_2", "run_most"), ABOVE_0),
    **dict.fromkeys(("gap_shape", "gap_scale", "gap_ratio", "gap_most", "cycle_shape", "cycle_scale"), ABOVE_0),
}
QUADRATURE = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True)
class Lublin:
    """One type of jobs; the defaults are published for batch jobs, fitted to machines of 128 nodes.

    Attributes:
        nodes: of the machine; no job is larger.
        serial: probability of a job of one node.
        power_of_two: probability that a job's size is rounded to a power of two.
        size_low, size_medium, size_high: log2 of sizes: the ends of the two stages of the uniform distribution.
        size_first_stage: probability of the first stage, low to medium.
        run_shape_1, run_scale_1, run_shape_2, run_scale_2: the two gammas of ln(run time in s).
        run_slope, run_intercept: probability of the first gamma, slope * nodes of the job + intercept.
        run_most: largest ln(run time in s); greater ones are drawn again.
        gap_shape, gap_scale: the gamma of ln(time between arrivals in s) in the rush hours.
        gap_ratio: factor of the shape for the whole day (the ratio "arrive rush all").
        gap_most: largest ln(time between arrivals in s) before the daily cycle stretches it.
        cycle_shape, cycle_scale: the gamma that distributes arrivals over the half hours of a day.
        queue: queue number of the jobs.
        as_published: whether the clock drifts as in the published program, see `draw_arrivals`.

    Source: Lublin and Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid
    jobs", J. Parallel and Distributed Computing 63(11), 2003. Its names, in this order: ULow, UMed, UHi, UProb, a1, b1,
    a2, b2, pa, pb, aarr, barr, ARAR, anum, bnum.
    """

    nodes: int = 128
    serial: float = 0.2927
    power_of_two: float = 0.6686
    size_low: float = 1.2
    size_medium: float = 5.0
    size_high: float = 7.0
    size_first_stage: float = 0.875
    run_shape_1: float = 6.57
    run_scale_1: float = 0.823
    run_shape_2: float = 639.1
    run_scale_2: float = 0.0156
    run_slope: float = -0.003
    run_intercept: float = 0.6986
    run_most: float = 12.0
    gap_shape: float = 6.0415
    gap_scale: float = 0.8531
    gap_ratio: float = 1.0519
    gap_most: float = 13.0
    cycle_shape: float = 6.1271
    cycle_scale: float = 5.2740
    queue: int = BATCH
    as_published: bool = False

    def __post_init__(self) -> None:
        check("lublin", self, KINDS)
        if not 0 <= self.size_low <= self.size_medium <= self.size_high <= 31:
            raise WorkloadError(
                f"lublin: sizes: {self.size_low}, {self.size_medium}, {self.size_high} are no stages; low, medium and "
                "high rise from 0 to at most 31 (they are log2 of sizes)"
            )
        gap = self.gap_shape * self.gap_ratio * self.gap_scale
        if self.run_shape_2 * self.run_scale_2 > 2 * self.run_most or gap > 2 * self.gap_most:
            raise WorkloadError("lublin: nearly all times are above run_most or gap_most and would be drawn again")

    def on(self, nodes: int) -> "Lublin":
        """Return these parameters for another machine: sizes up to its nodes, stages that meet 2.5 below (log2)."""
        if nodes == self.nodes:
            return self
        high = float(np.log2(nodes))
        low = min(self.size_low, high)
        medium = max(low, high - MEDIUM_BELOW_HIGH)
        return replace(self, nodes=nodes, size_low=low, size_medium=medium, size_high=high)

    def drifting(self) -> "Lublin":
        """Return these parameters with the clock of the published program."""
        return replace(self, as_published=True)

    def draw(self, jobs: int, rng: np.random.Generator) -> Jobs:
        """Draw *jobs* jobs; times are whole seconds and the clock starts at midnight."""
        size_rng, run_rng, gap_rng = rng.spawn(3)
        size = draw_sizes(self, jobs, size_rng)
        run = draw_runs(self, size, run_rng)
        drawn = plain_jobs(draw_arrivals(self, jobs, gap_rng), run, size, capacity=self.nodes, origin=str(self))
        return replace(drawn, queue=np.full(jobs, self.queue))


BATCH_JOBS = Lublin()
OTHERS: dict[str, tuple[Any, Any]] = {  # the published parameters of interactive jobs, and of a log without types
    "serial": (0.1541, 0.244),
    "power_of_two": (0.625, 0.576),
    "size_low": (1.0, 0.8),
    "size_medium": (3.0, 4.5),
    "size_high": (5.5, 7.0),
    "size_first_stage": (0.705, 0.86),
    "run_shape_1": (3.8351, 4.2),
    "run_scale_1": (0.6605, 0.94),
    "run_shape_2": (7.073, 312.0),
    "run_scale_2": (0.6856, 0.03),
    "run_slope": (-0.0118, -0.0054),
    "run_intercept": (0.9156, 0.78),
    "gap_shape": (6.5510, 10.2303),
    "gap_scale": (0.6621, 0.4871),
    "gap_ratio": (0.9797, 1.0225),
    "cycle_shape": (8.9186, 8.1737),
    "cycle_scale": (3.6680, 3.9631),
}
INTERACTIVE_JOBS, WHOLE_LOG = (  # in the published program jobs without a type are interactive
    replace(BATCH_JOBS, queue=INTERACTIVE, **{name: values[log] for name, values in OTHERS.items()}) for log in (0, 1)
)


@dataclass(frozen=True)
class LublinTypes:
    """Both types of jobs together: each arrives independently; the earlier arrival comes next."""

    batch: Lublin = BATCH_JOBS
    interactive: Lublin = INTERACTIVE_JOBS

    @property
    def nodes(self) -> int:
        """Nodes of the machine."""
        return max(self.batch.nodes, self.interactive.nodes)

    def on(self, nodes: int) -> "LublinTypes":
        """Return these parameters for another machine."""
        return LublinTypes(self.batch.on(nodes), self.interactive.on(nodes))

    def drifting(self) -> "LublinTypes":
        """Return these parameters with the clock of the published program."""
        return LublinTypes(self.batch.drifting(), self.interactive.drifting())

    def draw(self, jobs: int, rng: np.random.Generator) -> Jobs:
        """Draw *jobs* jobs of the two types together; the arrivals decide the types."""
        kinds = [kind.draw(jobs, own) for kind, own in zip((self.batch, self.interactive), rng.spawn(2), strict=True)]
        submit = np.concatenate([kind.submit for kind in kinds])
        first = np.argsort(submit, kind="stable")[:jobs]
        run = np.concatenate([kind.run for kind in kinds])[first]
        size = np.concatenate([kind.size for kind in kinds])[first]
        queue = np.concatenate([kind.queue for kind in kinds])[first]
        return replace(plain_jobs(submit[first], run, size, capacity=self.nodes, origin=str(self)), queue=queue)


LUBLIN: dict[str, Lublin | LublinTypes] = {
    "batch": BATCH_JOBS,
    "interactive": INTERACTIVE_JOBS,
    "whole": WHOLE_LOG,
    "both": LublinTypes(),
}
"""The published parameters by name; ``whole`` has no types. `Lublin.on` fits them to a machine."""


def draw_sizes(kind: Lublin, jobs: int, rng: np.random.Generator) -> Ints:
    """Return (J,) nodes: serial jobs, and others by a uniform distribution of log2 in two stages."""
    first = rng.random(jobs) <= kind.size_first_stage
    low = np.where(first, kind.size_low, kind.size_medium)
    high = np.where(first, kind.size_medium, kind.size_high)
    exponent = low + rng.random(jobs) * (high - low)
    choice = rng.random(jobs)
    exponent = np.where(choice <= kind.serial + kind.power_of_two, np.floor(exponent + 0.5), exponent)
    size = np.where(choice <= kind.serial, 1, np.floor(np.exp2(exponent) + 0.5))
    return np.clip(size, 1, kind.nodes).astype(np.int64)


def draw_runs(kind: Lublin, size: Ints, rng: np.random.Generator) -> Floats:
    """Return (J,) s: the exponential of one of two gammas; larger jobs use the second more often."""
    first_gamma = np.clip(kind.run_slope * size + kind.run_intercept, 0.0, 1.0)
    logarithm = np.full(len(size), np.inf)
    while len(again := np.flatnonzero(logarithm > kind.run_most)):
        first = rng.random(len(again)) <= first_gamma[again]
        shape = np.where(first, kind.run_shape_1, kind.run_shape_2)
        logarithm[again] = rng.gamma(shape, np.where(first, kind.run_scale_1, kind.run_scale_2))
    run: Floats = np.maximum(np.floor(np.exp(logarithm)), 1.0)
    return run


def cycle_weights(kind: Lublin) -> Floats:
    """Return (48,) the arrival rate in each half hour of the day, from midnight, relative to the mean.

    A weight is the integral of the cycle's gamma density over one point; its constant cancels in the mean.
    """
    points, weights = QUADRATURE
    at = np.arange(FIRST_POINT, FIRST_POINT + BUCKETS)[:, None] + points / 2
    logarithm = (kind.cycle_shape - 1) * np.log(at) - at / kind.cycle_scale
    share = np.exp(logarithm - logarithm.max()) @ weights
    of_day: Floats = np.roll(share / share.mean(), FIRST_POINT - 1)
    return of_day


def draw_arrivals(kind: Lublin, jobs: int, rng: np.random.Generator) -> Floats:
    """Return (J,) s since midnight: gaps as in the rush hours, stretched at hours of low arrival rate.

    Of the two traces of this model that the literature uses, Lublin-1 is a run of the parameters ``whole``, and
    Lublin-2 one of both types (``both``): 8704 interactive jobs and 1296 of batch.

    The published program stores the time of the last arrival as a whole number of seconds and adds each gap to it, so
    that each job loses its fraction: its clock falls behind that of the model by half a second per job, and the last of
    10,000 jobs arrives about 1.4 hours too early in the day. *kind.as_published* does the same.
    """
    logarithm = np.full(jobs, np.inf)
    while len(again := np.flatnonzero(logarithm > kind.gap_most)):
        logarithm[again] = rng.gamma(kind.gap_shape * kind.gap_ratio, kind.gap_scale, len(again))
    points = np.cumsum(np.exp(logarithm) / HALF_HOUR)  # cumulative gaps; each half hour consumes its weight of these
    day, rest = np.divmod(points, BUCKETS)
    taken = np.concatenate([[0.0], np.cumsum(cycle_weights(kind))])
    taken[-1] = BUCKETS
    submit = (day * BUCKETS + np.interp(rest, taken, np.arange(BUCKETS + 1))) * HALF_HOUR
    whole: Floats = np.cumsum(np.floor(np.diff(submit, prepend=0.0))) if kind.as_published else np.floor(submit)
    return whole
