"""Zones of SimGrid with the routing ``Cluster``: hosts in cabinets, their links, and the backbone between them.

Source: SimGrid 3.32, "Modeling hierarchies" of its documentation, and `sg_platf.cpp`.
"""

from typing import TYPE_CHECKING, Any

from hdeeprm_like.formats.simgrid_units import BANDWIDTHS, TIMES
from hdeeprm_like.formats.simgrid_zones import Link, Zone

if TYPE_CHECKING:
    from hdeeprm_like.formats.simgrid_xml import _Reader


def fill_star(reader: "_Reader", element: Any, zone: Zone) -> None:
    """Add what a zone says of its cabinets and links, when its hosts and single links are known, as SimGrid does.

    Raises:
        PlatformError: a link is unknown, or a number is none.
    """
    backbone: tuple[Link, ...] = ()
    if reader.linked:
        for one in element.findall("backbone"):
            reader.link(one, zone)
            backbone = (reader.find_link(reader.text(one, "id"), ""),)
        for one in element.findall("host_link"):
            ends = [reader.link_named(reader.text(one, way)) for way in ("up", "down")]
            zone.star[reader.text(one, "id")] = ((ends[0], *backbone), (*backbone, ends[1]))
        for one in element.findall("router"):
            zone.star[reader.text(one, "id")] = ((), ())
    for cabinet in element.findall("cabinet"):
        prefix, suffix = reader.text(cabinet, "prefix", ""), reader.text(cabinet, "suffix", "")
        for member in reader.radical(reader.text(cabinet, "radical")):
            host = f"{prefix}{member}{suffix}"
            reader.add_host(cabinet, host, zone, {})
            if reader.linked:
                bandwidth, latency = (
                    reader.measure(cabinet, "bw", BANDWIDTHS),
                    reader.measure(cabinet, "lat", TIMES, "0s"),
                )
                reader.add_link(f"link_{host}", bandwidth, latency, "SPLITDUPLEX")
                up, down = (reader.find_link(f"link_{host}", way) for way in ("UP", "DOWN"))
                zone.star[host] = ((up, *backbone), (*backbone, down))
