"""The routes between the hosts of a SimGrid platform, as the embedded simulator uses them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.links import MOST_NODES
from hdeeprm_like.cluster.routes import NO_LINK, Routes
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.simgrid_xml import SimgridPlatform, read_simgrid_xml
from hdeeprm_like.formats.simgrid_zones import Link, loopback


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
