"""Windows on a machine of several kinds of processors, with the memory, bandwidth and GPUs that jobs request."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.synthetic.models import Recipe, estimates_named, model_named
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.any_platform import platform_from
from hdeeprm_like.formats.shipped import found
from hdeeprm_like.jobs_in_files import jobs_in
from hdeeprm_like.run.episodes import stretched
from hdeeprm_like.studies.evolution.options import Source


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
        if end - begin < count:
            raise WorkloadError(f"{path}: has {end - begin} training jobs, but windows of {count} are requested")
        first = begin + int(rng.integers((end - begin - count) // source.step + 1)) * source.step
        jobs = jobs.take(np.arange(first, first + count))
        jobs = replace(jobs, submit=jobs.submit - jobs.submit[0], demands=None)
    if source.load is not None:
        jobs = stretched(jobs, machine.cores, float(rng.uniform(*source.load)), machine.reference_flops)
    return machine, jobs


def made_for(machine: Platform, source: Source, count: int, rng: np.random.Generator) -> Workload:
    """Return jobs of a model for a machine: with HDeepRM's memory and bandwidth, and GPUs for some of them."""
    assert source.model is not None
    cores = source.cores or machine.cores
    estimates = estimates_named(source.estimates)
    recipe = Recipe(model_named(source.model, source.preset, nodes=cores), estimates, columns="hdeeprm")
    jobs = recipe.jobs(count, rng).workload(machine.reference_flops)
    rank = 1.0 / np.arange(1, source.users + 1)
    user = rng.choice(source.users, count, p=rank / rank.sum())
    on_gpus = machine.node_gpus > 0.0
    if source.gpu_jobs == 0.0 or not on_gpus.any():
        return replace(jobs, user=user)
    of_node = np.bincount(machine.processor_node, machine.processor_cores, machine.nodes)
    rate = float((machine.node_gpus[on_gpus] / of_node[on_gpus]).min())  # so that all cores of each such node may do
    wants = (rng.random(count) < source.gpu_jobs) & (jobs.size <= of_node[on_gpus].sum())
    return replace(jobs, user=user, gpus=np.where(wants, rate, 0.0))
