"""Random platforms of all kinds of clusters, with tasks that share their links: each ends when SimGrid says so."""

import json
import random

import pytest
from test_simgrid import asked, in_our_engine, in_simgrid, pytestmark, random_task  # noqa: F401 - marks this file

from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml

SIZES = [2, 2, 3, 4]


def cluster_kind(dice):
    """A topology, its parameters and its number of hosts."""
    kind = dice.choice(["FLAT", "FAT_TREE", "TORUS", "DRAGONFLY"])
    if kind == "FLAT":
        return kind, "", dice.randint(2, 8)
    if kind == "TORUS":
        sizes = [dice.choice(SIZES) for _ in range(dice.randint(1, 3))]
        hosts = 1
        for size in sizes:
            hosts *= size
        return kind, ",".join(map(str, sizes)), hosts
    if kind == "DRAGONFLY":
        routers, chassis, leaves = dice.choice([2, 3, 4]), dice.choice([1, 2, 3]), dice.choice([1, 2])
        groups = dice.randint(1, routers)
        links = [dice.randint(1, 3) for _ in range(3)]
        text = f"{groups},{links[0]};{chassis},{links[1]};{routers},{links[2]};{leaves}"
        return kind, text, groups * chassis * routers * leaves
    levels = dice.choice([2, 2, 3])
    children, parents, parallel = (
        [dice.choice(some) for _ in range(levels)] for some in ([2, 3, 4], [1, 2, 3], [1, 2])
    )
    hosts = 1
    for number in children:
        hosts *= number
    lists = (",".join(map(str, numbers)) for numbers in (children, parents, parallel))
    return kind, ";".join([str(levels), *lists]), hosts


def cluster_text(dice, name):
    """One cluster, with random links, limiters, loopbacks, backbone, cores and P-states."""
    kind, parameters, hosts = cluster_kind(dice)
    more = [f'topology="{kind}" topo_parameters="{parameters}"'] if kind != "FLAT" else []
    more.append(f'sharing_policy="{dice.choice(["SPLITDUPLEX", "SHARED", "FATPIPE"])}"')
    if kind in ("FLAT", "TORUS") and dice.random() < 0.3:  # in large others SimGrid has two limiters of one name
        more.append(f'limiter_link="{dice.uniform(100, 900):.3f}MBps"')
    if dice.random() < 0.3:
        more.append(f'loopback_bw="{dice.uniform(500, 9000):.3f}MBps" loopback_lat="{dice.choice([0, 1])}us"')
    if kind == "FLAT" and dice.random() < 0.5:
        policy = dice.choice(["SHARED", "FATPIPE"])
        more.append(f'bb_bw="{dice.uniform(200, 3000):.3f}MBps" bb_lat="10us" bb_sharing_policy="{policy}"')
    speeds = ",".join(f"{dice.uniform(0.3, 4):.4f}Gf" for _ in range(3))
    return (
        f'<cluster id="{name}" prefix="{name}h" suffix="" radical="0-{hosts - 1}" speed="{speeds}" '
        f'router_id="r_{name}" core="{dice.choice([1, 1, 1, 2, 4])}" bw="{dice.uniform(50, 2000):.3f}MBps" '
        f'lat="{dice.choice([0, 1, 50])}us" '
        f'{" ".join(more)}><prop id="wattage_per_state" value="{watts_text(dice)}"/></cluster>'
    )


def watts_text(dice):
    """W of the three P-states: idle and full, or idle, at the least load and full."""
    states = []
    for _ in range(3):
        idle, least, full = sorted(dice.uniform(5, 300) for _ in range(3))
        states.append(f"{idle:.3f}:{least:.3f}:{full:.3f}" if dice.random() < 0.7 else f"{idle:.3f}:{full:.3f}")
    return ", ".join(states)


def platform_of(dice):
    """One or two clusters and a master, all connected by links of their own."""
    names = [f"c{number}" for number in range(dice.choice([1, 1, 2]))]
    parts = [cluster_text(dice, name) for name in names]
    ends = {"master": "master_host"}  # the gateways: clusters that are no stars have no router
    ends |= {name: f"{name}h0" if "topology" in part else f"r_{name}" for name, part in zip(names, parts, strict=True)}
    wires, routes = [], []
    for i, one in enumerate(ends):
        for other in list(ends)[i + 1 :]:
            policy = dice.choice(["SHARED", "FATPIPE", "SPLITDUPLEX"])
            way = ' direction="UP"' if policy == "SPLITDUPLEX" else ""
            wires.append(
                f'<link id="w_{one}_{other}" bandwidth="{dice.uniform(100, 3000):.3f}MBps" '
                f'latency="{dice.choice([0, 200])}us" sharing_policy="{policy}"/>'
            )
            routes.append(
                f'<zoneRoute src="{one}" dst="{other}" gw_src="{ends[one]}" gw_dst="{ends[other]}">'
                f'<link_ctn id="w_{one}_{other}"{way}/></zoneRoute>'
            )
    return (
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1"><zone id="main" routing="Full">'
        '<zone id="master" routing="Full"><host id="master_host" speed="1Gf"/></zone>'
        f"{''.join(parts)}{''.join(wires)}{''.join(routes)}</zone></platform>\n"
    )


def scenario_of(seed, folder, make=platform_of):
    """A platform, tasks that overlap, and changes of P-states meanwhile; peers draw no power."""
    dice = random.Random(seed)
    path = folder / "platform.xml"
    path.write_text(make(dice))
    names = [name for name in read_simgrid_xml(path).hosts if name != "master_host"]
    tasks = [random_task(dice, names, round(i * dice.uniform(0, 1), 3), True, dice.random() < 0.2) for i in range(8)]
    many = [name for name in names if not name.startswith("p")]  # hosts with several P-states
    changes = [(round(dice.uniform(0, 12), 3), dice.choice(many), dice.randint(0, 2)) for _ in range(6 * bool(many))]
    energy = len(many) == len(names) and dice.random() < 0.7
    return {"platform": str(path), "tasks": tasks, "changes": sorted(changes), "energy": energy}


def difference(scenario, folder):
    """The ends of the tasks, and the J of the hosts, on both sides, if they differ."""
    ours, theirs = in_our_engine(scenario, folder), in_simgrid(scenario, folder)
    for one, other in zip(ours, theirs, strict=True):
        if one != pytest.approx(other, rel=1e-6, abs=1e-6):
            return one, other
    return None


def assert_the_same(seed, folder, make=scenario_of):
    """Compare what *make* returns for a seed and a folder, and shrink what differs."""
    scenario = make(seed, folder)
    if difference(scenario, folder) is None:
        return
    smaller = True
    while smaller:
        smaller = False
        for key in ("tasks", "changes"):
            for place in range(len(scenario[key])):
                tried = scenario | {key: scenario[key][:place] + scenario[key][place + 1 :]}
                if tried["tasks"] and difference(tried, folder) is not None:
                    scenario, smaller = tried, True
                    break
    text = (folder / "platform.xml").read_text()
    raise AssertionError(f"seed {seed}: {difference(scenario, folder)}\nof {json.dumps(scenario)}\n{text}")


@pytest.mark.parametrize("seed", range(4))
def test_tasks_on_random_clusters_end_when_simgrid_says(seed, tmp_path):
    assert_the_same(seed, tmp_path)


@pytest.mark.more  # several minutes of SimGrid
def test_tasks_on_300_random_clusters_end_when_simgrid_says(tmp_path):
    for seed in range(100, 400):
        assert_the_same(seed, tmp_path)


@pytest.mark.slow  # half an hour of SimGrid
def test_tasks_on_2000_random_clusters_end_when_simgrid_says(tmp_path):
    for seed in range(1000, 3000):
        assert_the_same(seed, tmp_path)


def assert_the_same_routes(seed, folder, make=platform_of):
    path = folder / "platform.xml"
    path.write_text(make(random.Random(seed)))
    platform = read_simgrid_xml(path)
    for source, destination, links, latency in asked("simgrid_routes.py", path):
        found, delay = platform.route(source, destination)
        assert (len(found), delay) == (len(links), latency), (seed, source, destination)
        assert own_names(link.name for link in found) == own_names(links), (seed, source, destination)


def own_names(links):
    """The links of a route that the file names; those of clusters and peers have SimGrid's own names."""
    return [name for name in links if name.startswith("l") and name.partition("_")[0][1:].isdigit()]


@pytest.mark.parametrize("seed", range(50, 56))
def test_routes_in_random_clusters_have_the_latencies_that_simgrid_says(seed, tmp_path):
    assert_the_same_routes(seed, tmp_path)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [("FAT_TREE", "2;4,2;1,1;1,1"), ("FAT_TREE", "2;2,4;1,2;1,1"), ("DRAGONFLY", "2,1;1,1;2,1;2"), ("TORUS", "2,4")],
)
def test_switches_have_limiters_as_hosts_have(kind, parameters, tmp_path):
    path = tmp_path / "platform.xml"
    path.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'
        '<zone id="z" routing="Full"><cluster id="c" prefix="h" suffix="" radical="0-7" speed="1Gf" '
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
