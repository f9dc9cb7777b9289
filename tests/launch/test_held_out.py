"""held-out.csv: what the best agent of a training and each action alone reach on episodes that it never saw."""

import csv
import json
from pathlib import Path

import pytest

from hdeeprm_like.cli.main import main

ROOT = Path(__file__).parent.parent.parent

# an agent that takes the second action whatever it sees; its weight is there for the optimizer
SECOND_ACTION = """
import torch
from hdeeprm_like.learning.agents import PolicyLearningAgent


class SecondAction(PolicyLearningAgent):

    def __init__(self):
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward_policy(self, observation):
        logits = torch.tensor([0.0, 9.0]).expand(len(observation), 2)
        return torch.softmax(logits + 0.0 * self.weight, dim=1)
"""


def workload(gflops):
    """Return Batsim's JSON of jobs one after the other, each of one core and so many Gflop."""
    jobs, profiles = [], {}
    for number, amount in enumerate(gflops):
        profiles[str(number)] = {
            "type": "parallel_homogeneous", "cpu": amount * 1e9, "com": 0.0,
            "req_time": 100, "req_ops": int(amount * 1e9), "ipc": 1.0, "mem": 0, "mem_bw": 0,
        }  # fmt: skip
        jobs.append({"id": number, "subtime": 1000.0 * number, "res": 1, "profile": str(number), "walltime": 10000})
    return {"nb_res": 4, "jobs": jobs, "profiles": profiles}


@pytest.fixture
def options(tmp_path):
    """Ten jobs in fragments of one: the fourth of each five is held out, so 44 and 88 Gflop are."""
    gflops = [1.0] * 10
    gflops[3], gflops[8] = 44.0, 88.0
    (tmp_path / "jobs.json").write_text(json.dumps(workload(gflops)))
    (tmp_path / "second_action.py").write_text(SECOND_ACTION)
    content = {
        "seed": 3,
        "workload_file_path": "jobs.json",
        "platform_file_path": str(ROOT / "platforms" / "learning.json"),  # processors of 4.4 and of 4 GFLOP/s
        "pybatsim": {
            "env": {
                "objective": "avg_utilization",
                "reward": "integral",
                "observation": "minimal",
                "actions": {"selection": [{"first": ["high_gflops", "low_power"]}], "void": False},
            },
            "agent": {"type": "LEARNING", "run": "train"},
        },
        "training": {"episodes": 2, "fragment_jobs": 1, "held_out": 2, "clock": "textbook"},
    }
    path = tmp_path / "options.json"
    path.write_text(json.dumps(content))
    return path


def test_held_out_csv_holds_the_means_over_held_out_episodes_of_the_agent_and_of_each_action(tmp_path, options):
    agent = tmp_path / "second_action.py"
    output = tmp_path / "training"
    assert main(["train", "-q", "--options", str(options), "--agent", str(agent), "--output", str(output)]) == 0
    with (output / "held-out.csv").open() as file:
        rows = {row.pop("name"): {name: float(value) for name, value in row.items()} for row in csv.DictReader(file)}
    at_once = {"mean_slowdown": 1.0, "bounded_slowdown": 1.0, "wait": 0.0}
    fast = {"reward": (10 + 20) / 2, "makespan": (10 + 20) / 2, **at_once}  # one core busy 10 s, then 20 s
    slow = {"reward": (11 + 22) / 2, "makespan": (11 + 22) / 2, **at_once}
    assert list(rows) == ["agent", "first-high_gflops", "first-low_power"]
    assert rows["first-high_gflops"] == pytest.approx(fast)
    assert rows["first-low_power"] == pytest.approx(slow)
    assert rows["agent"] == pytest.approx(slow)
