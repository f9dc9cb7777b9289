"""What jobs send takes as long in the embedded simulator as on our server, and in the recordings of the real Batsim."""

from dataclasses import replace

import numpy as np
import pytest
from changing_speeds import difference
from random_worlds import world
from small import jobs, platform

from hdeeprm_like import simulate
from hdeeprm_like.cluster.links import routes_of
from hdeeprm_like.cluster.platform import Network
from hdeeprm_like.cluster.routes import NO_LINK
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats.platform_xml import write_platform_xml
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml

ODD = 1e5 / 3  # bytes whose sums round


def sending_world(seed, limited=False):
    """A platform, perhaps with limiters, jobs of which most send data, and a policy pair."""
    cluster, workload, pair = world(seed)
    dice = np.random.default_rng(seed + 10**6)
    if limited:
        cluster = replace(cluster, limiters=(str(dice.choice(["0.7Gbps", "3Gbps", "12Gbps", "90MBps"])),))
    size = dice.choice([0.0, 1e6, 2e8, 3e9, ODD, float(dice.integers(1, 10**9))], len(workload))
    return cluster, replace(workload, bytes=size * (workload.delay < 0)), pair


def all_differences(seeds, folder, limited=False):
    found = {seed: difference(*sending_world(seed, limited), folder, network=True) for seed in seeds}
    return {seed: told for seed, told in found.items() if told}


@pytest.mark.parametrize(
    ("seeds", "limited"),
    [
        (range(30), False),
        (range(15), True),
        pytest.param(range(30, 1030), False, marks=pytest.mark.slow),
        pytest.param(range(15, 1015), True, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_worlds_with_messages_are_the_same_with_the_server(seeds, limited, tmp_path):
    assert all_differences(seeds, tmp_path, limited) == {}


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
