"""A part of a run, and whether runs that stand side by side had the same jobs."""

import logging
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.inputs import read_json, sha256
from hdeeprm_like.results.run_reader import WORKLOAD, Run, RunJobs

log = logging.getLogger(__name__)


def warn_of_other_jobs(runs: Mapping[str, Run]) -> None:
    """Warn if compared runs have not scheduled the same jobs, as with other seeds."""
    known = {name: sha256(run.path(WORKLOAD)) for name, run in runs.items() if run.has(WORKLOAD)}
    first = next(iter(known), "")
    others = [name for name, content in known.items() if content != known[first]]
    if others:
        log.warning("%s: not the jobs of %s, so differences are not the policies' alone", ", ".join(others), first)


def part_of(run: Run, begin: float, end: float, user: str | None) -> Run:
    """Return a run with only the jobs that are there between two times, and of one user if one is named.

    Args:
        begin, end: s. user: as ``workload.json`` names it.

    Raises:
        ResultsError: no such job is in the run, or users are unknown.
    """
    jobs = run.jobs
    until = np.where(np.isfinite(jobs.finish), jobs.finish, jobs.submit)
    keep = (jobs.submit <= end) & (until >= begin)
    if user is not None:
        keep &= np.array([name == user for name in users_of(run)], bool)
    if not keep.any():
        raise ResultsError(f"{run.folder}: none of its {len(jobs)} jobs is there then, or is of that user")
    rows = np.flatnonzero(keep)
    place = np.full(len(jobs), -1)
    place[rows] = np.arange(len(rows))
    blocks = jobs.blocks[keep[jobs.blocks[:, 0]]].copy()
    blocks[:, 0] = place[blocks[:, 0]]
    columns = {name: getattr(jobs, name)[rows] for name in ("size", "submit", "start", "finish", "wait", "run")}
    found = replace(run)
    found.__dict__["jobs"] = RunJobs(ids=tuple(jobs.ids[row] for row in rows), blocks=blocks, **columns)
    found.__dict__["cores"] = run.cores  # of the machine, also where only the jobs give it
    return found


def users_of(run: Run) -> list[str]:
    """Return who submitted each job: (J,) names.

    Raises:
        ResultsError: ``workload.json`` is missing, or has no users, or those of some jobs only.
    """
    content = read_json(run.path(WORKLOAD), ResultsError)
    try:
        names = {f"w0!{str(job['id']).removeprefix('w0!')}": str(job["user"]) for job in content["jobs"]}
        return [names[job] for job in run.jobs.ids]
    except (KeyError, TypeError) as cause:
        raise ResultsError(f"{run.path(WORKLOAD)}: does not name the users of all jobs") from cause
