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

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hdeeprm_like.cluster.platform import GIGA, Network, Platform
from hdeeprm_like.cluster.pstates import SPEED_SHARE, change
from hdeeprm_like.cluster.units import AMOUNT, SPEEDS, measure
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.values import INDEX, UTMOST, Number, wrong

PREFIX = "hdeeprm_"
SPEED = "hdeeprm_speed"
WATTS = "wattage_per_state"
OLD_WATTS = "watt_per_state"
MILLI = 1e-3  # W and Gflop/s, resolution of others' XML
CORE_SIGN = "#"  # between a host and the number of its core in the name of that; before letters in byte order
Hosts = Sequence[tuple[str, Mapping[str, str]]]  # names and properties in the order of Batsim's machine ids


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


OF_NODE = {"node_type": "node_types", "memory": "node_memory", "gpus": "node_gpus"}  # and the column of `Platform`
OF_PROCESSOR = {
    **{"node": "processor_node", "processor_type": "processor_types", "bandwidth": "processor_bandwidth"},
    **{"speed": "processor_flops", "watts": "processor_watts"},
}


def _speeds(text: str) -> tuple[float, ...]:
    speeds = _four([measure(part, SPEEDS, SPEED) for part in text.split(",")])
    if min(speeds) <= 0.0:
        raise ValueError
    return speeds


def _watts(text: str) -> tuple[float, ...]:
    """Return the power of each state; if idle and busy differ (we never write that), the busy one counts."""
    return _four([float(part.split(":")[-1]) for part in text.split(",")])


def _four(values: Sequence[float]) -> tuple[float, ...]:
    if len(values) != len(SPEED_SHARE) or not all(map(AMOUNT.holds, values)):
        raise ValueError
    return tuple(values)


READ: dict[str, Number | Callable[[str], Any]] = {  # what reads the text of each of `Figures`
    **dict.fromkeys(("cluster", "node_type", "processor_type"), str),
    **dict.fromkeys(("node", "processor"), INDEX),
    "memory": Number(0.0, UTMOST, above=True, noun="number of MB"),
    "bandwidth": Number(0.0, UTMOST, above=True, noun="number of GB/s"),
    "gpus": Number(0.0, UTMOST, noun="number of GPUs"),
    "speed": _speeds,
    "watts": _watts,
}
WANTED = {
    "speed": "four speeds as in '4.000Gf, 3.000Gf, 0.001f, 0.001f'",
    "watts": "four powers as in '40.000:40.000, 40.000:40.000, 10.000:10.000, 2.000:2.000'",
}
KEYS = {name: WATTS if name == "watts" else PREFIX + name for name in Figures._fields}
GPUS = KEYS["gpus"]


def are_ours(properties: Mapping[str, str]) -> bool:
    """Return whether a host has properties of ours; its speed, which Batsim 5 sends of any host, does not count."""
    return any(key.startswith(PREFIX) and key != SPEED for key in properties)


def host_of(core: str) -> str:
    """Return the name of the host of a core: its own, or what is before `CORE_SIGN`."""
    return core.partition(CORE_SIGN)[0]


# -- from a platform to properties


def figures_of(platform: Platform) -> list[Figures]:
    """Return the properties of the hosts of each processor."""
    clusters = [platform.cluster_names[cluster] for cluster in platform.node_cluster.tolist()]
    nodes = {name: _listed(getattr(platform, column)) for name, column in OF_NODE.items()}
    processors = {name: _listed(getattr(platform, column)) for name, column in OF_PROCESSOR.items()}
    return [
        Figures(
            cluster=clusters[node],
            processor=processor,
            **{name: column[node] for name, column in nodes.items()},
            **{name: column[processor] for name, column in processors.items()},
        )
        for processor, node in enumerate(processors["node"])
    ]


def _listed(column: Any) -> list[Any]:
    """Return the values of a column; numbers in P-states as tuples."""
    if not isinstance(column, np.ndarray):
        return list(column)
    return column.tolist() if column.ndim == 1 else list(map(tuple, column.tolist()))


def properties_of(figures: Figures) -> dict[str, str]:
    """Return the texts of *figures*, each number so that it reads back exactly."""
    values = {key: getattr(figures, name) for name, key in KEYS.items() if name not in WANTED}
    texts = {key: value if isinstance(value, str) else repr(value).removesuffix(".0") for key, value in values.items()}
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
        texts = tuple([props.get(key) for key in KEYS.values()])
        if texts != last:  # the cores of a processor are equal
            figures = _figures(host, texts)
            last = texts
            if figures not in processors[-1:]:
                _check_next(host, figures, processors, clusters)
                processors.append(figures)
            if figures.cluster not in clusters[-1:]:
                clusters.append(figures.cluster)
        core_processor.append(len(processors) - 1)
    nodes = list({one.node: one for one in reversed(processors)}.values())[::-1]  # the first processor of each
    columns: dict[str, Any] = {}
    for rows, of in ((nodes, OF_NODE), (processors, OF_PROCESSOR)):
        for figure, column in of.items():
            values = [getattr(one, figure) for one in rows]
            columns[column] = tuple(values) if isinstance(values[0], str) else np.array(values)
    return Platform(
        name=name,
        cluster_names=tuple(clusters),
        node_cluster=np.array([clusters.index(one.cluster) for one in nodes]),
        core_processor=np.array(core_processor),
        core_names=tuple([host for host, _ in hosts]),
        network=network,
        **columns,
    )


def _check_next(host: str, figures: Figures, before: Sequence[Figures], clusters: Sequence[str]) -> None:
    """Raise unless *figures* are those of the processor that follows *before*."""
    last = before[-1] if before else None
    node = -1 if last is None else last.node
    if last is not None and figures.processor == last.processor:
        key = next(key for key, mine, its in zip(KEYS.values(), figures, last, strict=True) if mine != its)
        raise PlatformError(f"host {host!r}: {key} is not that of the host before it, on the same processor")
    if figures.processor != len(before):
        raise PlatformError(f"host {host!r}: {PREFIX}processor is {figures.processor}, {len(before)} comes next")
    if last is not None and figures.node == node:
        for name in ("cluster", *OF_NODE):
            if getattr(figures, name) != getattr(last, name):
                raise PlatformError(f"host {host!r}: {KEYS[name]} is not that of the host before it, on the same node")
    elif figures.node != node + 1:
        raise PlatformError(f"host {host!r}: {PREFIX}node is {figures.node}, {node + 1} comes next")
    elif figures.cluster in clusters[:-1]:
        raise PlatformError(f"host {host!r}: cluster {figures.cluster!r} came before, hosts of others between")


def _figures(host: str, texts: Sequence[str | None]) -> Figures:
    values: dict[str, Any] = {}
    for (name, key), text in zip(KEYS.items(), texts, strict=True):
        if text is None and key != GPUS:
            raise PlatformError(f"host {host!r}: property {key!r} is missing, so the hierarchy is unknown")
        values[name] = _read(name, host, "0" if text is None else text)
    return Figures(**values)


def _read(name: str, host: str, text: str) -> Any:
    where, read = (f"host {host!r}", KEYS[name]), READ[name]
    if isinstance(read, Number):
        return read.in_text(text, PlatformError, *where)
    try:
        return read(text)
    except (ValueError, PlatformError):
        raise wrong(text, WANTED[name], PlatformError, *where) from None


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
    found = _figures(host, [props.get(key) for key in KEYS.values()])
    for key, its, mine in zip(KEYS.values(), found, expected, strict=True):
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
