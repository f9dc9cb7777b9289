"""Which jobs give way to which, by the settings of a Slurm."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hdeeprm_like.cluster.partitions import Partitions
from hdeeprm_like.decision.policies.preemption_rows import CANCEL, OFF, REQUEUE, SUSPEND, Preemption
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats.partitions_json import PREEMPT_MODES
from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.studies.whatif.slurm_keys import seconds

REQUEUE_DELAY = 121.0  # s after which a requeued job may start again: until its credential has expired
BY_PARTITION, BY_QOS = "preempt/partition_prio", "preempt/qos"
MODES = {"CANCEL": CANCEL, "REQUEUE": REQUEUE, "SUSPEND": SUSPEND}  # of others, as GANG alone, no job gives way


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
