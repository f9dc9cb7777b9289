"""The windows that candidates are tried on: the same for the same number, in whatever process."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.synthetic.models import Recipe, estimates_named, model_named
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.job_reading import Reading, machine_size, read_jobs
from hdeeprm_like.formats.shipped import found
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.windows import window
from hdeeprm_like.run.episodes import stretched
from hdeeprm_like.studies.evolution.machine_windows import machine_window
from hdeeprm_like.studies.evolution.options import EvolutionOptions, Source

VALIDATION = 1 << 40  # windows from this number on are those of validation


@lru_cache(maxsize=8)
def trace_of(path: Path, begin: float, end: float) -> Trace:
    """Return the part of a trace that is learned from."""
    trace = read_jobs(path, Reading(larger="keep", memory=False))
    return take(trace, np.arange(int(begin * len(trace)), int(end * len(trace))))


def window_of(options: EvolutionOptions, folder: Path, number: int) -> tuple[Platform, Workload]:
    """Return the machine and the jobs of the window of a number.

    Raises:
        WorkloadError: a trace has too few jobs.
    """
    source = options.windows.sources[number % len(options.windows.sources)]
    rng, count = np.random.default_rng((options.seed, number)), options.windows.jobs
    if number >= VALIDATION and options.windows.validation_jobs is not None:
        count = options.windows.validation_jobs
    if source.platform is not None:
        return machine_window(source, folder, count, rng)
    if source.model is not None:
        cores, jobs = made_jobs(source, count, rng)
    else:
        cores, jobs = jobs_of_trace(source, folder, count, rng)
    if source.load is not None:
        jobs = stretched(jobs, cores, float(rng.uniform(*source.load)))
    if source.wide > 1:
        cores, jobs = cores * source.wide, replace(jobs, size=jobs.size * source.wide, capacity=cores * source.wide)
    return pool(cores), jobs


def made_jobs(source: Source, count: int, rng: np.random.Generator) -> tuple[int, Workload]:
    """Return the cores of a machine and jobs that a model makes for it."""
    assert source.cores is not None
    assert source.model is not None
    recipe = Recipe(model_named(source.model, source.preset, nodes=source.cores), estimates_named(source.estimates))
    jobs = recipe.jobs(count, rng).workload(1e9)
    rank = 1.0 / np.arange(1, source.users + 1)
    user = rng.choice(source.users, count, p=rank / rank.sum())
    return source.cores, replace(jobs, user=user, delay=jobs.ops / 1e9, memory=np.zeros(count), ops=np.zeros(count))


def jobs_of_trace(source: Source, folder: Path, count: int, rng: np.random.Generator) -> tuple[int, Workload]:
    """Return the cores of a trace's machine and consecutive jobs of it."""
    trace = trace_of(found(str(source.trace), "trace", folder=folder), source.begin, source.end)
    cores = source.cores or machine_size(trace, "give the 'cores' of this source")
    if len(trace) < count:
        raise WorkloadError(f"{trace.path}: has {len(trace)} training jobs, but windows of {count} are requested")
    first = int(rng.integers((len(trace) - count) // source.step + 1)) * source.step
    jobs = take(trace, np.arange(first, first + count))
    fitting = replace(jobs, processors=np.minimum(jobs.processors, cores))  # the widest take all of a smaller machine
    return cores, window(fitting, cores).workload
