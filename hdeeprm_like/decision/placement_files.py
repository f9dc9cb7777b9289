"""Learned placements in JSON: the part ``placement`` of a learned policy, weights that choose the cores of a job.

| key | meaning |
|---|---|
| ``speed`` | a feature of cores: what it weighs for every job |
| ``speed*log_cores`` | a feature of cores times one of the job: what it weighs the more, the larger the latter is |

The score of a processor is the sum of these terms for the cores that the job would take there; the processor with the
smallest score is first, ties go to the lowest. Then the next processor is chosen for the remaining cores. Where all
cores that the job could take would request more bandwidth than the processor has, as many as it has bandwidth for are
scored, too, and the better number is taken.

Logarithms are beside the mean core of the machine, so a file fits any machine. The speed that cores would have is
``speed`` + ln(.75) * ``contended``.

This module reads the part and imports nothing heavy; `policies.placement_scores` computes the scores.
"""

from typing import Any

from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.records import Record
from hdeeprm_like.values import NUMBER

CORE_FEATURES = {
    "speed": "ln(peak flop/s of a core / that of the mean core)",
    "power": "ln(peak W of a core / that of the mean core)",
    "bandwidth": "ln(GB/s of the processor per core / the mean)",
    "memory": "ln(MB of the node per core / the mean)",
    "gpus": "1 where the node has GPUs",
    "asleep": "1 where the processor serves no job, so that its other cores wake to idle power",
    "added_power": "W that the processor draws more with the job / cores taken / peak W of the mean core",
    "contended": "1 where its jobs would then request more bandwidth than it has, so that they run at 75 % speed",
    "slowed": "share of its cores that serve other jobs, where the job begins to slow these",
    "bandwidth_left": "share of the bandwidth that is left, from -1 on",
    "memory_left": "share of the node's memory that is left",
    "cores_left": "share of the processor's cores that stay free",
    "node_left": "share of the node's cores that stay free",
    "elsewhere": "share of the cores still to find for the job that must come from other processors",
    "lag": "ln(speed of the slowest core taken before / speed), at least 0: the slowest core sets the job's speed",
}
"""Features of the cores of a processor that a job may take now."""

JOB_FEATURES = {
    "one": "1",
    "trusted_log_time": "ln(run time in h, between request and estimate as requests are trusted)",
    "log_cores": "ln(cores / cores of the machine)",
    "memory_share": "memory per core / that of the mean core, at most 4",
    "bandwidth_share": "bandwidth per core / that of the mean core, at most 4",
    "on_gpus": "1 where the job requests GPUs",
    "log_wait_hours": "ln(1 + wait in h)",
    "free": "share of the cores that are free",
    "queue": "ln(1 + waiting jobs) / 3",
}
"""Features of the job, and of the moment, that those of cores may be multiplied by."""

TIMES = "*"


class Placement(Record):
    """A score of cores for a job.

    Attributes:
        weights: names of a feature of cores and of a feature of the job, and what their product weighs.
    """

    weights: tuple[tuple[str, str, float], ...]

    @property
    def looks(self) -> frozenset[str]:
        """Names of the features of jobs that it reads."""
        return frozenset(job for _, job, _ in self.weights)


def split_term(name: str, where: str) -> tuple[str, str]:
    """Split ``"speed*log_cores"`` into the features of the cores and of the job; ``"speed"`` has the job's ``one``.

    Raises:
        OptionsError: one of them is not known; the message begins with *where*.
    """
    cores, times, job = name.partition(TIMES)
    if cores not in CORE_FEATURES:
        raise OptionsError(f"{where}: {cores!r:.60} is no feature of cores{did_you_mean(cores, CORE_FEATURES)}")
    if times and job not in JOB_FEATURES:
        raise OptionsError(f"{where}: {name!r:.80}: {job!r:.60} is no feature of jobs{did_you_mean(job, JOB_FEATURES)}")
    return cores, job if times else "one"


def placement_of(content: Any, where: str) -> Placement:
    """Return the placement of a file's JSON.

    Raises:
        OptionsError: it is invalid; the message begins with *where*.
    """
    if not isinstance(content, dict) or not content:
        raise OptionsError(f"{where}: an object with the weights of features of cores is needed, not {content!r:.60}")
    found: dict[tuple[str, str], float] = {}
    for name, value in content.items():
        term = split_term(name, where)
        if term in found:
            raise OptionsError(f"{where}: {name}: is given twice, as {term[0]!r} and as {TIMES.join(term)!r}")
        found[term] = NUMBER.of(value, OptionsError, where, name)
    return Placement(tuple((*term, weight) for term, weight in found.items()))


def term_name(cores: str, job: str) -> str:
    """Return the name of a term in a file."""
    return cores if job == "one" else cores + TIMES + job


def formula(placement: Placement) -> str:
    """Return the score as a formula that an operator can read, the heaviest terms first."""
    ordered = sorted(placement.weights, key=lambda term: -abs(term[2]))
    return " ".join(f"{weight:+.3g} {term_name(cores, job)}" for cores, job, weight in ordered if weight) or "0"
