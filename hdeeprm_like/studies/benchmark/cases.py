"""The comparison of each case: its jobs are a shipped trace, a part of one, or drawn by a model."""

from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.synthetic.models import Recipe, model_named
from hdeeprm_like.decision.compared_policies import Policy
from hdeeprm_like.formats.open import load_platform, load_trace, write, write_jobs
from hdeeprm_like.formats.shipped import existing
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.inputs import sha256
from hdeeprm_like.studies.benchmark.protocol import Case
from hdeeprm_like.studies.compare.inputs import Comparison
from hdeeprm_like.studies.compare.sampling import Windows, windows_named

LOAD = 0.8  # of the jobs of Lublin's model


def folder_of(case: Case, output: Path) -> Path:
    """Return the folder of the comparison of a case."""
    return output / "cases" / case.name.replace(", ", "-").replace(" ", "-")


def comparison_of(case: Case, policies: tuple[Policy, ...], output: Path, date: str) -> Comparison:
    """Return the comparison of a case, whose jobs are drawn if they are not there yet.

    Args:
        date: of the card, ``2026-12-01``.
    """
    jobs = jobs_of(case, output, date)
    return Comparison(
        trace=jobs,
        policies=policies,
        windows=Windows() if jobs.is_dir() else windows_named(case.windows, None),
        seed=1,
        cores=case.cores,
        platform=existing(case.platform, "platform") if case.platform else None,
        reference=case.references[0],
        leave_out_larger=case.cores is not None,
        figures=tuple(dict.fromkeys((*case.objective, "wait", "utilization"))),
    )


def jobs_of(case: Case, output: Path, date: str) -> Path:
    """Return the file of the jobs of a case, or the folder of its windows."""
    if case.trace and case.first == 0:
        return existing(case.trace, "trace")
    place = output / "jobs" / folder_of(case, output).name
    if case.platform:
        machine = load_platform(existing(case.platform, "platform"))
        count, jobs = map(int, case.windows.split("x"))
        for number in range(count if not place.exists() else 0):
            drawn = Recipe(model_named(case.model)).jobs(jobs, np.random.default_rng([seed_of(case, date), number]))
            write_jobs(drawn, place / f"{number:02}.json", machine.reference_flops)
        return place
    file = place.with_suffix(".swf.gz")
    if file.exists():
        return file
    if case.trace:
        write(take(load_trace(existing(case.trace, "trace")), slice(case.first, None)), file, "trace")
        return file
    windows, jobs = map(int, case.windows.removeprefix("disjoint:").split("x"))
    rng = np.random.default_rng(seed_of(case, date))
    write_jobs(Recipe(model_named(case.model, nodes=case.cores)).jobs(windows * jobs, rng).at_load(LOAD), file, 1e9)
    return file


def seed_of(case: Case, date: str) -> int:
    """Return the seed of the jobs of a case."""
    return int(date.replace("-", "")) if case.seed is None else case.seed


def digest_of(jobs: Path) -> str:
    """Return a digest of a file of jobs, or of those in a folder."""
    return sha256(*(sorted(jobs.iterdir()) if jobs.is_dir() else [jobs]))
