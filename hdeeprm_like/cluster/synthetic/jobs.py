"""Jobs as every model returns them: columns that do not depend on the speed of cores.

Those that only HDeepRM has, memory and bandwidth per core, can be drawn for the jobs of any model (thesis 3.1.3).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Floats, Ints
from hdeeprm_like.values import UTMOST, Number

GIGA = 1e9
INTERACTIVE, BATCH = 0, 1  # queues, numbered as in the Parallel Workloads Archive
BANDWIDTHS = np.array([4.0, 8.0, 12.0, 16.0, 20.0, 24.0])  # GB/s per core, equally likely; the trace has none

GAIA_SHARES = (*(np.arange(20) / 20).tolist(), 0.99, 0.995, 0.999, 1.0)
GAIA_MEMORY = (
    *(0.0, 0.0, 4.0, 18.0, 24.0, 29.0, 34.0, 40.0, 48.0, 58.0, 72.0, 98.0, 142.0, 204.0, 252.0, 265.0, 272.0, 276.0),
    *(368.0, 829.0, 2004.0, 3859.0, 6486.0, 38558.0),
)
"""Quantiles of the MB per core of the 50,519 jobs of the Gaia trace: thesis 5.2, where the median is 72, the
95th percentile 829 and the maximum 38,558."""


PROBABILITY = Number(0.0, 1.0, noun="probability")
ABOVE_0 = Number(0.0, UTMOST, above=True)
FROM_0 = Number(0.0, UTMOST)


def check(model: str, values: object, kinds: Mapping[str, Number]) -> None:
    """Raise a `WorkloadError` for the first parameter of a model that is not of its kind."""
    for name, kind in kinds.items():
        kind.of(getattr(values, name), WorkloadError, model, name)


def check_range(model: str, name: str, ends: tuple[float, float], least: float = 0.0, most: float = 1e12) -> None:
    """Raise a `WorkloadError` unless the ends of a range, both included, rise and stay within some bounds."""
    low, high = ends
    if not least <= low <= high <= most:
        raise WorkloadError(f"{model}: {name}: {low!r:.40} to {high!r:.40} is no range within {least:g} to {most:g}")


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs from a model, in the order of submission; a job is a row.

    Attributes:
        submit: (J,) s, never decreasing.
        run: (J,) s on the cores that the model assumes, positive.
        size: (J,) cores.
        requested_time: (J,) s, the user's estimate.
        memory: (J,) MB per core. bandwidth: (J,) GB/s per core.
        gpus: (J,) per job.
        queue: (J,) `INTERACTIVE` or `BATCH`.
        capacity: cores of the machine.
        origin: the model and its parameters in one line, for the header of a file.
    """

    submit: Floats
    run: Floats
    size: Ints
    requested_time: Floats
    memory: Floats
    bandwidth: Floats
    gpus: Ints
    queue: Ints
    capacity: int
    origin: str

    def __len__(self) -> int:
        return len(self.submit)

    @property
    def load(self) -> float:
        """Core seconds requested, over the machine's from the first submission to the last; infinite if that is 0 s.

        Source: the "offered load" of Feitelson, "Workload Modeling for Computer Systems Performance Evaluation", 2015.
        """
        span = float(self.submit[-1] - self.submit[0])
        return float(self.run @ self.size) / (self.capacity * span) if span > 0.0 else np.inf

    def at_load(self, load: float) -> "Jobs":
        """Return the jobs with the times between submissions scaled to give a load.

        Raises:
            WorkloadError: all are submitted at once.
        """
        if not np.isfinite(self.load):
            raise WorkloadError("load: all jobs are submitted at one time, so there are no gaps to scale")
        first, factor = self.submit[0], self.load / load
        return replace(self, submit=first + (self.submit - first) * factor, origin=f"{self.origin} at load {load:g}")

    def workload(self, reference_flops: float) -> Workload:
        """Return the jobs as a workload for the simulator.

        Args:
            reference_flops: flop/s of the cores on which the jobs take their run times.
        """
        ids = np.array([f"w0!{number}" for number in range(len(self))])
        order = np.lexsort((ids.astype(np.bytes_), self.submit))
        time, memory, bandwidth = self.requested_time[order], self.memory[order], self.bandwidth[order]
        run, gpus, size = self.run[order], self.gpus[order], self.size[order]
        named = zip(time.tolist(), memory.tolist(), bandwidth.tolist(), run.tolist(), gpus.tolist(), strict=True)
        return Workload(
            ids=tuple(ids[order].tolist()),
            profiles=tuple(f"{t:.17g}_{m:.17g}_{b:.17g}_{r:.17g}s" + f"_{g}gpus" * (g > 0) for t, m, b, r, g in named),
            submit=self.submit[order],
            size=size,
            requested_time=time,
            requested_ops=time * reference_flops,
            ops=run * reference_flops,
            memory=memory,
            bandwidth=bandwidth,
            capacity=self.capacity,
            gpus=gpus / size,
        )


def plain_jobs(submit: Floats, run: Floats, size: Ints, *, capacity: int, origin: str) -> Jobs:
    """Return batch jobs with exact estimates that request cores only."""
    nothing = np.zeros(len(submit))
    return Jobs(
        submit=submit,
        run=run,
        size=size,
        requested_time=run.copy(),
        memory=nothing,
        bandwidth=nothing.copy(),
        gpus=np.zeros(len(submit), np.int64),
        queue=np.full(len(submit), BATCH),
        capacity=capacity,
        origin=origin,
    )


def with_memory(jobs: Jobs, rng: np.random.Generator, most: float | None = None) -> Jobs:
    """Return the jobs with memory distributed as in the Gaia trace, in whole MB.

    Args:
        most: MB per core, limit of the draws.
    """
    memory = np.floor(np.interp(rng.random(len(jobs)), GAIA_SHARES, GAIA_MEMORY))
    return replace(jobs, memory=memory if most is None else np.minimum(memory, most))


def with_hdeeprm_columns(jobs: Jobs, rng: np.random.Generator) -> Jobs:
    """Return the jobs with bandwidths as the converter of traces draws them, and with memory if they have none."""
    memory_rng, bandwidth_rng = rng.spawn(2)
    jobs = replace(jobs, bandwidth=BANDWIDTHS[bandwidth_rng.integers(len(BANDWIDTHS), size=len(jobs))])
    return jobs if jobs.memory.any() else with_memory(jobs, memory_rng)
