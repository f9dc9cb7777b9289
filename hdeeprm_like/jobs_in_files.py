"""The jobs of a file for a platform, without an options file."""

from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.experiment import READERS, Overrides, converted, load_jobs
from hdeeprm_like.formats.job_reading import Reading, jobs_of, larger_of
from hdeeprm_like.formats.open import has_ending_of, load_trace
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.windows import Window, window
from hdeeprm_like.limits import JOBS
from hdeeprm_like.options import Options, explain
from hdeeprm_like.values import Whole


def jobs_in(
    path: Path,
    platform: Platform,
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
    if platform.processors == 1 and not ready:
        lines = load_trace(path)
        lines = take(lines, slice(skip, None)) if skip else lines
        found = jobs_of(lines, Reading(platform.cores, larger, memory=False))
        if jobs:
            assert found.row is not None
            end = len(lines) if len(found) < jobs else int(found.row[jobs - 1]) + 1  # behind the last job
            reading = Reading(platform.cores, larger_of(leave_out_larger), memory=False)
            account = jobs_of(take(lines, slice(end)), reading).account
            found = replace(take(found, slice(jobs)), account=account)
        assert found.account is not None
        found.account.say()
        return window(found, platform.cores)
    values = {"seed": seed, "nb_jobs": jobs, "workload": {"skip": skip}}
    try:
        plain = Options.model_validate(values | {"pybatsim": {"agent": {"type": "LEARNING"}}})
    except ValidationError as error:
        raise OptionsError(explain(error.errors()[0])) from None
    if not ready:
        return Window(converted(path, plain, platform, path, READERS, larger).workload, 0.0)
    overrides = Overrides(workload=path, leave_out_larger=leave_out_larger)
    return Window(load_jobs(path, plain, platform, overrides).workload, 0.0)
