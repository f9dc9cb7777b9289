"""Platforms whose nodes a fat tree or a dragonfly connects: jobs near each other send faster; files keep it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from batsim_talk import jobs_of, play_on_server, talk
from small import jobs, platform

from hdeeprm_like import simulate
from hdeeprm_like.cluster.links import routes_of
from hdeeprm_like.cluster.platform import Network
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.batsim_numbers import read_number
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.formats.platform_hosts import read_platform_xml
from hdeeprm_like.formats.platform_json_writer import write_platform_json
from hdeeprm_like.formats.platform_xml import MOST_ROUTED, write_platform_xml
from hdeeprm_like.formats.workload_json_writer import write_workload
from hdeeprm_like.results.batsim_files import parse_interval_set

FAT_TREE = "FAT_TREE 2;4,2;1,1;1,1"  # two leaf switches of four nodes, and one link from each to the top
DRAGONFLY = "DRAGONFLY 2,1;1,1;2,1;2"  # two groups of two routers with two nodes each
MB = 1e6


def machine(topology, nodes=8):
    """Nodes of one core of 1 Gflop/s, behind links of 125 MB/s."""
    core = (100.0, [(1, 1.0, 100.0, 10.0)])
    links = Network(("1.0Gbps",), ("1us",), "1.0Gbps", "0us")
    return replace(platform(*[core] * nodes, network=links), topology=topology)


def cores_of(found):
    """The cores of each job."""
    return [sorted(core for core in found.simulator.state.cores_of(j)) for j in range(len(found.workload))]


def test_a_job_on_two_switches_shares_the_link_between_them():
    pairs = replace(jobs(seconds=0.0, size=4), bytes=np.array([125 * MB]))
    near = simulate(machine(FAT_TREE), pairs, "fcfs-compact", network=True)
    far = simulate(machine(FAT_TREE), pairs, "fcfs-spread", network=True)
    assert cores_of(near) == [[0, 1, 2, 3]]
    assert cores_of(far) == [[0, 1, 4, 5]]
    assert near.run_time == pytest.approx([3.0], abs=1e-4)  # each node sends 1 s worth to three others
    assert far.run_time == pytest.approx([4.0], abs=1e-4)  # four messages cross the one link up


def test_a_job_that_only_sends_inside_a_node_ends_at_once():
    node = (100.0, [(2, 1.0, 100.0, 10.0)])
    cluster = replace(platform(*[node] * 8, network=machine(FAT_TREE).network), topology=FAT_TREE)
    several = replace(jobs(seconds=[0.0, 3.0], size=2), bytes=np.array([125 * MB, 125 * MB]))
    found = simulate(cluster, several, "fcfs-compact", network=True)
    assert cores_of(found) == [[0, 1], [2, 3]]
    assert found.run_time == pytest.approx([0.0, 3.0], abs=1e-5)


def test_compact_takes_the_smallest_part_that_is_large_enough():
    one = jobs(seconds=[9.0, 9.0, 1.0, 1.0], size=[3, 2, 1, 2], submit=[0.0, 0.0, 1.0, 1.0])
    assert cores_of(simulate(machine(FAT_TREE), one, "fcfs-compact")) == [[0, 1, 2], [4, 5], [3], [6, 7]]


def test_without_a_topology_parts_are_nodes():
    node = (100.0, [(4, 1.0, 100.0, 10.0)])
    found = [cores_of(simulate(platform(node, node), jobs(size=2), f"fcfs-{name}")) for name in ("compact", "spread")]
    assert found == [[[0, 1]], [[0, 4]]]


@pytest.mark.parametrize("limiters", [(), ("1.2Gbps",)], ids=["", "limited"])
@pytest.mark.parametrize("topology", [FAT_TREE, DRAGONFLY, "TORUS 2,4"])
def test_the_server_takes_as_long(topology, limiters, tmp_path):
    """The XML has each route of the topology."""
    sent = np.array([5 * MB, 70 * MB, 0.0, 300 * MB, 20 * MB, 1e5 / 3])
    several = replace(jobs(seconds=2.0, size=[3, 4, 1, 2, 8, 5], submit=[0.0, 0.0, 0.0, 1.0, 2.0, 3.0]), bytes=sent)
    cluster = replace(machine(topology), limiters=limiters)
    write_platform_xml(cluster, tmp_path / "platform.xml", routed=True)
    write_workload(several, tmp_path / "workload.json")
    exact = {"w0": json.loads((tmp_path / "workload.json").read_text(), parse_float=read_number)["profiles"]}
    again = read_platform_xml(tmp_path / "platform.xml")
    assert (again.topology, again.limiters) == (topology, limiters)
    ours = simulate(cluster, several, "first-high_gflops", network=True)
    play_on_server(talk(again, ("first", "high_gflops"), 0, exact), tmp_path)
    rows = jobs_of(tmp_path / "out_jobs.csv")
    for name, start, run, cores in zip(ours.job, ours.start, ours.run_time, cores_of(ours), strict=True):
        assert parse_interval_set(rows[name]["allocated_resources"]) == cores
        assert float(rows[name]["starting_time"]) == pytest.approx(start, abs=1.1e-6)
        assert float(rows[name]["execution_time"]) == pytest.approx(run, abs=1.1e-6)


def test_files_keep_the_topology_and_the_limiters(tmp_path):
    cluster = replace(machine(DRAGONFLY), limiters=("3.0Gbps",))
    write_platform_json(cluster, tmp_path / "p.json")
    again = load_platform(tmp_path / "p.json")
    assert (again.topology, again.limiters) == (DRAGONFLY, ("3.0Gbps",))
    assert again.digest() != replace(again, topology="").digest()
    assert again.digest() != replace(again, limiters=()).digest()


def test_what_does_not_fit_is_refused(tmp_path):
    with pytest.raises(PlatformError, match="has 8 leaves; one cluster of as many nodes is needed, not 4 nodes in 1"):
        routes_of(machine(FAT_TREE, 4))
    large = machine("TORUS 16,17", 272)
    with pytest.raises(PlatformError, match=f"a route for each pair is written for at most {MOST_ROUTED}"):
        write_platform_xml(large, tmp_path / "p.xml", routed=True)
