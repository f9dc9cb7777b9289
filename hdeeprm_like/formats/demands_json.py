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

from collections.abc import Callable, Mapping
from typing import Any

from hdeeprm_like.cluster.partitions import NO_DEMAND, Demand
from hdeeprm_like.errors import HDeepRMError
from hdeeprm_like.values import INT_MOST, Number, Whole, wrong

COUNT, NUMBER, AMOUNT = Whole(1), Number(-INT_MOST, INT_MOST), Number(0.0, INT_MOST, above=True)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


KEYS: Mapping[str, tuple[str, Callable[[Any], bool], str]] = {  # key: name in `Demand`, check, description
    "partition": ("partition", _is_text, "a text"),
    "constraint": ("constraint", _is_text, "a text"),
    "nodes": ("nodes", COUNT.holds, COUNT.wanted),
    "cores_per_task": ("task", COUNT.holds, COUNT.wanted),
    "exclusive": ("exclusive", _is_bool, "true or false"),
    "gpus_per_node": ("gpus_per_node", AMOUNT.holds, AMOUNT.wanted),
    "account": ("account", _is_text, "a text"),
    "qos": ("qos", _is_text, "a text"),
    "nice": ("nice", NUMBER.holds, NUMBER.wanted),
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
                raise wrong(job[key], wanted, error, f"{where}.{key}")
            found[name] = job[key]
    return Demand(**found)


def keys_of(demand: Demand) -> dict[str, Any]:
    """Return the keys of a job for its requests; empty requests are left out."""
    values = {key: getattr(demand, name) for key, (name, _, _) in KEYS.items()}
    usual = {key: getattr(NO_DEMAND, name) for key, (name, _, _) in KEYS.items()}
    return {key: value for key, value in values.items() if value != usual[key]}
