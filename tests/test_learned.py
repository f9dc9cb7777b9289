"""Learning agents on the command line: launched, trained, resumed, in process and with Batsim."""

import csv
import json
import sys
from pathlib import Path

import pytest
from agents_for_tests import APPENDIX_G
from robust_inputs import printed, refused

from hdeeprm_like.decision.presets import PRESETS

ROOT = Path(__file__).parent.parent
OPTIONS, AGENT = ROOT / "agents" / "reinforce.json", ROOT / "agents" / "reinforce.py"


def words(output, *flags, options=OPTIONS, agent=AGENT, verb="launch"):
    """The words of a launch or a training."""
    return verb, "-q", "--options", options, "--agent", agent, "--output", output, *flags


def launch(*output_and_flags, **how):
    printed(*words(*output_and_flags, **how))


def train(*output_and_flags, **how):
    printed(*words(*output_and_flags, verb="train", **how))


def resume(*words):
    """The words that go on with a training."""
    return "train", "-q", "--resume", *words, "--trust"


def over_batsim(version="batsim"):
    """The flags of a launch that our server for a version of Batsim moves."""
    command = f"{sys.executable} -m hdeeprm_like {version}"
    return "--simulator", version, "--batsim-command", command, "--timeout", 300


def schedule(folder):
    with (folder / "out_jobs.csv").open() as file:
        return {row["job_id"]: (row["starting_time"], row["allocated_resources"]) for row in csv.DictReader(file)}


def options_to_test(tmp_path):
    content = json.loads(OPTIONS.read_text())
    content["pybatsim"]["agent"]["run"] = "test"
    for key in ("workload_file_path", "platform_file_path"):
        content[key] = str((OPTIONS.parent / content[key]).resolve())
    path = tmp_path / "test.json"
    path.write_text(json.dumps(content))
    return path


def test_launching_a_learner_trains_it_run_by_run_and_leaves_logs_and_outputs(tmp_path):
    launch(tmp_path / "run", "--runs", 4, "-om", tmp_path / "model.pt")
    files = json.loads((tmp_path / "run" / "run.json").read_text())["files"]
    assert {"rewards.log", "losses.log", "probs.json", "out_jobs.csv", "options.json"} <= set(files)
    assert len((tmp_path / "run" / "rewards.log").read_text().split()) == 4
    assert (tmp_path / "model.pt").exists()


def test_the_example_of_the_thesis_runs_with_its_import_line_changed(tmp_path):
    (tmp_path / "my_agent.py").write_text(APPENDIX_G)
    launch(tmp_path / "run", "--runs", 2, agent=tmp_path / "my_agent.py")


def test_a_trained_agent_gives_the_same_schedule_in_process_and_with_batsim(tmp_path):
    train(tmp_path / "training", "--episodes", 60)
    options, model = options_to_test(tmp_path), ("-im", tmp_path / "training")
    launch(tmp_path / "here", *model, options=options)
    for version in ("batsim", "batsim5"):
        launch(tmp_path / version, *model, *over_batsim(version), options=options)
        assert schedule(tmp_path / "here") == schedule(tmp_path / version)


# trains and draws once more
@pytest.mark.more
def test_a_training_with_batsim_leaves_the_logs_and_pictures_of_one_in_process(tmp_path):
    for name, flags in (("here", ()), ("there", over_batsim())):
        launch(tmp_path / name, "--runs", 3, "--log-decisions", *flags)
    for name in ("losses.log", "rewards.log", "probs.json"):
        assert (tmp_path / "there" / name).read_text() == (tmp_path / "here" / name).read_text()
    decisions = [json.loads(line) for line in (tmp_path / "there" / "decisions.jsonl").read_text().splitlines()]
    assert len(decisions) == 1  # both jobs come at once and one decision starts them
    assert decisions[0]["reward"] == float((tmp_path / "there" / "rewards.log").read_text().split()[-1])
    assert len(decisions[0]["observation"]) == 21
    record = json.loads((tmp_path / "there" / "run.json").read_text())
    assert {"losses.log", "rewards.log", "probs.json", "progress.csv"} <= set(record["files"])
    assert record["reward"] == float((tmp_path / "there" / "rewards.log").read_text().split()[-1])
    for kind in ("losses", "rewards", "action_preferences"):
        printed("visual", kind, "--run", tmp_path / "there", "-s", tmp_path / f"{kind}.png")
        assert (tmp_path / f"{kind}.png").stat().st_size > 0


# takes 2 s
@pytest.mark.more
@pytest.mark.parametrize(
    ("preset", "workload"),
    [
        *((preset, {"model": "mao"}) for preset in PRESETS if preset != "JobMachine"),
        ("JobMachine", {"model": "ksu"}),
    ],
)
def test_an_agent_of_a_published_space_gives_the_same_schedule_in_process_and_with_batsim(tmp_path, preset, workload):
    machines = ["MachineName,TotalMemory,TotalCPUs,TotalGPUs", "a,64000,32,4", "b,64000,32,0"]
    (tmp_path / "machines.csv").write_text("\n".join(machines))
    content = {
        "seed": 4,
        "nb_jobs": 12,
        "platform_file_path": "machines.csv",
        "workload": {**workload, "parameters": {"nodes": 32}},
        "pybatsim": {"env": {"preset": preset}, "agent": {"type": "LEARNING", "run": "train", "gamma": 0.99}},
        "training": {"episodes": 2, "envs": 2},
    }
    options = tmp_path / "options.json"
    options.write_text(json.dumps(content))
    how = {"options": options, "agent": ROOT / "agents" / "ppo.py"}
    train(tmp_path / "training", **how)
    content["pybatsim"]["agent"]["run"] = "test"
    options.write_text(json.dumps(content))
    for name, flags in (("here", ()), ("there", over_batsim())):
        launch(tmp_path / name, "-im", tmp_path / "training", *flags, **how)
    assert len(schedule(tmp_path / "here")) == 12
    assert schedule(tmp_path / "here") == schedule(tmp_path / "there")


CONSTANT_AGENT = """
import torch
import torch.nn as nn
from hdeeprm_like.learning.agents import PolicyLearningAgent

class Constant(PolicyLearningAgent):

    def __init__(self, action_size, action=0):
        self.bias = nn.Parameter(100.0 * torch.eye(action_size)[action])

    def forward_policy(self, observation):
        return torch.softmax(self.bias.expand(len(observation), -1), dim=1)
"""
POLICIES = ["sjf+easy", "f1+conservative", "shortest-high_gflops"]


def contended(**agent):
    """An experiment with baselines and a pair as actions, whose jobs wait for cores and memory."""
    return {
        "seed": 4,
        "nb_jobs": 40,
        "platform_file_path": str(ROOT / "platforms" / "learning.json"),
        "workload": {"model": "lublin", "columns": "hdeeprm"},
        "pybatsim": {
            "env": {"preset": "PolicySelect", "actions": {"policies": POLICIES}},
            "agent": {"type": "LEARNING", "run": "test"} | agent,
        },
        "training": {"episodes": 4, "envs": 2},
    }


# takes 1 s
@pytest.mark.more
def test_an_agent_whose_actions_are_baselines_learns_and_is_launched(tmp_path):
    options = tmp_path / "options.json"
    options.write_text(json.dumps(contended(run="train", hidden=8, gamma=0.99)))
    train(tmp_path / "training", options=options)
    probabilities = json.loads((tmp_path / "training" / "probs.json").read_text())["probs"]
    assert [len(row) for row in probabilities] == [4] * len(POLICIES)
    launch(tmp_path / "run", "-im", tmp_path / "training", options=options)
    assert len(schedule(tmp_path / "run")) == 40


# takes 3 s
@pytest.mark.more
def test_an_agent_that_always_takes_a_baseline_gives_its_schedule_in_process_and_with_batsim(tmp_path):
    (tmp_path / "constant.py").write_text(CONSTANT_AGENT)
    options, found = tmp_path / "options.json", []
    for action, policy in enumerate(POLICIES):
        here, there, classic = (tmp_path / f"{place}-{action}" for place in ("here", "there", "classic"))
        options.write_text(json.dumps(contended(action=action)))
        launch(here, options=options, agent=tmp_path / "constant.py")
        launch(there, *over_batsim(), options=options, agent=tmp_path / "constant.py")
        options.write_text(json.dumps(contended() | {"pybatsim": {"agent": {"policy_pair": policy}}}))
        printed("launch", "-q", "--options", options, "--output", classic)
        assert schedule(here) == schedule(there) == schedule(classic)
        found.append(schedule(here))
    assert found[0] != found[1] != found[2] != found[0]


def test_a_run_with_parts_of_ones_own_runs_again_from_its_directory(tmp_path):
    (tmp_path / "parts.py").write_text("def waiting(state):\n    return -float(len(state.waiting))\n")
    options = options_to_test(tmp_path)
    content = json.loads(options.read_text())
    content["pybatsim"]["env"]["objective"] = {"parts.py:waiting": 1.0, "makespan": 0.5}
    options.write_text(json.dumps(content))
    launch(tmp_path / "run", options=options)
    launch(tmp_path / "again", "--trust", options=tmp_path / "run" / "options.json")
    assert schedule(tmp_path / "run") == schedule(tmp_path / "again")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--agent", "nowhere.py"], "nowhere.py: no such file"),
        (["--agent", AGENT, "-im", "nowhere.pt"], "nowhere.pt"),
        ([], "a LEARNING agent needs --agent"),
        (["--agent", AGENT, "--device", "abacus"], "abacus"),
        (["--agent", AGENT, "--options", "gaia"], "are for LEARNING agents"),
        (["--agent", "my_agent.py"], "my_agent.py:14: AttributeError"),
    ],
)
def test_what_is_wrong_with_an_agent_is_told_in_one_line(tmp_path, monkeypatch, flags, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_agent.py").write_text(APPENDIX_G.replace("self.output(out_0)", "self.outputs(out_0)"))
    assert message in refused("launch", "-q", "--options", OPTIONS, "--output", tmp_path / "run", *flags)
    assert not (tmp_path / "run").exists()


def test_a_training_is_not_overwritten_and_not_resumed_when_its_experiment_or_its_code_has_changed(tmp_path):
    options, agent, output = options_to_test(tmp_path), tmp_path / "my_agent.py", tmp_path / "training"
    agent.write_text(APPENDIX_G)
    how = {"options": options, "agent": agent}
    train(output, "--episodes", 2, **how)
    assert "resume it with --resume" in refused(*words(output, "--episodes", 2, verb="train", **how))
    printed(*resume(output, "--episodes", "3"))
    before = options.read_text()
    options.write_text(before.replace('"hidden": 16', '"hidden": 17'))
    assert "has changed since" in refused(*resume(output))
    options.write_text(before)
    agent.write_text(APPENDIX_G.replace("leaky_relu", "relu"))
    assert "my_agent.py: has changed since the training" in refused(*resume(output, "--episodes", "4"))


def test_a_training_of_an_older_version_without_an_option_is_resumed(tmp_path):
    train(tmp_path / "training", "--episodes", 2)
    record = tmp_path / "training" / "run.json"
    content = json.loads(record.read_text())
    del content["options"]["training"]["parts"]
    record.write_text(json.dumps(content))
    printed(*resume(tmp_path / "training", "--episodes", "3"))
    assert len((tmp_path / "training" / "rewards.log").read_text().splitlines()) == 3


def test_decisions_are_logged_with_what_was_short_then(tmp_path):
    """Three jobs of two cores on a machine of two: as long as one waits, cores are short."""
    (tmp_path / "machines.csv").write_text("MachineName,TotalMemory,TotalCPUs,TotalGPUs\na,64000,2,0\n")
    content = {
        "seed": 4,
        "nb_jobs": 6,
        "platform_file_path": "machines.csv",
        "workload": {"model": "lublin", "preset": "whole", "parameters": {"nodes": 2}},
        "pybatsim": {
            "env": {"observation": "minimal", "actions": {"policies": ["fcfs"]}},
            "agent": {"type": "LEARNING", "run": "test", "gamma": 0.99},
        },
    }
    (tmp_path / "options.json").write_text(json.dumps(content))
    (tmp_path / "constant.py").write_text(CONSTANT_AGENT)
    how = {"options": tmp_path / "options.json", "agent": tmp_path / "constant.py"}
    launch(tmp_path / "run", "--log-decisions", **how)
    decisions = [json.loads(line) for line in (tmp_path / "run" / "decisions.jsonl").read_text().splitlines()]
    assert {one["name"] for one in decisions} == {"fcfs+strict"}
    short = json.loads((tmp_path / "run" / "overutilizations.json").read_text())["core"]
    told = [one["time"] for one in decisions if "core" in one["overutilized"]]
    assert told
    assert all(any(begin <= time < end for begin, end in short) for time in told)
    assert len(told) < len(decisions) or len(decisions) == 1
    rewards = sum(one["reward"] for one in decisions)
    assert rewards == pytest.approx(float((tmp_path / "run" / "rewards.log").read_text()))
    assert "decisions.jsonl" in json.loads((tmp_path / "run" / "run.json").read_text())["files"]
