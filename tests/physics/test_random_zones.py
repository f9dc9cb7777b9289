"""Random platforms of clusters, and of zones within zones: routes are SimGrid's to the last bit, tasks end with its.

Vivaldi zones hold hosts, peers and routers; SimGrid's XML cannot give coordinates to a zone inside one.
"""

import json

import pytest
from beside_simgrid import asked, assert_the_same, assert_the_same_routes, needs_simgrid, scenario_of
from nested_zones import clusters_of, nested_of
from scenarios import HEAD

from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.formats.platform_xml import write_platform_xml
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml

pytestmark = needs_simgrid()
slow = pytest.mark.slow  # a quarter of an hour of SimGrid or more
more = pytest.mark.more  # a minute of SimGrid or more


@pytest.mark.parametrize(
    ("make", "seeds"),
    [
        *((clusters_of, [seed]) for seed in range(8)),
        *((nested_of, [seed]) for seed in range(12)),
        pytest.param(clusters_of, range(100, 400), marks=more),
        pytest.param(nested_of, range(100, 160), marks=more),
        pytest.param(clusters_of, range(1000, 3000), marks=slow),
        pytest.param(nested_of, range(1000, 2000), marks=slow),
    ],
)
def test_tasks_on_random_platforms_end_when_simgrid_says(make, seeds, tmp_path):
    for seed in seeds:
        assert_the_same(scenario_of(seed, tmp_path, make), tmp_path)


@pytest.mark.parametrize(
    ("make", "seeds"),
    [
        (clusters_of, range(50, 56)),
        (nested_of, range(12)),
        pytest.param(nested_of, range(100, 160), marks=more),
        pytest.param(nested_of, range(1000, 2000), marks=slow),
    ],
)
def test_routes_in_random_platforms_are_those_of_simgrid(make, seeds, tmp_path):
    for seed in seeds:
        assert_the_same_routes(seed, tmp_path, make)


@pytest.mark.parametrize("limiter", [{}, {"limiter": "Gigabit Ethernet 1000BASE-T"}], ids=["", "limited"])
def test_cores_of_our_platforms_reach_one_another_where_jobs_send_data(limiter, tmp_path):
    path = tmp_path / "platform.xml"
    link = {"type": "Gigabit Ethernet 1000BASE-T", "latency": "3us"}
    clusters = [
        {"id": name, "nodes": [{"type": "Test0", "number": 2}], "local_links": link | {"latency": latency} | limiter}
        for name, latency in (("one", "5us"), ("two", "7us"))
    ]
    (tmp_path / "platform.json").write_text(json.dumps({"clusters": clusters, "global_links": link}))
    write_platform_xml(load_platform(tmp_path / "platform.json"), path, routed=True)
    platform = read_simgrid_xml(path)
    for source, destination, names, latency in asked("simgrid_routes.py", path):
        found, delay = platform.route(source, destination)
        assert ([link.name for link in found], delay) == (names, latency), (source, destination)  # to the last bit
    links, latency = platform.route("cor_00000", "cor_00015")
    limits = {"limiter_0", "limiter_3"} if limiter else set()
    ways = {"link_0_UP", "global_link_0_UP", "global_link_1_DOWN", "link_3_DOWN"}
    assert {link.name for link in links} == ways | limits
    assert latency == pytest.approx((5 + 3 + 3 + 7) * 1e-6)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [("FAT_TREE", "2;4,2;1,1;1,1"), ("FAT_TREE", "2;2,4;1,2;1,1"), ("DRAGONFLY", "2,1;1,1;2,1;2"), ("TORUS", "2,4")],
)
def test_switches_have_limiters_as_hosts_have(kind, parameters, tmp_path):
    path = tmp_path / "platform.xml"
    path.write_text(
        f'{HEAD}<zone id="z" routing="Full"><cluster id="c" prefix="h" suffix="" radical="0-7" speed="1Gf" '
        f'bw="1Gbps" lat="1us" topology="{kind}" topo_parameters="{parameters}" limiter_link="90MBps"/></zone>'
        "</platform>"
    )
    platform = read_simgrid_xml(path)
    for source, destination, links, _ in asked("simgrid_routes.py", path):
        found = platform.route(source, destination)[0]
        limiters = [sum(name.endswith("limiter") for name in names) for names in (links, [link.name for link in found])]
        assert (len(found), limiters[0]) == (len(links), limiters[1]), (source, destination)


@pytest.mark.parametrize(
    ("kind", "parameters", "why"),
    [
        ("FAT_TREE", "2;4,4;1,2", "is not of the form LEVELS;CHILDREN,...;PARENTS,...;PARALLEL LINKS,..."),
        ("TORUS", "4,0", "is not of the form SIZE,SIZE,..."),
        ("DRAGONFLY", "3,1;1,1;2,1;1", "3 groups need as many routers in a chassis, not 2"),
        ("TORUS", "3,3", "has 4 hosts; its topology has 9 leaves"),
        ("RING", "4", "topology 'RING' is not known"),
    ],
)
def test_what_is_no_topology_is_refused(kind, parameters, why, tmp_path):
    path = tmp_path / "platform.xml"
    path.write_text(
        f'<platform version="4.1"><zone id="z" routing="Full"><cluster id="c" prefix="h" suffix="" radical="0-3" '
        f'speed="1Gf" bw="1GBps" lat="0us" topology="{kind}" topo_parameters="{parameters}"/></zone></platform>'
    )
    with pytest.raises(PlatformError, match="cluster 'c'") as caught:
        read_simgrid_xml(path)
    assert why in str(caught.value)
