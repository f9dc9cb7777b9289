"""What of a Slurm can be changed, by Slurm's own names, and what the texts of their values mean."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.formats.partitions_json import MODELLED
from hdeeprm_like.values import AMOUNT, FAR, Number, Whole

JOBS = Whole(0, int(FAR))
TIME = re.compile(
    r"(?:(?P<days>\d{1,9})-)?(?P<first>\d{1,9})(?::(?P<second>\d{1,9}))?(?::(?P<third>\d{1,9}))?", re.ASCII
)
SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)B?", re.ASCII | re.IGNORECASE)
NO_LIMIT = ("-1", "unlimited", "infinite", "none")
MB = {"K": 1.024e-3, "": 1.024, "M": 1.024, "G": 1.024 * 1024, "T": 1.024 * 1024**2}  # of 1000 KB; Slurm's has 1024


def seconds(text: str) -> float:
    """Return the s of one of Slurm's times: ``90`` (minutes), ``90:00``, ``1:30:00``, ``1-12``, ``1-12:00:00``.

    Raises:
        ValueError: it is none.
    """
    match = TIME.fullmatch(text)
    if match is None:
        raise ValueError("a time as 90 (minutes), 1:30:00 or 1-12:00:00 is needed")
    days, first, second, third = (None if part is None else int(part) for part in match.groups())
    if days is not None:
        return days * 86400.0 + first * 3600.0 + (second or 0) * 60.0 + (third or 0)  # type: ignore[operator]
    if third is not None:
        return first * 3600.0 + (second or 0) * 60.0 + third  # type: ignore[operator]
    return float(first * 60 + (second or 0))  # type: ignore[operator]


def time_limit(text: str) -> float:
    """Return the s of a time limit, infinite for none.

    Raises:
        ValueError: it is none, or 0.
    """
    limit = float("inf") if text.lower() in NO_LIMIT else seconds(text)
    if limit <= 0.0:
        raise ValueError("a time of more than 0 is needed")
    return limit


def count_limit(text: str) -> float:
    """Return a number of jobs, infinite for no limit.

    Raises:
        ValueError: it is none.
    """
    if text.lower() in NO_LIMIT:
        return float("inf")
    limit = JOBS.in_text_or(text, -1.0)
    if limit < 0.0:
        raise ValueError("a number of jobs, or -1 for no limit, is needed")
    return float(limit)


def weights(text: str) -> dict[str, float]:
    """Return the weights of ``cpu=1000,mem=500``.

    Raises:
        ValueError: they are none.
    """
    return {name: AMOUNT.in_text(value, ValueError, name) for name, value in _pairs(text, "cpu=1000,mem=500")}


def amounts(text: str) -> dict[str, float]:
    """Return the limits of ``cpu=64,gres/gpu=8,mem=100G``: cores, GPUs and MB; -1 for none.

    Raises:
        ValueError: they are none.
    """
    found = {}
    for name, value in _pairs(text, "cpu=64,gres/gpu=8"):
        if value in NO_LIMIT:
            found[name] = float("inf")
        elif name == "mem" and (match := SIZE.fullmatch(value)):
            found[name] = float(match[1]) * MB[match[2].upper()]
        else:
            found[name] = AMOUNT.in_text(value, ValueError, name)
    return found


def _pairs(text: str, example: str) -> list[tuple[str, str]]:
    pairs = []
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise ValueError(f"names and amounts as {example} are needed")
        if name.lower() not in TRES:
            raise ValueError(f"{name[:40]!r} is none of what is counted{did_you_mean(name, TRES)}")
        pairs.append((name.lower(), value))
    return pairs


def one_of(*words: str, otherwise: str = "") -> Callable[[str], str]:
    """Return what takes one of some words, whatever its letters' case."""

    def meaning(text: str) -> str:
        for word in words:
            if text.lower() == word.lower():
                return word
        raise ValueError(f"{', '.join(words[:-1])} or {words[-1]} is needed{otherwise}")

    return meaning


def exempt_time(text: str) -> str:
    """Return the text of a PreemptExemptTime.

    Raises:
        ValueError: it is none.
    """
    if text != "-1":
        seconds(text)
    return text


TRES = ("cpu", "mem", "gres/gpu")
Meaning = Number | Callable[[str], Any]
PREEMPT_TYPE = one_of("preempt/none", "preempt/partition_prio", "preempt/qos")
PREEMPT_MODE = one_of("OFF", "CANCEL", "REQUEUE", "SUSPEND,GANG")
WHOLE_NODES = one_of("EXCLUSIVE", "NO", otherwise="; sharing of cores is not modelled")
OF_PARTITION = one_of("OFF", "CANCEL", "REQUEUE", "SUSPEND")
OF_QOS = one_of("OFF", "CANCEL", "REQUEUE", otherwise="; jobs are suspended between partitions only")
PARAMETERS: dict[str, Meaning] = dict.fromkeys(MODELLED, AMOUNT)  # of SchedulerParameters
SETTINGS: dict[str, Meaning] = {
    **{f"PriorityWeight{name}": AMOUNT for name in ("Age", "Fairshare", "JobSize", "Partition", "QOS")},
    "PriorityWeightTRES": weights,
    "PriorityFavorSmall": one_of("YES", "NO"),
    **dict.fromkeys(("PriorityMaxAge", "PriorityDecayHalfLife", "PriorityCalcPeriod"), seconds),
    **{"PreemptType": PREEMPT_TYPE, "PreemptMode": PREEMPT_MODE, "PreemptExemptTime": exempt_time},
}
GROUPED: dict[str, Meaning] = {"GrpTRES": amounts, "GrpJobs": count_limit}
OF_EACH: dict[str, Meaning] = {
    **{"MaxJobsPerUser": count_limit, "MaxTRESPerUser": amounts},
    **{"MaxJobsPerAccount": count_limit, "MaxTRESPerAccount": amounts},
}
OF_ASSOCIATION: dict[str, Meaning] = {"MaxJobs": count_limit, "MaxTRES": amounts, **GROUPED}
OF_PREEMPTION: dict[str, Meaning] = {"Preempt": str, "PreemptMode": OF_QOS, "PreemptExemptTime": exempt_time}
TIMES = ("MaxTime", "DefaultTime")
OF: dict[str, dict[str, Meaning]] = {
    "partition": {
        **dict.fromkeys(TIMES, time_limit),
        **{
            "PriorityTier": AMOUNT,
            "PriorityJobFactor": AMOUNT,
            "OverSubscribe": lambda text: WHOLE_NODES(text) == "EXCLUSIVE",
        },
        "PreemptMode": OF_PARTITION,
        "MaxTRES": amounts,
        **GROUPED,
        **OF_EACH,
    },
    "account": {"Fairshare": AMOUNT, **OF_ASSOCIATION},
    "user": OF_ASSOCIATION,
    "association": OF_ASSOCIATION,
    "qos": {"Priority": AMOUNT, **OF_PREEMPTION, "MaxTRES": amounts, **GROUPED, **OF_EACH},
}
LIMITS = (*GROUPED, *OF_EACH, "MaxJobs", "MaxTRES")
REFUSED = {
    "Preempt": "of preemption, PreemptType, PreemptMode and PreemptExemptTime are modelled",
    "SelectType": "write it into the platform file, for it decides how jobs get nodes",
    "PriorityWeightAssoc": "the priorities of associations are not modelled",
    "PriorityType": "the model has priority/multifactor only",
    "AccountingStorageEnforce": "limits are always enforced in the model",
}  # by how a key begins


def meant(key: str, known: Mapping[str, Meaning] | Iterable[str], where: str) -> str:
    """Return the key that a text means, whatever its letters' case.

    Raises:
        OptionsError: it is none of those that are known.
    """
    names = {name.lower(): name for name in known}
    if key.lower() in names:
        return names[key.lower()]
    for beginning, reason in REFUSED.items():
        if key.lower().startswith(beginning.lower()):
            raise OptionsError(f"{where}: {key[:40]!r}: {reason}")
    raise OptionsError(f"{where}: key {key[:40]!r} is none of those that can be changed{did_you_mean(key, known)}")


def value_of(meaning: Meaning, text: str, where: str) -> Any:
    """Return what the text of a value means.

    Raises:
        OptionsError: it makes no sense.
    """
    if isinstance(meaning, Number):
        return meaning.in_text(text, OptionsError, where)
    try:
        return meaning(text)
    except ValueError as error:
        raise OptionsError(f"{where}: is {text[:40]!r}; {error}") from None
