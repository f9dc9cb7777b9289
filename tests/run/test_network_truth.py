"""What jobs send takes as long in the embedded simulator as on our server, and in the recordings of the real Batsim."""

import json
from dataclasses import replace

import numpy as np
import pytest
from batsim_talk import difference_from_server, play_on_server, talk
from random_worlds import world
from small import jobs, platform

from hdeeprm_like import simulate
from hdeeprm_like.cluster.links import routes_of, with_network
from hdeeprm_like.cluster.platform import Network
from hdeeprm_like.cluster.routes import NO_LINK
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats.batsim_numbers import read_number
from hdeeprm_like.formats.platform_hosts import read_platform_xml
from hdeeprm_like.formats.platform_xml import write_platform_xml
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml
from hdeeprm_like.formats.workload_json import read_workload
from hdeeprm_like.formats.workload_json_writer import write_workload
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy

ODD = 1e5 / 3  # bytes whose sums round


def sending_world(seed, limited=False):
    """A platform, perhaps with limiters, jobs of which most send data, and a policy pair."""
    cluster, workload, pair = world(seed)
    dice = np.random.default_rng(seed + 10**6)
    if limited:
        cluster = replace(cluster, limiters=(str(dice.choice(["0.7Gbps", "3Gbps", "12Gbps", "90MBps"])),))
    size = dice.choice([0.0, 1e6, 2e8, 3e9, ODD, float(dice.integers(1, 10**9))], len(workload))
    return cluster, replace(workload, bytes=size * (workload.delay < 0)), pair


def difference(seed, folder, limited=False):
    """The first job with other cores or times than on the server, "" if there is none."""
    cluster, workload, pair = sending_world(seed, limited)
    write_platform_xml(cluster, folder / "platform.xml", routed=True)
    write_workload(workload, folder / "workload.json")
    exact = {"w0": json.loads((folder / "workload.json").read_text(), parse_float=read_number)["profiles"]}
    cluster = with_network(read_platform_xml(folder / "platform.xml"))
    workload = read_workload(folder / "workload.json", reference_flops=cluster.reference_flops, network=True)
    actions = PolicyActions([pair])
    simulator = Simulator(State(cluster, workload, seed=3, needs=actions.needs), workload)
    list(run_policy(simulator, actions))
    _, ended = play_on_server(talk(cluster, pair, 3, exact), folder)
    return difference_from_server(simulator, workload, folder) if ended else "the server has not ended"


def all_differences(seeds, folder, limited=False):
    return {seed: found for seed in seeds if (found := difference(seed, folder, limited))}


def test_worlds_with_messages_are_the_same_with_the_server(tmp_path):
    assert all_differences(range(30), tmp_path) == {}


def test_worlds_with_limiters_are_the_same_with_the_server(tmp_path):
    assert all_differences(range(15), tmp_path, limited=True) == {}


@pytest.mark.slow
def test_a_thousand_worlds_with_limiters_are_the_same_with_the_server(tmp_path):
    assert all_differences(range(15, 1015), tmp_path, limited=True) == {}


@pytest.mark.slow
def test_a_thousand_worlds_with_messages_are_the_same_with_the_server(tmp_path):
    assert all_differences(range(30, 1030), tmp_path) == {}


# --- on paper

LINKS = Network(("1.0Gbps",), ("0us",), "1.0Gbps", "0us")
GB = 1e9


def two_nodes(latency="0us"):
    """Two nodes of one core of 1 Gflop/s each, behind links of 125 MB/s."""
    core = (100.0, [(1, 1.0, 100.0, 10.0)])
    return platform(core, core, network=replace(LINKS, cluster_latency=(latency,)))


def times(cluster, workload, policy="fcfs"):
    """Start and run time of each job."""
    found = simulate(cluster, workload, policy, network=True)
    return found.start, found.run_time


def test_a_job_takes_as_long_as_its_slower_half():
    both = jobs(seconds=[2.0, 9.0], size=[2, 2], submit=[0.0, 20.0])
    start, run = times(two_nodes(), replace(both, bytes=np.array([GB, GB])))
    assert start == pytest.approx([0.0, 20.0], abs=1e-6)
    assert run == pytest.approx([8.0, 9.0], abs=1e-6)  # 1 GB at 125 MB/s; 9 s of operations


def test_the_latency_of_both_links_comes_first():
    _, run = times(two_nodes("3s"), replace(jobs(seconds=2.0, size=2), bytes=np.array([125.0])))
    assert run == pytest.approx([8.0], abs=1e-6)  # two latencies of 3 s, then 2 s of operations


def test_a_long_latency_limits_the_rate():
    _, run = times(two_nodes("1s"), replace(jobs(seconds=0.0, size=2), bytes=np.array([4194304.0])))
    assert run == pytest.approx([2.0 + 4.0], abs=1e-6)  # at most 4 MiB on the way in twice the latency of 2 s


def test_jobs_share_the_link_of_a_node():
    node = (100.0, [(2, 1.0, 100.0, 10.0)])
    cluster = platform(node, network=LINKS)
    _, alone = times(cluster, replace(jobs(seconds=1.0, size=2), bytes=np.array([GB])))
    assert alone == pytest.approx([16.0], abs=1e-6)  # both cores send 1 GB over it
    node = (100.0, [(4, 1.0, 100.0, 10.0)])
    _, together = times(platform(node, network=LINKS), replace(jobs(seconds=[1.0, 1.0], size=2), bytes=np.full(2, GB)))
    assert together == pytest.approx([32.0, 32.0], abs=1e-6)


def test_a_limiter_carries_what_a_node_sends_and_receives():
    cluster = replace(two_nodes(), limiters=("1.0Gbps",))
    _, run = times(cluster, replace(jobs(seconds=1.0, size=2), bytes=np.array([GB])))
    assert run == pytest.approx([16.0], abs=1e-6)  # 1 GB out and 1 GB in at 125 MB/s; 8 s without it
    _, run = times(
        replace(two_nodes(), limiters=("4.0Gbps",)), replace(jobs(seconds=1.0, size=2), bytes=np.array([GB]))
    )
    assert run == pytest.approx([8.0], abs=1e-6)


def test_the_textbooks_clock_knows_no_network():
    with pytest.raises(OptionsError, match="network: the clock 'textbook' knows no latencies"):
        simulate(two_nodes(), jobs(), "fcfs", "textbook", network=True)


@pytest.mark.parametrize("limiters", [(), ("2.0Gbps",)], ids=["", "limited"])
def test_the_routes_are_those_of_the_xml(limiters, tmp_path):
    """Each link carries the messages of the same pairs of cores, at the same bandwidth, with the same latency."""
    core = (100.0, [(2, 1.0, 100.0, 10.0)])
    cluster = platform(core, core, network=replace(LINKS, cluster_latency=("5us",), global_latency="3us"))
    cluster = replace(cluster, limiters=limiters)
    write_platform_xml(cluster, tmp_path / "p.xml", routed=True)
    written, routes = read_simgrid_xml(tmp_path / "p.xml"), routes_of(cluster)
    theirs, ours = {}, {}
    for a, source in enumerate(cluster.core_names):
        p = routes.place[a]
        for b, destination in enumerate(cluster.core_names):
            if a != b:
                links, latency = written.route(source, destination)
                q = routes.place[b]
                g, h = routes.group[p], routes.group[q]
                way = g * len(routes.delay) + h
                for link in links:
                    theirs.setdefault((link.name, link.bandwidth), set()).add((a, b))
                between = routes.links[routes.first[way] : routes.first[way + 1]]
                limits = [link for link in (routes.limiter[p], routes.limiter[q]) if link != NO_LINK]
                for number in (routes.up[p], *between, routes.down[q], *limits):
                    ours.setdefault((int(number), float(routes.bandwidth[number])), set()).add((a, b))
                assert latency == routes.delay[g, h]
        links, latency = written.route(source, "master_host")
        assert latency == pytest.approx(routes.gate_delay[p], rel=1e-15)
        assert len(links) == routes.gate_first[p + 1] - routes.gate_first[p]

    def uses(found):
        return sorted((bandwidth, sorted(pairs)) for (_, bandwidth), pairs in found.items())

    assert uses(ours) == uses(theirs)
