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


def limited(speed):
    """The two nodes with limiters."""
    return replace(two_nodes(), limiters=(speed,))


def one_node(cores):
    """A node behind such a link."""
    return platform((100.0, [(cores, 1.0, 100.0, 10.0)]), network=LINKS)


@pytest.mark.parametrize(
    ("cluster", "seconds", "sent", "expected"),
    [
        pytest.param(two_nodes(), 2.0, GB, 8.0, id="1 GB at 125 MB/s"),
        pytest.param(two_nodes(), 9.0, GB, 9.0, id="9 s of operations are the slower half"),
        pytest.param(two_nodes("3s"), 2.0, 125.0, 8.0, id="two latencies of 3 s come first"),
        pytest.param(two_nodes("1s"), 0.0, 4194304.0, 6.0, id="then at most 4 MiB on the way in twice 2 s"),
        pytest.param(one_node(2), 1.0, GB, 16.0, id="both cores send 1 GB over the link of their node"),
        pytest.param(one_node(4), [1.0, 1.0], GB, 32.0, id="two jobs share it"),
        pytest.param(limited("1.0Gbps"), 1.0, GB, 16.0, id="a limiter carries 1 GB out and 1 GB in"),
        pytest.param(limited("4.0Gbps"), 1.0, GB, 8.0, id="a wide one limits nothing"),
    ],
)
def test_a_job_of_two_cores_takes_as_long_as_on_paper(cluster, seconds, sent, expected):
    workload = jobs(seconds=seconds, size=2)
    found = simulate(cluster, replace(workload, bytes=np.full(len(workload), sent)), "fcfs", network=True)
    assert found.run_time == pytest.approx([expected] * len(workload), abs=1e-6)


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
