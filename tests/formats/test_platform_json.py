"""Reading platforms: the shipped ones, the user's own types, and what is said about mistakes."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from calls import calls_of

from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.platform_json import MOST_CORES, core_names, read_platform, read_types

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "hdeeprm" / "platform.xml.gz"
LINK = {"type": "InfiniBand QDR", "latency": "0us"}
SMALL = {"cores": 2, "clock_rate": 2.0, "dpflops_per_cycle": 4, "mem_bw": 25.6, "power": 45}
BIG = {"cores": 3, "clock_rate": 1.5, "dpflops_per_cycle": 16, "mem_bw": 51.2, "power": 90}
BOX = {
    "processors": [{"type": "Small", "number": 2}, {"type": "Big", "number": 1}],
    "memory": {"type": "DDR4-2400", "capacity": 64},
}
WHOLE = "a whole number from 1 to 2,147,483,647 is needed"
NODES, NODE = ("clusters", 0, "nodes", 0), ("types", "nodes", "Box")
PROCESSOR = ("types", "processors", "Small")
ABOVE_0 = "a number above 0 and up to 1e+12 is needed"


def content(**changes):
    """Two clusters: two boxes (2 + 2 + 3 cores each), then the node of the learning platform (2 + 2)."""
    return {
        "clusters": [
            {"id": "one", "nodes": [{"type": "Box", "number": 2}], "local_links": LINK},
            {"id": "two", "nodes": [{"type": "Test0", "number": 1}], "local_links": LINK},
        ],
        "global_links": LINK,
        "types": {"processors": {"Small": SMALL, "Big": BIG}, "nodes": {"Box": BOX}},
        **changes,
    }


def written(folder, value, name="mine.json"):
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def mistake(folder, value, **options):
    """Return what is said about a platform that cannot be used."""
    with pytest.raises(PlatformError) as caught:
        read_platform(written(folder, value), **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def changed(*keys, to):
    """Return the small platform with the value at *keys* replaced, or taken away when *to* is None."""
    value = json.loads(json.dumps(content()))
    inner = value
    for key in keys[:-1]:
        inner = inner[key]
    if to is None:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = to
    return value


def flops_of(text):
    return float(text[:-2]) * 1e9 if "G" in text else float(text[:-1])


def test_gaia_has_the_cores_that_the_original_gave_to_batsim_in_the_same_order():
    platform = read_platform(ROOT / "platforms" / "gaia.json")
    xml = gzip.decompress(GOLDEN.read_bytes()).decode()
    host = r'<host id="(cor_\d+)" pstate="3" speed="(.*?)">\s*<prop id="wattage_per_state" value="(.*?)"'
    found = re.findall(host, xml)
    assert [name for name, _, _ in found] == list(platform.core_names)
    flops = [[flops_of(part) for part in speeds.split(", ")] for _, speeds, _ in found]
    watts = [[float(part.split(":")[0]) for part in text.split(", ")] for _, _, text in found]
    assert np.array_equal(platform.processor_flops[platform.core_processor], flops)
    assert np.array_equal(platform.processor_watts[platform.core_processor], watts)


def test_a_small_platform_comes_out_as_on_paper(tmp_path):
    platform = read_platform(written(tmp_path, content()))
    assert platform.cluster_names == ("one", "two")
    assert platform.node_cluster.tolist() == [0, 0, 1]
    assert platform.node_memory.tolist() == [64000, 64000, 32000]
    assert platform.node_types == ("Box", "Box", "Test0")
    assert platform.processor_node.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    assert platform.processor_types == ("Small", "Small", "Big", "Small", "Small", "Big", "Test0_0", "Test0_1")
    assert platform.processor_bandwidth.tolist() == [25.6, 25.6, 51.2, 25.6, 25.6, 51.2, 32, 32]
    assert platform.core_processor.tolist() == [0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7, 7]
    assert platform.processor_flops[2].tolist() == [24e9, 18e9, 0.001, 0.001]
    assert platform.processor_watts[0].tolist() == [22.5, 22.5, 5.625, 1.125]
    assert platform.core_names[17] == "cor_00017"


def test_links_may_be_an_object_or_a_list_of_one_as_the_thesis_writes_them(tmp_path):
    slow = {"type": "Gigabit Ethernet 1000BASE-T", "latency": "75us"}
    network = read_platform(written(tmp_path, changed("global_links", to=[slow]))).network
    assert (network.global_bandwidth, network.global_latency) == ("1.0Gbps", "75us")
    assert network.cluster_bandwidth == ("10.0Gbps", "10.0Gbps")
    assert network.cluster_latency == ("0us", "0us")
    assert "the list has 2" in mistake(tmp_path, changed("global_links", to=[slow, slow]))


def test_a_node_type_may_have_gpus(tmp_path):
    for value, gpus in ((content(), [0, 0, 0]), *((changed(*NODE, "gpus", to=n), [n, n, 0]) for n in (4, 0))):
        assert read_platform(written(tmp_path, value)).node_gpus.tolist() == gpus


@pytest.mark.parametrize(("cores", "last"), [(1, "cor_00000"), (100_000, "cor_99999"), (100_001, "cor_100000")])
def test_core_names_have_five_digits_or_as_many_as_the_last_needs_and_stand_in_byte_order(cores, last):
    names = core_names(cores)
    assert names[-1] == last
    assert sorted(names, key=str.encode) == list(names)


def test_the_largest_shipped_platform_is_read_fast():
    read_types()
    assert calls_of(lambda: read_platform(ROOT / "platforms" / "mc2.json")) < 20_000  # it has 10,002 cores


# -- types of one's own


def test_type_files_beside_the_platform_are_found(tmp_path):
    written(tmp_path, {"Small": SMALL, "Big": BIG, "_doc": "a note"}, "processor_types.json")
    written(tmp_path, {"Box": BOX}, "node_types.json")
    assert read_platform(written(tmp_path, changed("types", to=None))).cores == 18


@pytest.mark.parametrize("given_as", ["folder", "files", "one file of all kinds"])
def test_type_files_may_lie_elsewhere(tmp_path, given_as):
    folder = tmp_path / "types"
    folder.mkdir()
    files = [
        written(folder, {"Box": BOX}, "node_types.json"),
        written(folder, {"Small": SMALL}, "processor_types.json"),
    ]
    together = written(tmp_path, {"nodes": {"Box": BOX}, "processors": {"Small": SMALL}}, "lab.json")
    types = {"folder": [folder], "files": files, "one file of all kinds": [together]}[given_as]
    only_big = changed("types", to={"processors": {"Big": BIG}})
    assert read_platform(written(tmp_path, only_big), types).cores == 18


def test_a_file_whose_name_ends_like_a_catalogue_is_one(tmp_path):
    mine = written(tmp_path, {"Test0_1": {**SMALL, "cores": 7}}, "my_processor_types.json")
    assert read_platform(written(tmp_path, changed("types", to={**content()["types"]})), [mine]).cores == 23


def test_types_in_the_platform_win_over_given_ones_these_over_those_beside_and_these_over_the_package(tmp_path):
    def processor_of_cores(cores):
        return {"Test0_1": {**SMALL, "cores": cores}}

    def cores_of_test0_1(*types):
        return read_platform(path, types).processor_cores[-1]

    path = written(tmp_path, content())
    assert cores_of_test0_1() == 2
    written(tmp_path, processor_of_cores(3), "processor_types.json")
    assert cores_of_test0_1() == 3
    given_types = written(tmp_path, {"processors": processor_of_cores(4)}, "given.json")
    assert cores_of_test0_1(given_types) == 4
    written(tmp_path, changed("types", "processors", to={"Small": SMALL, "Big": BIG, **processor_of_cores(5)}))
    assert cores_of_test0_1(given_types) == 5


def test_own_networks_and_memories_are_known_too(tmp_path):
    value = changed("global_links", to={"type": "Smoke", "latency": "2s"})
    value["types"] |= {"networks": {"Smoke": {"bandwidth": "1bps"}}, "memories": {"Tape": {"latency": "1s"}}}
    value["types"]["nodes"]["Box"] = {**BOX, "memory": {"type": "Tape", "capacity": 1}}
    platform = read_platform(written(tmp_path, value))
    assert platform.network.global_bandwidth == "1bps"
    assert platform.node_memory[0] == 1000


# -- mistakes


@pytest.mark.parametrize(
    ("keys", "to", "said"),
    [
        (("clusters",), None, "mine.json: key 'clusters' is missing; needed: clusters, global_links"),
        (("clusters",), [], "clusters: the list is empty"),
        (("clusters",), {"id": 1}, "clusters: is an object; a list [...] is needed"),
        (("clusters", 0), "one", "clusters[0]: is 'one'; an object {...} is needed"),
        (("clusters", 1, "id"), "one", "clusters[1].id: cluster 'one' occurs twice"),
        (("clusters", 0, "id"), 7, "clusters[0].id: is 7; a text is needed"),
        (("clusters", 0, "id"), " ", "clusters[0].id: must not be empty"),
        (("clusters", 0, "id"), "a\nb", "clusters[0].id: is 'a\\nb'; one line of printable characters is needed"),
        ((*NODES, "type"), "Bax", "clusters[0].nodes[0].type: node type 'Bax' is not known; did you mean"),
        ((*NODES, "number"), 0, f"clusters[0].nodes[0].number: is 0; {WHOLE}"),
        ((*NODES, "number"), True, "number: is true; a whole number from 1"),
        ((*NODES, "number"), 1.5, "number: is 1.5; a whole number from 1"),
        ((*NODES, "number"), 10**7, "at most 1,000,000 are allowed"),
        ((*NODES, "number"), 10**30, "is a number of more than 20 digits; a whole number from 1"),
        ((*NODES, "nummer"), 2, "clusters[0].nodes[0]: unknown key 'nummer'; did you mean 'number'?"),
        (("clusters", 0, "local_links", "type"), "Infiniband QDR", "did you mean 'InfiniBand QDR'?"),
        (("clusters", 0, "local_links", "latency"), "soon", "local_links.latency: 'soon' is no latency"),
        (("clusters", 0, "local_links", "latency"), "-1us", "'-1us' is no latency"),
        (("global_links",), None, "key 'global_links' is missing"),
        (("global_links",), [], "global_links: the list is empty"),
        (("platform",), 1, "unknown key 'platform'"),
        (("types", "node"), {}, "types: unknown key 'node'; did you mean 'nodes'?"),
        ((*NODE, "processors"), [], "types.nodes.Box.processors: the list is empty"),
        ((*NODE, "processors", 0, "type"), "Smal", "processor type 'Smal' is not known; did you mean 'Small'?"),
        ((*NODE, "memory", "type"), "DDR9", "memory type 'DDR9' is not known"),
        ((*NODE, "memory", "capacity"), 0, "memory.capacity: is 0; a number above 0"),
        ((*PROCESSOR, "cores"), 0, "types.processors.Small.cores: is 0; a whole number from 1"),
        ((*NODE, "gpus"), -1, "types.nodes.Box.gpus: is -1; a whole number from 0"),
        ((*NODE, "gpus"), 0.5, "types.nodes.Box.gpus: is 0.5; a whole number from 0"),
        ((*PROCESSOR, "cores"), 10**7, "Small.cores: more than 1,000,000 cores"),
        ((*PROCESSOR, "mem_bw"), -1, f"Small.mem_bw: is -1; {ABOVE_0}"),
        ((*PROCESSOR, "power"), False, "Small.power: is false; a number above 0"),
        ((*PROCESSOR, "power"), "45 W", "Small.power: is '45 W'; a number above 0"),
        ((*PROCESSOR, "clock_rate"), None, "Small: key 'clock_rate' is missing"),
        ((*PROCESSOR, "clock_rate"), 1e-7, "at least 0.001 is needed"),
        (("types", "processors", "Xeon 1"), {"cores": 1}, 'types.processors["Xeon 1"]: key'),
        (("types", "processors", "a\nb"), 1, 'types.processors["a\\nb"]: is 1; an object {...} is needed'),
        ((*PROCESSOR, "power"), 10**400, f"Small.power: is a number of more than 20 digits; {ABOVE_0}"),
        (("types", "networks"), {"Slow": {"bandwidth": "0bps"}}, "'0bps' is no bandwidth"),
        (("types", "networks"), {"Slow": {"bandwidth": 1}}, "bandwidth: is 1; a text is needed"),
    ],
)
def test_a_mistake_is_one_line_with_the_place_and_the_remedy(tmp_path, keys, to, said):
    message = mistake(tmp_path, changed(*keys, to=to))
    assert message.startswith(f"{tmp_path / 'mine.json'}: ")
    assert said in message


def test_a_mistake_in_a_type_file_names_that_file(tmp_path):
    mine = written(tmp_path, {"Small": {**SMALL, "power": 0}}, "processor_types.json")
    assert mistake(tmp_path, content()).startswith(f"{mine}: Small.power: ")
    node = written(tmp_path, {"nodes": {"Bax": {**BOX, "processors": [{"type": "X", "number": 1}]}}}, "lab.json")
    mine.unlink()
    said = mistake(tmp_path, content(), types=[node])
    assert said.startswith(f"{node}: nodes.Bax.processors[0].type: processor type 'X'")


def test_a_folder_without_types_and_a_file_that_is_not_there_are_refused(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no types; one of node_types.json" in mistake(tmp_path, content(), types=[empty])
    assert "no such file" in mistake(tmp_path, content(), types=[tmp_path / "none.json"])


def test_a_million_cores_are_allowed_and_one_more_is_not(tmp_path):
    types = {
        "processors": {"Huge": {**SMALL, "cores": MOST_CORES}, "One": {**SMALL, "cores": 1}},
        "nodes": {name: {**BOX, "processors": [{"type": name, "number": 1}]} for name in ("Huge", "One")},
    }
    cluster = {"id": "a", "nodes": [{"type": "Huge", "number": 1}], "local_links": LINK}
    assert read_platform(written(tmp_path, content(types=types, clusters=[cluster]))).cores == MOST_CORES
    cluster["nodes"] = [*cluster["nodes"], {"type": "One", "number": 1}]
    said = mistake(tmp_path, content(types=types, clusters=[cluster]))
    assert "clusters[0].nodes[1]: the platform grows to 1,000,001 cores" in said
