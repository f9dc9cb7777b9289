"""Parallel tasks and routes of our server beside those of SimGrid itself, in the system's Python.

Files of tests are skipped where that has no simgrid module.
"""

import json
import random
import re
import subprocess
from pathlib import Path

import pytest

from hdeeprm_like.batsim_server.options import ServerOptions
from hdeeprm_like.batsim_server.parallel_tasks import Amounts, work_of
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml

PYTHON = "/usr/bin/python3"


def needs_simgrid(version=""):
    """A mark that skips tests where there is no SimGrid whose version begins so."""
    asks = f"import simgrid; assert simgrid.simgrid_version.startswith({version!r})"
    try:
        missing = subprocess.run([PYTHON, "-c", asks], capture_output=True, timeout=300).returncode != 0
    except OSError:
        missing = True
    return pytest.mark.skipif(missing, reason=f"{PYTHON} cannot import simgrid {version}")


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


def scenario_of(seed, folder, make):
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


def assert_the_same(scenario, folder):
    """Compare both sides, and shrink what differs."""
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
    raise AssertionError(f"{difference(scenario, folder)}\nof {json.dumps(scenario)}\n{text}")


def assert_the_same_routes(seed, folder, make):
    """Compare the routes and latencies between all hosts of a random platform, to the last bit."""
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
