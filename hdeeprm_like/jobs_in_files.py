"""The jobs of a file for a platform, without an options file."""

from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.experiment import READERS, Overrides, converted, load_jobs
from hdeeprm_like.formats.any_platform import platform_from
from hdeeprm_like.formats.job_reading import Reading, jobs_of, larger_of, machine_size
from hdeeprm_like.formats.open import has_ending_of, load_trace, load_workload
from hdeeprm_like.formats.shipped import existing, shipped
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.windows import Window, window
from hdeeprm_like.limits import JOBS
from hdeeprm_like.options import Options, explain
from hdeeprm_like.values import Whole


def jobs_in(
    path: Path,
    platform: Platform | None,
    seed: int = 0,
    jobs: int | None = None,
    skip: int = 0,
    leave_out_larger: bool = False,
) -> Window:
    """Return the jobs of a file for a platform, without an options file.

    On a pool the jobs of a trace keep their run times; for other machines they are converted as for an options file
    without a section ``workload``.

    Args:
        path: a complete workload or a trace. seed: of the properties of jobs that a trace lacks.
        platform: None for a trace's own machine, a pool of as many cores as its header names.
        jobs, skip: of a trace: number of jobs, None for all, after skipping so many lines, as ``nb_jobs`` and
            ``workload.skip`` of an options file.
        leave_out_larger: whether jobs larger than the platform are left out; otherwise they are an error.

    Raises:
        WorkloadError: the file cannot be used, or a job requests more cores than the platform has.
        OptionsError: *jobs* or *skip* are no whole numbers, or given for a complete workload, which runs whole.
    """
    Whole(0, JOBS.most).of(skip, OptionsError, "skip")
    if jobs is not None:
        Whole(1, JOBS.most).of(jobs, OptionsError, "jobs")
    ready = has_ending_of(path, "workload")
    if ready and (jobs is not None or skip):
        raise OptionsError(f"{path}: is a complete workload, which runs whole; jobs and skip need a trace")
    larger = larger_of(leave_out_larger)
    larger = "keep" if jobs and larger == "refuse" else larger  # the jobs after these may be of any size
    if not ready and (platform is None or platform.processors == 1):
        lines = load_trace(path)
        lines = take(lines, slice(skip, None)) if skip else lines
        reading = Reading(None if platform is None else platform.cores, larger, memory=False)
        found = jobs_of(lines, reading)
        cores = machine_size(found, "give the platform")
        if jobs:
            assert found.row is not None
            end = len(lines) if len(found) < jobs else int(found.row[jobs - 1]) + 1  # behind the last job
            account = jobs_of(take(lines, slice(end)), replace(reading, larger=larger_of(leave_out_larger))).account
            found = replace(take(found, slice(jobs)), account=account)
        assert found.account is not None
        found.account.say()
        return window(found, cores)
    assert platform is not None
    values = {"seed": seed, "nb_jobs": jobs, "workload": {"skip": skip}}
    try:
        plain = Options.model_validate(values | {"pybatsim": {"agent": {"type": "LEARNING"}}})
    except ValidationError as error:
        raise OptionsError(explain(error.errors()[0])) from None
    if not ready:
        return Window(converted(path, plain, platform, path, READERS, larger).workload, 0.0)
    overrides = Overrides(workload=path, leave_out_larger=leave_out_larger)
    return Window(load_jobs(path, plain, platform, overrides).workload, 0.0)


def jobs_and_machine(
    jobs_of: Workload | str | Path,
    seed: int = 0,
    jobs: int | None = None,
    skip: int = 0,
    leave_out_larger: bool = False,
) -> tuple[Workload, Platform]:
    """Return jobs and their own machine: that of a name, else a pool of as many cores as they or their file name.

    Args:
        jobs_of: jobs, a name of shipped ones, or a file. The others are as for `jobs_in`.

    Raises:
        WorkloadError: as for `jobs_in`. OptionsError: likewise; the header of a trace has no number of processors.
    """
    if isinstance(jobs_of, Workload):
        return jobs_of, platform_from(jobs_of.capacity)
    if isinstance(jobs_of, Workload):
        return jobs_of, platform_from(jobs_of.capacity)
    file, known = existing(jobs_of, "trace", "workload"), shipped("trace", "workload")
    if str(jobs_of) not in known and jobs is None and not skip and has_ending_of(file, "workload"):
        found = load_workload(file)
        return found, platform_from(found.capacity)
    machine = platform_from(known[str(jobs_of)].machine) if str(jobs_of) in known else None
    found = jobs_in(file, machine, seed, jobs, skip, leave_out_larger).workload
    return found, machine or platform_from(found.capacity)
