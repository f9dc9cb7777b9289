"""What every policy of the benchmark plays: a change of any case is another `PROTOCOL`, so that cards stay comparable.

Fixed cases, whose jobs nothing may have learned from, and fresh ones, whose jobs a dated seed draws:

| case | jobs | machine | what counts |
|---|---|---|---|
| ``lublin-1``, ``lublin-2`` | Lublin's model: 9 windows of 1024, and the whole trace | 256 cores | bounded slowdown |
| ``ctc-sp2`` | 7 windows of 1024 of the second half of a real log, requests of users | 338 cores | the same |
| ``gaia`` | 10 windows of 1024 of the second half of a real log, requests of users | 500 cores | the same |
| ``two-kinds`` | 16 times 500 jobs of the model campaigns | 64 fast and 256 thrifty cores | turnaround times energy |
| ``fresh lublin`` | Lublin's model at a load of .8: 9 windows of 1024 | 256 cores | bounded slowdown |
| ``fresh two-kinds`` | as ``two-kinds`` | the same | the same |

All run on the textbook's clock: all that has one time happens at once. Windows share no job.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.synthetic.models import Recipe, model_named
from hdeeprm_like.decision.compared_policies import Policy
from hdeeprm_like.formats.open import load_platform, load_trace, write, write_jobs
from hdeeprm_like.formats.shipped import existing
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.inputs import sha256
from hdeeprm_like.studies.compare.inputs import Comparison
from hdeeprm_like.studies.compare.sampling import Windows, windows_named

PROTOCOL = 2
LOAD = 0.8  # of the jobs of Lublin's model
ON_A_POOL = ("fcfs+easy", "sjf+easy", "saf+easy", "f1+easy", "saf+reserve:32", "zoo:slowdown", "zoo:balanced")
ON_TWO_KINDS = ("fcfs+easy", "saf+easy", "shortest-low_power", "zoo:short_on_fast")
"""Beside every policy. A score is 0 for the first one and 1 for the best, on the same jobs."""


@dataclass(frozen=True)
class Case:
    """Some jobs on a machine.

    Attributes:
        name: of the case. trace: its name; empty where jobs are drawn. windows: as of ``compare``. first: job of the
            trace that they begin with; those before it may have been learned from.
        model: that draws the jobs. seed: of them; None for the date of the card.
        cores: of a pool, None for those of the header. platform: name of a machine in its place.
        objective: figures whose product counts, window by window.
    """

    name: str
    trace: str = ""
    windows: str = "disjoint:9x1024"
    first: int = 0
    model: str = ""
    seed: int | None = None
    cores: int | None = None
    platform: str = ""
    objective: tuple[str, ...] = ("bounded_slowdown",)

    @property
    def references(self) -> tuple[str, ...]:
        """The policies beside which every other is played, the best known ones among them."""
        return ON_TWO_KINDS if self.platform else ON_A_POOL

    @property
    def fresh(self) -> bool:
        """Whether the date of the card decides the jobs."""
        return bool(self.model) and self.seed is None


ENERGY = ("turnaround", "energy")
FULL = (
    Case("lublin-1, 1024", "lublin-1"),
    Case("lublin-1, whole", "lublin-1", "all"),
    Case("lublin-2, 1024", "lublin-2"),
    Case("lublin-2, whole", "lublin-2", "all"),
    Case("ctc-sp2, 1024", "ctc-sp2-windows", "disjoint:7x1024", first=3072),
    Case("gaia, 1024", "gaia", "disjoint:10x1024", first=26_000, cores=500),
    Case("two-kinds, 500", windows="16x500", model="campaigns", seed=1, platform="two-kinds", objective=ENERGY),
    Case("fresh lublin, 1024", model="lublin", cores=256),
    Case("fresh two-kinds, 500", windows="16x500", model="campaigns", platform="two-kinds", objective=ENERGY),
)
QUICK = (
    Case("lublin-1, 200", "lublin-1", "disjoint:3x200"),
    Case("ctc-sp2, 100", "ctc-sp2-windows", "disjoint:3x100", first=3072),
    Case("two-kinds, 100", windows="2x100", model="campaigns", seed=1, platform="two-kinds", objective=ENERGY),
    Case("fresh lublin, 100", windows="disjoint:2x100", model="lublin", cores=256),
)
"""For tests, and to see in a minute whether a policy can be put through at all; its figures say nothing else."""


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
