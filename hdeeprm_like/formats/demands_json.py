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
from typing import Any, TypeAlias

from hdeeprm_like.cluster.partitions import NO_DEMAND, Demand
from hdeeprm_like.errors import HDeepRMError
from hdeeprm_like.values import INT_MOST, Number, Whole, wrong

Kind: TypeAlias = tuple[Callable[[Any], bool], str]  # what holds of a value, and its description

TEXT: Kind = (lambda value: isinstance(value, str) and value.isprintable(), "a text")
COUNT, AMOUNT, NUMBER = [
    (kind.holds, kind.wanted) for kind in (Whole(1), Number(0.0, INT_MOST, above=True), Number(-INT_MOST, INT_MOST))
]
KEYS: Mapping[str, tuple[str, Kind]] = {  # key: name in `Demand`
    **{key: (key, TEXT) for key in ("partition", "constraint")},
    "nodes": ("nodes", COUNT),
    "cores_per_task": ("task", COUNT),
    "exclusive": ("exclusive", (lambda value: isinstance(value, bool), "true or false")),
    "gpus_per_node": ("gpus_per_node", AMOUNT),
    **{key: (key, TEXT) for key in ("account", "qos")},
    "nice": ("nice", NUMBER),
}


def demand_in(job: Mapping[str, Any], where: str, error: type[HDeepRMError]) -> Demand:
    """Return the requests of a job of a workload's JSON besides cores.

    Raises:
        error: a value is of the wrong type.
    """
    if KEYS.keys().isdisjoint(job):
        return NO_DEMAND
    found = {}
    for key, (name, (fits, wanted)) in KEYS.items():
        if job.get(key) is not None:
            if not fits(job[key]):
                raise wrong(job[key], wanted, error, f"{where}.{key}")
            found[name] = job[key]
    return Demand(**found)


def keys_of(demand: Demand) -> dict[str, Any]:
    """Return the keys of a job for its requests; empty requests are left out."""
    values = {key: (getattr(demand, name), getattr(NO_DEMAND, name)) for key, (name, _) in KEYS.items()}
    return {key: value for key, (value, usual) in values.items() if value != usual}
