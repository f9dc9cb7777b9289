"""Limits of users, accounts, QOS and partitions, made into sums over the jobs that count for them.

An account's limit counts the jobs of the accounts below it, too. Where the QOS of a job, or its partition, has a limit
of some kind, those of its associations of the same kind do not hold it; they still count it.

Source: documentation of Slurm 22.05 ("Resource Limits": hierarchy).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from hdeeprm_like.cluster.partitions import Partitions
from hdeeprm_like.decision.policies.limit_rows import JobLimits
from hdeeprm_like.decision.policies.slurm_limits import TINY
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.studies.whatif.slurm_keys import LIMITS, OF, meant, value_of
from hdeeprm_like.types import Bools, Floats, Ints

COLUMN = {"user": "User", "account": "Account", "qos": "QOS", "partition": "Partition"}
EACH, PER_JOB = "*", "MaxTRES"
OVERRIDDEN_BY = {"GrpTRES": "GrpTRES", "GrpJobs": "GrpJobs", "MaxJobs": "MaxJobsPerUser", "MaxTRES": "MaxTRES"}

Limits = dict[tuple[str, str, str], Any]  # value by kind, name and key; the later of two entries for the same counts


def limits_of_platform(settings: Mapping[str, Any]) -> Limits:
    """Return the limits that a platform file has: ``"limits": {"account:physics": {"GrpTRES": "cpu=64"}}``.

    Raises:
        OptionsError: one makes no sense.
    """
    found: Limits = {}
    for who, own in (settings.get("limits") or {}).items():
        where = f"the platform's limits of {who[:40]!r}"
        kind, _, name = who.partition(":")
        kind = meant(kind, OF, where)
        if not name or not isinstance(own, dict):
            raise OptionsError(f'{where}: something as "account:physics": {{"GrpTRES": "cpu=64"}} is needed')
        for key, value in own.items():
            known = meant(key, [key for key in OF[kind] if key in LIMITS], where)
            found[kind, name, known] = value_of(OF[kind][known], str(value), f"{where}: {key[:40]}")
    return found


def job_limits(entries: Limits, log: Log, partitions: Partitions, changed: Collection[Sequence[str]] = ()) -> JobLimits:
    """Return limits as sums over the jobs of a log.

    Args:
        changed: entries that a change names; of others those that concern no job are left out.

    Raises:
        OptionsError: no job of the log has a name that a change has a limit for.
    """
    names = _Names(log, partitions)
    none = np.zeros(0, np.int64)
    found = [JobLimits(np.zeros(0), none, none, np.zeros(0), none > 0)]
    for (kind, name, key), value in entries.items():
        counted = names.having(kind, name, needed=(kind, name, key) in changed)
        if not counted.any():
            continue
        groups = names.sharing(kind, name, key)
        for resource, amount, bound in _asked(value, log):
            if not np.isfinite(bound):
                continue
            rows = np.flatnonzero(counted & (amount > (bound if key == PER_JOB else 0.0)))
            numbers, of_row = np.unique(rows if key == PER_JOB else groups[rows], return_inverse=True)
            held = ~_overridden(entries, names, kind, key, resource)[rows]
            found.append(JobLimits(np.full(len(numbers), bound), rows, of_row, amount[rows], held))
    return joined(found)


def joined(found: Sequence[JobLimits]) -> JobLimits:
    """Return several limits on the same jobs as one."""
    before = np.cumsum([0, *(len(one.most) for one in found)])
    return JobLimits(
        most=np.concatenate([one.most for one in found]),
        job=np.concatenate([one.job for one in found]),
        limit=np.concatenate([one.limit + first for one, first in zip(found, before, strict=False)]),
        amount=np.concatenate([one.amount for one in found]),
        held=np.concatenate([one.held for one in found]),
    )


def _overridden(entries: Limits, names: "_Names", kind: str, key: str, resource: str) -> Bools:
    """Return (J,) which jobs are not held by a limit of associations, because their QOS or partition has one."""
    found = np.zeros(names.jobs, np.bool_)
    if kind in ("qos", "partition") or key not in OVERRIDDEN_BY:
        return found
    for (other, name, own), value in entries.items():
        of_all = value.get(resource, np.inf) if isinstance(value, dict) else value
        if other in ("qos", "partition") and own == OVERRIDDEN_BY[key] and np.isfinite(of_all):
            found |= names.having(other, name)
    return found


def beyond(limits: JobLimits, jobs: int) -> Bools:
    """Return (J,) which jobs exceed a limit alone, so that they never start."""
    found = np.zeros(jobs, np.bool_)
    found[limits.job[limits.held & (limits.amount > limits.most[limits.limit] * (1.0 + TINY))]] = True
    return found


def of_some(limits: JobLimits, rows: Ints, jobs: int) -> JobLimits:
    """Return the limits of some of the jobs, with new numbers."""
    numbers = np.full(jobs, -1)
    numbers[rows] = np.arange(len(rows))
    own = numbers[limits.job] >= 0
    return JobLimits(limits.most, numbers[limits.job[own]], limits.limit[own], limits.amount[own], limits.held[own])


class _Names:
    """Which jobs of a log have a name of some kind."""

    def __init__(self, log: Log, partitions: Partitions) -> None:
        self.jobs = len(log.jobs)
        words = {kind: list(log.words[column]) for kind, column in COLUMN.items()}
        names = {word: partitions.names[partitions.number_of(word)] for word in set(words["partition"])}
        words["partition"] = [names[word] for word in words["partition"]]
        words["association"] = [f"{one}/{two}" for one, two in zip(words["account"], words["user"], strict=True)]
        self._above: Mapping[str, str] = partitions.settings.get("accounts") or {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._of_job: dict[str, Ints] = {}
        for kind, column in words.items():
            known, numbers = np.unique(np.array(column, dtype=np.str_), return_inverse=True)
            self._numbers[kind] = {name: number for number, name in enumerate(known.tolist())}
            self._of_job[kind] = numbers.astype(np.int64)

    def having(self, kind: str, name: str, needed: bool = False) -> Bools:
        """Return (J,) which jobs have a name; of an account also those of the accounts below it.

        Raises:
            OptionsError: none has it, and one is *needed*.
        """
        numbers, of_job = self._numbers[kind], self._of_job[kind]
        if name == EACH:
            return np.asarray(of_job != numbers.get("", -1))
        own = [number for word, number in numbers.items() if name in self._line(kind, word)]
        if needed and not own:
            known = sorted(set(numbers) - {""})
            raise OptionsError(f"{kind} {name[:40]!r}: no job of the log has it{did_you_mean(name, known[:1000])}")
        return np.isin(of_job, own)

    def sharing(self, kind: str, name: str, key: str) -> Ints:
        """Return (J,) the same number for jobs that share a limit."""
        kinds = [kind] if name == EACH else []
        if key.endswith("PerUser") or (kind == "account" and key == "MaxJobs"):
            kinds.append("user")
        if key.endswith("PerAccount"):
            kinds.append("account")
        found: Ints = np.zeros(self.jobs, np.int64)
        for one in kinds:
            found = found * len(self._numbers[one]) + self._of_job[one]
        return found

    def _line(self, kind: str, word: str) -> list[str]:
        """Return a name, and of an account those above it."""
        line = [word]
        while kind == "account" and (above := self._above.get(line[-1])) and above not in line:
            line.append(above)
        return line


def _asked(value: Any, log: Log) -> list[tuple[str, Floats, float]]:
    """Return for each bound of a limit what it bounds, (J,) what jobs have of that, and the bound."""
    if not isinstance(value, dict):
        return [("jobs", np.ones(len(log.jobs)), float(value))]
    jobs, demands = log.jobs, log.jobs.demands
    gpus = jobs.gpus_of_job
    if demands is not None:
        gpus = np.where(demands.gpus_per_node > 0, demands.gpus_per_node * np.maximum(demands.nodes, 1), gpus)
    asked = {"cpu": jobs.size.astype(np.float64), "mem": jobs.memory * jobs.size, "gres/gpu": gpus}
    return [(name, asked[name], float(bound)) for name, bound in value.items()]
