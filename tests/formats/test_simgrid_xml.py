"""SimGrid platforms are read as SimGrid reads them, and what is not imitated is refused in one line."""

from pathlib import Path

import pytest

from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml

GOLDEN = Path(__file__).parent.parent / "golden" / "batsim4"


def read(tmp_path, inside, head="", outer='<zone id="main" routing="Full">'):
    path = tmp_path / "platform.xml"
    path.write_text(f'<?xml version="1.0"?>\n{head}<platform version="4.1">{outer}{inside}</zone></platform>')
    return read_simgrid_xml(path)


HOST = '<host id="h" speed="1Gf"/>'
PAIR = '<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'


def test_a_host_has_pstates_properties_and_power(tmp_path):
    host = read(
        tmp_path,
        '<prop id="room" value="1"/><host id="h" speed="2Gf, 1Gf,1f" pstate="1">'
        '<disk id="d" read_bw="1MBps" write_bw="1MBps"><prop id="size" value="1GiB"/></disk>'  # is left out
        '<prop id="wattage_per_state" value="30:40:100, 30:80, 5:5:5"/><prop id="sleep_pstates" value="2:0:1"/></host>',
    ).hosts["h"]
    assert (host.speeds, host.pstate, host.zone_properties) == ((2e9, 1e9, 1.0), 1, {"room": "1"})
    assert host.power_ranges() == ((30.0, 40.0, 100.0), (30.0, 30.0, 80.0), (5.0, 5.0, 5.0))
    assert host.sleep_pstates() == {2: (0, 1)}
    assert set(host.properties) == {"wattage_per_state", "sleep_pstates"}


def names_of(platform, source, destination):
    links, latency = platform.route(source, destination)
    return [link.name for link in links], latency


def test_a_route_crosses_zones_through_their_gateways():
    found = names_of(read_simgrid_xml(GOLDEN / "two_net.xml"), "a0", "b1")
    assert found == (["l_a0_UP", "g_a_UP", "g_b_DOWN", "l_b1_DOWN"], pytest.approx(1.1e-3))


DUPLEX = "".join(  # FULLDUPLEX is the older name
    f'<link id="{link}" bandwidth="1Gbps" sharing_policy="{policy}DUPLEX"/>'
    for link, policy in zip("xy", ("FULL", "SPLIT"), strict=True)
)
UP_AND_DOWN = '<link_ctn id="x" direction="UP"/><link_ctn id="y" direction="DOWN"/>'
WAY = f'{PAIR}{DUPLEX}<route src="a" dst="b">{UP_AND_DOWN}</route>'
ROW = '<cluster id="c" prefix="n" suffix=".x" radical="0-1,5" speed="1Gf" bw="1Gbps" lat="10us" bb_bw="2Gbps" {}/>'


@pytest.mark.parametrize(
    ("inside", "source", "destination", "links", "latency"),
    [
        # the way back of a symmetrical route is reversed
        (WAY, "a", "b", ["x_UP", "y_DOWN"], 0.0),
        (WAY, "b", "a", ["y_UP", "x_DOWN"], 0.0),
        # hosts of one zone without a route talk over no link at all; one reaches itself over the loopback
        (PAIR, "a", "b", [], 0.0),
        (HOST, "h", "h", ["__loopback__"], 0.0),
        # a cluster has a link for each host and a backbone, which is crossed once
        (ROW.format('bb_lat="1us"'), "n0.x", "n5.x", ["c_link_0_UP", "c_backbone", "c_link_5_DOWN"], 21e-6),
    ],
)
def test_a_route_has_the_links_between_two_hosts(inside, source, destination, links, latency, tmp_path):
    assert names_of(read(tmp_path, inside), source, destination) == (links, pytest.approx(latency))


def test_the_loopback_is_wide_and_shared_by_nobody(tmp_path):
    ((link,), _) = read(tmp_path, HOST).route("h", "h")
    assert (link.bandwidth, link.fatpipe) == (1e10, True)


def test_a_cluster_may_be_the_whole_platform(tmp_path):
    path = tmp_path / "platform.xml"
    cluster = '<cluster id="c" prefix="h" suffix="" radical="0-1" speed="1Gf" bw="1MBps" lat="5us"/>'
    path.write_text(f'<platform version="4.1">{cluster}</platform>')
    assert names_of(read_simgrid_xml(path), "h0", "h1") == (["c_link_0_UP", "c_link_1_DOWN"], pytest.approx(1e-5))
    path.write_text(f'<platform version="4.1">{cluster}{cluster.replace("c", "d", 1)}</platform>')
    with pytest.raises(PlatformError):
        read_simgrid_xml(path)


ZONES = """
<zone id="A" routing="Full">
  <zone id="AA" routing="Full"><host id="a0" speed="1Gf"/><host id="a1" speed="1Gf"/>
    <link id="la" bandwidth="1GBps" latency="1us"/><route src="a0" dst="a1"><link_ctn id="la"/></route></zone>
  <zone id="AB" routing="Full"><host id="b0" speed="1Gf"/></zone>
  <link id="lab" bandwidth="1GBps" latency="2us"/>
  <zoneRoute src="AA" dst="AB" gw_src="a0" gw_dst="b0"><link_ctn id="lab"/></zoneRoute></zone>
<zone id="B" routing="Full"><host id="c0" speed="1Gf"/><host id="c1" speed="1Gf"/>
  <link id="lc" bandwidth="1GBps" latency="3us"/><route src="c0" dst="c1"><link_ctn id="lc"/></route>
  <bypassRoute src="c0" dst="c0"><link_ctn id="lc"/></bypassRoute></zone>
<link id="x" bandwidth="1GBps" latency="7us"/><link id="w" bandwidth="1GBps" latency="13us"/>
<zoneRoute src="A" dst="B" gw_src="a0" gw_dst="c0"><link_ctn id="x"/></zoneRoute>
<bypassZoneRoute src="A" dst="B" gw_src="b0" gw_dst="c1"><link_ctn id="w"/></bypassZoneRoute>
"""
INNER = '<bypassZoneRoute src="AA" dst="B" gw_src="a1" gw_dst="c0"><link_ctn id="w"/></bypassZoneRoute>'


@pytest.mark.parametrize(
    ("more", "source", "destination", "links", "microseconds"),
    [  # what SimGrid 3.32 answered
        ("", "a1", "c0", ["la", "lab", "w", "lc"], 19),
        ("", "b0", "c1", ["__loopback__", "w", "__loopback__"], 13),
        ("", "c1", "b0", ["lc", "x", "lab"], 12),
        ("", "c0", "c0", ["lc"], 3),
        (INNER, "a0", "c1", ["la", "w", "lc"], 17),
        (INNER, "b0", "c0", ["__loopback__", "w", "lc"], 16),
    ],
)
def test_a_bypass_replaces_the_route_of_what_it_names(more, source, destination, links, microseconds, tmp_path):
    platform = read(tmp_path, ZONES + more)
    assert names_of(platform, source, destination) == (links, pytest.approx(microseconds * 1e-6))


WIRES = "".join(f'<link id="l{n}" bandwidth="1MBps" latency="{2 ** (n - 1)}s"/>' for n in (1, 2, 4, 5)) + (
    '<link id="l3" bandwidth="1MBps" latency="4s" sharing_policy="SPLITDUPLEX"/>'
)
ROUTES = "".join(
    f'<route src="{a}" dst="{b}">' + "".join(f'<link_ctn id="{link}"{way}/>' for link, way in links) + "</route>"
    for a, b, links in [
        ("a", "r", [("l1", ""), ("l2", "")]),
        ("b", "r", [("l3", ' direction="UP"')]),
        ("a", "b", [("l4", "")]),
        ("c", "r", [("l5", "")]),
        ("c", "b", [("l2", "")]),
        ("d", "c", [("l4", ""), ("l5", "")]),
    ]
)


@pytest.mark.parametrize(
    ("routing", "source", "destination", "links", "latency"),
    [  # what SimGrid 3.32 answered
        ("Floyd", "a", "a", ["__loopback__"], 0.0),
        ("Floyd", "a", "c", ["l4", "l2"], 10.0),
        ("Floyd", "c", "a", ["l2", "l4"], 10.0),
        ("Floyd", "d", "a", ["l4", "l5", "l2", "l4"], 34.0),
        ("Floyd", "a", "d", ["l4", "l2", "l5", "l4"], 34.0),
        ("Dijkstra", "a", "a", ["__loopback__"], 0.0),
        ("Dijkstra", "a", "c", ["l4", "l2"], 10.0),
        ("Dijkstra", "d", "a", ["l5", "l4", "l2", "l4"], 34.0),
        ("Dijkstra", "a", "d", ["l4", "l2", "l4", "l5"], 34.0),
        ("DijkstraCache", "d", "b", ["l5", "l4", "l2"], 26.0),
    ],
)
def test_the_way_with_the_fewest_links_is_simgrids(routing, source, destination, links, latency, tmp_path):
    hosts = "".join(f'<host id="{name}" speed="1Gf"/>' for name in "abcd") + '<router id="r"/>'
    platform = read(tmp_path, hosts + WIRES + ROUTES, outer=f'<zone id="main" routing="{routing}">')
    assert names_of(platform, source, destination) == (links, latency)


@pytest.mark.parametrize(
    ("source", "destination", "links", "latency"),
    [  # what SimGrid 3.32 answered
        ("va", "va", [], 0.006),
        ("va", "vb", [], 0.009),
        ("q", "p", ["link_q_UP", "link_p_DOWN"], 0.007),
        ("p", "p", ["link_p_UP", "link_p_DOWN"], 0.0),
    ],
)
def test_coordinates_give_a_latency_and_peers_have_links(source, destination, links, latency, tmp_path):
    platform = read(
        tmp_path,
        '<host id="va" speed="1Gf" coordinates="1 2 3"/><host id="vb" speed="1Gf" coordinates="4 6 1"/>'
        '<peer id="p" speed="1Gf" bw_in="10MBps" bw_out="20MBps" coordinates="0 0 0"/>'
        '<peer id="q" speed="1Gf" bw_in="1MBps" bw_out="2MBps" coordinates="0 3 4"/>',
        outer='<zone id="main" routing="Vivaldi">',
    )
    assert names_of(platform, source, destination) == (links, pytest.approx(latency))


def test_zones_of_a_vivaldi_zone_are_connected_by_routers_with_their_names(tmp_path):
    zone = (
        '<zone id="{0}" routing="Full"><zone id="in{0}" routing="Full">'
        '<router id="router_{0}" coordinates="{1}"/></zone>'
        '<zone id="of{0}" routing="Full"><host id="h{0}" speed="1Gf"/></zone>'
        '<link id="l{0}" bandwidth="1GBps" latency="1ms"/><zoneRoute src="of{0}" dst="in{0}" gw_src="h{0}" '
        'gw_dst="router_{0}"><link_ctn id="l{0}"/></zoneRoute></zone>'
    )
    both = zone.format("a", "1 2 3") + zone.format("b", "4 6 1")
    platform = read(tmp_path, both, outer='<zone id="main" routing="Vivaldi">')
    assert names_of(platform, "ha", "hb") == (["la", "lb"], pytest.approx(0.009 + 0.002))
    platform = read(tmp_path, both.replace("router_b", "r"), outer='<zone id="main" routing="Vivaldi">')
    with pytest.raises(PlatformError, match="no route"):
        platform.route("ha", "hb")


APART = "".join(f'<zone id="z{h}" routing="Full"><host id="{h}" speed="1Gf"/></zone>' for h in "ab")


@pytest.mark.parametrize(
    ("inside", "routing", "hint"),
    [
        (APART, "Full", "no route from 'a' to 'b'"),
        (PAIR, "None", "None"),
        (PAIR, "Vivaldi", "coordinates"),
        (PAIR, "Floyd", "no route"),
    ],
)
def test_hosts_that_cannot_talk_are_found_out_when_they_do(inside, routing, hint, tmp_path):
    with pytest.raises(PlatformError, match=hint):
        read(tmp_path, inside, outer=f'<zone id="main" routing="{routing}">').route("a", "b")


@pytest.mark.parametrize("before", ["\n", " \r\n\t", "\ufeff", "\ufeff\n"])
def test_a_blank_line_and_a_byte_order_mark_may_stand_before_the_xml(before, tmp_path):
    path = tmp_path / "p.xml"
    xml = f'<?xml version="1.0"?><platform version="4.1"><zone id="z" routing="Full">{HOST}</zone></platform>'
    path.write_text(before + xml, encoding="utf-8", newline="")
    assert list(read_simgrid_xml(path).hosts) == ["h"]


def test_zones_hand_their_properties_on_and_hosts_have_cores(tmp_path):
    platform = read(
        tmp_path,
        '<prop id="site" value="here"/><prop id="room" value="1"/>'
        '<zone id="z" routing="Full"><prop id="room" value="2"/><host id="h" speed="1Gf" core="8"/></zone>',
    )
    assert platform.hosts["h"].zone_properties == {"site": "here", "room": "2"}
    assert platform.hosts["h"].cores == 8


@pytest.mark.parametrize("watts", ["1:2:3", "1:2:3, 1", "a:b", "1:2:3, x:1:2", ""])
def test_power_ranges_must_fit_the_pstates(watts, tmp_path):
    host = f'<host id="h" speed="2Gf,1Gf"><prop id="wattage_per_state" value="{watts}"/></host>'
    with pytest.raises(PlatformError, match="wattage_per_state"):
        read(tmp_path, host).hosts["h"].power_ranges()
