"""The partitions of a platform file, which importers write under ``"slurm"``.

``nodes`` names the hosts of each group of nodes in the order of the platform, with features and weight;
``partitions`` names the hosts of each partition and its settings; ``scheduling`` has priority weights and parameters,
all under Slurm's own names. Slurm's database has the rest, which can be added by hand, too: ``qos`` (name to priority),
``shares`` (account to share), ``accounts`` (account to the one above it), ``limits`` (of accounts, users, QOS and
partitions: ``{"account:physics": {"GrpTRES": "cpu=64"}}``), ``preemption`` (of QOS: ``{"high": {"Preempt": "low"}}``).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from hdeeprm_like.cluster.partitions import Partitions
from hdeeprm_like.formats.json_value import JsonValue
from hdeeprm_like.types import Ints
from hdeeprm_like.values import AMOUNT, FINITE, NUMBER, UTMOST, Number

MODELLED = (  # of SchedulerParameters, what policies with +slurm read
    *("bf_interval", "bf_window", "bf_resolution", "bf_max_job_test", "bf_max_job_user", "bf_window_linear"),
    *("batch_sched_delay", "sched_interval", "default_queue_depth", "sched_min_interval"),
    *("sched_max_job_start", "bf_max_job_start"),
)
PARTITION_TIMES = "partition_times"  # setting: MaxTime and DefaultTime of the partitions that have them, in s, by name
TIMES = ("MaxTime", "DefaultTime")
PREEMPT_MODES = "partition_preempt_modes"  # setting: PreemptMode of the partitions that have their own, by name
LIMIT = Number(0.0, UTMOST, above=True, noun="number of seconds")
PREEMPTING = ("Preempt", "PreemptMode", "PreemptExemptTime")  # keys of a QOS in "preemption", all texts
OBJECTS = ("SchedulerParameters", "PriorityWeightTRES")  # of the scheduling
DATES = ("main_dates", "backfill_dates")  # of the scheduling: recorded looks of Slurm's threads, s
OF_DATABASE = ("qos", "shares", "accounts", "limits", "preemption")


def read_partitions(value: JsonValue, nodes: int) -> Partitions | None:
    """Return the partitions of a platform of *nodes* nodes; None if there are none.

    Raises:
        PlatformError: hosts are missing, unknown or not as many as the platform's nodes.
    """
    keys = value.fields([], ["nodes", "partitions", "scheduling", *OF_DATABASE])
    if "partitions" not in keys or not keys["partitions"].value or "nodes" not in keys:
        return None
    numbers: dict[str, int] = {}
    features: list[frozenset[str]] = []
    weights: list[float] = []
    for group in keys["nodes"].elements():
        own = group.entries()
        if "hosts" not in own:
            raise group.wrong("key 'hosts' is missing")
        tags = own["features"].value if "features" in own else []
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise own["features"].wrong("must be a list of texts")
        for host in hosts_of(own["hosts"]):
            if host in numbers:
                raise own["hosts"].wrong(f"host {host[:40]!r} occurs twice")
            numbers[host] = len(numbers)
            features.append(frozenset(tags))
            weights.append(float(_number(own.get("weight"), 1.0)))
    if len(numbers) != nodes:
        raise keys["nodes"].wrong(f"names {len(numbers)} hosts; the platform has {nodes} nodes")
    found = keys["partitions"].elements()
    listed = [_partition(one, numbers) for one in found]
    names = [name for name, _, _ in listed]
    if len(set(names)) < len(names):
        raise keys["partitions"].wrong("a name occurs twice")
    members = np.zeros((len(listed), nodes), np.bool_)
    for row, (_, rows, _) in enumerate(listed):
        members[row, rows] = True
    settings = [own for _, _, own in listed]
    scheduling = _scheduling(keys["scheduling"]) if "scheduling" in keys else {}
    more = {key: _of_database(key, keys[key]) for key in OF_DATABASE if key in keys}
    times = {name: {key: own[key] for key in TIMES if LIMIT.holds(own.get(key))} for name, _, own in listed}
    times = {name: own for name, own in times.items() if own}
    modes = {name: str(own["PreemptMode"]) for name, _, own in listed if isinstance(own.get("PreemptMode"), str)}
    linear = scheduling.get("SelectType") == "select/linear"
    defaults = [row for row, own in enumerate(settings) if str(own.get("Default", "NO")).upper() == "YES"]
    return Partitions(
        names=tuple(names),
        nodes=members,
        tiers=np.array([_setting(own, "PriorityTier") for own in settings]),
        factors=np.array([_setting(own, "PriorityJobFactor") for own in settings]),
        exclusive=np.array([linear or str(own.get("OverSubscribe", "")).upper() == "EXCLUSIVE" for own in settings]),
        features=tuple(features),
        weights=np.array(weights),
        default=defaults[0] if defaults else 0,
        settings=scheduling
        | more
        | ({PARTITION_TIMES: times} if times else {})
        | ({PREEMPT_MODES: modes} if modes else {}),
    )


def partitions_as_json(partitions: Partitions) -> dict[str, Any]:
    """Return partitions as JSON for `read_partitions`; nodes get numbers as names."""
    settings = dict(partitions.settings)
    more: dict[str, Any] = {key: settings.pop(key) for key in OF_DATABASE if key in settings}
    times: dict[str, Any] = settings.pop(PARTITION_TIMES, {})
    modes: dict[str, str] = settings.pop(PREEMPT_MODES, {})
    alike = groupby(range(len(partitions.weights)), lambda n: (partitions.features[n], float(partitions.weights[n])))
    columns = zip(partitions.names, partitions.tiers, partitions.factors, partitions.exclusive, strict=True)
    return {
        "nodes": [
            {"hosts": _hosts_named(nodes), "features": sorted(features), "weight": weight}
            for (features, weight), nodes in alike
        ],
        "partitions": [
            {
                "name": name,
                "hosts": _hosts_named(np.flatnonzero(partitions.nodes[q]).tolist()),
                "PriorityTier": float(tier),
                "PriorityJobFactor": float(factor),
                **({"OverSubscribe": "EXCLUSIVE"} if exclusive else {}),
                **({"Default": "YES"} if q == partitions.default else {}),
                **times.get(name, {}),
                **({"PreemptMode": modes[name]} if name in modes else {}),
            }
            for q, (name, tier, factor, exclusive) in enumerate(columns)
        ],
        "scheduling": settings,
        **more,
    }


def _hosts_named(nodes: Iterable[int]) -> str:
    from hostlist import collect_hostlist

    return str(collect_hostlist([f"n{n}" for n in nodes]))


def hosts_of(value: JsonValue) -> Sequence[str]:
    """Return the names in a host list: ``n[1-4,7]``.

    Raises:
        PlatformError: it is no host list.
    """
    from hostlist import BadHostlist, expand_hostlist

    try:
        hosts: Sequence[str] = expand_hostlist(value.text())
    except BadHostlist as error:
        raise value.wrong(f"is no list of hosts: {error}") from None
    return hosts


def _partition(value: JsonValue, numbers: Mapping[str, int]) -> tuple[str, Ints, dict[str, Any]]:
    keys = value.entries()
    for key in ("name", "hosts"):
        if key not in keys:
            raise value.wrong(f"key {key!r} is missing")
    hosts = hosts_of(keys["hosts"]) if keys["hosts"].value else ()
    unknown = next((host for host in hosts if host not in numbers), None)
    if unknown is not None:
        raise keys["hosts"].wrong(f"host {unknown[:40]!r} is none of the nodes")
    rows = np.array([numbers[host] for host in hosts], np.int64)
    return keys["name"].text(), rows, {key: one.value for key, one in keys.items() if key not in ("name", "hosts")}


def _scheduling(value: JsonValue) -> dict[str, Any]:
    """Return the settings of a Slurm by name: texts, numbers and truth values, objects of these, or lists of dates."""
    found: dict[str, Any] = {}
    for name, one in value.entries().items():
        if name in OBJECTS and one.value is not None:
            found[name] = {key: _plain(inner) for key, inner in one.entries().items()}
        elif name in DATES and one.value is not None:
            found[name] = [date.number(FINITE) for date in one.elements()]
        else:
            found[name] = _plain(one)
    return found


def _plain(value: JsonValue) -> Any:
    """Return a text, a truth value, nothing, or a finite number."""
    if isinstance(value.value, dict | list):
        raise value.needs("a text, a number, true or false")
    number = isinstance(value.value, int | float) and not isinstance(value.value, bool)
    return value.number(FINITE) if number and not FINITE.holds(value.value) else value.value


def _of_database(key: str, value: JsonValue) -> dict[str, Any]:
    """Return what Slurm's database knows of accounts or QOS, by name; limits are checked where they are read."""
    found = value.entries()
    if key in ("qos", "shares"):
        for one in found.values():
            one.number(AMOUNT)
    elif key == "accounts":
        for one in found.values():
            one.text()
    elif key == "preemption":
        for one in found.values():
            for inner in one.fields([], PREEMPTING).values():
                inner.text()
    return {name: one.value for name, one in found.items()}


def _number(value: JsonValue | None, otherwise: float) -> float:
    return otherwise if value is None or not value.value else value.positive()


def _setting(own: Mapping[str, Any], name: str) -> float:
    value = own.get(name)
    return float(value) if NUMBER.holds(value) else 1.0
