"""``"network": true``: the embedded simulator plays messages and latencies, with the sums of our server of Batsim."""

import json
from pathlib import Path

import pytest
from batsim_talk import jobs_of
from robust_inputs import LEARNER, printed, refused
from small import RUN_FILES

from hdeeprm_like.cli.main import main

ROOT = Path(__file__).parent.parent.parent
OURS = "hdeeprm-like batsim"
LINK = {"type": "Gigabit Ethernet 1000BASE-T", "latency": "0us"}
PLATFORM = {
    "clusters": [{"id": "two", "nodes": [{"type": "Single", "number": 2}], "local_links": LINK}],
    "global_links": LINK,
    "types": {
        "processors": {"Core": {"cores": 1, "clock_rate": 1, "dpflops_per_cycle": 1, "mem_bw": 10, "power": 10}},
        "nodes": {
            "Single": {"processors": [{"type": "Core", "number": 1}], "memory": {"type": "DDR4-2400", "capacity": 8}}
        },
    },
}


def experiment(folder, jobs, profiles, platform=None, **more):
    """An options file, and what it names, for two nodes with a core of 1 Gf and 1 Gb/s each or another platform."""
    (folder / "platform.json").write_text(json.dumps(PLATFORM))
    (folder / "jobs.json").write_text(json.dumps({"nb_res": 2, "jobs": jobs, "profiles": profiles}))
    options = {
        "seed": 3,
        "workload_file_path": "jobs.json",
        "platform_file_path": str(platform or "platform.json"),
        "policy": "sjf+easy",
    } | more
    (folder / "exp.json").write_text(json.dumps({key: one for key, one in options.items() if one is not None}))
    return str(folder / "exp.json")


def launched(options, output, *flags, quiet=True):
    """Return the lines of ``out_jobs.csv`` by job."""
    assert main(["launch", *["-q"] * quiet, "-o", options, "--output", str(output), *flags]) == 0
    return jobs_of(output / "out_jobs.csv")


SENDING = {"type": "parallel_homogeneous", "cpu": 2e9, "com": 1e9}
JOBS = [{"id": 1, "subtime": 0, "res": 2, "profile": "s"}, {"id": 2, "subtime": 1, "res": 1, "profile": "s"}]


def test_what_jobs_send_takes_time_when_the_network_is_played(tmp_path):
    path = experiment(tmp_path, JOBS, {"s": SENDING}, network=True)
    rows = launched(path, tmp_path / "out")
    assert float(rows["w0!1"]["execution_time"]) == 8.0  # 1 GB to each other at 125 MB/s, while 2 s are computed
    assert float(rows["w0!2"]["execution_time"]) == pytest.approx(2.0, abs=1e-6)  # alone on its core it needs no wire
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (run["simulator"], run["status"], run["options"]["network"]) == ("embedded", "complete", True)
    assert set(run["files"]) == RUN_FILES == {file.name for file in (tmp_path / "out").iterdir()}
    again = launched(str(tmp_path / "out" / "options.json"), tmp_path / "again")
    assert again == rows
    assert main(["visual", "gantt", "--run", str(tmp_path / "out"), "--save", str(tmp_path / "gantt.svg")]) == 0
    there = launched(path, tmp_path / "there", "--simulator", "batsim", "--batsim-command", OURS)
    assert there == rows


def test_without_it_they_take_none_and_one_line_says_so(tmp_path, capsys):
    rows = launched(experiment(tmp_path, JOBS, {"s": SENDING}), tmp_path / "out", quiet=False)
    assert float(rows["w0!1"]["execution_time"]) == 2.0
    assert "takes no time in the embedded simulator without 'network': true" in capsys.readouterr().err


@pytest.mark.parametrize("policy", ["sjf+easy", "fcfs+conservative-low_power", "shortest-high_gflops", "zoo:balanced"])
def test_jobs_that_send_nothing_run_as_without_it(policy, tmp_path):
    jobs = [{"id": j, "subtime": j // 3, "res": 1 + j % 3, "profile": f"p{j % 5}"} for j in range(40)]
    profiles = {
        f"p{k}": {"type": SENDING["type"], "cpu": (k + 1) * 3e9, "com": 0, "req_time": k + 2, "mem": k, "mem_bw": 5 * k}
        for k in range(5)
    }  # fmt: skip
    platform = ROOT / "platforms" / "learning.json"
    plain = launched(experiment(tmp_path, jobs, profiles, platform, policy=policy), tmp_path / "plain")
    path = experiment(tmp_path, jobs, profiles, platform, policy=policy, network=True)
    assert launched(path, tmp_path / "played") == plain


def test_jobs_of_all_kinds_are_played(tmp_path):
    profiles = {
        "s": SENDING,
        "twice": {"type": "composed", "repeat": 2, "seq": ["s"]},
        "own": {"type": "parallel", "cpu": [1e9, 3e9], "com": [0, 0, 0, 0]},
        "split": {"type": "parallel_homogeneous_total", "cpu": 4e9, "com": 0},
    }
    jobs = [
        {"id": 1, "subtime": 0, "res": 1, "profile": "twice", "walltime": 9},
        {"id": 2, "subtime": 5, "res": 2, "profile": "own"},
        {"id": 3, "subtime": 12, "res": 2, "profile": "split"},
    ]
    rows = launched(experiment(tmp_path, jobs, profiles, network=True), tmp_path / "out")
    assert [float(row["execution_time"]) for row in rows.values()] == [4.0, 3.0, 2.0]


@pytest.mark.parametrize(
    ("profile", "more", "message"),
    [
        ({"type": "composed", "seq": []}, {}, "its profile 's' says how long it may run; a walltime is needed"),
        ({"type": "nonsense"}, {"walltime": 3}, "nonsense"),
        ({"type": "parallel", "cpu": [1, "x"], "com": []}, {}, "cpu[1]: is 'x'; a number from 0 to 1e+30 is needed"),
    ],
)
def test_what_cannot_be_played_is_one_line(profile, more, message, tmp_path):
    jobs = [{"id": 1, "subtime": 0, "res": 1, "profile": "s"} | more]
    path = experiment(tmp_path, jobs, {"s": profile}, network=True)
    assert message in refused("launch", "-q", "-o", path, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def training(folder, jobs, profiles):
    """The words of a training on jobs that send."""
    learning = {"agent": {"type": "LEARNING", "run": "train", "gamma": 0.99, "lr": 0.01, "hidden": 4}}
    path = experiment(folder, jobs, profiles, policy=None, network=True, pybatsim=learning)
    return "train", "-q", "-o", path, *LEARNER, "--episodes", "2", "--output", folder / "out"


@pytest.mark.more  # compiles one more kind of run
def test_an_agent_is_trained_with_it(tmp_path):
    printed(*training(tmp_path, JOBS, {"s": SENDING}))


def test_training_refuses_profiles_that_only_the_server_knows(tmp_path):
    jobs = [{"id": 1, "subtime": 0, "res": 2, "profile": "c", "walltime": 9}]
    words = training(tmp_path, jobs, {"s": SENDING, "c": {"type": "composed", "seq": ["s"]}})
    assert "job w0!1: profile 'c': only launch simulates its type" in refused(*words)
