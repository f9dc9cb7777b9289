"""The windows that candidates are tried on: the same for the same number, in whatever process."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.synthetic.models import Columns, Recipe, estimates_named, model_named
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.any_platform import platform_from
from hdeeprm_like.formats.job_reading import Reading, machine_size, read_jobs
from hdeeprm_like.formats.shipped import found
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.windows import window
from hdeeprm_like.jobs_in_files import jobs_in
from hdeeprm_like.run.episodes import stretched
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
        cores = source.cores or 0
        jobs = made_jobs(source, cores, 1e9, "model", count, rng)
        jobs = replace(jobs, delay=jobs.ops / 1e9, memory=np.zeros(count), ops=np.zeros(count))
    else:
        cores, jobs = jobs_of_trace(source, folder, count, rng)
    if source.load is not None:
        jobs = stretched(jobs, cores, float(rng.uniform(*source.load)))
    if source.wide > 1:
        cores, jobs = cores * source.wide, replace(jobs, size=jobs.size * source.wide, capacity=cores * source.wide)
    return pool(cores), jobs


def made_jobs(
    source: Source, cores: int, flops: float, columns: Columns, count: int, rng: np.random.Generator
) -> Workload:
    """Return jobs that a model makes for so many cores of some flop/s, the busiest user having most of them."""
    assert source.model is not None
    recipe = Recipe(model_named(source.model, source.preset, nodes=cores), estimates_named(source.estimates), columns)
    jobs = recipe.jobs(count, rng).workload(flops)
    rank = 1.0 / np.arange(1, source.users + 1)
    return replace(jobs, user=rng.choice(source.users, count, p=rank / rank.sum()))


def first_of(source: Source, path: Path, jobs: int, count: int, rng: np.random.Generator) -> int:
    """Return with which of so many jobs of a file a window begins.

    Raises:
        WorkloadError: they are too few.
    """
    if jobs < count:
        raise WorkloadError(f"{path}: has {jobs} training jobs, but windows of {count} are requested")
    return int(rng.integers((jobs - count) // source.step + 1)) * source.step


def jobs_of_trace(source: Source, folder: Path, count: int, rng: np.random.Generator) -> tuple[int, Workload]:
    """Return the cores of a trace's machine and consecutive jobs of it."""
    trace = trace_of(found(str(source.trace), "trace", folder=folder), source.begin, source.end)
    cores = source.cores or machine_size(trace, "give the 'cores' of this source")
    first = first_of(source, trace.path, len(trace), count, rng)
    jobs = take(trace, np.arange(first, first + count))
    fitting = replace(jobs, processors=np.minimum(jobs.processors, cores))  # the widest take all of a smaller machine
    return cores, window(fitting, cores).workload


@lru_cache(maxsize=4)
def machine_of(name: str, folder: Path) -> Platform:
    """Return the platform of a name, or of a path relative to the options file."""
    return platform_from(found(name, "platform", folder=folder))


@lru_cache(maxsize=2)
def jobs_of(path: Path, name: str, folder: Path) -> Workload:
    """Return all jobs of a trace or workload as they are on a platform."""
    return jobs_in(path, machine_of(name, folder)).workload


def machine_window(source: Source, folder: Path, count: int, rng: np.random.Generator) -> tuple[Platform, Workload]:
    """Return the machine of a source, and consecutive jobs of its trace or jobs of its model.

    Raises:
        HDeepRMError: the platform or the jobs cannot be used, or they are too few.
    """
    assert source.platform is not None
    machine = machine_of(source.platform, folder)
    if source.trace is None:
        jobs = made_for(machine, source, count, rng)
    else:
        path = found(source.trace, "trace", "workload", folder=folder)
        jobs = jobs_of(path, source.platform, folder)
        begin, end = int(source.begin * len(jobs)), int(source.end * len(jobs))
        first = begin + first_of(source, path, end - begin, count, rng)
        jobs = jobs.take(np.arange(first, first + count))
        jobs = replace(jobs, submit=jobs.submit - jobs.submit[0], demands=None)
    if source.load is not None:
        jobs = stretched(jobs, machine.cores, float(rng.uniform(*source.load)), machine.reference_flops)
    return machine, jobs


def made_for(machine: Platform, source: Source, count: int, rng: np.random.Generator) -> Workload:
    """Return jobs of a model for a machine: with HDeepRM's memory and bandwidth, and GPUs for some of them."""
    jobs = made_jobs(source, source.cores or machine.cores, machine.reference_flops, "hdeeprm", count, rng)
    on_gpus = machine.node_gpus > 0.0
    if source.gpu_jobs == 0.0 or not on_gpus.any():
        return jobs
    of_node = np.bincount(machine.processor_node, machine.processor_cores, machine.nodes)
    rate = float((machine.node_gpus[on_gpus] / of_node[on_gpus]).min())  # so that all cores of each such node may do
    wants = (rng.random(count) < source.gpu_jobs) & (jobs.size <= of_node[on_gpus].sum())
    return replace(jobs, gpus=np.where(wants, rate, 0.0))
