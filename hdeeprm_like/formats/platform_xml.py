"""Write a platform as XML for SimGrid and Batsim (thesis 3.1.2, B.1); `platform_hosts` reads it back.

A core is a host; the only level above it in SimGrid is the zone, so every host carries the rest as properties, see
`platform_properties`. The host ``master_host`` carries ``hdeeprm_platform``, the name of the platform, and
``hdeeprm_partitions``, the JSON of its partitions, if any.

Zones have the routing ``Full`` and routes between each core and the router of its cluster, over a link per node and a
link per cluster. Jobs without communication need no more; routes between cores, which would grow with the square of
their number, are left out. If jobs send data to one another the routing is ``Dijkstra``, with which SimGrid finds
the routes between cores over these links; with ``Full`` a transfer without a route takes no time. If the nodes have a
topology, the links of it and a route between each two cores are written. Cores of nodes whose speed changes have a
``speed_file``, which is written beside the XML.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.links import nodes_connected, routes_of, wired_links
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pstates import P3
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.files import replacing
from hdeeprm_like.formats.partitions_json import partitions_as_json
from hdeeprm_like.formats.platform_properties import (
    OLD_WATTS,
    PREFIX,
    SPEED,
    WATTS,
    Figures,
    figures_of,
    properties_of,
)
from hdeeprm_like.formats.simgrid_profiles import write_speed_files

MASTER = "master_host"
PARTITIONS = f"{PREFIX}partitions"
POWER_CAP = f"{PREFIX}power_cap"  # W
TOPOLOGY = f"{PREFIX}topology"
MASTER_LINK = "master_link"
LIMITER = "limiter_"  # before the number of a node, in the name of its link
MOST_ROUTED = 256  # cores of a platform with a topology: the XML has a route for each pair


def write_platform_xml(platform: Platform, path: Path, routed: bool = False) -> None:
    """Write the XML of a platform; hosts start in P3, and Batsim numbers them in the platform's order.

    A platform without a network gets links of 10 Gbit/s without latency.

    Args:
        routed: whether cores can send data to one another over the links.

    Raises:
        PlatformError: host names that Batsim would order differently, a name that XML cannot hold, or too many routes.
        ResultsError: the file cannot be written.
    """
    _check_names(platform)
    if routed and platform.topology and platform.cores > MOST_ROUTED:
        raise PlatformError(
            f"platform {platform.name!r}: its topology connects {platform.cores} cores; XML with a route for each pair "
            f"is written for at most {MOST_ROUTED}: leave Batsim out"
        )
    speed_files = write_speed_files(platform.speeds, path)
    routing = "Dijkstra" if routed and not platform.topology else "Full"
    with replacing(path) as file:
        file.writelines(_lines(platform, routing, routed, speed_files))


def _check_names(platform: Platform) -> None:
    for name in (platform.name, *platform.cluster_names, *set(platform.node_types), *set(platform.processor_types)):
        if not name.isprintable():
            raise PlatformError(f"platform {platform.name!r}: the name {name!r} does not fit in XML; drop odd signs")
    names = platform.core_names
    for before, after in pairwise(names):
        if not before.encode() < after.encode():
            raise PlatformError(
                f"platform {platform.name!r}: Batsim numbers hosts in byte order, {after!r} before {before!r}; "
                "fill the numbers with zeros to one width"
            )


def _lines(platform: Platform, routing: str, routed: bool, speed_files: Sequence[str]) -> Iterator[str]:
    clusters, network, figures = len(platform.cluster_names), platform.links, figures_of(platform)
    yield (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        "<!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>\n"
        '<platform version="4.1">\n'
        f'  <zone id="main" routing="{routing}">\n'
        '    <zone id="master" routing="Full">\n'
        f'      <host id="{MASTER}" speed="1Gf">\n'
        f"{_about(platform)}"
        f"      </host>\n{_master_link(platform)}"
        "    </zone>\n"
    )
    core_cluster = platform.node_cluster[platform.processor_node[platform.core_processor]]
    bounds = np.searchsorted(core_cluster, np.arange(clusters + 1)).tolist()
    for cluster in range(clusters):
        cores = range(bounds[cluster], bounds[cluster + 1])
        link = f'bandwidth="{network.cluster_bandwidth[cluster]}" latency="{network.cluster_latency[cluster]}"'
        yield f'    <zone id="cluster_{cluster}" routing="{routing}">\n      <router id="router_{cluster}"/>\n'
        yield from _hosts(platform, figures, cores, speed_files)
        nodes = np.flatnonzero(platform.node_cluster == cluster).tolist()
        for node in nodes:
            yield f'      <link id="link_{node}" sharing_policy="SPLITDUPLEX" {link}/>\n'
        limiter = platform.limiters[cluster] if platform.limiters else ""
        for node in nodes if limiter else ():
            yield f'      <link id="{LIMITER}{node}" bandwidth="{limiter}" latency="0us"/>\n'
        wires, routes = (
            _topology(platform, network.cluster_latency[cluster]) if routed and platform.topology else ((), ())
        )
        yield from wires
        yield from _routes(platform, cluster, cores)
        yield from routes
        yield "    </zone>\n"
    link = f'bandwidth="{network.global_bandwidth}" latency="{network.global_latency}"'
    for cluster in range(clusters):
        yield f'    <link id="global_link_{cluster}" sharing_policy="SPLITDUPLEX" {link}/>\n'
    for cluster in range(clusters):
        yield from _zone_routes(cluster)
    yield "  </zone>\n</platform>\n"


def _about(platform: Platform) -> str:
    """Return what the master host says of the whole platform."""
    partitions = platform.partitions
    texts = {
        f"{PREFIX}platform": platform.name,
        PARTITIONS: json.dumps(partitions_as_json(partitions), separators=(",", ":")) if partitions else "",
        POWER_CAP: "" if math.isinf(platform.power_cap) else repr(platform.power_cap),
        TOPOLOGY: platform.topology,
    }
    nothing = dict.fromkeys((WATTS, OLD_WATTS), "0.0:0.0")
    return _props({key: text for key, text in texts.items() if text or key == f"{PREFIX}platform"} | nothing)


def _props(texts: Mapping[str, str]) -> str:
    return "".join(f'        <prop id="{key}" value="{_quoted(text)}"/>\n' for key, text in texts.items())


def _master_link(platform: Platform) -> str:
    """Return the way from the master host to itself."""
    if platform.master_link is None:
        return ""
    bandwidth, latency = platform.master_link
    return (
        f'      <link id="{MASTER_LINK}" sharing_policy="FATPIPE" bandwidth="{bandwidth}" latency="{latency}"/>\n'
        f'      <route src="{MASTER}" dst="{MASTER}"><link_ctn id="{MASTER_LINK}"/></route>\n'
    )


def _topology(platform: Platform, latency: str) -> tuple[list[str], Iterator[str]]:
    """Return the links of a topology with the limiters of its switches, and the routes between cores of two nodes."""
    topology = nodes_connected(platform)
    assert topology is not None
    routes, wires, switches = routes_of(platform), 2 * len(topology.factors), wired_links(platform, topology)
    nodes = switches + 2 * (platform.nodes + len(platform.cluster_names))  # the links of the star are between
    links = [
        f'      <link id="wire_{wire}" sharing_policy="SPLITDUPLEX" '
        f'bandwidth="{bandwidth!r}Bps" latency="{latency}"/>\n'
        for wire, bandwidth in enumerate(routes.bandwidth[:wires:2].tolist())
    ]
    links += [
        f'      <link id="switch_{LIMITER}{switch}" bandwidth="{platform.limiters[0]}" latency="0us"/>\n'
        for switch in range(switches - wires)
    ]

    def part(link: int) -> str:
        if link < wires:
            return f'<link_ctn id="wire_{link // 2}" direction="{("UP", "DOWN")[link % 2]}"/>'
        return (
            f'<link_ctn id="{f"switch_{LIMITER}{link - wires}" if link < switches else f"{LIMITER}{link - nodes}"}"/>'
        )

    def ways() -> Iterator[str]:
        for a, source in enumerate(platform.core_names):
            for b, destination in enumerate(platform.core_names):
                way = int(routes.place[a]) * len(routes.delay) + int(routes.place[b])
                crossed = routes.links[routes.first[way] : routes.first[way + 1]].tolist()
                if crossed:
                    ends = f'src="{_quoted(source)}" dst="{_quoted(destination)}"'
                    yield f'      <route {ends} symmetrical="NO">{"".join(map(part, crossed))}</route>\n'

    return links, ways()


def _hosts(platform: Platform, figures: Sequence[Figures], cores: range, speed_files: Sequence[str]) -> Iterator[str]:
    rows = platform.core_processor[cores.start : cores.stop].tolist()
    last, tail = -1, ""
    for core, processor in zip(cores, rows, strict=True):
        if processor != last:
            last, tail = processor, _host_tail(figures[processor])
        file = speed_files[figures[processor].node] if speed_files else ""
        speed_file = f'speed_file="{_quoted(_path_of_its_own(file, core))}" ' if file else ""
        yield f'      <host id="{_quoted(platform.core_names[core])}" {speed_file}{tail}'


def _path_of_its_own(file: str, number: int) -> str:
    """Return a path to a file that no other number has: SimGrid 3.32 refuses one path at two hosts."""
    return "".join((".//" if bit == "1" else "./") for bit in f"{number:b}") + file


def _host_tail(figures: Figures) -> str:
    """Return the text after the name of a host, the same for all cores of a processor."""
    texts = properties_of(figures)
    return f'pstate="{P3}" speed="{texts[SPEED]}">\n{_props(texts)}      </host>\n'


def _routes(platform: Platform, cluster: int, cores: range) -> Iterator[str]:
    router = f"router_{cluster}"
    limited = bool(platform.limiters and platform.limiters[cluster])
    nodes = platform.processor_node[platform.core_processor[cores.start : cores.stop]].tolist()
    for core, node in zip(cores, nodes, strict=True):
        name, limiter = _quoted(platform.core_names[core]), f'<link_ctn id="{LIMITER}{node}"/>' if limited else ""
        yield (
            f'      <route src="{router}" dst="{name}" symmetrical="NO">'
            f'<link_ctn id="link_{node}" direction="DOWN"/>{limiter}</route>\n'
            f'      <route src="{name}" dst="{router}" symmetrical="NO">'
            f'{limiter}<link_ctn id="link_{node}" direction="UP"/></route>\n'
        )


def _zone_routes(cluster: int) -> Iterator[str]:
    zone, router, link = f"cluster_{cluster}", f"router_{cluster}", f"global_link_{cluster}"
    yield (
        f'    <zoneRoute src="master" dst="{zone}" gw_src="{MASTER}" gw_dst="{router}" symmetrical="NO">'
        f'<link_ctn id="{link}" direction="DOWN"/></zoneRoute>\n'
        f'    <zoneRoute src="{zone}" dst="master" gw_src="{router}" gw_dst="{MASTER}" symmetrical="NO">'
        f'<link_ctn id="{link}" direction="UP"/></zoneRoute>\n'
    )


def _quoted(text: str) -> str:
    """Return a text as the value of an attribute; the library's `escape` would import all of its network code."""
    if text.isidentifier():  # true for the many names of cores
        return text
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
