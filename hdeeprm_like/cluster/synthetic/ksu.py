"""KSU's training sets: large jobs and a few that need GPUs, all submitted at once."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hdeeprm_like.cluster.synthetic.jobs import Jobs
from hdeeprm_like.cluster.synthetic.lublin import WHOLE_LOG, Lublin
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Ints

POOL = 4  # multiple of the needed large jobs that is drawn at first


@dataclass(frozen=True)
class Ksu:
    """High-utilization sets: jobs above a size sampled from a log, jobs with GPUs added, shuffled, one submission.

    Attributes:
        above: cores; the large jobs request more.
        gpu_share: jobs with GPUs for each large job.
        gpus: numbers of GPUs of such a job, equally likely. The paper gives only the share.
        log: replaces the log of KSU's machine, which is not public.

    Source: Hutchison et al., "Scheduling for high performance computing with reinforcement learning", III: sets of 2000
    large jobs and 40 with GPUs.
    """

    above: int = 20
    gpu_share: float = 0.02
    gpus: tuple[int, ...] = (1, 2, 4)
    log: Lublin = field(default_factory=lambda: WHOLE_LOG.on(256))

    def __post_init__(self) -> None:
        if not (self.gpu_share >= 0 and self.gpus and min(self.gpus) >= 1 and self.above >= 0):
            raise WorkloadError("ksu: gpu_share and above are at least 0, gpus lists numbers from 1 on")
        if self.above >= self.log.nodes:
            raise WorkloadError(f"ksu: above: is {self.above}; a machine of {self.log.nodes} cores has no larger jobs")

    def on(self, nodes: int) -> "Ksu":
        """Return these parameters for another machine size."""
        return replace(self, log=self.log.on(nodes))

    def draw(self, jobs: int, rng: np.random.Generator) -> Jobs:
        """Draw a set of *jobs* jobs in all, including those with GPUs."""
        log_rng, own = rng.spawn(2)
        lengths = [POOL * jobs]
        while True:
            pool = self.log.draw(lengths[-1], log_rng)
            if (pool.size > self.above).sum() >= jobs:
                return replace(self.sample(pool, jobs, own), origin=str(self))
            if lengths[-1] > 1000 * jobs:
                raise WorkloadError(f"ksu: above: hardly any job of the log is larger than {self.above} cores")
            lengths.append(2 * lengths[-1])

    def sample(self, log: Jobs, jobs: int, rng: np.random.Generator) -> Jobs:
        """Sample a set from a log: large jobs without repetition, with jobs with GPUs of any size inserted.

        Raises:
            WorkloadError: the log has too few jobs.
        """
        with_gpus = round(jobs * self.gpu_share / (1 + self.gpu_share))
        large = np.flatnonzero(log.size > self.above)
        if len(large) < jobs - with_gpus or len(log) < jobs:
            raise WorkloadError(
                f"ksu: the log has {len(large)} jobs of more than {self.above} cores, {jobs - with_gpus} are needed"
            )
        chosen = rng.choice(large, jobs - with_gpus, replace=False)
        others = rng.choice(np.setdiff1d(np.arange(len(log)), chosen), with_gpus, replace=False)
        gpus = np.concatenate([np.zeros(len(chosen), np.int64), rng.choice(self.gpus, with_gpus)])
        shuffled = rng.permutation(jobs)
        rows = np.concatenate([chosen, others])[shuffled]
        origin = f"a set of KSU's (above={self.above}, gpu_share={self.gpu_share}) of {log.origin}"
        return replace(_taken(log, rows), submit=np.zeros(jobs), gpus=gpus[shuffled], origin=origin)


def _taken(jobs: Jobs, rows: Ints) -> Jobs:
    columns: dict[str, Any] = {name: value[rows] for name, value in vars(jobs).items() if isinstance(value, np.ndarray)}
    return replace(jobs, **columns)


KSU: dict[str, Ksu] = {"high-utilization": Ksu()}
