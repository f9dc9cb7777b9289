"""Reading a SimGrid platform: its hosts with their P-states and properties, its links, and the routes between hosts.

Zones of hosts (``routing="Full"``) and ``cluster`` are understood; what is not is refused with one line. Numbers carry
units as SimGrid writes them (``1.5Gf``, ``10Gbps``, ``500us``); everything returned is in flop/s, bytes/s and seconds.

Source: SimGrid 3.32, "Describing your platform in XML".
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from hdeeprm_like.errors import PlatformError, did_you_mean
from hdeeprm_like.formats.simgrid_units import BANDWIDTHS, SPEEDS, TIMES, measure, number
from hdeeprm_like.inputs import read_document

LOOPBACK_BANDWIDTH = 1e10  # bytes/s, of a host to itself where the file says nothing
HOST_LIMIT = 1 << 20  # hosts in one cluster
_POLICIES = ("SHARED", "FATPIPE", "SPLITDUPLEX")


@dataclass(frozen=True, eq=False)
class Link:
    """One direction of a link: a capacity that the flows over it share, or (fat pipe) do not."""

    name: str
    bandwidth: float  # bytes/s
    latency: float  # s
    fatpipe: bool = False


@dataclass(frozen=True)
class Host:
    """One host: its speed in each P-state and its properties as text."""

    name: str
    speeds: tuple[float, ...]  # flop/s, per P-state
    pstate: int
    properties: dict[str, str]
    zone_properties: dict[str, str]

    def power_ranges(self) -> tuple[tuple[float, float, float], ...]:
        """Return per P-state the W when idle, at the least load and at full load.

        Raises:
            PlatformError: the property ``wattage_per_state`` is missing or does not fit the P-states.
        """
        text = self.properties.get("wattage_per_state")
        where = f"host {self.name!r}"
        if text is None:
            hint = " (this host has the older watt_per_state)" if "watt_per_state" in self.properties else ""
            raise PlatformError(f"{where}: energy needs the property wattage_per_state{hint}")
        ranges: list[tuple[float, float, float]] = []
        for part in text.split(","):
            watts = [number(word.strip(), f"{where}: wattage_per_state") for word in part.split(":")]
            if len(watts) not in (2, 3):
                raise PlatformError(f"{where}: wattage_per_state {part.strip()!r} is not idle:least:full")
            ranges.append((watts[0], watts[-2], watts[-1]))
        if len(ranges) != len(self.speeds):
            raise PlatformError(f"{where}: wattage_per_state has {len(ranges)} entries for {len(self.speeds)} P-states")
        return tuple(ranges)

    def sleep_pstates(self) -> dict[int, tuple[int, int]]:
        """Return per sleep P-state the P-states passed through when it is switched off and on.

        Raises:
            PlatformError: the property ``sleep_pstates`` is not made of known P-states.
        """
        found: dict[int, tuple[int, int]] = {}
        for part in filter(None, (word.strip() for word in self.properties.get("sleep_pstates", "").split(","))):
            words = part.split(":")
            if len(words) != 3 or not all(w.isdigit() and int(w) < len(self.speeds) for w in words):
                raise PlatformError(f"host {self.name!r}: sleep_pstates {part!r} is not sleep:off:on of known P-states")
            found[int(words[0])] = (int(words[1]), int(words[2]))
        return found


@dataclass
class _Hop:
    links: tuple[Link, ...]
    leave: str  # netpoint by which the path leaves its source zone
    enter: str  # netpoint by which it enters its destination zone


@dataclass
class _Zone:
    name: str
    parent: "_Zone | None"
    depth: int
    properties: dict[str, str] = field(default_factory=dict)
    hops: dict[tuple[str, str], _Hop] = field(default_factory=dict)
    star: dict[str, tuple[tuple[Link, ...], tuple[Link, ...]]] | None = None  # per netpoint: links up, links down
    loopbacks: dict[str, Link] = field(default_factory=dict)


class SimgridPlatform:
    """The hosts of a SimGrid platform, and the links that a message crosses between two of them."""

    def __init__(self, path: str) -> None:
        """Start empty; *path* is for messages."""
        self.path = path
        self.hosts: dict[str, Host] = {}
        self._zone_of: dict[str, _Zone] = {}  # of hosts and routers
        self._links: dict[tuple[str, str], Link] = {}  # (name, "" or UP or DOWN)
        self._zones: dict[str, _Zone] = {}
        self._routes: dict[tuple[str, str], tuple[tuple[Link, ...], float]] = {}
        self._loopback = Link("__loopback__", LOOPBACK_BANDWIDTH, 0.0, fatpipe=True)

    def route(self, source: str, destination: str) -> tuple[tuple[Link, ...], float]:
        """Return the links from one host to another, and the latency of all of them in s.

        Raises:
            PlatformError: the platform has no such route.
        """
        known = self._routes.get((source, destination))
        if known is None:
            links = tuple(self._path(source, destination, depth=0))
            latency = 0.0
            for link in links:
                latency += link.latency
            known = self._routes[source, destination] = (links, latency)
        return known

    def _path(self, source: str, destination: str, depth: int) -> Iterator[Link]:
        here, there = self._zone_of[source], self._zone_of[destination]
        if depth > 64:
            raise PlatformError(f"{self.path}: the route from {source!r} to {destination!r} never ends")
        if here is there:
            yield from self._local(here, source, destination)
            return
        below_here, below_there = here, there
        while below_here.parent is not below_there.parent:
            if below_here.depth >= below_there.depth and below_here.parent is not None:
                below_here = below_here.parent
            elif below_there.parent is not None:
                below_there = below_there.parent
        common = below_here.parent
        hop = common.hops.get((below_here.name, below_there.name)) if common else None
        if hop is None:
            raise PlatformError(f"{self.path}: no route from {source!r} to {destination!r}")
        if hop.leave != source:
            yield from self._path(source, hop.leave, depth + 1)
        yield from hop.links
        if hop.enter != destination:
            yield from self._path(hop.enter, destination, depth + 1)

    def _local(self, zone: _Zone, source: str, destination: str) -> Iterator[Link]:
        if source == destination and source in zone.loopbacks:
            yield zone.loopbacks[source]
        elif zone.star is not None:
            seen: set[Link] = set()
            for link in (*zone.star[source][0], *zone.star[destination][1]):
                if link not in seen:
                    seen.add(link)
                    yield link
        elif (source, destination) in zone.hops:
            yield from zone.hops[source, destination].links
        elif source == destination:
            yield self._loopback
        else:
            raise PlatformError(f"{self.path}: no route from {source!r} to {destination!r} in zone {zone.name!r}")


def read_simgrid_xml(path: Path) -> SimgridPlatform:
    """Return the platform described by a SimGrid XML file.

    Raises:
        PlatformError: the file cannot be read, is no XML, or asks for something that is not imitated.
    """
    text = read_document(path, PlatformError)
    try:
        root = fromstring(text, forbid_dtd=False, forbid_entities=True, forbid_external=True)
    except ParseError as cause:
        raise PlatformError(f"{path}: not valid XML: {cause}") from cause
    except DefusedXmlException as cause:
        raise PlatformError(f"{path}: entities are refused in XML ({type(cause).__name__})") from cause
    except (ValueError, RecursionError) as cause:
        raise PlatformError(f"{path}: not valid XML: {cause}") from cause
    if root.tag != "platform":
        raise PlatformError(f"{path}: the root is <{root.tag}>, not <platform>")
    reader = _Reader(str(path))
    for element in root:
        if element.tag != "config":
            reader.zone_content(element, None)
    if not reader.platform.hosts:
        raise PlatformError(f"{path}: has no host")
    return reader.platform


class _Reader:
    """Walks the elements once, zones from the outside in, routes after what they connect."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.platform = SimgridPlatform(path)

    def fail(self, what: str) -> PlatformError:
        return PlatformError(f"{self.path}: {what}")

    def text(self, element: Any, name: str, default: str | None = None) -> str:
        value = element.get(name, default)
        if value is None:
            raise self.fail(f"<{element.tag} id={element.get('id')!r}> has no {name}")
        return str(value)

    def measure(self, element: Any, name: str, units: dict[str, float], default: str | None = None) -> float:
        return measure(self.text(element, name, default), units, f"{self.path}: <{element.tag}> {name}")

    def properties(self, element: Any) -> dict[str, str]:
        return {self.text(prop, "id"): self.text(prop, "value") for prop in element.findall("prop")}

    def zone_content(self, element: Any, zone: _Zone | None) -> None:
        if element.tag in ("zone", "AS"):
            return self.zone(element, zone)
        if zone is None:
            raise self.fail(f"<{element.tag}> outside of a zone is not imitated")
        readers = {
            "host": self.host,
            "router": self.router,
            "link": self.link,
            "cluster": self.cluster,
            "route": self.route,
            "zoneRoute": self.route,
            "ASroute": self.route,
        }
        if element.tag == "prop":
            return None
        if element.tag not in readers:
            raise self.fail(f"<{element.tag}> is not imitated{did_you_mean(element.tag, readers)}")
        return readers[element.tag](element, zone)

    def new_zone(self, element: Any, parent: _Zone | None) -> _Zone:
        name = self.text(element, "id")
        if name in self.platform._zones:
            raise self.fail(f"zone {name!r} is there twice")
        if parent is None and self.platform._zones:
            raise self.fail(f"zone {name!r} is a second outermost zone")
        zone = _Zone(name, parent, parent.depth + 1 if parent else 0, self.properties(element))
        if zone.depth > 32:
            raise self.fail("zones are nested too deeply")
        self.platform._zones[name] = zone
        return zone

    def zone(self, element: Any, parent: _Zone | None) -> None:
        routing = self.text(element, "routing", "Full")
        if routing not in ("Full", "None"):
            raise self.fail(f"zone {element.get('id')!r}: routing {routing!r} is not imitated; use Full or a cluster")
        zone = self.new_zone(element, parent)
        for child in element:
            self.zone_content(child, zone)

    def netpoint(self, name: str, zone: _Zone) -> None:
        if name in self.platform._zone_of:
            raise self.fail(f"host or router {name!r} is there twice")
        self.platform._zone_of[name] = zone

    def host(self, element: Any, zone: _Zone) -> None:
        for child in element:
            if child.tag != "prop":
                raise self.fail(f"host {element.get('id')!r}: <{child.tag}> is not imitated")
        self.add_host(element, self.text(element, "id"), zone, self.properties(element))

    def add_host(self, element: Any, name: str, zone: _Zone, properties: dict[str, str]) -> None:
        for refused in ("availability_file", "state_file", "coordinates"):
            if element.get(refused):
                raise self.fail(f"host {name!r}: {refused} is not imitated")
        if self.text(element, "core", "1") != "1":
            raise self.fail(f"host {name!r}: only hosts of one core are imitated")
        if properties.get("role", "") not in ("", "master", "compute_node"):
            raise self.fail(f"host {name!r}: role {properties['role']!r} is not imitated; use master or compute_node")
        where = f"{self.path}: host {name!r}: speed"
        speeds = tuple(measure(word.strip(), SPEEDS, where) for word in self.text(element, "speed").split(","))
        pstate = self.text(element, "pstate", "0")
        if not pstate.isdigit() or int(pstate) >= len(speeds):
            raise self.fail(f"host {name!r}: pstate {pstate!r} is not one of its {len(speeds)} P-states")
        self.netpoint(name, zone)
        self.platform.hosts[name] = Host(name, speeds, int(pstate), properties, zone.properties)

    def router(self, element: Any, zone: _Zone) -> None:
        self.netpoint(self.text(element, "id"), zone)

    def link(self, element: Any, zone: _Zone) -> None:
        for refused in ("bandwidth_file", "latency_file", "state_file"):
            if element.get(refused):
                raise self.fail(f"link {element.get('id')!r}: {refused} is not imitated")
        self.add_link(
            self.text(element, "id"),
            self.measure(element, "bandwidth", BANDWIDTHS),
            self.measure(element, "latency", TIMES, "0s"),
            self.text(element, "sharing_policy", "SHARED"),
        )

    def add_link(self, name: str, bandwidth: float, latency: float, policy: str) -> None:
        if policy not in _POLICIES:
            raise self.fail(
                f"link {name!r}: sharing_policy {policy!r} is not imitated{did_you_mean(policy, _POLICIES)}"
            )
        if bandwidth <= 0:
            raise self.fail(f"link {name!r}: bandwidth must be more than 0")
        directions = ("UP", "DOWN") if policy == "SPLITDUPLEX" else ("",)
        for direction in directions:
            if (name, direction) in self.platform._links:
                raise self.fail(f"link {name!r} is there twice")
            full = f"{name}_{direction}" if direction else name
            self.platform._links[name, direction] = Link(full, bandwidth, latency, policy == "FATPIPE")

    def find_link(self, name: str, direction: str) -> Link:
        links = self.platform._links
        found = links.get((name, direction)) or links.get((name, ""))
        if found is None:
            known = {link for link, _ in links}
            hint = "; it is SPLITDUPLEX: say direction UP or DOWN" if name in known else did_you_mean(name, known)
            raise self.fail(f"a route uses the link {name!r}{hint if known else ''}")
        return found

    def route(self, element: Any, zone: _Zone) -> None:
        source, destination = self.text(element, "src"), self.text(element, "dst")
        between_zones = element.tag != "route"
        ends = [
            self.text(element, "gw_src" if between_zones else "src"),
            self.text(element, "gw_dst" if between_zones else "dst"),
        ]
        for point in ends:
            if point not in self.platform._zone_of:
                raise self.fail(f"a route ends at {point!r}, which is no host and no router before it")
        forward: list[Link] = []
        backward: list[Link] = []
        opposite = {"UP": "DOWN", "DOWN": "UP"}
        for part in element:
            if part.tag != "link_ctn":
                raise self.fail(f"<{part.tag}> in a route is not imitated")
            name, direction = self.text(part, "id"), self.text(part, "direction", "")
            forward.append(self.find_link(name, direction if direction != "NONE" else ""))
            backward.append(self.find_link(name, opposite.get(direction, "")))
        zone.hops[source, destination] = _Hop(tuple(forward), ends[0], ends[1])
        if self.text(element, "symmetrical", "YES").upper() == "YES" and source != destination:
            zone.hops.setdefault((destination, source), _Hop(tuple(reversed(backward)), ends[1], ends[0]))

    def cluster(self, element: Any, parent: _Zone) -> None:
        name, prefix = self.text(element, "id"), self.text(element, "prefix", "")
        suffix = self.text(element, "suffix", "")
        if self.text(element, "topology", "FLAT") != "FLAT" or element.get("limiter_link"):
            raise self.fail(f"cluster {name!r}: only flat clusters without limiter_link are imitated")
        zone = self.new_zone(element, parent)
        backbone: tuple[Link, ...] = ()
        if element.get("bb_bw"):
            policy = self.text(element, "bb_sharing_policy", "SHARED")
            if policy == "SPLITDUPLEX":
                raise self.fail(f"cluster {name!r}: a SPLITDUPLEX backbone is not imitated")
            latency = self.measure(element, "bb_lat", TIMES, "0s")
            self.add_link(f"{name}_backbone", self.measure(element, "bb_bw", BANDWIDTHS), latency, policy)
            backbone = (self.find_link(f"{name}_backbone", ""),)
        zone.star = {}
        for member in self.radical(self.text(element, "radical")):
            self.cluster_host(element, zone, f"{prefix}{member}{suffix}", f"{name}_link_{member}", backbone)
        router = self.text(element, "router_id", f"{prefix}{name}_router{suffix}")
        self.netpoint(router, zone)
        zone.star[router] = ((), ())

    def cluster_host(self, element: Any, zone: _Zone, name: str, link: str, backbone: tuple[Link, ...]) -> None:
        properties = self.properties(element)
        self.add_host(element, name, zone, properties)
        policy = self.text(element, "sharing_policy", "SPLITDUPLEX")
        bandwidth, latency = self.measure(element, "bw", BANDWIDTHS), self.measure(element, "lat", TIMES, "0s")
        self.add_link(link, bandwidth, latency, policy)
        assert zone.star is not None
        zone.star[name] = ((self.find_link(link, "UP"), *backbone), (*backbone, self.find_link(link, "DOWN")))
        if element.get("loopback_bw"):
            speed, delay = (
                self.measure(element, "loopback_bw", BANDWIDTHS),
                self.measure(element, "loopback_lat", TIMES, "0s"),
            )
            zone.loopbacks[name] = Link(f"{link}_loopback", speed, delay, fatpipe=True)

    def radical(self, text: str) -> Iterator[int]:
        for part in text.split(","):
            first, dash, last = part.strip().partition("-")
            if not first.isdigit() or (dash and not last.isdigit()) or int(last or first) - int(first) > HOST_LIMIT:
                raise self.fail(f"radical {text!r} is not a list of intervals such as '0-15,20'")
            yield from range(int(first), int(last or first) + 1)
