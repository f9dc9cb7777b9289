"""The zones of a SimGrid platform, and the links of a route between two hosts.

A zone holds hosts and routers, or other zones; ``routing`` decides how a route through it is found:

=================================== ===============================================================================
``Full``                            the routes of the file; between two hosts without a route there is no link at all
``Floyd``, ``Dijkstra(Cache)``      the route over the routes of the file with the fewest links
``Vivaldi``                         no links (but those of peers); a latency that follows from coordinates, for a
                                    zone ``d`` in it those of the router ``router_d``
``None``                            no routes
a cluster                           each host's link to a backbone, or a fat tree, torus or dragonfly
=================================== ===============================================================================

Source: SimGrid 3.32, "Routing models" of its documentation, and routes queried from it.
"""

import heapq
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from hdeeprm_like.errors import PlatformError

if TYPE_CHECKING:
    from hdeeprm_like.cluster.topologies import Topology

LOOPBACK_BANDWIDTH = 1e10  # bytes/s, default for a host to itself
SHORTEST = ("Floyd", "Dijkstra", "DijkstraCache")
ROUTINGS = ("Full", *SHORTEST, "Vivaldi", "None")
UNREACHED = 1 << 40  # links
DEEPEST_ROUTE = 64  # nested zones that a route may cross


class Link:
    """One direction of a link: a capacity that its flows share, or (fat pipe) do not."""

    __slots__ = ("bandwidth", "fatpipe", "latency", "name")

    def __init__(self, name: str, bandwidth: float, latency: float, fatpipe: bool = False) -> None:
        """Describe a link of *bandwidth* bytes/s and *latency* s."""
        self.name = name
        self.bandwidth = bandwidth
        self.latency = latency
        self.fatpipe = fatpipe


def loopback(bandwidth: float = LOOPBACK_BANDWIDTH, latency: float = 0.0) -> Link:
    """Return the default link from each host to itself."""
    return Link("__loopback__", bandwidth, latency, fatpipe=True)


class Hop(NamedTuple):
    """One route of the file: its links, and the points at which it leaves one zone and enters the other."""

    links: tuple[Link, ...]
    leave: str
    enter: str


class Wires(NamedTuple):
    """The links of a fat tree, a torus or a dragonfly.

    Attributes:
        links: in each direction. limiters: of each node, if there are some. leaf_of: number of each host.
    """

    topology: "Topology"
    links: list[Link]
    limiters: list[tuple[Link, ...]]
    leaf_of: dict[str, int]

    def way(self, source: str, destination: str) -> list[Link]:
        """Return the links between two hosts."""
        last = self.leaf_of[destination]
        found: list[Link] = []
        for link in self.topology.way(self.leaf_of[source], last):
            found += [*self.limiters[self.topology.heads[link ^ 1]], self.links[link]]
        return [*found, *self.limiters[last]]


class Zone:
    """One zone.

    Attributes:
        depth: number of zones around it.
        points: the hosts, routers and zones in it, in the order of the file.
        hops: the routes between two points.
        bypasses: those that replace the route between two points, or between the zones around them.
        star: links up and down per host, in a cluster and for peers.
        wires: of a cluster that is no star.
    """

    def __init__(self, name: str, parent: "Zone | None", routing: str, properties: dict[str, str]) -> None:
        """Start empty."""
        self.name = name
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.routing = routing
        self.properties = properties
        self.points: list[str] = []
        self.hops: dict[tuple[str, str], Hop] = {}
        self.bypasses: dict[tuple[str, str], Hop] = {}
        self.star: dict[str, tuple[tuple[Link, ...], tuple[Link, ...]]] = {}
        self.loopbacks: dict[str, Link] = {}
        self.wires: Wires | None = None
        self._before: dict[str, dict[str, str]] = {}  # per start: predecessor of each point

    def way(self, source: str, destination: str) -> list[Hop]:
        """Return the routes from one point of the zone to another in sequence; empty if there is none."""
        if self.routing in SHORTEST and source != destination:
            return self._shortest_way(source, destination)
        hop = self.hops.get((source, destination))
        return [hop] if hop else []

    def bypass(self, here: "Zone", there: "Zone") -> Hop | None:
        """Return what replaces the route from one zone to another inside this one: the innermost, as in SimGrid."""
        if not self.bypasses:
            return None
        ends = [[zone.name for zone in end.up_to(self)] for end in (here, there)]
        for most in range(max(map(len, ends))):
            pairs = [pair for less in range(most) for pair in ((less, most), (most, less))]
            for i, j in (*pairs, (most, most)):
                if i < len(ends[0]) and j < len(ends[1]) and (ends[0][i], ends[1][j]) in self.bypasses:
                    return self.bypasses[ends[0][i], ends[1][j]]
        return None

    def up_to(self, outer: "Zone") -> "list[Zone]":
        """Return this zone and those around it, up to the one in *outer*."""
        return [self, *(self.parent.up_to(outer) if self.parent and self.parent is not outer else [])]

    def _shortest_way(self, source: str, destination: str) -> list[Hop]:
        """Return the route with the fewest links; among several, the one that SimGrid finds."""
        if source not in self._before:
            if self.routing == "Floyd":
                self._before = _floyd(self.points, self.hops)
            else:
                self._before[source] = _dijkstra(source, self.hops)
        before = self._before[source]
        way: list[Hop] = []
        while destination != source:
            if destination not in before:
                return []
            hop = self.hops[before[destination], destination]
            if self.routing != "Floyd":  # Dijkstra's zones prepend the links of a route one by one
                hop = Hop(hop.links[::-1], hop.leave, hop.enter)
            way.append(hop)
            destination = before[destination]
        return way[::-1]


def _dijkstra(source: str, hops: dict[tuple[str, str], Hop]) -> dict[str, str]:
    """Return the predecessor of every point reachable from *source*, with the points in order of routes."""
    neighbours: dict[str, list[tuple[str, int]]] = {}
    for (start, end), hop in hops.items():
        neighbours.setdefault(start, []).append((end, len(hop.links)))
        neighbours.setdefault(end, [])
    rank = {point: position for position, point in enumerate(neighbours)}
    cost: dict[str, int] = {source: 0}
    before: dict[str, str] = {}
    queue = [(0, rank.get(source, 0), source)]
    while queue:
        reached, _, point = heapq.heappop(queue)
        for end, length in neighbours.get(point, ()):
            if reached + length < cost.get(end, math.inf):
                cost[end], before[end] = reached + length, point
                heapq.heappush(queue, (cost[end], rank[end], end))
    return before


def _floyd(points: list[str], hops: dict[tuple[str, str], Hop]) -> dict[str, dict[str, str]]:
    """Return per start the predecessor of every reachable point, with the points in their order."""
    import numpy as np  # needed only for zones of this kind

    number = {point: position for position, point in enumerate(points)}
    cost = np.full((len(points), len(points)), UNREACHED)
    before = np.full(cost.shape, -1)
    for (start, end), hop in hops.items():
        cost[number[start], number[end]], before[number[start], number[end]] = len(hop.links), number[start]
    np.fill_diagonal(cost, 1)  # the loopback
    np.fill_diagonal(before, -1)
    for between in range(len(points)):
        through = cost[:, between, None] + cost[None, between, :]
        shorter = through < cost
        cost = np.where(shorter, through, cost)
        before = np.where(shorter, before[between], before)
    return {
        point: {end: points[last] for end, last in zip(points, row, strict=True) if last >= 0}
        for point, row in zip(points, before.tolist(), strict=True)
    }


def _with(latency: float, links: Iterable[Link]) -> float:
    """Return a latency plus those of links, added one by one."""
    for link in links:
        latency += link.latency
    return latency


class Routing:
    """The routes between all hosts and routers of a platform."""

    def __init__(self, path: str) -> None:
        """Start empty; *path* is for messages."""
        self.path = path
        self.loopback = loopback()
        self.zones: dict[str, Zone] = {}
        self.zone_of: dict[str, Zone] = {}  # zone of each host and router
        self.coordinates: dict[str, tuple[float, float, float]] = {}  # x, y and height of those that have them, in ms
        self._known: dict[tuple[str, str], tuple[tuple[Link, ...], float]] = {}

    def route(self, source: str, destination: str) -> tuple[tuple[Link, ...], float]:
        """Return the links from one host to another, and the latency of all of them in s.

        Raises:
            PlatformError: the platform has no such route.
        """
        known = self._known.get((source, destination))
        if known is None:
            links: list[Link] = []
            latency = self._walk(source, destination, links, 0.0, depth=0)
            known = self._known[source, destination] = (tuple(links), latency)
        return known

    def _walk(self, source: str, destination: str, links: list[Link], latency: float, depth: int) -> float:
        """Append the links of a route; return *latency* plus that of the route, in s.

        It is summed in SimGrid's order, for identical last bits: the route between the zones, then to it, then from it.
        """
        here, there = self.zone_of[source], self.zone_of[destination]
        if depth > DEEPEST_ROUTE:
            raise PlatformError(f"{self.path}: the route from {source!r} to {destination!r} never ends")
        if here is there:
            if (bypass := here.bypasses.get((source, destination))) is not None:
                links.extend(bypass.links)
                return _with(latency, bypass.links)
            return self._inside(here, source, destination, links, latency)
        below_here, below_there = here, there
        while below_here.parent is not below_there.parent:
            if below_here.depth >= below_there.depth and below_here.parent is not None:
                below_here = below_here.parent
            elif below_there.parent is not None:
                below_there = below_there.parent
        common = below_here.parent
        bypass = common.bypass(here, there) if common else None
        if bypass is not None:  # SimGrid takes the loopback where a host is itself the end of the bypass
            latency = self._walk(source, bypass.leave, links, latency, depth + 1)
            links.extend(bypass.links)
            return self._walk(bypass.enter, destination, links, _with(latency, bypass.links), depth + 1)
        way = common.way(below_here.name, below_there.name) if common else []
        if common is not None and common.routing == "Vivaldi":
            ends = f"router_{below_here.name}", f"router_{below_there.name}"  # wherever they are in these zones
            way = [Hop((), *ends)] if self.coordinates.keys() >= {*ends} else []
            latency += self._distance(*ends) if way else 0.0
        if common is None or not way:
            raise PlatformError(f"{self.path}: no route from {source!r} to {destination!r}")
        backwards = common.routing.startswith("Dijkstra")  # its routes are put together from their ends
        if backwards:
            latency = _with(latency, (link for hop in reversed(way) for link in reversed(hop.links)))
        between: list[Link] = []
        point = way[0].leave
        for hop in way:
            if hop.leave != point:
                latency = self._walk(point, hop.leave, between, latency, depth + 1)
            between.extend(hop.links)
            if not backwards:
                latency = _with(latency, hop.links)
            point = hop.enter
        if way[0].leave != source:
            latency = self._walk(source, way[0].leave, links, latency, depth + 1)
        links.extend(between)
        if point != destination:
            latency = self._walk(point, destination, links, latency, depth + 1)
        return latency

    def _inside(self, zone: Zone, source: str, destination: str, links: list[Link], latency: float) -> float:
        """Append the links of a route inside one zone; return *latency* plus that of the route, in s."""
        if zone.routing == "None":
            raise PlatformError(f"{self.path}: no route from {source!r} to {destination!r}: its zone has routing None")
        found: list[Link] = []
        if source == destination and source in zone.loopbacks:
            found = [zone.loopbacks[source]]
            links.extend(found)
        elif zone.wires is not None:
            found = zone.wires.way(source, destination)
            links.extend(found)
        elif zone.routing in ("cluster", "Vivaldi"):
            up, down = zone.star.get(source, ((), ()))[0], zone.star.get(destination, ((), ()))[1]
            found = list(dict.fromkeys((*up, *down)))
            links.extend(found)
        else:
            way = zone.way(source, destination)
            found = [link for hop in way for link in hop.links]
            # Dijkstra's zones put them before the links between zones, even if the route ends with them
            links[:] = [*found, *links] if zone.routing.startswith("Dijkstra") else [*links, *found]
            if not way and source == destination:
                found = [self.loopback]
                links.extend(found)
            elif not way and zone.routing != "Full":
                raise PlatformError(f"{self.path}: no route from {source!r} to {destination!r} in zone {zone.name!r}")
        latency = _with(latency, reversed(found) if zone.routing.startswith("Dijkstra") else found)
        return latency + self._distance(source, destination) if zone.routing == "Vivaldi" else latency

    def _distance(self, source: str, destination: str) -> float:
        """Return the latency in s between two hosts with coordinates."""
        for point in (source, destination):
            if point not in self.coordinates:
                raise PlatformError(f"{self.path}: {point!r} has no coordinates, which a Vivaldi zone needs")
        x, y, height = self.coordinates[source]
        x2, y2, height2 = self.coordinates[destination]
        return (math.sqrt((x - x2) * (x - x2) + (y - y2) * (y - y2)) + abs(height) + abs(height2)) / 1000.0
