"""The routes between the cores of a platform, from its links."""

from dataclasses import replace

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.routes import Routes
from hdeeprm_like.cluster.units import bytes_per_second, seconds


def with_network(platform: Platform) -> Platform:
    """Return a platform on which what jobs send takes time."""
    return replace(platform, routes=routes_of(platform))


def routes_of(platform: Platform) -> Routes:
    """Return the routes of a platform: over a link per node and a link per cluster, as in its XML.

    Latencies are summed in SimGrid's order, for the same last bits.
    """
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
    gates = np.stack([up, cluster_up[platform.node_cluster]], axis=1)
    return Routes(
        bandwidth=np.concatenate([of_node, of_node, wide]),
        fatpipe=np.zeros(2 * (nodes + clusters), np.bool_),
        place=platform.processor_node[platform.core_processor],
        group=platform.node_cluster,
        up=up,
        down=nodes + up,
        first=np.cumsum([0, *(len(way) for way in between)]),
        links=np.array([link for way in between for link in way], np.int64),
        delay=delay,
        gate_first=2 * np.arange(nodes + 1),
        gate_links=gates.ravel(),
        gate_delay=near[platform.node_cluster] + far,
    )
