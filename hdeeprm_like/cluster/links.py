"""The routes between the cores of a platform, from its links."""

from dataclasses import replace
from functools import lru_cache
from itertools import chain

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.routes import NO_LINK, Routes
from hdeeprm_like.cluster.topologies import Topology, topology_of
from hdeeprm_like.cluster.units import bytes_per_second, seconds
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.types import Floats, Ints

MOST_NODES = 1024  # of a topology: the routes between all pairs are kept


def with_network(platform: Platform) -> Platform:
    """Return a platform on which what jobs send takes time."""
    return replace(platform, routes=routes_of(platform))


def nodes_connected(platform: Platform) -> Topology | None:
    """Return the topology that connects the nodes of a platform, None for a star.

    Raises:
        PlatformError: it has another number of leaves, several clusters, or is too large.
    """
    if not platform.topology:
        return None
    found = topology_of(*platform.topology.partition(" ")[::2])
    if len(platform.cluster_names) != 1 or found.leaves != platform.nodes:
        raise PlatformError(
            f"platform {platform.name!r}: topology {platform.topology!r}: has {found.leaves} leaves; one cluster of as "
            f"many nodes is needed, not {platform.nodes} nodes in {len(platform.cluster_names)}"
        )
    if found.leaves > MOST_NODES:
        raise PlatformError(
            f"platform {platform.name!r}: topology: {found.leaves} nodes; at most {MOST_NODES} are possible"
        )
    return found


def parts_of(platform: Platform) -> Ints:
    """Return (P,) the part of the network of each processor: that of its leaf, or its node without a topology."""
    topology = nodes_connected(platform)
    return platform.processor_node if topology is None else platform.processor_node // topology.near


def routes_of(platform: Platform) -> Routes:
    """Return the routes of a platform, as in its XML: over a link per node and a link per cluster, or a topology.

    Those of a platform of SimGrid are the file's.

    Latencies are summed in SimGrid's order, for the same last bits.

    Raises:
        PlatformError: the topology does not fit the nodes, or the links of the file cannot be used.
    """
    if platform.links_of_file is not None:
        return platform.links_of_file()
    star = _star(platform)
    topology = nodes_connected(platform)
    return star if topology is None else _wired(platform, topology, star)


@lru_cache(maxsize=4)
def _ways(text: str) -> list[list[int]]:
    """Return the links between all pairs of leaves, none from one to itself."""
    topology = topology_of(*text.partition(" ")[::2])
    leaves = range(topology.leaves)
    return [topology.way(a, b) if a != b else [] for a in leaves for b in leaves]


def wired_links(platform: Platform, topology: Topology) -> int:
    """Return the number of links of a topology, those in both directions and the limiters of its switches."""
    return 2 * len(topology.factors) + (topology.nodes - topology.leaves if platform.limiters else 0)


def _wired(platform: Platform, topology: Topology, star: Routes) -> Routes:
    """Return the routes over a topology; the way to the master, and the limiters of the nodes, stay those of the star.

    SimGrid puts the limiter of a node or switch before each link that leaves it, and that of the last node at the end.
    """
    nodes, ways, count = platform.nodes, _ways(platform.topology), wired_links(platform, topology)
    switches: Floats = np.zeros(0)
    if platform.limiters:
        switches = np.full(topology.nodes - nodes, bytes_per_second(platform.limiters[0]))
        before = [*(count + star.limiter).tolist(), *range(2 * len(topology.factors), count)]
        ways = [
            [
                *(part for link in way for part in (before[topology.heads[link ^ 1]], link)),
                before[topology.heads[way[-1]]],
            ]
            if way
            else []
            for way in ways
        ]
    wire = bytes_per_second(platform.links.cluster_bandwidth[0])
    near = seconds(platform.links.cluster_latency[0])
    none: Ints = np.full(nodes, NO_LINK)
    lengths = np.array([len(way) for way in ways])
    hops = np.array([len(way) for way in _ways(platform.topology)])
    delays = np.concatenate([[0.0], np.cumsum(np.full(max(hops.max(initial=0), 1), near))])
    return replace(
        star,
        bandwidth=np.concatenate([wire * np.repeat(topology.factors, 2), switches, star.bandwidth]),
        fatpipe=np.zeros(count + len(star.bandwidth), np.bool_),
        group=np.arange(nodes),
        up=none,
        down=none,
        limiter=none,
        first=np.concatenate([[0], np.cumsum(lengths)]),
        links=np.fromiter(chain.from_iterable(ways), np.int64),
        delay=delays[hops].reshape(nodes, nodes),
        gate_links=star.gate_links + count,
    )


def _star(platform: Platform) -> Routes:
    """Return the routes over a link per node and a link per cluster, and over limiters, whose latency is 0."""
    links, nodes, clusters = platform.links, platform.nodes, len(platform.cluster_names)
    near = np.array([seconds(text) for text in links.cluster_latency])
    far = seconds(links.global_latency)
    of_node = np.array([bytes_per_second(text) for text in links.cluster_bandwidth])[platform.node_cluster]
    wide = np.full(2 * clusters, bytes_per_second(links.global_bandwidth))
    up = np.arange(nodes)
    cluster_up, cluster_down = 2 * nodes + np.arange(clusters), 2 * nodes + clusters + np.arange(clusters)
    between = [[] if g == h else [cluster_up[g], cluster_down[h]] for g in range(clusters) for h in range(clusters)]
    delay = (far + far + near[:, None]) + near[None, :]
    np.fill_diagonal(delay, near + near)
    limiter, limits = _limiters(platform, 2 * (nodes + clusters))
    crossed = np.stack([limiter, up, cluster_up[platform.node_cluster]], axis=1)
    kept = crossed != NO_LINK
    return Routes(
        bandwidth=np.concatenate([of_node, of_node, wide, limits]),
        fatpipe=np.zeros(2 * (nodes + clusters) + len(limits), np.bool_),
        place=platform.processor_node[platform.core_processor],
        group=platform.node_cluster,
        up=up,
        down=nodes + up,
        limiter=limiter,
        first=np.cumsum([0, *(len(way) for way in between)]),
        links=np.array([link for way in between for link in way], np.int64),
        delay=delay,
        gate_first=np.concatenate([[0], np.cumsum(kept.sum(axis=1))]),
        gate_links=crossed[kept],
        gate_delay=near[platform.node_cluster] + far,
    )


def _limiters(platform: Platform, before: int) -> tuple[Ints, Floats]:
    """Return the link that limits each node, `NO_LINK` for none, and their bandwidths; *before* are other links."""
    none: Ints = np.full(platform.nodes, NO_LINK)
    if not platform.limiters:
        return none, np.zeros(0)
    limits = np.array([bytes_per_second(text) if text else 0.0 for text in platform.limiters])[platform.node_cluster]
    limited = limits > 0.0
    none[limited] = before + np.arange(int(limited.sum()))
    return none, limits[limited]
