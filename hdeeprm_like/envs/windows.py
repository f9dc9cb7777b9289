"""What draws the jobs of an episode: random windows of a workload, or any function of a generator."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.engine.node_sets import most_cores
from hdeeprm_like.engine.splitmix64 import SEEDS
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.run.episodes import fragment
from hdeeprm_like.values import COUNT

WorkloadOf: TypeAlias = Callable[[np.random.Generator], Workload]


@dataclass(frozen=True, eq=False)
class Windows:
    """Random windows of a workload as episodes.

    Attributes:
        workload: the whole. jobs: most jobs of a window; None for the whole workload each time.
    """

    workload: Workload
    jobs: int | None = None

    def __post_init__(self) -> None:
        if self.jobs is not None:
            COUNT.of(self.jobs, OptionsError, "jobs")
        if len(self.workload) == 0:
            raise OptionsError("a workload without jobs has no windows")

    def __call__(self, rng: np.random.Generator) -> Workload:
        """Return a window that begins at any job, all equally likely; its clock starts with its first job."""
        return fragment(self.workload, int(rng.integers(self.starts)), self.length)

    @property
    def length(self) -> int:
        """Number of jobs of each window."""
        return len(self.workload) if self.jobs is None else min(self.jobs, len(self.workload))

    def limits(self) -> JobLimits:
        """Return the largest requests, which scale observations."""
        return self.workload.limits()

    @property
    def starts(self) -> int:
        """Number of jobs that a window can begin at."""
        return len(self.workload) - self.length + 1

    def most(self, platform: Platform) -> tuple[int, int]:
        """Return the number of jobs of a window, and the most cores that they take together."""
        jobs, demands = self.length, self.workload.demands
        taken = most_cores(platform, 0 if demands is None else demands.nodes, self.workload.size)
        before = np.concatenate([[0], np.cumsum(taken)])
        return jobs, int(np.max(before[jobs:] - before[:-jobs]))


def draws_of(generators: Iterable[np.random.Generator]) -> NDArray[np.uint64]:
    """Return random states for windows and the seeds of random policies, from the generator of each environment."""
    return np.array([generator.integers(SEEDS) for generator in generators], np.uint64)
