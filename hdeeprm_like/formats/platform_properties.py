"""The properties of each host in our XML, from which the hierarchy is rebuilt when Batsim sends its first message.

| property                 | example                            |                                              |
|--------------------------|------------------------------------|----------------------------------------------|
| `hdeeprm_cluster`        | `gaia_cluster`                     | name                                         |
| `hdeeprm_node`           | `60`                               | number in the platform, from 0               |
| `hdeeprm_node_type`      | `Bullx B505-0`                     | name in the catalogue                        |
| `hdeeprm_memory`         | `96000`                            | MB, of the node                              |
| `hdeeprm_gpus`           | `4`                                | of the node; left out where there are none   |
| `hdeeprm_processor`      | `120`                              | number in the platform, from 0               |
| `hdeeprm_processor_type` | `Xeon L5640`                       | name in the catalogue                        |
| `hdeeprm_bandwidth`      | `32`                               | GB/s, of the processor                       |
| `hdeeprm_speed`          | `9.040Gf, 6.780Gf, 0.001f, 0.001f` | of the core in P0..P3, as SimGrid writes it  |
| `wattage_per_state`      | `7.500:7.500, 7.500:7.500, ...`    | W of the core in P0..P3, idle:busy           |
| `watt_per_state`         | the same                           | the older name, for the SimGrid of Batsim 3  |

Batsim 4 sends the id, the name and these properties of a machine, but not its speeds: hence `hdeeprm_speed`. Batsim 5
also sends the speeds, which are then used. Power depends only on the P-state, so idle and busy power of a state are
equal.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hdeeprm_like.cluster.platform import GIGA, Network, Platform
from hdeeprm_like.cluster.pstates import SPEED_SHARE, change
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.values import UTMOST, Number, Whole, wrong

PREFIX = "hdeeprm_"
SPEED = "hdeeprm_speed"
WATTS = "wattage_per_state"
OLD_WATTS = "watt_per_state"
MILLI = 1e-3  # W and Gflop/s, resolution of others' XML

_UNITS = {"f": 1.0, "kf": 1e3, "Mf": 1e6, "Gf": GIGA, "Tf": 1e12, "Pf": 1e15}
_NODE_FIELDS = ("cluster", "node_type", "memory", "gpus")  # equal in all processors of a node
AMOUNT, POSITIVE = Number(0.0, UTMOST), Number(0.0, UTMOST, above=True)


class Figures(NamedTuple):
    """The properties of a host: those of its core, processor, node and cluster; units as in `Platform`."""

    cluster: str
    node: int
    node_type: str
    memory: float
    processor: int
    processor_type: str
    bandwidth: float
    speed: tuple[float, ...]
    watts: tuple[float, ...]
    gpus: float


CORE_SIGN = "#"  # between a host and the number of its core in the name of that; before letters in byte order
Hosts = Sequence[tuple[str, Mapping[str, str]]]  # names and properties in the order of Batsim's machine ids


def _key(name: str) -> str:
    return WATTS if name == "watts" else PREFIX + name


_KEYS = tuple(_key(name) for name in Figures._fields)
# the keys of single values, empty for those of several
_SCALARS = tuple("" if name in ("speed", "watts") else _key(name) for name in Figures._fields)
GPUS = _key("gpus")


def are_ours(properties: Mapping[str, str]) -> bool:
    """Return whether a host has properties of ours; its speed, which Batsim 5 sends of any host, does not count."""
    return any(key.startswith(PREFIX) and key != SPEED for key in properties)


def host_of(core: str) -> str:
    """Return the name of the host of a core: its own, or what is before `CORE_SIGN`."""
    return core.partition(CORE_SIGN)[0]


# -- from a platform to properties


def figures_of(platform: Platform) -> list[Figures]:
    """Return the properties of the hosts of each processor."""
    node_cluster, node_memory, node_gpus = (
        column.tolist() for column in (platform.node_cluster, platform.node_memory, platform.node_gpus)
    )
    columns = platform.processor_node, platform.processor_bandwidth, platform.processor_flops, platform.processor_watts
    rows = zip(platform.processor_types, *(column.tolist() for column in columns), strict=True)
    return [
        Figures(
            cluster=platform.cluster_names[node_cluster[node]],
            node=node,
            node_type=platform.node_types[node],
            memory=float(node_memory[node]),
            processor=processor,
            processor_type=processor_type,
            bandwidth=float(bandwidth),
            speed=tuple(flops),
            watts=tuple(watts),
            gpus=float(node_gpus[node]),
        )
        for processor, (processor_type, node, bandwidth, flops, watts) in enumerate(rows)
    ]


def properties_of(figures: Figures) -> dict[str, str]:
    """Return the texts of *figures*, each number so that it reads back exactly."""
    pairs: Iterator[tuple[str, Any]] = zip(_SCALARS, figures, strict=True)
    texts = {key: value if isinstance(value, str) else _number(value) for key, value in pairs if key}
    if figures.gpus == 0.0:
        del texts[GPUS]
    texts[SPEED], texts[WATTS] = _pstates(figures.speed, figures.watts)
    texts[OLD_WATTS] = texts[WATTS]
    return texts


@lru_cache(maxsize=64)  # a platform has many processors but few types
def _pstates(speeds: tuple[float, ...], watts: tuple[float, ...]) -> tuple[str, str]:
    """Return the texts of the speeds and of the powers of a core by P-state."""
    powers = [_decimals(one) for one in watts]
    return ", ".join(map(_speed, speeds)), ", ".join(f"{text}:{text}" for text in powers)


_texts = lru_cache(maxsize=1)(properties_of)  # consecutive cores of a processor are equal


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")


def _decimals(value: float) -> str:
    """Return three decimals if they are exact, else all digits."""
    text = f"{value:.3f}"
    return text if float(text) == value else repr(value)


def _speed(flops: float) -> str:
    giga = f"{flops / GIGA:.3f}"
    return f"{giga}Gf" if float(giga) * GIGA == flops else f"{_decimals(flops)}f"


# -- and back


def platform_from_properties(hosts: Hosts, name: str, network: Network | None = None) -> Platform:
    """Rebuild a platform from the names and properties of its hosts.

    Args:
        hosts: in the order of Batsim's machine ids.
        name: of the platform; Batsim does not send it.

    Raises:
        PlatformError: the first host whose properties are missing or contradict those of the hosts before it.
    """
    if not hosts:
        raise PlatformError("there are no hosts")
    processors: list[Figures] = []
    clusters: list[str] = []
    core_processor: list[int] = []
    last: tuple[str | None, ...] = ()
    for host, props in hosts:
        texts = tuple([props.get(key) for key in _KEYS])
        if texts != last:  # the cores of a processor are equal
            figures = _figures(host, texts)
            last = texts
            if figures not in processors[-1:]:
                _check_next(host, figures, processors, clusters)
                processors.append(figures)
            if figures.cluster not in clusters[-1:]:
                clusters.append(figures.cluster)
        core_processor.append(len(processors) - 1)
    nodes = [one for one, before in zip(processors, [None, *processors], strict=False) if one.node != _node(before)]
    return Platform(
        name=name,
        cluster_names=tuple(clusters),
        node_cluster=np.array([clusters.index(one.cluster) for one in nodes]),
        node_memory=np.array([one.memory for one in nodes]),
        node_gpus=np.array([one.gpus for one in nodes]),
        node_types=tuple([one.node_type for one in nodes]),
        processor_node=np.array([one.node for one in processors]),
        processor_bandwidth=np.array([one.bandwidth for one in processors]),
        processor_types=tuple([one.processor_type for one in processors]),
        processor_flops=np.array([one.speed for one in processors]),
        processor_watts=np.array([one.watts for one in processors]),
        core_processor=np.array(core_processor),
        core_names=tuple([host for host, _ in hosts]),
        network=network,
    )


def _node(figures: Figures | None) -> int:
    return -1 if figures is None else figures.node


def _check_next(host: str, figures: Figures, before: Sequence[Figures], clusters: Sequence[str]) -> None:
    """Raise unless *figures* are those of the processor that follows *before*."""
    last = before[-1] if before else None
    if last is not None and figures.processor == last.processor:
        key = next(key for key, mine, its in zip(_KEYS, figures, last, strict=True) if mine != its)
        raise PlatformError(f"host {host!r}: {key} is not that of the host before it, on the same processor")
    if figures.processor != len(before):
        raise PlatformError(f"host {host!r}: {PREFIX}processor is {figures.processor}, {len(before)} comes next")
    if last is not None and figures.node == last.node:
        for field in _NODE_FIELDS:
            if getattr(figures, field) != getattr(last, field):
                raise PlatformError(f"host {host!r}: {_key(field)} is not that of the host before it, on the same node")
    elif figures.node != _node(last) + 1:
        raise PlatformError(f"host {host!r}: {PREFIX}node is {figures.node}, {_node(last) + 1} comes next")
    elif figures.cluster in clusters[:-1]:
        raise PlatformError(f"host {host!r}: cluster {figures.cluster!r} came before, hosts of others between")


def _figures(host: str, texts: Sequence[str | None]) -> Figures:
    values: dict[str, Any] = {}
    for name, key, text in zip(Figures._fields, _KEYS, texts, strict=True):
        if text is None and key == GPUS:
            text = "0"
        if text is None:
            raise PlatformError(f"host {host!r}: property {key!r} is missing, so the hierarchy is unknown")
        values[name] = _read(name, host, text)
    return Figures(**values)


def _read(name: str, host: str, text: str) -> Any:
    where = f"host {host!r}", _key(name)
    if name in _NUMBERS:
        return _NUMBERS[name].in_text(text, PlatformError, *where)
    try:
        return _READERS[name](text)
    except ValueError:
        raise wrong(text, _WANTED[name], PlatformError, *where) from None


def _speeds(text: str) -> tuple[float, ...]:
    speeds = []
    for part in text.split(","):
        digits = part.strip().rstrip("kMGTPf")
        unit = part.strip()[len(digits) :]
        if unit not in _UNITS:
            raise ValueError(text)
        speeds.append(POSITIVE.in_text(digits, ValueError) * _UNITS[unit])
    return _four(speeds)


def _watts(text: str) -> tuple[float, ...]:
    """Return the power of each state; if idle and busy differ (we never write that), the busy one counts."""
    return _four([float(part.split(":")[-1]) for part in text.split(",")])


def _four(values: Sequence[float]) -> tuple[float, ...]:
    if len(values) != len(SPEED_SHARE) or not all(map(AMOUNT.holds, values)):
        raise ValueError
    return tuple(values)


_NUMBERS: dict[str, Number] = {
    "node": Whole(0),
    "processor": Whole(0),
    "memory": Number(0.0, UTMOST, above=True, noun="number of MB"),
    "bandwidth": Number(0.0, UTMOST, above=True, noun="number of GB/s"),
    "gpus": Number(0.0, UTMOST, noun="number of GPUs"),
}
_READERS: dict[str, Any] = {
    "cluster": str,
    "node_type": str,
    "processor_type": str,
    "speed": _speeds,
    "watts": _watts,
}
_WANTED = {
    "speed": "four speeds as in '4.000Gf, 3.000Gf, 0.001f, 0.001f'",
    "watts": "four powers as in '40.000:40.000, 40.000:40.000, 10.000:10.000, 2.000:2.000'",
}


# -- comparing


def first_mismatch(platform: Platform, hosts: Hosts) -> str | None:
    """Return a line on the first host that differs from the core of that number in *platform*, None if there is none.

    A host without the properties of the hierarchy, from another program, must match in its name or at least in a number
    in it, and in power and speed of each P-state if it has these properties and the platform's have HDeepRM's P-states.

    Args:
        hosts: in the order of Batsim's machine ids.
    """
    if len(hosts) != platform.cores:
        return f"there are {len(hosts)} hosts and platform {platform.name!r} has {platform.cores} cores"
    last, figures = -1, figures_of(platform)
    same: Mapping[str, str] | None = None  # properties of a core of this processor that matched
    for core, ((host, props), processor) in enumerate(zip(hosts, platform.core_processor.tolist(), strict=True)):
        if processor != last:
            last, same = processor, None
        if same is not None and props == same and host == platform.core_names[core]:
            continue
        try:
            compare = _difference if are_ours(props) else _difference_to_stranger
            wrong = compare(core, platform.core_names[core], figures[processor], host, props)
        except PlatformError as error:
            return str(error)
        if wrong is not None:
            return f"host {host!r}, machine {core}: {wrong} in platform {platform.name!r}"
        same = props
    return None


def _difference(core: int, name: str, expected: Figures, host: str, props: Mapping[str, str]) -> str | None:
    if host != name:
        return f"core {core} is {name!r}"
    texts = _texts(expected)
    if texts.items() <= props.items() and (GPUS in texts or GPUS not in props):
        return None
    found = _figures(host, [props.get(key) for key in _KEYS])
    for key, its, mine in zip(_KEYS, found, expected, strict=True):
        if its != mine:
            return f"{key} is {props.get(key)!r} and {texts.get(key)!r}"
    return None


def _difference_to_stranger(core: int, name: str, expected: Figures, host: str, props: Mapping[str, str]) -> str | None:
    """Compare with a host of another program's XML, which has at most the power among our properties."""
    digits = host[len(host.rstrip("0123456789")) :]
    if host != host_of(name) and (not digits or (digits.lstrip("0") or "0") != str(core)):
        return f"core {core} is {name!r}; Batsim 3 and 4 number hosts in byte order, which requires leading zeros"
    if not change(expected.speed):  # then it has its own P-states
        return None
    if WATTS in props:
        watts = _read("watts", host, props[WATTS])
        if any(abs(its - mine) > MILLI for its, mine in zip(watts, expected.watts, strict=True)):
            return f"{WATTS} is {props[WATTS]!r} and {properties_of(expected)[WATTS]!r}"
    if SPEED in props:
        speeds = _read("speed", host, props[SPEED])
        if any(abs(its - mine) > MILLI * GIGA for its, mine in zip(speeds, expected.speed, strict=True)):
            return f"the speed is {props[SPEED]!r} and {properties_of(expected)[SPEED]!r}"
    return None
