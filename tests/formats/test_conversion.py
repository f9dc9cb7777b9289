"""``convert`` writes what a file holds in another format, and back without a loss."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from server_inputs import workload
from small import jobs, platform

from hdeeprm_like.cli.main import main
from hdeeprm_like.errors import OptionsError, PlatformError
from hdeeprm_like.formats.conversion import convert_file
from hdeeprm_like.formats.log_words import demands_of_trace
from hdeeprm_like.formats.open import load_platform, load_trace, load_workload, write
from hdeeprm_like.formats.platform_json_writer import write_platform_json

ROOT = Path(__file__).parent.parent.parent
COLUMNS = (
    *("cluster_names", "node_cluster", "node_memory", "node_gpus", "node_types", "processor_node", "processor_types"),
    *("processor_flops", "processor_watts", "processor_bandwidth", "core_processor", "core_names", "network"),
)
TRACE = """\
; Version: 2.2
; MaxProcs: 64
1 0 5 100 4 -1 -1 4 200 2000 1 7 -1 -1 1 -1 -1 -1
2 10 0 -1 -1 -1 -1 4 50 -1 5 8 -1 -1 1 -1 -1 -1
4 11 0 0 4 -1 -1 2 50 -1 0 8 -1 -1 1 -1 -1 -1
3 12 0 33.5 -1 -1 -1 8 -1 -1 1 -1 -1 -1 1 -1 -1 -1
"""


def convert(*words):
    return main(["convert", "-q", *map(str, words)])


# Gaia stays
@pytest.mark.lane(more=r"ricc|mc2")
@pytest.mark.parametrize("name", ["learning", "gaia", "das2", "pik", "ricc", "mc2"])
def test_a_shipped_platform_goes_to_xml_and_back(name, tmp_path):
    source = ROOT / "platforms" / f"{name}.json"
    assert convert(source, tmp_path / f"{name}.xml") == 0
    assert convert(tmp_path / f"{name}.xml", tmp_path / f"{name}.json") == 0
    before, after = load_platform(source), load_platform(tmp_path / f"{name}.json")
    for column in COLUMNS:
        one, other = getattr(before, column), getattr(after, column)
        assert np.array_equal(one, other) or one == other, column
    assert convert(tmp_path / f"{name}.json", tmp_path / "again.xml") == 0
    first = (tmp_path / f"{name}.xml").read_text()
    assert (tmp_path / "again.xml").read_text() == first
    for property_of_power in ("wattage_per_state", "watt_per_state"):  # of Batsim 4 and 5, and of Batsim 3
        assert first.count(f'id="{property_of_power}"') == before.cores + 1


def test_types_that_the_catalogues_lack_are_written_along(tmp_path):
    nodes = [
        (1000.0, [(2, 1.25, 80.5, 10.0), (2, 1.25, 80.5, 10.0), (4, 2.0, 100.0, 24.0)]),
        (500.375, [(2, 1.25, 80.5, 10.0)]),
        (500.375, [(2, 1.25, 80.5, 10.0)]),
    ]
    before = platform(*nodes, gpus=[4, 0, 0])
    before = replace(before, core_names=tuple(f"cor_{core:05}" for core in range(before.cores)))
    write_platform_json(before, tmp_path / "p.json")
    content = json.loads((tmp_path / "p.json").read_text())
    assert content["clusters"][0]["nodes"] == [{"type": "n", "number": 1}, {"type": "n_2", "number": 2}]
    assert content["types"]["nodes"]["n"]["gpus"] == 4
    assert set(content["types"]["processors"]) == {"p", "p_2"}
    after = load_platform(tmp_path / "p.json")
    for column in set(COLUMNS) - {"node_types", "processor_types", "network"}:
        assert np.array_equal(getattr(before, column), getattr(after, column)), column


def test_p_states_that_are_not_ours_and_names_of_hosts_stay_in_json(tmp_path):
    odd = platform()
    odd.processor_flops[0, 1], odd.processor_watts[0, 2] = 1e-7, 0.0
    odd = replace(odd, master_link=("498MBps", "15us"))
    write_platform_json(odd, tmp_path / "p.json")
    after = load_platform(tmp_path / "p.json")
    assert after.processor_flops.tolist() == odd.processor_flops.tolist()
    assert after.processor_watts.tolist() == odd.processor_watts.tolist()
    assert (after.core_names, after.master_link) == (odd.core_names, odd.master_link)
    content = json.loads((tmp_path / "p.json").read_text())
    (tmp_path / "p.json").write_text(json.dumps(content | {"hosts": ["a", "b"] * odd.cores}))
    with pytest.raises(PlatformError, match=rf"hosts: 2 different names; one for each of {odd.cores} cores is needed"):
        load_platform(tmp_path / "p.json")
    processors = content["types"]["processors"]["p"]
    few = "has 1 figures; one for each of the 4 P-states"
    for wrong, why in (({"flops": [1.0]}, few), ({"power": 1}, "unknown key")):
        content["types"]["processors"]["p"] = processors | wrong
        (tmp_path / "p.json").write_text(json.dumps(content))
        with pytest.raises(PlatformError, match=why):
            load_platform(tmp_path / "p.json")


def test_a_trace_becomes_a_workload_and_a_trace_again(tmp_path, capsys):
    (tmp_path / "t.swf").write_text(TRACE)
    assert main(["convert", str(tmp_path / "t.swf"), str(tmp_path / "w.json"), "--gflops", "2"]) == 0
    told = capsys.readouterr().out
    reason = "1 that never ran, as those cancelled while they waited (the first in line 4)"
    assert told == f"3 jobs (left out: {reason}) in {tmp_path / 'w.json'}\n"
    found = load_workload(tmp_path / "w.json", reference_flops=2e9)
    assert found.capacity == 64
    for column, wanted in {
        **{"submit": [0.0, 11.0, 12.0], "size": [4, 4, 8], "ops": [200e9, 0.0, 67e9], "user": [7, 8, -1]},
        **{"requested_time": [200.0, 50.0, 33.5], "memory": [2.0, 0.0, 0.0], "bandwidth": [0.0, 0.0, 0.0]},
    }.items():
        assert getattr(found, column).tolist() == wanted, column
    assert convert(tmp_path / "w.json", tmp_path / "back.swf.gz", "--gflops", 2) == 0
    back = load_trace(tmp_path / "back.swf.gz")
    assert back.run.tolist() == [100.0, 0.0, 33.5]
    assert back.requested_time.tolist() == [200.0, 50.0, 33.5]
    assert back.requested_memory.tolist() == [2000.0, 0.0, 0.0]
    assert back.user.tolist() == [7, 8, -1]
    assert "MaxProcs: 64" in back.header


def test_a_workload_goes_to_batsim_5_and_back(tmp_path):
    some = jobs(submit=[0.0, 1.5], seconds=[3.0, 4.0], size=[1, 2], delay=[-1.0, 5.0], memory=[10.0, 0.0], gpus=[0, 2])
    write(replace(some, user=np.array([4, -1])), tmp_path / "w.json", "workload")
    assert convert(tmp_path / "w.json", tmp_path / "five.json", "--batsim", 5) == 0
    types = {profile["type"] for profile in json.loads((tmp_path / "five.json").read_text())["profiles"].values()}
    assert types == {"DelayProfile", "ParallelTaskHomogeneousProfile"}
    assert convert(tmp_path / "five.json", tmp_path / "four.json") == 0
    assert (tmp_path / "four.json").read_text() == (tmp_path / "w.json").read_text()


def test_ksus_files_are_distinguished_by_their_first_line(tmp_path):
    assert convert(ROOT / "platforms" / "pool_64.csv", tmp_path / "p.xml") == 0
    assert load_platform(tmp_path / "p.xml").cores == 64


@pytest.mark.parametrize(
    ("name", "content", "target", "hint"),
    [
        ("a.json", "{}", "b.json", "neither a platform"),
        ("a.json", '{"clusters": []}', "b.swf", "a name that ends in .json, .json.gz, .xml or .xml.gz"),
        ("a.swf", TRACE, "b.xml", "a name that ends in .json"),
        ("a.txt", "", "b.xml", "is that of no format"),
        ("a.swf", None, "b.json", "no such file"),
    ],
)
def test_what_cannot_be_converted_is_refused_in_one_line(name, content, target, hint, tmp_path, capsys):
    if content is not None:
        (tmp_path / name).write_text(content)
    assert convert(tmp_path / name, tmp_path / target) == 2
    error = capsys.readouterr().err
    assert hint in error
    assert error.count("\n") == 1
    assert not (tmp_path / target).exists()


def test_a_missing_machine_size_is_that_of_the_widest_job(tmp_path):
    (tmp_path / "t.swf").write_text(TRACE.replace("; MaxProcs: 64\n", ""))
    convert_file(tmp_path / "t.swf", tmp_path / "w.json", flops=1e9)
    assert load_workload(tmp_path / "w.json", reference_flops=1e9).capacity == 8
    convert_file(tmp_path / "t.swf", tmp_path / "w.json", flops=1e9, cores=100)
    assert load_workload(tmp_path / "w.json", reference_flops=1e9).capacity == 100
    with pytest.raises(OptionsError, match="no such file"):
        convert_file(tmp_path / "none.json", tmp_path / "x.json", flops=1e9)


def test_a_trace_keeps_partitions_and_accounts_and_the_rest_is_reported(tmp_path, capsys):
    content = workload([(at, 4, "p", 20) for at in range(3)], {"p": {"type": "delay", "delay": 10}}, nb_res=8)
    content["jobs"][0] |= {"partition": "long", "account": "physics", "nodes": 2}
    content["jobs"][1] |= {"partition": "debug", "cores_per_task": 2, "qos": "high"}
    (tmp_path / "w.json").write_text(json.dumps(content))
    assert main(["convert", str(tmp_path / "w.json"), str(tmp_path / "w.swf")]) == 0
    told = "3 jobs (left out, for a trace does not hold it: nodes, cores of a task, qos)"
    assert capsys.readouterr().out == f"{told} in {tmp_path / 'w.swf'}\n"
    found = demands_of_trace(load_trace(tmp_path / "w.swf"))
    assert found.partition == ("long", "debug", "")
    assert found.account == ("physics", "", "")


def test_jobs_that_need_a_network_are_counted_and_not_converted(tmp_path, capsys):
    profile = {"type": "parallel", "cpu": [1e9, 2e9], "com": [0, 5, 5, 0]}
    (tmp_path / "w.json").write_text(json.dumps(workload([(0, 2, "p", 60)], {"p": profile}, nb_res=2)))
    assert main(["jobstat", "-q", str(tmp_path / "w.json"), "size", "max"]) == 0
    assert main(["convert", str(tmp_path / "w.json"), str(tmp_path / "w.swf")]) == 2
    error = capsys.readouterr().err
    assert "job 0 has a profile of a kind that no other format holds" in error
    assert "options" not in error


@pytest.mark.parametrize("target", ["out.json", "out.swf"])
def test_jobs_of_a_workload_that_are_larger_than_the_machine_are_refused_or_left_out(target, tmp_path, capsys):
    write(replace(jobs([0.0, 1.0], 10.0, size=[2, 64]), capacity=64), tmp_path / "w.json", "workload")
    assert convert(tmp_path / "w.json", tmp_path / target, "--cores", 8) == 2
    assert "requests 64 cores, --cores says 8; --leave-out-larger leaves it out" in capsys.readouterr().err
    assert not (tmp_path / target).exists()
    found = convert_file(tmp_path / "w.json", tmp_path / target, flops=1e9, cores=8, leave_out_larger=True)
    assert found.startswith("1 jobs (left out: 1 larger than the machine")


@pytest.mark.parametrize("option", [("--cores", "8"), ("--leave-out-larger",)])
def test_what_would_change_nothing_in_a_trace_that_stays_one_is_refused(option, tmp_path, capsys):
    (tmp_path / "a.swf").write_text(TRACE)
    assert convert(tmp_path / "a.swf", tmp_path / "b.swf", *option) == 2
    assert "cut --larger-than leaves jobs out" in capsys.readouterr().err
    assert not (tmp_path / "b.swf").exists()
