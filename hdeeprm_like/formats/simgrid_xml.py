"""Reader of SimGrid platforms: hosts with P-states and properties, links, and routes between hosts.

`simgrid_zones` finds routes through zones; unsupported elements raise an error of one line. Numbers carry
units as SimGrid writes them (``1.5Gf``, ``10Gbps``, ``500us``); everything returned is in flop/s, bytes/s and seconds.

Source: SimGrid 3.32, "Describing your platform in XML".
"""

from pathlib import Path
from typing import Any

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from hdeeprm_like.cluster.speed_profiles import SpeedProfile
from hdeeprm_like.cluster.units import BANDWIDTHS, TIMES, measure, radical
from hdeeprm_like.errors import PlatformError, did_you_mean
from hdeeprm_like.formats.simgrid_hosts import Host, SimgridPlatform, speeds_of
from hdeeprm_like.formats.simgrid_zones import ROUTINGS, Hop, Link, Wires, Zone
from hdeeprm_like.inputs import read_document
from hdeeprm_like.values import UTMOST, Number, whole_in

CORE_LIMIT = 1 << 20  # cores of one host
COORDINATE = Number(-UTMOST, UTMOST)
IN_CLUSTER_ZONES = ("cabinet", "backbone", "host_link")  # read when all else of the zone is
_POLICIES = ("SHARED", "FATPIPE", "SPLITDUPLEX")


def read_simgrid_xml(path: Path, links: bool = True) -> SimgridPlatform:
    """Return the platform described by a SimGrid XML file.

    Args:
        links: whether the links and the routes over them are wanted; else what is said of them need not be supported.

    Raises:
        PlatformError: the file cannot be read, is no XML, or uses something unsupported.
    """
    text = read_document(path, PlatformError).lstrip("\ufeff \t\r\n")  # SimGrid allows these before the XML
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
    reader = _Reader(str(path), links)
    for element in root:
        if element.tag == "config":
            reader.platform.settings += [f"{name}:{value}" for name, value in reader.properties(element).items()]
        else:
            reader.zone_content(element, None)
    if not reader.platform.hosts:
        raise PlatformError(f"{path}: has no host")
    return reader.platform


class _Reader:
    """Walks the elements once, zones from the outside in, routes after the points that they connect.

    Attributes:
        linked: whether links and routes are read; hosts are in any case.
    """

    def __init__(self, path: str, linked: bool = True) -> None:
        self.path = path
        self.linked = linked
        self.platform = SimgridPlatform(path)
        self.links: dict[tuple[str, str], Link] = {}  # (name, "" or UP or DOWN)
        self.leaves = 0  # of all fat trees
        self.profiles: dict[Path, SpeedProfile] = {}  # by file

    def fail(self, what: str) -> PlatformError:
        return PlatformError(f"{self.path}: {what}")

    def text(self, element: Any, name: str, default: str | None = None) -> str:
        value = element.get(name, default)
        if value is None:
            raise self.fail(f"<{element.tag} id={element.get('id')!r}> has no {name}")
        return str(value)

    def measure(self, element: Any, name: str, units: dict[str, float], default: str | None = None) -> float:
        return measure(self.text(element, name, default), units, f"{self.path}: <{element.tag}> {name}")

    def pace(self, element: Any, bandwidth: str, latency: str) -> tuple[float, float]:
        """Return a bandwidth in bytes/s, and a latency in s, 0 if not given."""
        return self.measure(element, bandwidth, BANDWIDTHS), self.measure(element, latency, TIMES, "0s")

    def policy(self, element: Any, default: str) -> str:
        """Return how flows share a link; SPLITDUPLEX has an older name."""
        return self.text(element, "sharing_policy", default).replace("FULLDUPLEX", "SPLITDUPLEX")

    def members(self, element: Any) -> list[int]:
        """Return the numbers of the hosts of a cluster or a cabinet."""
        return radical(self.text(element, "radical"), self.path)

    def properties(self, element: Any) -> dict[str, str]:
        return {self.text(prop, "id"): self.text(prop, "value") for prop in element.findall("prop")}

    def zone_content(self, element: Any, zone: Zone | None) -> None:
        if element.tag in ("zone", "AS"):
            return self.zone(element, zone)
        if element.tag in ("prop", *IN_CLUSTER_ZONES):
            return None
        if not self.linked and element.tag not in ("host", "cluster", "peer", "link"):
            return None
        if element.tag == "cluster":
            return self.cluster(element, zone)
        if zone is None:
            raise self.fail(f"<{element.tag}> outside of a zone is not imitated")
        readers = {
            "host": self.host,
            "router": self.router,
            "link": self.link,
            "peer": self.peer,
            "route": self.route,
            "zoneRoute": self.route,
            "ASroute": self.route,
            "bypassRoute": self.bypass,
            "bypassZoneRoute": self.bypass,
            "bypassASroute": self.bypass,
        }
        if element.tag not in readers:
            raise self.fail(f"<{element.tag}> is not imitated{did_you_mean(element.tag, readers)}")
        return readers[element.tag](element, zone)

    def new_zone(self, element: Any, parent: Zone | None, routing: str) -> Zone:
        name, zones = self.text(element, "id"), self.platform.routing.zones
        if name in zones:
            raise self.fail(f"zone {name!r} occurs twice")
        if parent is None and zones:
            raise self.fail(f"zone {name!r} is a second outermost zone")
        inherited = parent.properties if parent else {}
        zone = Zone(name, parent, routing, inherited | self.properties(element))
        if zone.depth > 32:
            raise self.fail("zones are nested too deeply")
        if parent:
            parent.points.append(name)
        zones[name] = zone
        return zone

    def zone(self, element: Any, parent: Zone | None) -> None:
        routing = self.text(element, "routing", "Full")
        routing = "cluster" if routing.lower() == "cluster" else routing
        if routing not in (*ROUTINGS, "cluster") and self.linked:
            known = ", ".join(ROUTINGS)
            raise self.fail(f"zone {element.get('id')!r}: routing {routing!r} is not imitated; {known} and Cluster are")
        zone = self.new_zone(element, parent, routing)
        for child in element:
            self.zone_content(child, zone)
        if routing == "cluster":
            self.star(element, zone)

    def star(self, element: Any, zone: Zone) -> None:
        """Read the cabinets and host_links of a zone, when its hosts and links are known, as SimGrid does."""
        backbone: tuple[Link, ...] = ()
        for one in element.findall("backbone") if self.linked else ():
            self.link(one, zone)
            backbone = (self.find_link(self.text(one, "id"), ""),)
        for one in element.findall("host_link") if self.linked else ():
            up, down = (self.link_named(self.text(one, way)) for way in ("up", "down"))
            zone.star[self.text(one, "id")] = ((up, *backbone), (*backbone, down))
        for cabinet in element.findall("cabinet"):
            prefix, suffix = self.text(cabinet, "prefix", ""), self.text(cabinet, "suffix", "")
            for member in self.members(cabinet):
                host = f"{prefix}{member}{suffix}"
                self.cluster_host(cabinet, {}, zone, host, f"link_{host}", backbone)

    def netpoint(self, name: str, zone: Zone, element: Any = None) -> None:
        if name in self.platform.routing.zone_of:
            raise self.fail(f"host or router {name!r} occurs twice")
        self.platform.routing.zone_of[name] = zone
        zone.points.append(name)
        place = element.get("coordinates") if element is not None else None
        if place is not None:
            words = place.split(" ")
            if len(words) != 3:
                raise self.fail(f"{name!r}: coordinates {place!r} are not three numbers with a blank between two")
            where = f"{self.path}: {name!r}: coordinates"
            x, y, height = (COORDINATE.in_text(word, PlatformError, where) for word in words)
            self.platform.routing.coordinates[name] = (x, y, height)

    def host(self, element: Any, zone: Zone) -> None:
        for child in element:
            if child.tag not in ("prop", "disk") and self.linked:  # no profile uses disks
                raise self.fail(f"host {element.get('id')!r}: <{child.tag}> is not imitated")
        self.add_host(element, self.text(element, "id"), zone, self.properties(element))

    def add_host(self, element: Any, name: str, zone: Zone, properties: dict[str, str]) -> None:
        if element.get("state_file"):
            if self.linked:
                raise self.fail(f"host {name!r}: state_file is refused: jobs on a host that fails never end in Batsim")
            self.platform.failing = self.platform.failing or name
        profile = None
        if file := element.get("speed_file") or element.get("availability_file"):  # the older name
            if element.tag not in ("host", "peer"):
                raise self.fail(f"<{element.tag}> {name!r}: has no speed_file")
            from hdeeprm_like.formats.simgrid_profiles import read_speed_profile  # few platforms have any

            path = Path(self.path).parent / file
            profile = self.profiles.get(path) or read_speed_profile(path)
            self.profiles[path] = profile
        cores = whole_in(self.text(element, "core", "1"))
        if not 0 < cores <= CORE_LIMIT:
            raise self.fail(
                f"host {name!r}: core {element.get('core')!r} is not a number of cores from 1 to {CORE_LIMIT}"
            )
        try:
            speeds = speeds_of(self.text(element, "speed"))
        except PlatformError as cause:
            raise self.fail(f"host {name!r}: {cause}") from None
        pstate = whole_in(self.text(element, "pstate", "0"))
        if not 0 <= pstate < len(speeds):
            raise self.fail(f"host {name!r}: pstate {element.get('pstate')!r} is not one of its {len(speeds)} P-states")
        self.netpoint(name, zone, element)
        self.platform.hosts[name] = Host(name, speeds, pstate, properties, zone.properties, cores, profile)

    def router(self, element: Any, zone: Zone) -> None:
        self.netpoint(self.text(element, "id"), zone, element)

    def peer(self, element: Any, zone: Zone) -> None:
        name = self.text(element, "id")
        if zone.routing != "Vivaldi":
            raise self.fail(f"peer {name!r}: must stand in a zone with routing Vivaldi, not {zone.routing}")
        if "," in self.text(element, "speed"):
            raise self.fail(f"peer {name!r}: has one speed, as it has one P-state")
        self.add_host(element, name, zone, self.properties(element))
        for way, key in (("UP", "bw_out"), ("DOWN", "bw_in")):
            self.add_link(f"link_{name}_{way}", self.measure(element, key, BANDWIDTHS), 0.0, "SHARED")
        zone.star[name] = ((self.find_link(f"link_{name}_UP", ""),), (self.find_link(f"link_{name}_DOWN", ""),))

    def link(self, element: Any, zone: Zone) -> None:
        if not self.linked:
            texts = element.get("bandwidth", ""), element.get("latency", "")
            self.platform.link_texts[self.text(element, "id")] = texts
            return
        for refused in ("bandwidth_file", "latency_file", "state_file"):
            if element.get(refused):
                raise self.fail(f"link {element.get('id')!r}: {refused} is not imitated")
        self.add_link(
            self.text(element, "id"),
            *self.pace(element, "bandwidth", "latency"),
            self.policy(element, "SHARED"),
        )

    def add_link(self, name: str, bandwidth: float, latency: float, policy: str) -> None:
        if policy not in _POLICIES:
            raise self.fail(
                f"link {name!r}: sharing_policy {policy!r} is not imitated{did_you_mean(policy, _POLICIES)}"
            )
        if bandwidth <= 0:
            raise self.fail(f"link {name!r}: bandwidth must be more than 0")
        for direction in ("UP", "DOWN") if policy == "SPLITDUPLEX" else ("",):
            if (name, direction) in self.links:
                raise self.fail(f"link {name!r} occurs twice")
            full = f"{name}_{direction}" if direction else name
            self.links[name, direction] = Link(full, bandwidth, latency, policy == "FATPIPE")

    def find_link(self, name: str, direction: str) -> Link:
        found = self.links.get((name, direction)) or self.links.get((name, ""))
        if found is None:
            known = {link for link, _ in self.links}
            hint = "; it is SPLITDUPLEX: say direction UP or DOWN" if name in known else did_you_mean(name, known)
            raise self.fail(f"a route uses the link {name!r}{hint if known else ''}")
        return found

    def link_named(self, full: str) -> Link:
        """Return the link of a name in which the direction is part of it: ``l_UP``."""
        name, _, direction = full.rpartition("_")
        return self.links.get((name, direction)) or self.find_link(full, "")

    def route(self, element: Any, zone: Zone) -> None:
        source, destination = self.text(element, "src"), self.text(element, "dst")
        there, back = self.hops(element, "" if element.tag == "route" else "gw_")
        both = self.text(element, "symmetrical", "YES").upper() == "YES" and source != destination
        for begin, end, hop in ((source, destination, there), (destination, source, back))[: 1 + both]:
            if (begin, end) in zone.hops:
                raise self.fail(f"there is a second route from {begin!r} to {end!r}; one is for both ways by default")
            zone.hops[begin, end] = hop

    def bypass(self, element: Any, zone: Zone) -> None:
        between = self.text(element, "src"), self.text(element, "dst")
        there, _ = self.hops(element, "" if element.tag == "bypassRoute" else "gw_")
        if not there.links or between in zone.bypasses:
            raise self.fail(f"<{element.tag}> from {between[0]!r} to {between[1]!r}: has no link, or is the second one")
        zone.bypasses[between] = there

    def hops(self, element: Any, gateway: str) -> tuple[Hop, Hop]:
        """Return the route of an element, and the one back; *gateway* begins the attributes that name its ends."""
        ends = [self.text(element, f"{gateway}{end}") for end in ("src", "dst")]
        for point in ends:
            if point not in self.platform.routing.zone_of:
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
        return Hop(tuple(forward), ends[0], ends[1]), Hop(tuple(reversed(backward)), ends[1], ends[0])

    def cluster(self, element: Any, parent: Zone | None) -> None:
        name, prefix, suffix = self.text(element, "id"), *(self.text(element, key, "") for key in ("prefix", "suffix"))
        if self.text(element, "topology", "FLAT") != "FLAT":
            return self.wired_cluster(element, parent)
        zone = self.new_zone(element, parent, "cluster")
        backbone: tuple[Link, ...] = ()
        if element.get("bb_bw") and self.linked:
            policy = self.text(element, "bb_sharing_policy", "SHARED")
            if policy == "SPLITDUPLEX":
                raise self.fail(f"cluster {name!r}: a SPLITDUPLEX backbone is not imitated")
            self.add_link(f"{name}_backbone", *self.pace(element, "bb_bw", "bb_lat"), policy)
            backbone = (self.find_link(f"{name}_backbone", ""),)
        properties = self.properties(element)
        for member in self.members(element):
            self.cluster_host(element, properties, zone, f"{prefix}{member}{suffix}", f"{name}_link_{member}", backbone)
        router = self.text(element, "router_id", f"{prefix}{name}_router{suffix}")
        self.netpoint(router, zone)
        zone.star[router] = ((), ())

    def cluster_host(
        self,
        element: Any,
        properties: dict[str, str],
        zone: Zone,
        name: str,
        link: str,
        backbone: tuple[Link, ...],
    ) -> None:
        self.add_host(element, name, zone, properties)
        policy = self.policy(element, "SPLITDUPLEX")
        if policy == "FATPIPE":
            policy = "SHARED"  # SimGrid 3.32 still shares the hosts' own links of a cluster
        self.add_link(link, *self.pace(element, "bw", "lat"), policy)
        limiter = self.limiter(element, f"{link}_limiter")
        zone.star[name] = (
            (*limiter, self.find_link(link, "UP"), *backbone),
            (*backbone, self.find_link(link, "DOWN"), *limiter),
        )
        self.cluster_loopback(element, zone, name, link)

    def limiter(self, element: Any, name: str) -> tuple[Link, ...]:
        """Return the link that limits all that a host sends and receives, if its cluster has such links."""
        if not element.get("limiter_link"):
            return ()
        return (Link(name, self.measure(element, "limiter_link", BANDWIDTHS), 0.0),)

    def cluster_loopback(self, element: Any, zone: Zone, name: str, link: str) -> None:
        if element.get("loopback_bw"):
            zone.loopbacks[name] = Link(
                f"{link}_loopback", *self.pace(element, "loopback_bw", "loopback_lat"), fatpipe=True
            )

    def wired_cluster(self, element: Any, parent: Zone | None) -> None:
        """Read a cluster that is a fat tree, a torus or a dragonfly; it has no router, so a host is its gateway."""
        from hdeeprm_like.cluster.topologies import topology_of  # few platforms have any

        name, prefix, suffix = (self.text(element, key, "") for key in ("id", "prefix", "suffix"))
        try:
            kind = self.text(element, "topology")
            topology = topology_of(kind, self.text(element, "topo_parameters"), self.leaves)
        except PlatformError as cause:
            raise self.fail(f"cluster {name!r}: {cause}") from None
        members = self.members(element)
        if len(members) != topology.leaves:
            raise self.fail(f"cluster {name!r}: has {len(members)} hosts; its topology has {topology.leaves} leaves")
        zone = self.new_zone(element, parent, "cluster")
        bandwidth, latency = self.pace(element, "bw", "lat")
        policy = self.policy(element, "SPLITDUPLEX")
        links: list[Link] = []
        for place, factor in enumerate(topology.factors):
            link = Link(f"{name}_{place}", bandwidth * factor, latency)  # SimGrid 3.32 shares fat pipes too
            links += [link, Link(link.name, link.bandwidth, latency) if policy == "SPLITDUPLEX" else link]
        limiters = [self.limiter(element, f"{name}_{node}_limiter") for node in range(topology.nodes)]
        zone.wires = Wires(topology, links, limiters, {})
        self.leaves += topology.leaves if kind == "FAT_TREE" else 0
        properties = self.properties(element)
        for leaf, member in enumerate(members):
            host = f"{prefix}{member}{suffix}"
            self.add_host(element, host, zone, properties)
            self.cluster_loopback(element, zone, host, f"{name}_link_{member}")
            zone.wires.leaf_of[host] = leaf
