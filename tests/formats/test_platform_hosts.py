"""A platform of SimGrid is a machine: of one reader come the same nodes, and the same schedules, for every driver."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from batsim_talk import TEXT
from server_inputs import workload

from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.batsim_server.cli import play, read_command_line
from hdeeprm_like.cli.main import main
from hdeeprm_like.cluster.links import with_network
from hdeeprm_like.cluster.platform import watts_by_pstate
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.decision.system import DecisionSystem, FirstAction
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.open import load_platform, write
from hdeeprm_like.formats.platform_hosts import NO_LIMIT, UNKNOWN_WATTS
from hdeeprm_like.formats.workload_json import read_workload
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy

POLICIES = (
    *("random-high_gflops", "shortest-high_gflops", "smallest-low_power", "low_mem-high_cores", "fcfs+strict"),
    *("fcfs+easy", "sjf+easy", "fcfs+conservative", "f1+easy", "sjf+easy-best_fit", "ljf+easy", "saf+conservative"),
    "wfp3+easy",
)
POWER = '<prop id="wattage_per_state" value="90:100:200"/>'
HEAD = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"


def written(tmp_path, inside, name="p.xml", head=HEAD):
    path = tmp_path / name
    path.write_text(f'{head}<platform version="4.1"><zone id="top" routing="Full">{inside}</zone></platform>')
    return path


MASTER = '<host id="master_host" speed="1Gf"/>'
MIXED = f"""
{MASTER}
<host id="b" core="4" speed="2Gf">{POWER}</host>
<host id="a" speed="100.0Mf, 50Mf" pstate="1">
  <prop id="wattage_per_state" value="9:10:20, 8:9:16"/></host>
<host id="disks" speed="1Gf"><prop id="role" value="storage"/></host>
"""


def test_each_host_that_computes_is_a_node_in_the_order_of_names(tmp_path):
    machine = load_platform(written(tmp_path, MIXED))
    assert machine.core_names == ("a", "b#0", "b#1", "b#2", "b#3")
    assert machine.core_processor.tolist() == [0, 1, 1, 1, 1]
    assert machine.processor_node.tolist() == [0, 1]
    assert machine.processor_flops.tolist() == [[50e6] * 4, [2e9] * 4]
    # all four cores of b: 200 W at work, 100 W with the least, 90 W when idle; two at work take 150 W
    assert machine.processor_watts.tolist() == [[16.0, 16.0, 9.0, 8.0], [50.0, 50.0, 25.0, 22.5]]
    assert machine.node_memory.tolist() == machine.processor_bandwidth.tolist() == [NO_LIMIT] * 2
    assert (machine.cluster_names, machine.name) == (("top",), "p")


@pytest.mark.parametrize(
    ("attributes", "properties", "flops", "watts"),
    [
        # without power as the cores of a pool
        ('speed="4Gf, 1Gf"', {}, [4e9, 1e9, 4e9, 4e9], watts_by_pstate(UNKNOWN_WATTS)),
        # a sleeping state is none that computes
        ('speed="4Gf, 1Gf, 2f, 3f" pstate="1"', {"sleep_pstates": "1:2:3"}, [4e9] * 4, watts_by_pstate(UNKNOWN_WATTS)),
        # those that HDeepRM wrote keep their four P-states
        (
            'speed="4Gf, 3Gf, 0.001f, 0.001f" pstate="3"',
            {"wattage_per_state": "4.0:4.0, 3.0:3.0, 1.0:1.0, .2:.2"},
            [4e9, 3e9, 0.001, 0.001],
            [4.0, 3.0, 1.0, 0.2],
        ),
    ],
)
def test_p_states_of_a_host_are_those_in_which_it_computes(attributes, properties, flops, watts, tmp_path):
    inside = "".join(f'<prop id="{name}" value="{value}"/>' for name, value in properties.items())
    machine = load_platform(written(tmp_path, f'<host id="h" {attributes}>{inside}</host>'))
    assert machine.processor_flops[0].tolist() == flops
    assert machine.processor_watts[0].tolist() == watts


def test_properties_of_ours_say_more_where_a_host_has_them(tmp_path):
    inside = "".join(
        f'<host id="{name}" speed="1Gf"><prop id="hdeeprm_node" value="{node}"/>'
        f'<prop id="hdeeprm_memory" value="{memory}"/></host>'
        for name, node, memory in (("a", 0, 500), ("b", 0, 500), ("c", 1, 700))
    )
    machine = load_platform(written(tmp_path, inside))
    assert machine.processor_node.tolist() == [0, 0, 1]
    assert machine.node_memory.tolist() == [500.0, 700.0]
    with pytest.raises(PlatformError, match=r"p\.xml: host 'b': property 'hdeeprm_node' is missing"):
        load_platform(written(tmp_path, f"{inside.replace('hdeeprm_node', 'x', 2).replace('x', 'hdeeprm_node', 1)}"))


def test_an_empty_first_line_and_an_older_version_are_read(tmp_path):
    path = written(tmp_path, MASTER + '<host id="h" speed="1e9"/>', head="\n" + HEAD)
    path.write_text(path.read_text().replace('"4.1"', '"4"').replace("zone", "AS"))
    assert load_platform(path).cores == 1


CABINETS = """
<zone id="rack" routing="Cluster">
  <cabinet id="c" prefix="n-" suffix=".x" speed="3Gf" bw="8Gbps" lat="1us" radical="0-2,7"/>
  <cabinet id="c" prefix="master_host" suffix="" speed="3Gf" bw="8Gbps" lat="1us" radical="0-0"/>
  <link id="own" sharing_policy="SPLITDUPLEX" bandwidth="1GBps" latency="2us"/>
  <host id="z" speed="3Gf"/><host_link id="z" up="own_UP" down="own_DOWN"/>
  <router id="r"/><backbone id="b" bandwidth="2GBps" latency="500us"/>
</zone>"""


def test_cabinets_are_clusters_of_hosts_with_links_to_a_backbone(tmp_path):
    machine = load_platform(written(tmp_path, CABINETS))
    assert machine.core_names == ("n-0.x", "n-1.x", "n-2.x", "n-7.x", "z")
    assert machine.cluster_names == ("rack_0", "rack_1")
    seconds = [float(text.removesuffix("s")) for text in machine.links.cluster_latency]
    assert seconds == pytest.approx([502e-6, 503e-6])
    assert machine.master_link == (f"{1e9!r}Bps", f"{1e-6 + 500e-6 + 1e-6!r}s")


def test_links_that_are_not_known_leave_the_hosts(tmp_path, caplog):
    link = '<link id="l" bandwidth="1Bps" bandwidth_file="b.txt"/>'
    machine = load_platform(written(tmp_path, f'{MASTER}<host id="h" speed="1Gf"/>{link}'))
    assert (machine.cores, machine.network) == (1, None)
    assert len(caplog.messages) == 1
    assert "bandwidth_file is not imitated; so the messages of its hosts take no time" in caplog.messages[0]
    with pytest.raises(PlatformError, match="bandwidth_file is not imitated"):
        with_network(machine)


# -- one schedule for all


def world(tmp_path):
    """Hosts of other speeds, cores and ways to the master host, whose messages to itself take time."""
    links = "".join(
        f'<link id="l{number}" bandwidth="{40 + number}MBps" latency="{50 + 90 * number}us"/>' for number in range(4)
    )
    hosts = "".join(
        f'<host id="{name}" core="{cores}" speed="{speed}">{POWER}</host>'
        f'<route src="master_host" dst="{name}"><link_ctn id="l{number}"/><link_ctn id="l0"/></route>'
        for number, (name, cores, speed) in enumerate((("a", 2, "1Gf"), ("b", 1, "3Gf"), ("c", 3, "2Gf,1Gf")), start=1)
    )
    between = "".join(
        f'<route src="{one}" dst="{two}"><link_ctn id="l{at}"/><link_ctn id="l{at + 1}"/></route>'
        for at, (one, two) in enumerate((("a", "b"), ("a", "c"), ("b", "c")))
    )
    own = '<link id="own" bandwidth="498MBps" latency="15us" sharing_policy="FATPIPE"/>'
    own += '<route src="master_host" dst="master_host"><link_ctn id="own"/></route>'
    text = hosts.replace('"2Gf,1Gf">' + POWER, '"2Gf,1Gf">' + POWER.replace("90:100:200", "90:100:200,80:90:100"))
    return written(tmp_path, MASTER.replace("/>", f">{POWER}</host>") + links + own + text + between)


def jobs_in(tmp_path, sending=0.0):
    rng = np.random.default_rng(7)
    jobs, profiles, at = [], {}, 0
    for number in range(25):
        at += int(rng.integers(0, 30))
        length, size = int(rng.integers(5, 150)), int(rng.integers(1, 7))
        work = {"type": "parallel_homogeneous", "cpu": length * 1e9, "com": sending}
        profiles[str(number)] = work if number % 2 else {"type": "delay", "delay": length}
        limit = 4 * length + int(rng.integers(1, 100)) if not number % 5 else 10_000
        jobs.append({"id": str(number), "subtime": at, "res": size, "profile": str(number), "walltime": limit})
    path = tmp_path / "w.json"
    path.write_text(json.dumps({"nb_res": 6, "jobs": jobs, "profiles": profiles}))
    return path


def embedded(machine, workload, policy):
    actions = PolicyActions([policy_named(policy)])
    simulator = Simulator(State(machine, workload, seed=3, needs=actions.needs), workload)
    list(run_policy(simulator, actions))
    tasks = simulator.simulation.tasks
    rows = {name.split("!")[1]: row for row, name in enumerate(workload.ids)}
    return {name: (tasks[row]["start"], tasks[row]["finish"]) for name, row in rows.items()}


def conversation_of(machine, policy):
    """Our side of a simulation; None for the machine that Batsim describes."""

    def decide(platform, limits):
        actions = PolicyActions([policy_named(policy)])
        return DecisionSystem(State(platform, None, seed=3, limits=limits, needs=actions.needs), actions)

    return Conversation(decide, FirstAction(), Codec4(), machine)


def play_file(tmp_path, file, jobs, conversation, *more):
    """Play jobs with our server on the user's own file; return whether the simulation has ended."""
    words = ["-p", str(file), "-w", str(jobs), "-e", str(tmp_path / "out"), "-q", "-s", "", *more]
    return play(read_command_line(words)[0], lambda message: conversation.answer(message).encode())


def served(tmp_path, file, jobs, machine, policy):
    """Times of the jobs there."""
    assert play_file(tmp_path, file, jobs, conversation_of(machine, policy), "-E", "--enable-compute-sharing")
    with (tmp_path / "out_jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {row["job_id"]: (float(row["starting_time"]), float(row["finish_time"])) for row in rows}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, times in found.items():
        assert times == pytest.approx(expected[name], abs=TEXT), name


# a few stay
@pytest.mark.lane(more=r"(random|low_mem|f1|ljf|saf|wfp3|smallest).*")
@pytest.mark.parametrize("policy", POLICIES)
def test_a_users_own_file_has_one_schedule_embedded_on_the_server_and_converted(tmp_path, policy):
    file, jobs = world(tmp_path), jobs_in(tmp_path)
    machine = load_platform(file)
    expected = embedded(machine, read_workload(jobs, reference_flops=machine.reference_flops), policy)
    assert_same(served(tmp_path, file, jobs, machine, policy), expected)
    for name in ("again.json", "again.xml"):
        write(machine, tmp_path / name, "platform")
        again = load_platform(tmp_path / name)
        workload = read_workload(jobs, reference_flops=again.reference_flops)
        assert embedded(again, workload, policy) == expected
    again = load_platform(tmp_path / "again.json")
    assert_same(served(tmp_path, tmp_path / "again.xml", jobs, again, policy), expected)


def test_in_a_network_the_links_of_the_file_count(tmp_path):
    file, jobs = world(tmp_path), jobs_in(tmp_path, sending=3e7)
    machine = with_network(load_platform(file))
    workload = read_workload(jobs, reference_flops=machine.reference_flops, network=True)
    expected = embedded(machine, workload, "sjf+easy")
    assert_same(served(tmp_path, file, jobs, machine, "sjf+easy"), expected)
    alone = embedded(replace(machine, routes=None), workload, "sjf+easy")
    assert alone != expected


def test_hosts_of_several_cores_need_a_batsim_that_lets_jobs_share_them(tmp_path):
    file, jobs = world(tmp_path), jobs_in(tmp_path)
    with pytest.raises(PlatformError, match="hosts have several cores; start it with --enable-compute-sharing"):
        play_file(tmp_path, file, jobs, conversation_of(load_platform(file), "sjf+easy"))


def test_batsims_machines_alone_are_a_machine_too(tmp_path):
    file = written(tmp_path, MASTER + "".join(f'<host id="{name}" speed="1Gf"/>' for name in "cab"))
    jobs = tmp_path / "w.json"
    jobs.write_text(json.dumps(workload([(0, 2, "d", None)], {"d": {"type": "delay", "delay": 5}})))
    conversation = conversation_of(None, "sjf+easy")
    assert play_file(tmp_path, file, jobs, conversation)
    assert conversation.system.state.platform.core_names == ("a", "b", "c")


@pytest.mark.parametrize("network", [False, True])
def test_launch_runs_a_users_own_files_in_process_and_with_batsim(tmp_path, network):
    file, jobs = world(tmp_path), jobs_in(tmp_path, sending=3e7 if network else 0.0)
    options = {"seed": 3, "policy": "fcfs+easy", "platform_file_path": file.name, "workload_file_path": jobs.name}
    (tmp_path / "exp.json").write_text(json.dumps(options | {"network": network}))
    how = ["launch", "--options", str(tmp_path / "exp.json"), "-q", "--output"]
    assert main([*how, str(tmp_path / "in")]) == 0
    assert main([*how, str(tmp_path / "at"), "--simulator", "batsim", "--batsim-command", "hdeeprm-like batsim"]) == 0
    again = ["launch", "--options", str(tmp_path / "in" / "options.json"), "-q", "--output", str(tmp_path / "re")]
    assert main(again) == 0
    tables = []
    for name in ("in", "at", "re"):
        with (tmp_path / name / "out_jobs.csv").open() as rows:
            tables.append([(row["job_id"], row["starting_time"], row["finish_time"]) for row in csv.DictReader(rows)])
    assert tables[0] == tables[1] == tables[2]
