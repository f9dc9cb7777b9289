"""Files of changing speeds: named in a platform's JSON, beside its XML, and read back as they were."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like.cli.main import main
from hdeeprm_like.cluster.speed_profiles import NO_PROFILE, NodeSpeeds, SpeedProfile
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.open import load_platform, write
from hdeeprm_like.formats.simgrid_profiles import read_speed_profile, write_speed_profile
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml

LINK = {"type": "InfiniBand QDR", "latency": "0us"}
NIGHTS = SpeedProfile((1.0, 2.0), (0.5, 1.0), 1.0)

dates = st.lists(st.floats(0.0, 1e9), min_size=1, max_size=5).map(sorted)
again = st.one_of(st.just(0.0), st.floats(1e-3, 1e9))


def platform_file(folder, *groups):
    """A platform's JSON with groups of nodes, each a number of nodes and a file of speeds or None."""
    nodes = [{"type": "Test0", "number": number} | ({"speed_file": file} if file else {}) for number, file in groups]
    path = folder / "p.json"
    path.write_text(json.dumps({"clusters": [{"id": "a", "nodes": nodes, "local_links": LINK}], "global_links": LINK}))
    return path


@pytest.fixture
def changing(tmp_path):
    """A platform of which the second to the fourth node change their speed, the last one in another way."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "nights.txt").write_text("# nights\n1 0.5\n2 1\nLOOPAFTER 1\n")
    (tmp_path / "same.txt").write_text("1 0.5\n2 1\nPERIODICITY 3\n")
    (tmp_path / "once.txt").write_text("7 0.25\n")
    groups = (1, None), (1, "files/nights.txt"), (1, "same.txt"), (1, "once.txt")
    return load_platform(platform_file(tmp_path, *groups))


def test_nodes_have_the_speeds_of_their_files(changing):
    assert changing.speeds == NodeSpeeds((NIGHTS, SpeedProfile((7.0,), (0.25,))), (NO_PROFILE, 0, 0, 1))
    assert changing.digest() != replace(changing, speeds=None).digest()


@pytest.mark.parametrize("name", ["again.json", "again.xml", "again.xml.gz"])
def test_a_platform_is_written_with_its_files_and_read_back(changing, name, tmp_path):
    write(changing, tmp_path / "there" / name, "platform")
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == [
        name,
        "again_speed_0.txt",
        "again_speed_1.txt",
    ]
    again = load_platform(tmp_path / "there" / name)
    assert again.speeds == changing.speeds


def test_each_core_has_a_path_of_its_own_as_simgrid_wants(changing, tmp_path):
    write(changing, tmp_path / "p.xml", "platform")
    hosts = ElementTree.parse(tmp_path / "p.xml").iter("host")
    paths = [path for host in hosts if (path := host.get("speed_file"))]
    assert len(paths) == len(set(paths)) == changing.cores * 3 // 4
    served = read_simgrid_xml(tmp_path / "p.xml").hosts
    assert [served[name].profile for name in changing.core_names[:: changing.cores // 4]] == [
        None, NIGHTS, NIGHTS, SpeedProfile((7.0,), (0.25,)),
    ]  # fmt: skip


def test_a_file_added_by_hand_to_all_cores_of_a_node_is_followed(changing, tmp_path):
    constant = replace(changing, speeds=None)
    write(constant, tmp_path / "p.xml", "platform")
    text, cores = (tmp_path / "p.xml").read_text(), constant.core_names[: constant.cores // 4]
    for name in cores:
        text = text.replace(f'id="{name}"', f'id="{name}" availability_file="once.txt"')
    (tmp_path / "p.xml").write_text(text)
    assert load_platform(tmp_path / "p.xml").speeds == NodeSpeeds((SpeedProfile((7.0,), (0.25,)),), (0, -1, -1, -1))


def test_a_file_of_some_cores_of_a_node_is_reported_once_and_not_followed(changing, tmp_path, caplog):
    write(changing, tmp_path / "p.xml", "platform")
    text = (tmp_path / "p.xml").read_text().replace('id="cor_00001"', 'id="cor_00001" speed_file="once.txt"')
    (tmp_path / "p.xml").write_text(text)
    assert load_platform(tmp_path / "p.xml").speeds == changing.speeds
    assert [line.removeprefix(f"{tmp_path}/") for line in caplog.messages] == [
        "p.xml: <host> 'cor_00001': a speed_file other than that of its node counts only with Batsim or "
        "`hdeeprm-like batsim`"
    ]


@given(dates, st.data(), again)
def test_what_is_written_is_read_back_exactly(tmp_path_factory, dates, data, again):
    shares = data.draw(st.lists(st.floats(0.0, 10.0), min_size=len(dates), max_size=len(dates)))
    profile = SpeedProfile(tuple(dates), tuple(shares), again)
    path = tmp_path_factory.mktemp("speeds") / "s.txt"
    write_speed_profile(profile, path)
    assert read_speed_profile(path) == profile


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("1 0.5\n0.5 1\n", "slow.txt:2: the date 0.5 s is before that of the last change, 1 s"),
        ("1 -1\n", "slow.txt:1: is '-1'; a share of the speed from 0"),
        ("1 half\n", "slow.txt:1: is 'half'; a share of the speed from 0"),
        ("", "slow.txt: holds no change of a speed"),
        ("0 1\nLOOPAFTER 1e-9\n", "slow.txt: its changes begin again after 1e-09 s; 0.001 s is the least"),
        (None, "slow.txt: no such file"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(lines, why, tmp_path, capsys):
    if lines is not None:
        (tmp_path / "slow.txt").write_text(lines)
    path = platform_file(tmp_path, (1, "slow.txt"))
    assert main(["convert", str(path), str(tmp_path / "out.xml")]) == 2
    said = capsys.readouterr().err
    assert f"{path}: clusters[0].nodes[0].speed_file: {tmp_path}/{why}" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out.xml").exists()


def test_the_name_of_a_file_is_a_text(tmp_path):
    with pytest.raises(PlatformError, match=r"speed_file: is 3; a text is needed"):
        load_platform(platform_file(tmp_path, (1, 3)))
