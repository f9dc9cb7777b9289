"""HDeepRM's own columns, memory and bandwidth per core, for the jobs of any model (thesis 3.1.3)."""

from dataclasses import replace

import numpy as np

from hdeeprm_like.cluster.synthetic.jobs import Jobs

BANDWIDTHS = np.array([4.0, 8.0, 12.0, 16.0, 20.0, 24.0])  # GB/s per core, equally likely; the trace has none

GAIA_SHARES = (*(np.arange(20) / 20).tolist(), 0.99, 0.995, 0.999, 1.0)
GAIA_MEMORY = (
    *(0.0, 0.0, 4.0, 18.0, 24.0, 29.0, 34.0, 40.0, 48.0, 58.0, 72.0, 98.0, 142.0, 204.0, 252.0, 265.0, 272.0, 276.0),
    *(368.0, 829.0, 2004.0, 3859.0, 6486.0, 38558.0),
)
"""Quantiles of the MB per core of the 50,519 jobs of the Gaia trace: thesis 5.2, where the median is 72, the
95th percentile 829 and the maximum 38,558."""


def with_bandwidth(jobs: Jobs, rng: np.random.Generator) -> Jobs:
    """Return the jobs with bandwidths drawn as by the converter of traces."""
    return replace(jobs, bandwidth=BANDWIDTHS[rng.integers(len(BANDWIDTHS), size=len(jobs))])


def with_memory(jobs: Jobs, rng: np.random.Generator, most: float | None = None) -> Jobs:
    """Return the jobs with memory distributed as in the Gaia trace, in whole MB.

    Args:
        most: MB per core, limit of the draws.
    """
    memory = np.floor(np.interp(rng.random(len(jobs)), GAIA_SHARES, GAIA_MEMORY))
    return replace(jobs, memory=memory if most is None else np.minimum(memory, most))


def with_hdeeprm_columns(jobs: Jobs, rng: np.random.Generator) -> Jobs:
    """Return the jobs with bandwidths, and with memory if the model itself has none."""
    memory_rng, bandwidth_rng = rng.spawn(2)
    jobs = with_bandwidth(jobs, bandwidth_rng)
    return jobs if jobs.memory.any() else with_memory(jobs, memory_rng)
