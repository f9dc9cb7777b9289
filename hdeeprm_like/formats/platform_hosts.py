"""A platform from the XML of SimGrid and Batsim: every host that computes is a node, unless our properties say more.

A host without properties of ours (`platform_properties`) is a node with one processor of its cores:

| property | where a host does not have it |
|---|---|
| `hdeeprm_cluster` | the zone; a number is added where the ways of its hosts to the master host differ |
| `hdeeprm_node`, `hdeeprm_processor` | its place in the order of Batsim's machines |
| `hdeeprm_node_type`, `hdeeprm_processor_type` | its cores and their speed |
| `hdeeprm_memory`, `hdeeprm_bandwidth` | `NO_LIMIT` |
| `hdeeprm_speed` | see `pstates_of` |

Hosts are in the order of their names' bytes, as Batsim's machines. The master host, with the role ``master`` or the
name ``master_host`` (``master_host0`` in a cluster), and hosts with the role ``storage`` do not compute.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.links import MOST_NODES, nodes_connected
from hdeeprm_like.cluster.platform import GIGA, Network, Platform, watts_by_pstate
from hdeeprm_like.cluster.routes import NO_LINK, Routes
from hdeeprm_like.cluster.speed_profiles import NO_PROFILE, NodeSpeeds, SpeedProfile
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.json_value import JsonValue
from hdeeprm_like.formats.partitions_json import read_partitions
from hdeeprm_like.formats.platform_json import MOST_CORES
from hdeeprm_like.formats.platform_properties import CORE_SIGN, PREFIX, SPEED, WATTS, platform_from_properties
from hdeeprm_like.formats.platform_xml import LIMITER, MASTER, MASTER_LINK, PARTITIONS, POWER_CAP, TOPOLOGY
from hdeeprm_like.formats.simgrid_hosts import Host, SimgridPlatform, speeds_of
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml
from hdeeprm_like.formats.simgrid_zones import LOOPBACK_BANDWIDTH, Link, loopback
from hdeeprm_like.values import UTMOST, Number

log = logging.getLogger(__name__)

NO_LIMIT = 1e12  # MB of memory of a node, and GB/s of a processor, where the XML says nothing: more than jobs request
NO_HOST = "none"  # a name that no host has
UNKNOWN_SPEED = "1Gf"  # of a machine whose speed Batsim does not send
UNKNOWN_WATTS = 1.0  # of a core of a host without wattage_per_state, as in a pool
PSTATES = 4  # of the hosts that HDeepRM writes, which begin in the last
CAP = Number(0.0, UTMOST, above=True, noun="number of W")

Way = tuple[float, float]  # bytes/s and s of the route from a host to the master host


def read_platform_xml(path: Path) -> Platform:
    """Read a platform, one of `write_platform_xml` or any of SimGrid (``.xml`` or ``.xml.gz``).

    Raises:
        PlatformError: it cannot be read, no host computes, or the properties of hosts contradict one another.
    """
    found = read_simgrid_xml(path, links=False)
    if found.failing:
        log.warning("%s: host %r: state_file counts only with Batsim", path, found.failing)
    master, hosts = computing_hosts(found)
    if not hosts:
        raise PlatformError(f"{path}: no host but the master {master!r} computes")
    cores = sum(host.cores for host in hosts)
    if cores > MOST_CORES:
        raise PlatformError(f"{path}: its hosts have {cores:,} cores; at most {MOST_CORES:,} are allowed")
    name = path.name.split(".")[0]
    props = found.hosts[master].properties if master else {}
    try:
        clusters, network, loopback = _clusters(found, hosts, master, path)
        listed = cores_of(hosts, clusters)
        platform = platform_from_properties(listed, props.get(f"{PREFIX}platform", name), network)
        platform = replace(platform, master_link=loopback)
        platform = _with_own_links(platform, found, props.get(TOPOLOGY, ""))
        if platform.network is None or not found.link_texts.keys() >= {"global_link_0"}:
            names, sizes = tuple([host.name for host in hosts]), tuple([host.cores for host in hosts])
            platform = replace(platform, links_of_file=partial(routes_of_file, path, names, sizes, master))
    except PlatformError as error:
        told = str(error)
        raise PlatformError(told if told.startswith(str(path)) else f"{path}: {told}") from None
    if any(host.profile for host in hosts):
        platform = replace(platform, speeds=_speeds(platform, hosts, path))
    if POWER_CAP in props:
        cap = CAP.in_text(props[POWER_CAP], PlatformError, path, f"{POWER_CAP} of {master}")
        platform = replace(platform, power_cap=cap)
    if PARTITIONS not in props:
        return platform
    try:
        value = JsonValue(json.loads(props[PARTITIONS]), path, PlatformError)
    except (ValueError, RecursionError) as error:
        raise PlatformError(f"{path}: {PARTITIONS} of {master}: no valid JSON: {error}") from None
    return replace(platform, partitions=read_partitions(value, platform.nodes))


def computing_hosts(platform: SimgridPlatform) -> tuple[str, list[Host]]:
    """Return the name of the master host, "" for none, and the hosts that compute, as Batsim numbers them."""
    roles = {name: host.properties.get("role", "") for name, host in platform.hosts.items()}
    masters = [name for name, role in roles.items() if role == "master"]
    named = [name for name in roles if name == MASTER] or [name for name in roles if name == f"{MASTER}0"]
    master = next(iter([*masters, *named]), "")
    computing = sorted((name for name in roles if name != master and roles[name] != "storage"), key=str.encode)
    return master, [platform.hosts[name] for name in computing]


def platform_of_machines(machines: Sequence[tuple[str, Mapping[str, str]]]) -> Platform:
    """Return the platform of Batsim's machines, given their names and properties; Batsim 4 does not send speeds.

    Raises:
        PlatformError: one has no usable speed or power.
    """
    hosts = []
    for name, props in machines:
        speeds = speeds_of(props.get(SPEED, UNKNOWN_SPEED))
        hosts.append(Host(name, speeds, 0, {key: text for key, text in props.items() if key != SPEED}, {}))
    return platform_from_properties(cores_of(hosts, ["batsim"] * len(hosts)), "batsim")


def master_to_name(path: Path) -> str:
    """Return the name of the master host of a file for Batsim's command line; a host with that role is not named twice.

    Raises:
        PlatformError: the file cannot be read.
    """
    found = read_simgrid_xml(path, links=False)
    master, _ = computing_hosts(found)
    return master if master and "role" not in found.hosts[master].properties else NO_HOST


# -- the properties of a host, where it does not have them


def cores_of(hosts: Sequence[Host], clusters: Sequence[str]) -> list[tuple[str, Mapping[str, str]]]:
    """Return the name and the properties of each core.

    Args:
        clusters: the cluster of each host.

    Raises:
        PlatformError: a host has no usable speed or power.
    """
    numbered = [f"{PREFIX}{what}" for what in ("cluster", "node", "processor")]
    given = {key for host in hosts for key in numbered if key in host.properties}
    listed: list[tuple[str, Mapping[str, str]]] = []
    for place, (host, cluster) in enumerate(zip(hosts, clusters, strict=True)):
        kind = f"{host.cores} x {host.speeds[0] / GIGA:g} GFLOP/s"
        kind += f" ({host.properties[WATTS].split(',')[0].strip()} W)" if WATTS in host.properties else ""
        defaults = {
            f"{PREFIX}node_type": kind,
            f"{PREFIX}processor_type": kind,
            f"{PREFIX}memory": repr(NO_LIMIT),
            f"{PREFIX}bandwidth": repr(NO_LIMIT),
        }
        numbers = dict(zip(numbered, (cluster, str(place), str(place)), strict=True))
        props = defaults | {key: text for key, text in numbers.items() if key not in given} | host.properties
        if SPEED not in host.properties:
            flops, watts = pstates_of(host)
            props[SPEED] = ", ".join(f"{one!r}f" for one in flops)
            props[WATTS] = ", ".join(f"{one!r}:{one!r}" for one in watts)
        listed += [(name, props) for name in core_names_of(host)]
    return listed


def core_names_of(host: Host) -> list[str]:
    """Return the names of the cores of a host: its own, or with a number where it has several."""
    if host.cores == 1:
        return [host.name]
    width = len(str(host.cores - 1))
    return [f"{host.name}{CORE_SIGN}{core:0{width}d}" for core in range(host.cores)]


def pstates_of(host: Host) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return flop/s and W of a core in P0 to P3.

    A host stays in its P-state, so all of its cores have that speed, but for P1, which is the next P-state of its list
    if jobs can be computed in it. The power of its cores in P0, P2 and P3 adds up to what SimGrid says of the host:
    that of full load, that of the least load, and that of an idle host. Hosts as HDeepRM writes them change their
    P-state, and have four.

    Raises:
        PlatformError: a speed is 0, or its power is given and unknown in that P-state.
    """
    if len(host.speeds) == PSTATES and host.pstate == PSTATES - 1:
        ranges = host.power_ranges() if WATTS in host.properties else ()
        return host.speeds, tuple([full for _, _, full in ranges]) or tuple(watts_by_pstate(UNKNOWN_WATTS))
    asleep = set(host.properties.get("sleep_pstates", "").replace(",", ":").replace(" ", "").split(":"))
    now = 0 if str(host.pstate) in asleep else host.pstate
    slower = now + 1 if now + 1 < len(host.speeds) and str(now + 1) not in asleep else now
    speed = host.speeds[now]
    if speed <= 0.0:
        raise PlatformError(f"host {host.name!r}: its speed is {speed:g} flop/s; one above 0 is needed")
    flops = (speed, host.speeds[slower] or speed, speed, speed)
    if WATTS not in host.properties:
        return flops, tuple(watts_by_pstate(UNKNOWN_WATTS))
    ranges = host.power_ranges(exact=False)
    if now >= len(ranges):
        raise PlatformError(f"host {host.name!r}: {WATTS} has {len(ranges)} entries, none for P-state {now}")
    idle, least, full = (watts / host.cores for watts in ranges[now])
    return flops, (full, ranges[min(slower, len(ranges) - 1)][2] / host.cores, least, idle)


# -- links


def _with_own_links(platform: Platform, found: SimgridPlatform, topology: str) -> Platform:
    """Return a platform with the links that `write_platform_xml` wrote, if it did."""
    texts, first = found.link_texts, np.unique(platform.node_cluster, return_index=True)[1].tolist()
    links = [texts.get(f"link_{node}") for node in first]
    shared = texts.get("global_link_0")
    if shared is not None and None not in links:
        limits = tuple([texts.get(f"{LIMITER}{node}", ("", ""))[0] for node in first])
        bandwidths, latencies = zip(*filter(None, links), strict=True)
        limits = limits if any(limits) else ()
        platform = replace(platform, network=Network(bandwidths, latencies, *shared), limiters=limits)
        platform = replace(platform, master_link=texts.get(MASTER_LINK))
    platform = replace(platform, topology=topology)
    nodes_connected(platform)
    return platform


def _clusters(
    found: SimgridPlatform, hosts: Sequence[Host], master: str, path: Path
) -> tuple[list[str], Network | None, tuple[str, str] | None]:
    """Return the cluster of each host, the links of the clusters, None if not known, and the way of the master host."""
    zones = [found.routing.zone_of[host.name].name for host in hosts]
    if len(list(groupby(zones))) > len(set(zones)):  # in the order of names, hosts of one zone are between others
        zones = [next(iter(found.routing.zones))] * len(hosts)
    known = None
    if not any(f"{PREFIX}cluster" in host.properties for host in hosts):
        known = _ways(path, hosts, master)
    if known is None:
        return zones, None, None
    *ways, own = known
    keys = list(zip(zones, ways, strict=True))
    if len(list(groupby(keys))) > len(set(keys)):  # then the way of a zone is the longest of its hosts
        longest = {zone: max((way for at, way in keys if at == zone), key=lambda way: way[1]) for zone in set(zones)}
        keys = [(zone, longest[zone]) for zone in zones]
    of_zone = {zone: list(dict.fromkeys(way for at, way in keys if at == zone)) for zone in dict.fromkeys(zones)}
    names = [zone if len(of_zone[zone]) == 1 else f"{zone}_{of_zone[zone].index(way)}" for zone, way in keys]
    links = [_texts(way) for _, way in dict.fromkeys(keys)]
    widest = max(way for _, way in keys)[0]
    bandwidths, latencies = zip(*links, strict=True)
    network = Network(bandwidths, latencies, *_texts((widest, 0.0)))
    return names, network, None if own == (LOOPBACK_BANDWIDTH, 0.0) else _texts(own)


def _texts(way: Way) -> tuple[str, str]:
    """Return the bandwidth and the latency of a way as SimGrid writes them."""
    return f"{way[0]!r}Bps", f"{way[1]!r}s"


def _ways(path: Path, hosts: Sequence[Host], master: str) -> list[Way] | None:
    """Return the way of each host, and then of the master host, to the master host; None if they are not known."""
    if not master:
        return None
    try:
        linked = read_simgrid_xml(path)
        routes = [linked.route(name, master) for name in (*(host.name for host in hosts), master)]
    except PlatformError as error:
        log.warning("%s; so the messages of its hosts take no time", error)
        return None
    return [(min((link.bandwidth for link in links), default=LOOPBACK_BANDWIDTH), way) for links, way in routes]


# -- speeds that change


def _speeds(platform: Platform, hosts: Sequence[Host], path: Path) -> NodeSpeeds | None:
    """Return the changes of speeds; None if no node has any.

    A platform has one file for all hosts of a node; if the XML has several, the node's speed is constant here.
    """
    host_node = platform.processor_node[platform.core_processor][np.cumsum([0, *(host.cores for host in hosts[:-1])])]
    of_node: dict[int, SpeedProfile | None] = {}
    others: list[Host] = []
    for host, node in zip(hosts, host_node.tolist(), strict=True):
        if of_node.setdefault(node, host.profile) != host.profile:
            others.append(host)
    for host, node in zip(hosts, host_node.tolist(), strict=True):
        if host in others:
            of_node[node] = None
    if others:
        what = "a speed_file other than that of its node counts only with Batsim or `hdeeprm-like batsim`"
        log.warning("%s: <host> %r: %s", path, others[0].name, what)
    profiles = list(dict.fromkeys(filter(None, of_node.values())))
    numbers = [NO_PROFILE if one is None else profiles.index(one) for one in of_node.values()]
    return NodeSpeeds(tuple(profiles), tuple(numbers)) if profiles else None


# -- routes


def routes_of_file(path: Path, hosts: Sequence[str], cores: Sequence[int], master: str) -> Routes:
    """Return the routes between hosts of a file, see `routes_between`.

    Raises:
        PlatformError: the file or its routes cannot be used, or there are too many hosts.
    """
    if len(hosts) > MOST_NODES:
        raise PlatformError(f"{path}: network: {len(hosts)} hosts; at most {MOST_NODES} are possible")
    return routes_between(read_simgrid_xml(path), hosts, cores, master)


def routes_between(simgrid: SimgridPlatform, hosts: Sequence[str], cores: Sequence[int], master: str) -> Routes:
    """Return the routes between hosts: each is a place and a group of its own.

    Args:
        cores: of each host. master: the host of Batsim's server; "" if there is none, which then takes no time.

    Raises:
        PlatformError: two hosts are not connected.
    """
    links: dict[Link, int] = {}
    first, crossed, delay = [0], list[int](), np.zeros((len(hosts), len(hosts)))
    gate_first, gates, gate_delay = [0], list[int](), list[float]()
    own = loopback()

    def numbers(way: Sequence[Link]) -> list[int]:
        return [links.setdefault(link, len(links)) for link in way]

    for a, source in enumerate(hosts):
        for b, destination in enumerate(hosts):
            if a != b or cores[a] > 1:
                way, delay[a, b] = simgrid.route(source, destination)
                crossed += numbers(way)
            first.append(len(crossed))
        gate, latency = simgrid.route(source, master) if master else ((), 0.0)
        gates += numbers(gate or (own,))
        gate_first.append(len(gates))
        gate_delay.append(latency)
    each, none = np.arange(len(hosts)), np.full(len(hosts), NO_LINK)
    return Routes(
        bandwidth=np.array([link.bandwidth for link in links], np.float64),
        fatpipe=np.array([link.fatpipe for link in links], np.bool_),
        place=np.repeat(each, cores),
        group=each,
        up=none,
        down=none,
        limiter=none,
        first=np.array(first),
        links=np.array(crossed, np.int64),
        delay=delay,
        gate_first=np.array(gate_first),
        gate_links=np.array(gates, np.int64),
        gate_delay=np.array(gate_delay),
    )
