"""A Slurm of another configuration: weights, parameters, partitions, limits, preemption, closed nodes, less power."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hdeeprm_like.cluster.partitions import Partitions
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.decision.policies.limit_rows import JOB_LIMITS, MOST_WINDOWS, WINDOWS, JobLimits
from hdeeprm_like.decision.policies.preemption_rows import CANCEL, OFF, PREEMPTION, REQUEUE, SUSPEND, Preemption
from hdeeprm_like.errors import OptionsError, PlatformError, did_you_mean
from hdeeprm_like.formats.partitions_json import PREEMPT_MODES
from hdeeprm_like.studies.whatif.changes import Change, Entry
from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.studies.whatif.job_limits import job_limits, joined, limits_of_platform
from hdeeprm_like.studies.whatif.slurm_keys import LIMITS, seconds

COLUMNS = {"PriorityTier": "tiers", "PriorityJobFactor": "factors", "OverSubscribe": "exclusive"}
RANKS = {("qos", "Priority"): "qos", ("account", "Fairshare"): "shares"}  # entries, and the setting that has them
EACH = "*"
REQUEUE_DELAY = 121.0  # s after which a requeued job may start again: until its credential has expired
BY_PARTITION, BY_QOS = "preempt/partition_prio", "preempt/qos"
MODES = {"CANCEL": CANCEL, "REQUEUE": REQUEUE, "SUSPEND": SUSPEND}  # of others, as GANG alone, no job gives way


def with_settings(machine: Platform, log: Log, change: Change | None) -> Platform:
    """Return a machine with the limits of its platform file and what a change makes of its Slurm.

    Raises:
        OptionsError: the change names what there is not.
        WorkloadError: it names a partition that there is not.
    """
    partitions = machine.partitions
    assert partitions is not None
    change = change or Change("")
    settings: dict[str, Any] = {**partitions.settings, **change.settings}
    if change.parameters:
        settings["SchedulerParameters"] = {**(settings.get("SchedulerParameters") or {}), **change.parameters}
    limits = limits_of_platform(settings)
    asked = {entry[:3] for entry in change.entries}
    for entry in change.entries:
        if entry.key in LIMITS:
            before = limits.get(entry[:3])
            both = isinstance(before, dict) and isinstance(entry.value, dict)
            limits[entry[:3]] = {**(before or {}), **entry.value} if both else entry.value
        elif (rank := RANKS.get((entry.kind, entry.key))) is not None:
            settings[rank] = {**(settings.get(rank) or {}), **_ranked(entry, log, settings.get(rank) or {})}
        elif entry.key.startswith("Preempt"):
            settings |= with_preemption(settings, partitions, entry)
        elif entry.key in COLUMNS:
            partitions = with_column(partitions, entry)
    found = job_limits(limits, log, partitions, asked)
    if change.power is not None:
        found = with_power(found, machine, log, with_power_cap(machine, change).usable_cores)
    if (windows := len(change.closings)) > MOST_WINDOWS:
        raise OptionsError(f"--change: {windows} windows that close nodes; at most {MOST_WINDOWS} are possible")
    settings[JOB_LIMITS] = found
    if change.settings.keys() & {"PreemptType", "PreemptMode"}:
        check_suspension(settings)
    settings[PREEMPTION] = preemption_of(settings, partitions, log)
    settings[WINDOWS] = tuple([closing.of(machine, log) for closing in change.closings])
    return replace(machine, partitions=replace(partitions, settings=settings))


def _ranked(entry: Entry, log: Log, known: Mapping[str, Any]) -> dict[str, float]:
    """Return the priority of a QOS or the shares of an account by its name.

    Raises:
        OptionsError: no job of the log has it.
    """
    words = set(log.words["QOS" if entry.kind == "qos" else "Account"]) - {""}
    if entry.name == EACH:
        return dict.fromkeys(words, entry.value)
    if entry.name not in words and entry.name not in known:
        near = did_you_mean(entry.name, sorted(words)[:1000])
        raise OptionsError(f"{entry.kind} {entry.name[:40]!r}: no job of the log has it{near}")
    return {entry.name: entry.value}


def with_preemption(settings: Mapping[str, Any], partitions: Partitions, entry: Entry) -> dict[str, Any]:
    """Return the setting of how a partition's jobs give way, or a QOS's and to which others its jobs make them.

    Raises:
        WorkloadError: there is no partition of that name.
    """
    if entry.kind == "partition":
        names = partitions.names if entry.name == EACH else (partitions.names[partitions.number_of(entry.name)],)
        return {PREEMPT_MODES: {**(settings.get(PREEMPT_MODES) or {}), **dict.fromkeys(names, entry.value)}}
    known = settings.get("preemption") or {}
    return {"preemption": {**known, entry.name: {**known.get(entry.name, {}), entry.key: entry.value}}}


def with_column(partitions: Partitions, entry: Entry) -> Partitions:
    """Return partitions of which one, or each (``*``), has another tier or factor, or gives whole nodes.

    Raises:
        WorkloadError: there is none of that name.
    """
    column = np.array(getattr(partitions, COLUMNS[entry.key]))
    column[slice(None) if entry.name == EACH else partitions.number_of(entry.name)] = entry.value
    changed: dict[str, Any] = {COLUMNS[entry.key]: column}
    return replace(partitions, **changed)


def with_power_cap(machine: Platform, change: Change) -> Platform:
    """Return a machine with the power cap of a change.

    Raises:
        OptionsError: it leaves no core.
    """
    assert change.power is not None
    amount, share = change.power
    watts = amount * float(machine.most_watts[-1]) if share else amount
    try:
        capped = replace(machine, power_cap=watts)
        enough = capped.usable_cores >= 1
    except PlatformError as error:
        raise OptionsError(f"change {change.name[:80]!r}: {error}") from None
    if not enough:
        raise OptionsError(f"change {change.name[:80]!r}: leaves no core")
    return capped


def with_power(found: JobLimits, machine: Platform, log: Log, cores: int) -> JobLimits:
    """Return limits with one more, of the cores that all jobs have together."""
    if cores >= machine.cores:
        return found
    rows, amount = np.arange(len(log.jobs)), log.jobs.size.astype(np.float64)
    return joined([found, JobLimits(np.array([float(cores)]), rows, np.zeros_like(rows), amount, rows >= 0)])


def preemption_of(settings: Mapping[str, Any], partitions: Partitions, log: Log) -> Preemption | None:
    """Return the rules of a Slurm for the jobs of a log; None if no job ever gives way."""
    kind = str(settings.get("PreemptType", "")).lower()
    if kind == BY_PARTITION:
        rules = _by_partition(settings, partitions, log)
    elif kind == BY_QOS:
        rules = _by_qos(settings, log)
    else:
        return None
    return rules if (rules.over & (rules.mode != OFF)[None, :]).any() else None


def check_suspension(settings: Mapping[str, Any]) -> None:
    """Refuse the suspension of jobs by others of their own partition, which take turns with them in Slurm.

    Raises:
        OptionsError: the settings ask for it.
    """
    by_qos = str(settings.get("PreemptType", "")).lower() == BY_QOS
    if by_qos and "SUSPEND" in str(settings.get("PreemptMode")).upper():
        raise OptionsError(f"PreemptMode=SUSPEND,GANG: is modelled with PreemptType={BY_PARTITION} only")


def _by_partition(settings: Mapping[str, Any], partitions: Partitions, log: Log) -> Preemption:
    numbers = {word: partitions.number_of(word) for word in set(log.words["Partition"])}
    own: Mapping[str, str] = settings.get(PREEMPT_MODES) or {}
    return Preemption(
        of_job=np.array([numbers[word] for word in log.words["Partition"]], np.int64),
        over=partitions.tiers[:, None] > partitions.tiers[None, :],
        mode=np.array([_mode(settings, own.get(name)) for name in partitions.names]),
        exempt=np.full(len(partitions.names), _exempt(settings.get("PreemptExemptTime"), 0.0)),
        rank=partitions.tiers.astype(np.float64),
        delay=REQUEUE_DELAY,
    )


def _by_qos(settings: Mapping[str, Any], log: Log) -> Preemption:
    names, of_job = np.unique(np.array(log.words["QOS"], dtype=np.str_), return_inverse=True)
    told: Mapping[str, Mapping[str, str]] = settings.get("preemption") or {}
    ranks: Mapping[str, Any] = settings.get("qos") or {}
    rows = [told.get(name, {}) for name in names.tolist()]
    of_all = _exempt(settings.get("PreemptExemptTime"), 0.0)
    return Preemption(
        of_job=of_job.astype(np.int64),
        over=np.array([[name in row.get("Preempt", "").split(",") for name in names.tolist()] for row in rows]),
        mode=np.array([_mode(settings, row.get("PreemptMode")) % SUSPEND for row in rows]),  # none is suspended
        exempt=np.array([_exempt(row.get("PreemptExemptTime"), of_all) for row in rows]),
        rank=np.array([float(ranks.get(name, 0.0)) for name in names.tolist()]),
        delay=REQUEUE_DELAY,
    )


def _mode(settings: Mapping[str, Any], own: str | None) -> int:
    """Return what becomes of jobs that give way, by their partition's or QOS's own mode or that of all."""
    text = own if own and own.lower() != "cluster" else str(settings.get("PreemptMode", "OFF"))
    mode = next((MODES[word] for word in text.upper().split(",") if word in MODES), OFF)
    no_requeue = str(settings.get("JobRequeue", 1)) == "0"
    return CANCEL if mode == REQUEUE and no_requeue else mode


def _exempt(text: Any, otherwise: float) -> float:
    """Return the s of a PreemptExemptTime."""
    if text is None or str(text).lower() in ("", "-1", "none", "not_set"):
        return otherwise
    try:
        return seconds(str(text))
    except ValueError:
        return otherwise
