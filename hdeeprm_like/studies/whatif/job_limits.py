"""Limits of users, accounts, QOS and partitions, made into sums over the jobs that count for them."""

from collections.abc import Iterable, Mapping, Sequence
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
EACH = "*"

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


def job_limits(entries: Limits, log: Log, partitions: Partitions) -> JobLimits:
    """Return limits as sums over the jobs of a log.

    Raises:
        OptionsError: no job of the log has a name that a limit is for.
    """
    most: list[Floats] = []
    jobs: list[Ints] = []
    limits: list[Ints] = []
    amounts: list[Floats] = []
    for (kind, name, key), value in entries.items():
        counted, groups = _groups(kind, name, key, log, partitions)
        for asked, bound in _asked(value, log):
            if not np.isfinite(bound):
                continue
            rows = np.flatnonzero(counted & (asked > 0.0))
            numbers, of_row = np.unique(groups[rows], return_inverse=True)
            jobs.append(rows)
            limits.append(of_row + sum(len(one) for one in most))
            amounts.append(asked[rows])
            most.append(np.full(len(numbers), bound))
    none = np.zeros(0, np.int64)
    return JobLimits(
        most=np.concatenate([np.zeros(0), *most]),
        job=np.concatenate([none, *jobs]),
        limit=np.concatenate([none, *limits]),
        amount=np.concatenate([np.zeros(0), *amounts]),
    )


def beyond(limits: JobLimits, jobs: int) -> Bools:
    """Return (J,) which jobs exceed a limit alone, so that they never start."""
    found = np.zeros(jobs, np.bool_)
    found[limits.job[limits.amount > limits.most[limits.limit] * (1.0 + TINY)]] = True
    return found


def of_some(limits: JobLimits, rows: Ints, jobs: int) -> JobLimits:
    """Return the limits of some of the jobs, with new numbers."""
    numbers = np.full(jobs, -1)
    numbers[rows] = np.arange(len(rows))
    own = numbers[limits.job] >= 0
    return JobLimits(limits.most, numbers[limits.job[own]], limits.limit[own], limits.amount[own])


def _groups(kind: str, name: str, key: str, log: Log, partitions: Partitions) -> tuple[Bools, Ints]:
    """Return (J,) which jobs a limit counts, and numbers of those that share it."""
    words = _words(kind, log, partitions)
    if name != EACH and name not in words:
        known = sorted(set(words) - {""})
        raise OptionsError(f"{kind} {name[:40]!r}: no job of the log has it{did_you_mean(name, known[:1000])}")
    counted = np.array([word == name or (name == EACH and word != "") for word in words])
    columns = [words] if name == EACH else []
    if key.endswith("PerUser") or (kind == "account" and key == "MaxJobs"):
        columns.append(log.words["User"])
    if key.endswith("PerAccount"):
        columns.append(log.words["Account"])
    return counted, _numbers(columns, len(words))


def _words(kind: str, log: Log, partitions: Partitions) -> Sequence[str]:
    """Return (J,) the names of a kind that jobs have; of partitions that by which they are known."""
    words = log.words[COLUMN[kind]]
    if kind != "partition":
        return words
    names = {word: partitions.names[partitions.number_of(word)] for word in set(words)}
    return [names[word] for word in words]


def _numbers(columns: Iterable[Sequence[str]], jobs: int) -> Ints:
    """Return (J,) the same number for jobs that have the same words in all columns."""
    found: Ints = np.zeros(jobs, np.int64)
    for column in columns:
        own = np.unique(np.array(column), return_inverse=True)[1]
        found = np.unique(found * (int(own.max()) + 1) + own, return_inverse=True)[1].astype(np.int64)
    return found


def _asked(value: Any, log: Log) -> list[tuple[Floats, float]]:
    """Return for each bound of a limit (J,) what jobs have of what it bounds, and the bound."""
    if not isinstance(value, dict):
        return [(np.ones(len(log.jobs)), float(value))]
    jobs, demands = log.jobs, log.jobs.demands
    gpus = jobs.gpus_of_job
    if demands is not None:
        gpus = np.where(demands.gpus_per_node > 0, demands.gpus_per_node * np.maximum(demands.nodes, 1), gpus)
    asked = {"cpu": jobs.size.astype(np.float64), "mem": jobs.memory * jobs.size, "gres/gpu": gpus}
    return [(asked[name], float(bound)) for name, bound in value.items()]
