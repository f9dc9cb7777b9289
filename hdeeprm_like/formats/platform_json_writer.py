"""Write a platform as the JSON that `platform_json` reads, including hardware types missing from the catalogues.

It has the names of hosts only where they are not ``cor_00000`` and so on.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from math import nextafter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hdeeprm_like.cluster.platform import GIGA, Platform, core_names, flops_by_pstate, watts_by_pstate
from hdeeprm_like.cluster.pstates import POWER_SHARE, SPEED_SHARE
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.formats.partitions_json import partitions_as_json
from hdeeprm_like.formats.platform_json import (
    FLOPS,
    HOSTS,
    LIMITER,
    MASTER_LINK,
    MB_IN_GB,
    POWER_CAP,
    SLURM,
    SPEED_FILE,
    TOPOLOGY,
    WATTS,
    NodeType,
    ProcessorType,
    Types,
    read_types,
)
from hdeeprm_like.formats.simgrid_profiles import write_speed_files

MILLI = 1e-3  # Gflop/s and W, resolution of platforms
NO_MEMORY_TYPE = "unknown"  # a platform does not have it, and nothing uses it


class _Node(NamedTuple):
    """Composition of a node; processors as (name, `ProcessorType`) with their numbers."""

    cluster: int
    name: str
    processors: tuple[tuple[tuple[str, ProcessorType], int], ...]
    memory: float
    gpus: float
    speed_file: str


def write_platform_json(platform: Platform, path: Path) -> None:
    """Write a platform so that `read_platform` returns its clusters, nodes, processors, links and
    partitions again; files of changing speeds are written beside it.

    Raises:
        PlatformError: a node has a fraction of a GPU, which the JSON cannot hold.
        ResultsError: the file cannot be written.
    """
    network = platform.links
    used = _Used(read_types())
    listed = []
    nodes = list(_nodes(platform, write_speed_files(platform.speeds, path)))
    for cluster, name in enumerate(platform.cluster_names):
        own = [node for node in nodes if node.cluster == cluster]
        groups = [_group(used, node, len(list(alike))) for node, alike in groupby(own)]
        link = used.link(network.cluster_bandwidth[cluster], network.cluster_latency[cluster])
        if platform.limiters and platform.limiters[cluster]:
            link[LIMITER] = used.link(platform.limiters[cluster], "0us")["type"]
        listed.append({"id": name, "nodes": groups, "local_links": link})
    content: dict[str, Any] = {
        "clusters": listed,
        "global_links": used.link(network.global_bandwidth, network.global_latency),
    }
    if platform.master_link is not None:
        content[MASTER_LINK] = used.link(*platform.master_link)
    if used.added:
        content["types"] = used.added
    if platform.partitions is not None:
        content[SLURM] = partitions_as_json(platform.partitions)
    if platform.power_cap < np.inf:
        content[POWER_CAP] = platform.power_cap
    if platform.topology:
        content[TOPOLOGY] = platform.topology
    if platform.core_names != core_names(platform.cores):
        content[HOSTS] = list(platform.core_names)
    write_json(path, content)


def _group(used: "_Used", node: _Node, number: int) -> dict[str, Any]:
    """Return the entry of a number of equal nodes."""
    group = {"type": used.node(node), "number": number}
    return group | ({SPEED_FILE: node.speed_file} if node.speed_file else {})


def _nodes(platform: Platform, speed_files: Sequence[str]) -> Iterator[_Node]:
    alike = _alike(platform)
    types = {first: _processor_type(platform, first) for first in sorted(set(alike))}
    bounds = np.searchsorted(platform.processor_node, np.arange(platform.nodes + 1)).tolist()
    for node in range(platform.nodes):
        inside = [(platform.processor_types[p], types[alike[p]]) for p in range(bounds[node], bounds[node + 1])]
        yield _Node(
            cluster=int(platform.node_cluster[node]),
            name=platform.node_types[node],
            processors=tuple((one, len(list(same))) for one, same in groupby(inside)),
            memory=float(platform.node_memory[node]),
            gpus=float(platform.node_gpus[node]),
            speed_file=speed_files[node] if speed_files else "",
        )


def _alike(platform: Platform) -> list[int]:
    """Return for each processor the first one with equal properties."""
    figures = np.column_stack(
        [platform.processor_cores, platform.processor_bandwidth, platform.processor_flops, platform.processor_watts]
    )
    _, first, inverse = np.unique(figures, axis=0, return_index=True, return_inverse=True)
    alike: list[int] = first[inverse.reshape(-1)].tolist()
    return alike


def _processor_type(platform: Platform, processor: int) -> ProcessorType:
    flops, watts = platform.processor_flops[processor].tolist(), platform.processor_watts[processor].tolist()
    bandwidth = float(platform.processor_bandwidth[processor])
    return ProcessorType(int(platform.processor_cores[processor]), tuple(flops), tuple(watts), bandwidth)


def _figures(kind: ProcessorType) -> dict[str, Any]:
    """Return speed and power of a type: the peak from which HDeepRM derives those of all P-states, else each."""
    flops, watts = list(kind.flops), list(kind.watts)
    gflops = _before_rounding([one / GIGA for one in flops], SPEED_SHARE, lambda peak: flops_by_pstate(peak) == flops)
    power = _before_rounding(watts, POWER_SHARE, lambda peak: watts_by_pstate(peak) == watts)
    if not gflops or not power:
        return {FLOPS: flops, WATTS: watts}
    return {"clock_rate": gflops, "dpflops_per_cycle": 1, "power": power * kind.cores}


def _before_rounding(rounded: Sequence[float], shares: Sequence[float], fits: Callable[[float], bool]) -> float | None:
    """Return a peak whose shares round to the known values, None if there is none."""
    known = [(value / share, MILLI / 2 / share) for value, share in zip(rounded, shares, strict=True) if share]
    low, high = max(value - off for value, off in known), min(value + off for value, off in known)
    return next((peak for peak in (rounded[0], (low + high) / 2) if fits(peak)), None)


class _Used:
    """The names of hardware types in the file; *added* holds the types missing from the catalogues."""

    def __init__(self, known: Types) -> None:
        self._known = known
        self.added: dict[str, dict[str, Any]] = {}
        self._names: dict[tuple[str, object], str] = {}  # (kind, what it is) -> name

    def link(self, bandwidth: str, latency: str) -> dict[str, str]:
        """Return a link."""
        name = next((name for name, known in self._known.networks.items() if known == bandwidth), None)
        if name is None:
            name = self._add("networks", bandwidth, bandwidth, {"bandwidth": bandwidth})
        return {"type": name, "latency": latency}

    def node(self, node: _Node) -> str:
        """Return the name of a node's type."""
        made_of = tuple((self._processor(name, kind), number) for (name, kind), number in node.processors)
        kind = NodeType(made_of, node.memory, node.gpus)
        if self._known.nodes.get(node.name) == kind:
            return node.name
        if node.gpus != int(node.gpus):
            raise PlatformError(f"node type {node.name!r}: {node.gpus:g} GPUs; JSON holds whole numbers of them")
        self._add("memories", NO_MEMORY_TYPE, NO_MEMORY_TYPE, {"latency": "0ns"})
        described: dict[str, Any] = {
            "processors": [{"type": name, "number": number} for name, number in made_of],
            "memory": {"type": NO_MEMORY_TYPE, "capacity": _gigabytes(node.memory)},
        }
        return self._add("nodes", node.name, kind, described | ({"gpus": int(node.gpus)} if node.gpus else {}))

    def _processor(self, name: str, kind: ProcessorType) -> str:
        known = self._known.processors.get(name)
        if known == kind:
            return name
        described = {"cores": kind.cores, "mem_bw": kind.bandwidth, **_figures(kind)}
        return self._add("processors", name, kind, described)

    def _add(self, kind: str, wanted: str, what: object, described: dict[str, Any]) -> str:
        """Record a type and return its name, with a number appended if another type has that name."""
        if (kind, (wanted, what)) in self._names:
            return self._names[kind, (wanted, what)]
        added, name, number = self.added.setdefault(kind, {}), wanted, 1
        while name in added:
            number += 1
            name = f"{wanted}_{number}"
        added[name] = described
        self._names[kind, (wanted, what)] = name
        return name


def _gigabytes(memory: float) -> float:
    """Return GB that read back as exactly *memory* MB."""
    near = memory / MB_IN_GB
    found = (one for one in (near, nextafter(near, 0.0), nextafter(near, 1e300)) if one * MB_IN_GB == memory)
    return next(found, near)
