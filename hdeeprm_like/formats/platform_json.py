"""Read a platform: clusters of node types, nodes of processor types, processors of cores (thesis 4.1.1, B.2 to B.6).

A platform file lists clusters and links and names hardware types; the package has catalogues of many types. Users'
own types need no change to the package. Types are read from four places; later ones override earlier ones:

1. the catalogues of the package (``hdeeprm_like/data``);
2. ``node_types.json``, ``processor_types.json``, ``network_types.json``, ``memory_types.json`` beside the platform;
3. the files and folders given as *types*;
4. the object under ``"types"`` in the platform file: ``{"nodes": ..., "processors": ..., "networks": ...,
   "memories": ...}``.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hdeeprm_like.cluster.links import nodes_connected
from hdeeprm_like.cluster.platform import Network, Platform, core_names, flops_by_pstate, watts_by_pstate
from hdeeprm_like.cluster.pstates import SPEED_SHARE
from hdeeprm_like.cluster.speed_profiles import NO_PROFILE, NodeSpeeds, SpeedProfile
from hdeeprm_like.cluster.units import AMOUNT, POSITIVE, bytes_per_second, seconds
from hdeeprm_like.errors import PlatformError, did_you_mean
from hdeeprm_like.formats.json_value import JsonValue
from hdeeprm_like.formats.partitions_json import read_partitions
from hdeeprm_like.inputs import read_json
from hdeeprm_like.records import Record
from hdeeprm_like.values import Number

MOST_CORES = 1_000_000
SLURM = "slurm"  # key of partitions and Slurm's scheduling settings
POWER_CAP = "power_cap"  # key of the limit in W of all cores together
TOPOLOGY = "topology"  # key of how the nodes are connected
MASTER_LINK = "master_link"  # key of the way from Batsim's master host to itself
LIMITER = "limiter"  # key of what a node sends and receives in all
SPEED_FILE = "speed_file"  # key of how the speed of nodes changes
HOSTS = "hosts"  # key of the names of the cores in Batsim, in their order
FLOPS, WATTS = "flops", "watts"  # keys of a core's flop/s and W in each P-state, where they do not follow from P0
PEAK = ("clock_rate", "dpflops_per_cycle", "power")  # keys of what they follow from
MB_IN_GB = 1000

FILES = {
    "nodes": "node_types.json",
    "processors": "processor_types.json",
    "networks": "network_types.json",
    "memories": "memory_types.json",
}  # kind -> name of its catalogue

T = TypeVar("T")


class ProcessorType(Record):
    """A processor type: identical cores of *flops* and *watts* in each P-state, *bandwidth* GB/s shared by them."""

    cores: int
    flops: tuple[float, ...]
    watts: tuple[float, ...]
    bandwidth: float


class NodeType(Record):
    """A node type: types and numbers of its processors, MB of memory, and GPUs (none by default)."""

    processors: tuple[tuple[str, int], ...]
    memory: float
    gpus: float = 0.0


@dataclass(frozen=True)
class Types:
    """The hardware types that a platform may name; *networks* are bandwidths, *memories* latencies, as in SimGrid.

    ``places`` holds where each node type was read, for errors that are found only after all files are read.
    """

    nodes: Mapping[str, NodeType] = field(default_factory=dict)
    processors: Mapping[str, ProcessorType] = field(default_factory=dict)
    networks: Mapping[str, str] = field(default_factory=dict)
    memories: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, JsonValue] = field(default_factory=dict)


def read_platform(path: Path, types: Sequence[Path] = ()) -> Platform:
    """Return the platform described by a JSON file.

    Args:
        path: of the platform.
        types: files and folders with users' own hardware types, see the module.

    Raises:
        PlatformError: a file cannot be read or is invalid; the message names the file, the JSON path and the remedy.
    """
    root = JsonValue(read_json(path, PlatformError), path, PlatformError)
    keys = root.fields(["clusters", "global_links"], ["types", SLURM, POWER_CAP, TOPOLOGY, HOSTS, MASTER_LINK])
    known = _types_beside(path.parent, read_types())
    for extra in types:
        known = _types_given(extra, known)
    if "types" in keys:
        known = _types_of_kinds(keys["types"], known)
    _check_references(known)
    platform = _build(path, keys, known)
    if HOSTS in keys:
        names = [name.text() for name in keys[HOSTS].elements()]
        if len(set(names)) != platform.cores or len(names) != platform.cores:
            raise keys[HOSTS].wrong(
                f"{len(set(names))} different names; one for each of {platform.cores} cores is needed"
            )
        platform = replace(platform, core_names=tuple(names))
    if POWER_CAP in keys:
        platform = replace(platform, power_cap=keys[POWER_CAP].positive())
    if TOPOLOGY in keys:
        platform = replace(platform, topology=keys[TOPOLOGY].text())
        try:
            nodes_connected(platform)
        except PlatformError as cause:
            raise keys[TOPOLOGY].wrong(str(cause)) from None
    if SLURM not in keys:
        return platform
    return replace(platform, partitions=read_partitions(keys[SLURM], platform.nodes))


@cache
def read_types() -> Types:
    """Return the catalogues of the package."""
    known = Types()
    for kind, name in FILES.items():
        file = resources.files("hdeeprm_like").joinpath("data", name)
        value = json.loads(file.read_text(encoding="utf-8"))
        known = _extended(known, kind, JsonValue(value, Path(str(file)), PlatformError))
    return known


# -- catalogues


def _types_beside(folder: Path, known: Types) -> Types:
    for kind, name in FILES.items():
        file = folder / name
        if file.is_file():
            known = _extended(known, kind, JsonValue(read_json(file, PlatformError), file, PlatformError))
    return known


def _types_given(path: Path, known: Types) -> Types:
    if path.is_dir():
        if not any((path / name).is_file() for name in FILES.values()):
            raise PlatformError(f"{path}: holds no types; one of {', '.join(FILES.values())} is needed")
        return _types_beside(path, known)
    value = JsonValue(read_json(path, PlatformError), path, PlatformError)
    for kind, name in FILES.items():
        if path.name.endswith(name):
            return _extended(known, kind, value)
    return _types_of_kinds(value, known)


def _types_of_kinds(value: JsonValue, known: Types) -> Types:
    for kind, entries in value.fields([], list(FILES)).items():
        known = _extended(known, kind, entries)
    return known


def _extended(known: Types, kind: str, value: JsonValue) -> Types:
    """Return the types with those of a kind added, which replace others of their names."""
    entries = value.entries()
    found = {name: READERS[kind](entry) for name, entry in entries.items()}
    places = {**known.places, **entries} if kind == "nodes" else known.places
    return replace(known, places=places, **{kind: {**getattr(known, kind), **found}})


def _node_type(value: JsonValue) -> NodeType:
    keys = value.fields(["processors", "memory"], ["id", "gpus"])
    processors = []
    for element in keys["processors"].elements():
        processor = element.fields(["type", "number"])
        processors.append((processor["type"].text(), processor["number"].count()))
    memory = keys["memory"].fields(["type", "capacity"])
    memory["type"].text()
    gpus = float(keys["gpus"].count(least=0)) if "gpus" in keys else 0.0
    return NodeType(tuple(processors), memory["capacity"].positive() * MB_IN_GB, gpus)


def _processor_type(value: JsonValue) -> ProcessorType:
    figures = (FLOPS, WATTS) if FLOPS in value.entries() else PEAK
    keys = value.fields(["cores", *figures, "mem_bw"], ["id", "type", "uarch", "llc_size"])
    cores = keys["cores"].count()
    if cores > MOST_CORES:
        raise keys["cores"].wrong(f"more than {MOST_CORES:,} cores")
    for key in ("id", "type", "uarch"):
        if key in keys:
            keys[key].text()
    if "llc_size" in keys:
        keys["llc_size"].positive()
    bandwidth = keys["mem_bw"].positive()
    if FLOPS in keys:
        return ProcessorType(cores, _each_pstate(keys[FLOPS], POSITIVE), _each_pstate(keys[WATTS], AMOUNT), bandwidth)
    gflops = keys["clock_rate"].positive() * keys["dpflops_per_cycle"].positive()
    flops = tuple(flops_by_pstate(gflops))
    if min(flops[:2]) <= 0:
        raise value.wrong(f"clock_rate * dpflops_per_cycle is {gflops:g} GFLOP/s a core; at least 0.001 is needed")
    return ProcessorType(cores, flops, tuple(watts_by_pstate(keys["power"].positive() / cores)), bandwidth)


def _each_pstate(value: JsonValue, kind: Number) -> tuple[float, ...]:
    """Return a figure in each P-state."""
    figures = tuple([one.number(kind) for one in value.elements()])
    if len(figures) != len(SPEED_SHARE):
        raise value.wrong(f"has {len(figures)} figures; one for each of the {len(SPEED_SHARE)} P-states is needed")
    return figures


def _check_references(known: Types) -> None:
    """Raise unless all processors and memories named by node types are known; files may come in any order."""
    for place in known.places.values():
        keys = place.entries()
        for element in keys["processors"].elements():
            _look_up(known.processors, element.entries()["type"], "processor")
        _look_up(known.memories, keys["memory"].entries()["type"], "memory")


def _look_up(catalogue: Mapping[str, T], name: JsonValue, kind: str) -> T:
    found = catalogue.get(name.text())
    if found is None:
        raise name.wrong(f"{kind} type {name.text()!r} is not known{did_you_mean(name.text(), catalogue)}")
    return found


# -- links


def _bandwidth(value: JsonValue) -> str:
    return _with_unit(value, bytes_per_second, "no bandwidth; write a number above 0 and a unit, as in '10.0Gbps'")


def _latency(value: JsonValue) -> str:
    return _with_unit(value, seconds, "no latency; write a number and a unit, as in '75us'")


def _with_unit(value: JsonValue, read: Callable[[str], float], what: str) -> str:
    """Return a text that SimGrid reads as a number with a unit; *what* says that it is none, and what would be."""
    text = value.text()
    try:
        read(text if text[-1:].isalpha() else "")
    except PlatformError:
        raise value.wrong(f"{text!r} is {what}") from None
    return text


def _link(value: JsonValue, known: Types, optional: Sequence[str] = ()) -> tuple[str, str]:
    """Return bandwidth and latency of a link, given as an object or as a list with one object (thesis B.2)."""
    keys = value.only().fields(["type", "latency"], optional)
    return _look_up(known.networks, keys["type"], "network"), _latency(keys["latency"])


def _limiter(value: JsonValue, known: Types) -> str:
    """Return the bandwidth of the limiter of the nodes of a cluster, "" for none."""
    found = value.only().entries().get(LIMITER)
    return "" if found is None else _look_up(known.networks, found, "network")


READERS: Mapping[str, Callable[[JsonValue], Any]] = {
    "nodes": _node_type,
    "processors": _processor_type,
    "networks": lambda entry: _bandwidth(entry.fields(["bandwidth"])["bandwidth"]),
    "memories": lambda entry: _latency(entry.fields(["latency"])["latency"]),
}


# -- the platform


class _Group(Record):
    """A number of nodes of one type, adjacent in one cluster."""

    cluster: int
    node_type: str
    number: int
    speed: int


def _build(path: Path, keys: Mapping[str, JsonValue], known: Types) -> Platform:
    names: list[str] = []
    groups: list[_Group] = []
    links: list[tuple[str, str]] = []
    limiters: list[str] = []
    profiles: dict[SpeedProfile, int] = {}
    cores = 0
    for element in keys["clusters"].elements():
        cluster = element.fields(["id", "nodes", "local_links"])
        name = cluster["id"].text()
        if name in names:
            raise cluster["id"].wrong(f"cluster {name!r} occurs twice; every cluster needs its own id")
        for node in cluster["nodes"].elements():
            group = _group(node, len(names), known, profiles)
            own = known.nodes[group.node_type].processors
            cores += group.number * sum(number * known.processors[one].cores for one, number in own)
            if cores > MOST_CORES:
                raise node.wrong(f"the platform grows to {cores:,} cores; at most {MOST_CORES:,} are allowed")
            groups.append(group)
        names.append(name)
        links.append(_link(cluster["local_links"], known, [LIMITER]))
        limiters.append(_limiter(cluster["local_links"], known))
    bandwidth, latency = _link(keys["global_links"], known)
    network = Network(tuple(b for b, _ in links), tuple(t for _, t in links), bandwidth, latency)
    return Platform(
        name=path.name.split(".")[0],
        cluster_names=tuple(names),
        network=network,
        limiters=tuple(limiters) if any(limiters) else (),
        speeds=_speeds(groups, profiles),
        master_link=_link(keys[MASTER_LINK], known) if MASTER_LINK in keys else None,
        **_columns(groups, known),
    )


def _group(value: JsonValue, cluster: int, known: Types, profiles: dict[SpeedProfile, int]) -> _Group:
    """Return the nodes of an entry; *profiles* gets a number for the changes of their speed."""
    node = value.fields(["type", "number"], [SPEED_FILE])
    _look_up(known.nodes, node["type"], "node")
    speed = NO_PROFILE
    if SPEED_FILE in node:
        speed = profiles.setdefault(_profile(node[SPEED_FILE]), len(profiles))
    return _Group(cluster, node["type"].text(), node["number"].count(), speed)


def _profile(file: JsonValue) -> SpeedProfile:
    """Return the changes of a file that is named relative to the platform's."""
    from hdeeprm_like.formats.simgrid_profiles import read_speed_profile  # few platforms have any

    try:
        return read_speed_profile(file.file.parent / file.text())
    except PlatformError as cause:
        raise file.wrong(str(cause)) from None


def _speeds(groups: Sequence[_Group], profiles: Mapping[SpeedProfile, int]) -> NodeSpeeds | None:
    """Return the changes of speeds, None if there are none."""
    if not profiles:
        return None
    return NodeSpeeds(tuple(profiles), tuple(group.speed for group in groups for _ in range(group.number)))


def _columns(groups: Sequence[_Group], known: Types) -> dict[str, Any]:
    """Return the columns of the platform, computed per group of nodes and then repeated."""
    catalogue = list(known.processors)
    number_of = {name: number for number, name in enumerate(catalogue)}
    sizes = [group.number for group in groups]
    # processors of one node of each group, as numbers in the catalogue
    within = [
        np.repeat(
            [number_of[name] for name, _ in known.nodes[group.node_type].processors],
            [number for _, number in known.nodes[group.node_type].processors],
        )
        for group in groups
    ]
    types = np.concatenate([np.tile(one, size) for one, size in zip(within, sizes, strict=True)])  # (P,)
    processors_of_node = np.repeat([len(one) for one in within], sizes)  # (N,)
    cores = np.array([known.processors[name].cores for name in catalogue])[types]  # (P,)
    flops = np.array([known.processors[name].flops for name in catalogue])
    watts = np.array([known.processors[name].watts for name in catalogue])
    bandwidth = np.array([known.processors[name].bandwidth for name in catalogue])
    return {
        "node_cluster": np.repeat([group.cluster for group in groups], sizes),
        "node_memory": np.repeat([known.nodes[group.node_type].memory for group in groups], sizes),
        "node_gpus": np.repeat([known.nodes[group.node_type].gpus for group in groups], sizes),
        "node_types": tuple([group.node_type for group in groups for _ in range(group.number)]),
        "processor_node": np.repeat(np.arange(len(processors_of_node)), processors_of_node),
        "processor_bandwidth": bandwidth[types],
        "processor_types": tuple([catalogue[number] for number in types]),
        "processor_flops": flops[types],
        "processor_watts": watts[types],
        "core_processor": np.repeat(np.arange(len(types)), cores),
        "core_names": core_names(int(cores.sum())),
    }
