"""Two kinds of jobs at all hours: many short narrow ones, and campaigns of long wide ones that come together.

On a machine with few fast cores and many thrifty ones the short jobs are worth a fast core, which shortens what their
user waits for, and the long ones a thrifty one, which saves energy; the waiting jobs say which kind is at the head.
"""

from dataclasses import dataclass, replace

import numpy as np

from hdeeprm_like.cluster.synthetic.jobs import ABOVE_0, FROM_0, INTERACTIVE, Jobs, check, check_range, plain_jobs
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Floats, Ints
from hdeeprm_like.values import COUNT

DAY = 86400.0  # s
KINDS = {
    "capacity": COUNT,
    **dict.fromkeys(("short_rate", "short_run", "shortest", "campaign_rate", "campaign_run"), ABOVE_0),
    **dict.fromkeys(("short_spread", "campaign_spread", "campaign_variation", "campaign_gap"), FROM_0),
}


@dataclass(frozen=True)
class Campaigns:
    """Both kinds arrive as Poisson processes; run times are lognormal, requests longer by a uniform factor.

    Attributes:
        capacity: cores of the machine.
        short_rate: short jobs a day. short_size: cores, equally likely. short_run: median in s. short_spread: deviation
            of the logarithm. shortest, longest: s, limits of the short ones.
        campaign_rate: campaigns a day. campaign_jobs: least and most jobs of one. campaign_gap: s between two of them.
        campaign_size: cores of each job of a campaign, equally likely. campaign_run, campaign_spread: as of the short
            ones, of campaigns. campaign_variation: deviation of the logarithm within one.
        requested: least and most factor of a request.
        memory: MB per core, bandwidth: GB/s per core, each uniform between two limits.
    """

    capacity: int = 320
    short_rate: float = 576.0
    short_size: tuple[int, ...] = (1, 2, 4, 8)
    short_run: float = 180.0
    short_spread: float = 0.8
    shortest: float = 20.0
    longest: float = 1800.0
    campaign_rate: float = 4.0
    campaign_jobs: tuple[int, int] = (2, 6)
    campaign_gap: float = 5.0
    campaign_size: tuple[int, ...] = (8, 16, 32)
    campaign_run: float = 7200.0
    campaign_spread: float = 0.5
    campaign_variation: float = 0.2
    requested: tuple[float, float] = (1.2, 3.0)
    memory: tuple[float, float] = (100.0, 1500.0)
    bandwidth: tuple[float, float] = (0.5, 3.0)

    def __post_init__(self) -> None:
        check("campaigns", self, KINDS)
        for name in ("short_size", "campaign_size"):
            sizes = getattr(self, name)
            if not sizes or not 1 <= min(sizes) <= max(sizes) <= self.capacity:
                raise WorkloadError(f"campaigns: {name}: {sizes!r:.60}; 1 to {self.capacity} cores are possible")
        for name, least in {"campaign_jobs": 1, "requested": 1.0, "memory": 0.0, "bandwidth": 0.0}.items():
            check_range("campaigns", name, getattr(self, name), least)
        check_range("campaigns", "shortest, longest", (self.shortest, self.longest))

    def on(self, nodes: int) -> "Campaigns":
        """Return these parameters for another machine; job sizes stay."""
        return replace(self, capacity=nodes)

    def draw(self, jobs: int, rng: np.random.Generator) -> Jobs:
        """Draw *jobs* jobs of both kinds in the order of their submission."""
        short_rng, campaign_rng, request_rng = rng.spawn(3)
        parts = zip(self._short(jobs, short_rng), self._campaigns(jobs, campaign_rng), strict=True)
        submit, run, size, kind = (np.concatenate(columns) for columns in parts)
        first = np.argsort(submit, kind="stable")[:jobs]
        drawn = plain_jobs(
            submit[first] - submit[first[0]], run[first], size[first], capacity=self.capacity, origin=str(self)
        )
        factor, memory, bandwidth = (
            request_rng.uniform(*limits, jobs) for limits in (self.requested, self.memory, self.bandwidth)
        )
        return replace(drawn, requested_time=drawn.run * factor, memory=memory, bandwidth=bandwidth, queue=kind[first])

    def _short(self, jobs: int, rng: np.random.Generator) -> tuple[Floats, Floats, Ints, Ints]:
        """Return when short jobs are submitted, their run times, sizes and queue."""
        submit = np.cumsum(rng.exponential(DAY / self.short_rate, jobs))
        run = np.exp(rng.normal(np.log(self.short_run), self.short_spread, jobs)).clip(self.shortest, self.longest)
        return submit, run, rng.choice(self.short_size, jobs), np.full(jobs, INTERACTIVE)

    def _campaigns(self, most: int, rng: np.random.Generator) -> tuple[Floats, Floats, Ints, Ints]:
        """Return the same of the jobs of *most* campaigns."""
        begin = np.cumsum(rng.exponential(DAY / self.campaign_rate, most))
        count = rng.integers(self.campaign_jobs[0], self.campaign_jobs[1], most, endpoint=True)
        size, typical = (
            rng.choice(self.campaign_size, most),
            rng.normal(np.log(self.campaign_run), self.campaign_spread, most),
        )
        place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        submit = np.repeat(begin, count) + self.campaign_gap * place
        run = np.exp(np.repeat(typical, count) + rng.normal(0.0, self.campaign_variation, len(place)))
        return submit, run, np.repeat(size, count), np.ones(len(place), np.int64)


CAMPAIGNS: dict[str, Campaigns] = {"two-kinds": Campaigns()}
