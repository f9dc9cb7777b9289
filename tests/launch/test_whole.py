"""Baselines that put each job whole on one node, wherever a policy is named."""

import csv
import json

import numpy as np
import pytest

from hdeeprm_like import OptionsError, api
from hdeeprm_like.cli.main import main

MACHINES = "MachineName,TotalMemory,TotalCPUs,TotalGPUs\na,1000,3,0\nb,1000,3,0\n"


@pytest.fixture
def files(tmp_path):
    """Two nodes of three cores, and three jobs of two cores that come together, as a trace and as a table of jobs."""
    (tmp_path / "machines.csv").write_text(MACHINES)
    lines = [f"{j} 0 0 10 2 -1 1000 2 10 1000" + " -1" * 8 for j in (1, 2, 3)]
    (tmp_path / "jobs.swf").write_text("\n".join(("; Version: 2.2", *lines, "")))
    rows = [f"{j},100,2,0,10,10,0" for j in "abc"]
    columns = "JobName,RequestedMemory,RequestedCPUs,RequestedGPUs,RequestedDuration,ActualDuration,SubmitTime"
    (tmp_path / "jobs.csv").write_text("\n".join((columns, *rows, "")))
    return tmp_path


@pytest.mark.parametrize("policy", ["fcfs", "sjf+greedy", "sjf+easy", "f1+conservative", "bfbp"])
def test_simulate_starts_the_third_job_when_a_node_has_room(files, policy):
    how = files / "machines.csv", files / "jobs.csv", policy, "textbook"
    assert sorted(api.simulate(*how).start.tolist()) == [0.0, 0.0, 0.0]  # the last one on a core of each node
    assert sorted(api.simulate(*how, whole=True).start.tolist()) == [0.0, 0.0, 10.0]


def test_compare_holds_all_baselines_to_it(files):
    how = {"platform": files / "machines.csv", "windows": "all"}
    waits = [
        api.compare(files / "jobs.swf", ["fcfs", "sjf+easy"], whole=whole, **how)["wait"] for whole in (False, True)
    ]
    np.testing.assert_allclose(waits, [[0.0, 0.0], [10 / 3, 10 / 3]])


def test_an_options_file_says_it_for_launch(files):
    waits = []
    for whole in (False, True):
        options = {
            "seed": 1,
            "policy": "sjf+greedy",
            "whole": whole,
            "platform_file_path": "machines.csv",
            "workload_file_path": "jobs.csv",
        }
        path = files / f"{whole}.json"
        path.write_text(json.dumps(options))
        main(["launch", "--options", str(path), "--output", str(files / str(whole)), "--quiet"])
        with (files / str(whole) / "out_jobs.csv").open() as file:
            waits.append(max(float(row["waiting_time"]) for row in csv.DictReader(file)))
    assert waits[0] < 1.0
    assert waits[1] > 9.0


def test_policy_pairs_are_refused(files):
    with pytest.raises(OptionsError, match="whole: the policy pair shortest-high_gflops spreads jobs over nodes"):
        api.simulate(files / "machines.csv", files / "jobs.csv", "shortest-high_gflops", whole=True)
