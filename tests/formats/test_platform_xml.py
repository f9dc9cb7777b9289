"""The XML of a platform: real SimGrid reads it, and the hierarchy comes back exactly."""

import gzip
import json
import subprocess
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from calls import calls_of
from hypothesis import given, settings
from hypothesis import strategies as st

from hdeeprm_like.cluster.platform import Network, Platform, flops_by_pstate, watts_by_pstate
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.platform_hosts import read_platform_xml
from hdeeprm_like.formats.platform_json import core_names, read_platform
from hdeeprm_like.formats.platform_properties import figures_of, first_mismatch, platform_from_properties, properties_of
from hdeeprm_like.formats.platform_xml import write_platform_xml

ROOT = Path(__file__).parents[2]
SHIPPED = ("learning", "das2", "gaia", "pik", "ricc", "mc2")


@cache
def shipped(name):
    return read_platform(ROOT / "platforms" / f"{name}.json")


def small(**changes):
    """Cluster a: a node of one processor (2 cores), a node of two (1 core each). Cluster b: a node of one (1 core)."""
    columns = {
        "name": "small",
        "cluster_names": ("a", "b"),
        "node_cluster": np.array([0, 0, 1]),
        "node_memory": np.array([1000.0, 2500.5, 4000.0]),
        "node_types": ("Two", "Pair", "One"),
        "processor_node": np.array([0, 1, 1, 2]),
        "processor_bandwidth": np.array([25.6, 16.0, 16.0, 0.1]),
        "processor_types": ("x", "y", "z", "x"),
        "processor_flops": np.array([flops_by_pstate(gflops) for gflops in (4.0, 9.04, 1.1, 4.0)]),
        "processor_watts": np.array([watts_by_pstate(watts) for watts in (40.0, 7.5, 71.25, 40.0)]),
        "core_processor": np.array([0, 0, 1, 2, 3]),
        "core_names": core_names(5),
        "network": Network(("10.0Gbps", "1.0Gbps"), ("75us", "0us"), "1.0Gbps", "125us"),
    }
    return Platform(**(columns | changes))


def hosts_of(platform):
    """Return the hosts in Batsim's first message."""
    texts = [properties_of(figures) for figures in figures_of(platform)]
    return [(name, dict(texts[p])) for name, p in zip(platform.core_names, platform.core_processor, strict=True)]


def assert_same(found, expected):
    for field in fields(Platform):
        its, mine = getattr(found, field.name), getattr(expected, field.name)
        assert np.array_equal(its, mine) if isinstance(mine, np.ndarray) else its == mine, field.name


@st.composite
def platforms(draw):
    """Draw a platform of up to 3 clusters, any figures and any names that can be printed."""
    figure = st.floats(1e-3, 1e9)
    name = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=8).filter(str.isprintable)
    sizes = st.integers(1, 3)
    for _ in range(3):  # cores of the processors of the nodes of the clusters
        sizes = st.lists(sizes, min_size=1, max_size=3)
    sizes = draw(sizes)
    nodes = [(cluster, node) for cluster, its in enumerate(sizes) for node in its]
    cores = [cores for _, node in nodes for cores in node]
    link = st.sampled_from(["1.0Gbps", "10.0Gbps"]), st.sampled_from(["0us", "75us"])

    def drawn(what, count, **options):
        return draw(st.lists(what, min_size=count, max_size=count, **options))

    network = Network(
        tuple(drawn(link[0], len(sizes))), tuple(drawn(link[1], len(sizes))), draw(link[0]), draw(link[1])
    )
    return Platform(
        name=draw(name),
        cluster_names=tuple(drawn(name, len(sizes), unique=True)),
        node_cluster=np.array([cluster for cluster, _ in nodes]),
        node_memory=np.array(drawn(figure, len(nodes))),
        node_types=tuple(drawn(name, len(nodes))),
        node_gpus=np.array(drawn(st.sampled_from([0.0, 1.0, 4.0, 2.5]), len(nodes))),
        processor_node=np.array([number for number, (_, node) in enumerate(nodes) for _ in node]),
        processor_bandwidth=np.array(drawn(figure, len(cores))),
        processor_types=tuple(drawn(name, len(cores))),
        processor_flops=np.array(drawn(st.tuples(figure, figure, figure, figure), len(cores))),
        processor_watts=np.array(drawn(st.tuples(figure, figure, figure, figure), len(cores))),
        core_processor=np.repeat(np.arange(len(cores)), cores),
        core_names=core_names(sum(cores)),
        network=network,
    )


# -- there and back


@settings(max_examples=60, deadline=None)
@given(platform=platforms(), limits=st.lists(st.sampled_from(["", "1.0Gbps", "90MBps"]), min_size=3, max_size=3))
def test_any_platform_comes_back_exactly_from_its_xml(tmp_path_factory, platform, limits):
    path = tmp_path_factory.mktemp("random") / "platform.xml"
    limiters = tuple(limits[: len(platform.cluster_names)])
    platform = replace(platform, limiters=limiters if any(limiters) else ())
    write_platform_xml(platform, path)
    assert_same(read_platform_xml(path), platform)


@settings(max_examples=60, deadline=None)
@given(platform=platforms())
def test_any_platform_comes_back_exactly_from_the_message_of_batsim(platform):
    hosts = json.loads(json.dumps(hosts_of(platform)))
    assert_same(platform_from_properties(hosts, platform.name), replace(platform, network=None))
    assert first_mismatch(platform, hosts) is None


def test_the_largest_shipped_platform_is_written_fast(tmp_path):
    platform = shipped("mc2")  # of 10,002 cores
    assert calls_of(lambda: write_platform_xml(platform, tmp_path / "platform.xml")) < 400_000


def test_the_xml_may_be_packed(tmp_path):
    write_platform_xml(small(), tmp_path / "platform.xml")
    (tmp_path / "packed.xml.gz").write_bytes(gzip.compress((tmp_path / "platform.xml").read_bytes()))
    assert_same(read_platform_xml(tmp_path / "packed.xml.gz"), small())


def test_an_attribute_that_only_batsim_follows_is_reported_once(tmp_path, caplog):
    write_platform_xml(small(), tmp_path / "p.xml")
    read_platform_xml(tmp_path / "p.xml")
    assert not caplog.messages
    text = (tmp_path / "p.xml").read_text().replace('speed="', 'state_file="s.txt" speed="')
    (tmp_path / "p.xml").write_text(text)
    assert read_platform_xml(tmp_path / "p.xml").cores == small().cores
    assert [one.removeprefix(f"{tmp_path}/") for one in caplog.messages] == [
        "p.xml: host 'master_host': state_file counts only with Batsim"
    ]


def test_a_platform_without_network_is_written_with_links_that_take_no_time(tmp_path):
    write_platform_xml(small(network=None), tmp_path / "platform.xml")
    network = read_platform_xml(tmp_path / "platform.xml").network
    assert network == Network(("10.0Gbps", "10.0Gbps"), ("0us", "0us"), "10.0Gbps", "0us")


def test_a_host_has_all_properties_that_a_decision_needs():
    assert properties_of(figures_of(small())[1]) == {
        "hdeeprm_cluster": "a",
        "hdeeprm_node": "1",
        "hdeeprm_node_type": "Pair",
        "hdeeprm_memory": "2500.5",
        "hdeeprm_processor": "1",
        "hdeeprm_processor_type": "y",
        "hdeeprm_bandwidth": "16",
        "hdeeprm_speed": "9.040Gf, 6.780Gf, 0.001f, 0.001f",
        "wattage_per_state": "7.500:7.500, 7.500:7.500, 1.875:1.875, 0.375:0.375",
        "watt_per_state": "7.500:7.500, 7.500:7.500, 1.875:1.875, 0.375:0.375",
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"core_names": ("cor_1", "cor_2", "cor_9", "cor_10", "cor_11")},
            "byte order, 'cor_10' before 'cor_9'; fill the numbers with zeros",
        ),
        ({"cluster_names": ("a\0", "b")}, r"the name 'a\\x00' does not fit in XML"),
    ],
)
def test_names_that_batsim_or_xml_cannot_have_are_not_written(change, said, tmp_path):
    with pytest.raises(PlatformError, match=said):
        write_platform_xml(small(**change), tmp_path / "platform.xml")
    assert list(tmp_path.iterdir()) == []


# -- files that cannot be used


@pytest.mark.parametrize(
    ("host", "key", "value", "said"),
    [
        (0, "hdeeprm_node", None, "host 'cor_00000': property 'hdeeprm_node' is missing"),
        (1, "hdeeprm_bandwidth", "7", "host 'cor_00001': hdeeprm_bandwidth is not that of the host before it"),
        (1, "hdeeprm_cluster", "b", "host 'cor_00001': hdeeprm_cluster is not that of the host before it"),
        (2, "hdeeprm_processor", "2", "host 'cor_00002': hdeeprm_processor is 2, 1 comes next"),
        (2, "hdeeprm_node", "2", "host 'cor_00002': hdeeprm_node is 2, 1 comes next"),
        (3, "hdeeprm_memory", "1", "'cor_00003': hdeeprm_memory is not that of the host before it, on the same node"),
        (2, "hdeeprm_gpus", "-4", "host 'cor_00002': hdeeprm_gpus: is '-4'; a number of GPUs from 0"),
        (2, "hdeeprm_gpus", None, "host 'cor_00003': hdeeprm_gpus is not that of the host before it, on the same node"),
        (4, "hdeeprm_memory", "lots", "host 'cor_00004': hdeeprm_memory: is 'lots'; a number of MB above 0"),
        (4, "hdeeprm_bandwidth", "nan", "host 'cor_00004': hdeeprm_bandwidth: is 'nan'; a number of GB/s above 0"),
        (4, "hdeeprm_processor", "-3", "host 'cor_00004': hdeeprm_processor: is '-3'; a whole number from 0"),
        (4, "hdeeprm_speed", "4Gf, 3Gf, 1f", "host 'cor_00004': hdeeprm_speed: is '4Gf, 3Gf, 1f'; four speeds"),
        (4, "hdeeprm_speed", "4Gb, 3Gf, 1f, 1f", "hdeeprm_speed: is '4Gb, 3Gf, 1f, 1f'; four speeds"),
        (4, "wattage_per_state", "4:4, 3:3, inf, 1:1", "wattage_per_state: is '4:4, 3:3, inf, 1:1'; four powers"),
    ],
)
def test_the_first_host_that_does_not_fit_is_named(host, key, value, said):
    hosts = hosts_of(small(node_gpus=np.array([0.0, 4.0, 0.5])))
    if value is None:
        del hosts[host][1][key]
    else:
        hosts[host][1][key] = value
    with pytest.raises(PlatformError) as caught:
        platform_from_properties(hosts, "small")
    assert said in str(caught.value)


def test_hosts_in_another_order_than_the_platform_are_refused():
    hosts = hosts_of(small())
    with pytest.raises(PlatformError, match="host 'cor_00004': hdeeprm_processor is 3, 0 comes next"):
        platform_from_properties(hosts[::-1], "small")
    hosts[4][1]["hdeeprm_cluster"] = "a"
    hosts[2][1]["hdeeprm_cluster"] = hosts[3][1]["hdeeprm_cluster"] = "b"
    with pytest.raises(PlatformError, match="host 'cor_00004': cluster 'a' came before"):
        platform_from_properties(hosts, "small")
    with pytest.raises(PlatformError, match="there are no hosts"):
        platform_from_properties([], "small")


def test_batsim_may_be_configured_to_use_the_first_hosts_only():
    platform = platform_from_properties(hosts_of(small())[:3], "small")
    assert (platform.nodes, platform.processors, platform.cores) == (2, 2, 3)
    assert platform.cluster_names == ("a",)


# -- is it the same platform?


def stranger(platform, name="cor_{}"):
    """Return the hosts as a program writes them that knows only power, numbered in byte order."""
    return sorted(
        (name.format(core), {"role": "", "wattage_per_state": props["wattage_per_state"]})
        for core, (_, props) in enumerate(hosts_of(platform))
    )


def test_the_hosts_of_the_original_agree_with_gaia_when_padded_and_not_in_byte_order():
    gaia = shipped("gaia")
    assert first_mismatch(gaia, stranger(gaia, "cor_{:05d}")) is None
    said = first_mismatch(gaia, stranger(gaia))
    assert said.startswith("host 'cor_10', machine 2: core 2 is 'cor_00002'; Batsim 3 and 4 number hosts in byte order")


def test_few_hosts_agree_without_zeros_and_without_any_property():
    assert first_mismatch(small(), stranger(small())) is None
    assert first_mismatch(small(), [(f"node{core}", {}) for core in range(5)]) is None
    assert first_mismatch(small(), [("a", {})] * 5).startswith("host 'a', machine 0: core 0 is 'cor_00000'")


def test_gpus_are_reported_by_the_hosts_of_nodes_that_have_some():
    hosts = hosts_of(small(node_gpus=np.array([0.0, 4.0, 0.5])))
    assert [props.get("hdeeprm_gpus") for _, props in hosts] == [None, None, "4", "4", "0.5"]


def test_a_host_with_other_power_or_without_a_speed_is_reported():
    hosts = stranger(small())
    hosts[3][1]["wattage_per_state"] = "71.250:71.250, 71.250:71.250, 17.813:17.813, 4:4"
    assert first_mismatch(small(), hosts).startswith("host 'cor_3', machine 3: wattage_per_state is '71.250:71.250, ")
    hosts[2][1]["wattage_per_state"] = "much"
    assert first_mismatch(small(), hosts).startswith("host 'cor_2': wattage_per_state: is 'much'; four powers")
    hosts = hosts_of(small())  # one of ours that lacks a property
    del hosts[2][1]["hdeeprm_speed"]
    assert first_mismatch(small(), hosts).startswith("host 'cor_00002': property 'hdeeprm_speed' is missing")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"node_memory": np.array([1000.0, 2500.5, 4.0])}, "'cor_00004', machine 4: hdeeprm_memory is '4000' and '4'"),
        ({"node_gpus": np.array([0.0, 0.0, 2.0])}, "'cor_00004', machine 4: hdeeprm_gpus is None and '2'"),
        ({"processor_types": ("x", "y", "q", "x")}, "'cor_00003', machine 3: hdeeprm_processor_type is 'z' and 'q'"),
        ({"core_names": tuple("abcde")}, "'cor_00000', machine 0: core 0 is 'a'"),
        ({"core_processor": np.array([0, 1, 2, 3])}, "there are 5 hosts and platform 'small' has 4 cores"),
    ],
)
def test_the_first_host_that_is_not_of_the_platform_is_reported(change, said):
    assert first_mismatch(small(**change), hosts_of(small())).removeprefix("host ").startswith(said)


def test_a_number_written_in_another_way_is_the_same_number():
    hosts = hosts_of(small())
    hosts[0][1].update({"hdeeprm_memory": "1000.0", "hdeeprm_speed": "4Gf, 3000Mf, 0.001f, 1e-3f"})
    assert first_mismatch(small(), hosts) is None
    assert_same(platform_from_properties(hosts, "small"), small(network=None))


# -- the real SimGrid

SIMGRID = "/usr/bin/python3"
LOAD = """
import ctypes, json, sys
import simgrid
engine = simgrid.Engine(["load", "--log=root.thres:warning"])
library = ctypes.CDLL(simgrid.__file__)
library.sg_host_energy_plugin_init()
engine.load_platform(sys.argv[1])
master = simgrid.Host.by_name("master_host")
cores = [host for host in engine.all_hosts if host.name != "master_host"]
told, by_name = library.sg_host_get_property_value, library.sg_host_by_name
told.restype, told.argtypes = ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_char_p]
by_name.restype, by_name.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
def prop(host, key):
    return told(by_name(host.name.encode()), key.encode()).decode()
def route(one, other):
    links, latency = one.route_to(other)
    return [[link.name for link in links], latency, min([link.bandwidth for link in links])]
print(json.dumps({
    "names": [host.name for host in cores],
    "speeds": [[host.pstate_speed(state) for state in range(host.pstate_count)] for host in cores],
    "pstates": [host.pstate for host in cores],
    "watts": [prop(host, "wattage_per_state") for host in cores],
    "processor_types": [prop(host, "hdeeprm_processor_type") for host in cores],
    "up": route(cores[-1], master),
    "down": route(master, cores[-1]),
}))
"""


@cache
def has_simgrid():
    try:
        return subprocess.run([SIMGRID, "-c", "import simgrid"], capture_output=True).returncode == 0
    except OSError:
        return False


def loaded(platform, folder):
    """Return what the real SimGrid understands of the XML of a platform; it must have nothing to say against it."""
    if not has_simgrid():
        pytest.skip(f"{SIMGRID} has no simgrid")
    path = folder / "platform.xml"
    write_platform_xml(platform, path)
    command = [SIMGRID, "-W", "ignore", "-c", LOAD, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert "WARNING" not in result.stderr
    return json.loads(result.stdout)


# Gaia stays
@pytest.mark.lane(more=r"ricc|mc2")
@pytest.mark.parametrize("name", SHIPPED)
def test_simgrid_reads_the_shipped_platforms(name, tmp_path):
    platform = shipped(name)
    found = loaded(platform, tmp_path)
    assert found["names"] == list(platform.core_names)
    np.testing.assert_allclose(found["speeds"], platform.processor_flops[platform.core_processor], rtol=1e-12)
    assert set(found["pstates"]) == {3}
    assert found["processor_types"] == [platform.processor_types[p] for p in platform.core_processor]
    assert found["up"][1] == 0


def test_simgrid_finds_the_way_between_a_core_and_the_master(tmp_path):
    found = loaded(small(network=Network(("10.0Gbps", "4.0Gbps"), ("1us", "75us"), "8.0Gbps", "125us")), tmp_path)
    assert found["up"] == [["link_2_UP", "global_link_1_UP"], pytest.approx(200e-6), pytest.approx(0.5e9)]
    assert found["down"] == [["global_link_1_DOWN", "link_2_DOWN"], pytest.approx(200e-6), pytest.approx(0.5e9)]


def test_simgrid_reads_names_with_any_signs(tmp_path):
    names = ("a \"b\" <c> & 'd'", "é &amp; ü", "x", "日本")
    assert loaded(small(processor_types=names), tmp_path)["processor_types"] == [names[i] for i in (0, 0, 1, 2, 3)]
