"""Experiments on platforms whose nodes change their speed: launched, launched again from their folder, and trained."""

import json

import pytest
from robust_inputs import printed

from hdeeprm_like import load_platform
from hdeeprm_like.launch.peers import Peer, docker_words

LINK = {"type": "InfiniBand QDR", "latency": "0us"}
SPEEDS = "platform_speed_0.txt"
FILES = ("out_jobs.csv", "out_machine_states.csv", "out_pstate_changes.csv")


def profile(seconds, **how):
    return {"req_time": seconds, "req_ops": seconds * 4e9, "ipc": 1, "mem": 10, "mem_bw": 1, **how}


@pytest.fixture
def options(tmp_path):
    """An experiment of three jobs on three nodes, two of which slow down from time to time."""
    (tmp_path / "slow.txt").write_text("3 0.5\n6 1\nLOOPAFTER 4\n")
    nodes = [{"type": "Test0", "number": 1}, {"type": "Test0", "number": 2, "speed_file": "slow.txt"}]
    machine = {"clusters": [{"id": "a", "nodes": nodes, "local_links": LINK}], "global_links": LINK}
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    jobs = [
        {"id": "0", "subtime": 0, "res": 12, "profile": "work", "walltime": 100},
        {"id": "1", "subtime": 1, "res": 2, "profile": "sleep", "walltime": 100},
        {"id": "2", "subtime": 2, "res": 4, "profile": "work", "walltime": 9},
    ]
    profiles = {
        "work": profile(50, type="parallel_homogeneous", cpu=40e9, com=0),
        "sleep": profile(5, type="delay", delay=5),
    }
    (tmp_path / "jobs.json").write_text(json.dumps({"nb_res": 12, "jobs": jobs, "profiles": profiles}))
    experiment = {"seed": 1, "workload_file_path": "jobs.json", "platform_file_path": "machine.json"}
    agent = {"type": "CLASSIC", "policy_pair": "first-high_gflops"}
    (tmp_path / "o.json").write_text(json.dumps(experiment | {"pybatsim": {"agent": agent}}))
    return tmp_path / "o.json"


def launched(options, output, *more):
    printed("launch", "-o", options, "--output", output, *more)
    return [(output / name).read_text() for name in FILES]


def test_a_launch_leaves_the_files_that_batsim_would_and_can_be_repeated(options, tmp_path):
    ours = launched(options, tmp_path / "ours")
    assert ",11.500000,11.500000,0.000000," in ours[0]  # 3 s, 3 s at half speed, 5.5 s: 10 s of work
    server = ("--simulator", "batsim", "--batsim-command", "hdeeprm-like batsim")
    assert launched(options, tmp_path / "server", *server) == ours
    assert launched(tmp_path / "ours" / "options.json", tmp_path / "again") == ours
    assert load_platform(tmp_path / "again" / "platform.xml").speeds == load_platform(tmp_path / "machine.json").speeds


def test_the_files_of_speeds_are_inputs_in_the_folder_of_the_run(options, tmp_path):
    """So a container that has this folder finds them beside the XML."""
    launched(options, tmp_path / "run")
    assert SPEEDS in json.loads((tmp_path / "run" / "run.json").read_text())["files"]
    words = Peer("docker", docker_words("image", str(tmp_path / "run")), folder="/there").command(tmp_path / "run", "")
    assert "/there/platform.xml" in words
    printed("clean", "-q", "--soft", tmp_path / "run")
    assert (tmp_path / "run" / SPEEDS).exists()
    printed("clean", "-q", tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []


def test_a_launch_says_that_nothing_more_happens_at_a_speed_of_0(options, tmp_path, capsys):
    (tmp_path / "slow.txt").write_text("1 0\n500 1\n")
    endless = (tmp_path / "jobs.json").read_text().replace('"walltime": 100', '"walltime": -1')
    (tmp_path / "jobs.json").write_text(endless)
    launched(options, tmp_path / "run")
    assert "3 jobs never end: at a speed of 0 nothing more happens, as in SimGrid\n" in capsys.readouterr().err
