"""Requests of jobs on a platform with partitions, as keys of a job in a workload's JSON.

| key | meaning |
|---|---|
| ``partition`` | its name; left out for the default one |
| ``constraint`` | features that nodes must have, joined by ``&`` or ``|`` |
| ``nodes`` | exact number of nodes; left out for any |
| ``cores_per_task`` | cores that must be on one node; a job has ``res`` over this many tasks |
| ``exclusive`` | true for whole nodes |
| ``gpus_per_node`` | GPUs on each node, instead of ``gpus`` of the profile, which are bound to cores |
| ``account``, ``qos``, ``nice`` | for Slurm's priorities |

Batsim ignores them.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from hdeeprm_like.cluster.partitions import NO_DEMAND, Demand
from hdeeprm_like.errors import HDeepRMError

MOST = 2**31 - 1  # nodes, cores, priority


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_count(value: Any) -> bool:
    return type(value) is int and 1 <= value <= MOST


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST


def _is_amount(value: Any) -> bool:
    return _is_number(value) and value > 0


KEYS: Mapping[str, tuple[str, Callable[[Any], bool], str]] = {  # key: name in `Demand`, check, description
    "partition": ("partition", _is_text, "a text"),
    "constraint": ("constraint", _is_text, "a text"),
    "nodes": ("nodes", _is_count, "a whole number from 1 on"),
    "cores_per_task": ("task", _is_count, "a whole number from 1 on"),
    "exclusive": ("exclusive", _is_bool, "true or false"),
    "gpus_per_node": ("gpus_per_node", _is_amount, "a number above 0"),
    "account": ("account", _is_text, "a text"),
    "qos": ("qos", _is_text, "a text"),
    "nice": ("nice", _is_number, "a number"),
}


def demand_in(job: Mapping[str, Any], where: str, error: type[HDeepRMError]) -> Demand:
    """Return the requests of a job of a workload's JSON besides cores.

    Raises:
        error: a value is of the wrong type.
    """
    if KEYS.keys().isdisjoint(job):
        return NO_DEMAND
    found = {}
    for key, (name, fits, wanted) in KEYS.items():
        if job.get(key) is not None:
            if not fits(job[key]):
                raise error(f"{where}.{key}: is {json.dumps(job[key])[:40]}; {wanted} is needed")
            found[name] = job[key]
    return Demand(**found)


def keys_of(demand: Demand) -> dict[str, Any]:
    """Return the keys of a job for its requests; empty requests are left out."""
    values = {key: getattr(demand, name) for key, (name, _, _) in KEYS.items()}
    usual = {key: getattr(NO_DEMAND, name) for key, (name, _, _) in KEYS.items()}
    return {key: value for key, value in values.items() if value != usual[key]}
