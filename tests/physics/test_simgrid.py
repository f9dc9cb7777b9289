"""Parallel tasks end when SimGrid itself says so; skipped where the system's Python has no simgrid module."""

import json
import random
import re
import subprocess
from pathlib import Path

import pytest

from hdeeprm_like.batsim_server.options import ServerOptions
from hdeeprm_like.batsim_server.parallel_tasks import Amounts, work_of
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.formats.platform_xml import write_platform_xml
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml

PYTHON = "/usr/bin/python3"


def simgrid_is_there():
    try:
        return subprocess.run([PYTHON, "-c", "import simgrid"], capture_output=True, timeout=300).returncode == 0
    except OSError:
        return False


pytestmark = pytest.mark.skipif(not simgrid_is_there(), reason=f"{PYTHON} cannot import simgrid")


def platform_text(dice):
    """Two zones of hosts behind links of random speed and policy, and a cluster with a backbone."""
    zones, routes, ends = [], [], {"master": "master_host"}
    for zone in ("a", "b"):
        hosts, links, local = [], [], []
        for number in range(dice.randint(2, 5)):
            speeds = sorted((dice.uniform(0.2, 4.0) for _ in range(3)), reverse=True)
            name = f"{zone}{number}"
            core = dice.choice([1, 1, 3])
            hosts.append(f'<host id="{name}" speed="{",".join(f"{s:.4f}Gf" for s in speeds)}" core="{core}"/>')
            policy = dice.choice(["SPLITDUPLEX", "SHARED", "FATPIPE"])
            links.append(
                f'<link id="l_{name}" bandwidth="{dice.uniform(50, 2000):.3f}MBps" '
                f'latency="{dice.choice([0, 1, 50, 300])}us" sharing_policy="{policy}"/>'
            )
            up, down = (' direction="UP"', ' direction="DOWN"') if policy == "SPLITDUPLEX" else ("", "")
            local.append((name, f'<link_ctn id="l_{name}"{up}/>', f'<link_ctn id="l_{name}"{down}/>'))
        inner = [
            f'<route src="{x}" dst="{y}" symmetrical="NO">{up}{down}</route>'
            for x, up, _ in local
            for y, _, down in local
            if x != y
        ]
        for x, up, down in local:
            inner.append(f'<route src="{x}" dst="r_{zone}" symmetrical="NO">{up}</route>')
            inner.append(f'<route src="r_{zone}" dst="{x}" symmetrical="NO">{down}</route>')
        zones.append(
            f'<zone id="{zone}" routing="Full">{"".join(hosts)}<router id="r_{zone}"/>{"".join(links + inner)}</zone>'
        )
        ends[zone] = f"r_{zone}"
    zones.append(
        f'<cluster id="c" prefix="c" suffix="" radical="0-3" speed="{dice.uniform(1, 3):.3f}Gf,0.9Gf,0.5Gf" '
        f'bw="{dice.uniform(100, 900):.3f}MBps" lat="20us" bb_bw="1GBps" bb_lat="10us" router_id="r_c"/>'
    )
    ends["c"] = "r_c"
    names = list(ends)
    wires = []
    for i, x in enumerate(names):
        for y in names[i + 1 :]:
            wires.append(f'<link id="g_{x}_{y}" bandwidth="{dice.uniform(100, 3000):.3f}MBps" latency="200us"/>')
            routes.append(
                f'<zoneRoute src="{x}" dst="{y}" gw_src="{ends[x]}" gw_dst="{ends[y]}">'
                f'<link_ctn id="g_{x}_{y}"/></zoneRoute>'
            )
    return (
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1"><zone id="main" routing="Full">'
        '<zone id="master" routing="Full"><host id="master_host" speed="1Gf"/></zone>'
        f"{''.join(zones)}{''.join(wires)}{''.join(routes)}</zone></platform>\n"
    )


def random_task(dice, names, start, talks, crowded):
    count = dice.randint(1, min(5, len(names)))
    hosts = dice.choices(names[:4], k=count) if crowded else dice.sample(names, count)
    n = len(hosts)
    flops = [dice.choice([0.0, dice.uniform(1e8, 8e9)]) for _ in hosts]
    sizes = [dice.choice([0.0, dice.uniform(1e5, 5e8)]) if talks and i // n != i % n else 0.0 for i in range(n * n)]
    if not any(flops) and not any(sizes):
        flops[0] = 1e9
    return {"start": start, "hosts": hosts, "flops": flops, "bytes": sizes}


def in_simgrid(scenario, tmp_path):
    """The ends of the tasks, and the J of each host if energy is measured."""
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(scenario))
    done = run_peer("simgrid_peer.py", path)
    joules = dict(re.findall(r"Energy consumption of host (\S+): (\S+) Joules", done.stderr))
    return answer_of(done), {name: float(number) for name, number in joules.items() if name != "master_host"}


def run_peer(peer, path):
    """Run a peer, which runs SimGrid, on a file."""
    words = [PYTHON, str(Path(__file__).with_name(peer)), str(path)]
    return subprocess.run(words, capture_output=True, text=True, timeout=600, check=True)


def answer_of(done):
    return json.loads(done.stdout.splitlines()[-1])


def asked(peer, path):
    """What a peer prints of a file."""
    return answer_of(run_peer(peer, path))


def in_our_engine(scenario, tmp_path):
    workload = tmp_path / "none.json"
    workload.write_text('{"nb_res": 1, "jobs": [], "profiles": {}}')
    energy = scenario.get("energy", False)
    simulation = Simulation(ServerOptions(Path(scenario["platform"]), (workload,), energy=energy))
    engine, machines = simulation.engine, simulation.machines
    number = {machine.host.name: machine.number for machine in machines.all}
    ends = [-1.0] * len(scenario["tasks"])  # of tasks that never end

    def change():
        for time, name, pstate in scenario["changes"]:
            if time > engine.now:
                yield (engine.sleep, time - engine.now)
            yield from simulation.set_pstate(machines[number[name]], pstate)

    def task(index, description):
        if description["start"] > 0:
            yield (engine.sleep, description["start"])
        ranks = [number[name] for name in description["hosts"]]
        amounts = Amounts(description["flops"], description["bytes"])
        action = yield (engine.start, work_of(machines, simulation.network, ranks, amounts))
        yield (engine.wait, action, -1.0)
        ends[index] = engine.now

    engine.begin(change(), "master_host")
    for index, description in enumerate(scenario["tasks"]):
        engine.begin(task(index, description), "master_host")
    engine.run()
    if not energy:
        return ends, {}
    machines.meter.total(engine.now)
    return ends, {machine.host.name: machines.meter.of([machine.number]) for machine in machines.all}


def scenario_of(dice, tmp_path, talks, together, crowded):
    platform = tmp_path / "platform.xml"
    platform.write_text(platform_text(dice))
    names = [name for name in read_simgrid_xml(platform).hosts if name != "master_host"]
    gap = 3.0 if together else 1000.0
    tasks = [random_task(dice, names, round(i * gap * dice.uniform(0.9, 1.0), 3), talks, crowded) for i in range(12)]
    last = tasks[-1]["start"] + 10
    changes = sorted((round(dice.uniform(0, last), 3), dice.choice(names), dice.randint(0, 2)) for _ in range(60))
    return {"platform": str(platform), "tasks": tasks, "changes": changes}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("talks", "together"),
    [(False, False), (False, True), (True, False), (True, True)],
    ids=["computing-alone", "computing-together", "talking-alone", "talking-together"],
)
@pytest.mark.parametrize("crowded", [False, True], ids=["a-rank-per-host", "several-ranks-per-host"])
def test_parallel_tasks_end_when_simgrid_says(seed, talks, together, crowded, tmp_path):
    scenario = scenario_of(random.Random(seed * 4 + talks * 2 + together), tmp_path, talks, together, crowded)
    assert in_our_engine(scenario, tmp_path)[0] == pytest.approx(in_simgrid(scenario, tmp_path)[0], rel=1e-6)


def graph_text(dice, routing):
    """Hosts and routers that are all connected, by routes of one to three links."""
    points = [f"h{number}" for number in range(dice.randint(4, 10))] + ["r0", "r1"]
    hosts = "".join(f'<host id="{name}" speed="1Gf"/>' for name in points[:-2])
    pairs = {(dice.choice(points[:number]), points[number]) for number in range(1, len(points))}
    pairs |= {tuple(sorted(dice.sample(points, 2))) for _ in range(len(points))}
    wires, routes = [], []
    for source, end in sorted(pairs):
        if (end, source) in pairs:
            continue
        names = [f"l_{source}_{end}_{number}" for number in range(dice.randint(1, 3))]
        wires += [f'<link id="{name}" bandwidth="1GBps" latency="{dice.randint(1, 99)}us"/>' for name in names]
        inside = "".join(f'<link_ctn id="{name}"/>' for name in names)
        routes.append(f'<route src="{source}" dst="{end}">{inside}</route>')
    dice.shuffle(routes)
    return (
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'
        f'<zone id="z" routing="{routing}">{hosts}<router id="r0"/><router id="r1"/>{"".join(wires + routes)}</zone>'
        "</platform>\n"
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("routing", ["Floyd", "Dijkstra", "DijkstraCache"])
def test_the_shortest_ways_are_those_that_simgrid_finds(routing, seed, tmp_path):
    path = tmp_path / "platform.xml"
    path.write_text(graph_text(random.Random(seed), routing))
    assert_simgrid_finds_the_same_ways(path)


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
    assert_simgrid_finds_the_same_ways(path)
    platform = read_simgrid_xml(path)
    links, latency = platform.route("cor_00000", "cor_00015")
    limits = {"limiter_0", "limiter_3"} if limiter else set()
    ways = {"link_0_UP", "global_link_0_UP", "global_link_1_DOWN", "link_3_DOWN"}
    assert {link.name for link in links} == ways | limits
    assert latency == pytest.approx((5 + 3 + 3 + 7) * 1e-6)


def assert_simgrid_finds_the_same_ways(path):
    platform = read_simgrid_xml(path)
    for source, destination, links, latency in asked("simgrid_routes.py", path):
        found, delay = platform.route(source, destination)
        assert [link.name for link in found] == links, (source, destination)
        assert delay == latency, (source, destination)  # to the last bit
