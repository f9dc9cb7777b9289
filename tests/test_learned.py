"""Learning agents on the command line: launched, trained, killed, resumed, in process and with Batsim."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from agents_for_tests import APPENDIX_G

from hdeeprm_like.cli.main import main
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.learning.checkpoint import read_checkpoint

ROOT = Path(__file__).parent.parent
OPTIONS, AGENT = ROOT / "agents" / "reinforce.json", ROOT / "agents" / "reinforce.py"
BATSIM = f"{sys.executable} -m hdeeprm_like batsim"


def launch(output, *flags, options=OPTIONS, agent=AGENT):
    flags = [str(flag) for flag in flags]
    return main(["launch", "-q", "--options", str(options), "--agent", str(agent), "--output", str(output), *flags])


def train(*flags, options=OPTIONS, agent=AGENT):
    return main(["train", "-q", "--options", str(options), "--agent", str(agent), *map(str, flags)])


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
    assert launch(tmp_path / "run", "--runs", 4, "-om", tmp_path / "model.pt") == 0
    files = json.loads((tmp_path / "run" / "run.json").read_text())["files"]
    assert {"rewards.log", "losses.log", "probs.json", "out_jobs.csv", "options.json"} <= set(files)
    assert len((tmp_path / "run" / "rewards.log").read_text().split()) == 4
    assert (tmp_path / "model.pt").exists()


def test_the_example_of_the_thesis_runs_with_its_import_line_changed(tmp_path):
    (tmp_path / "my_agent.py").write_text(APPENDIX_G)
    assert launch(tmp_path / "run", "--runs", 2, agent=tmp_path / "my_agent.py") == 0


def test_a_trained_agent_gives_the_same_schedule_in_process_and_with_batsim(tmp_path):
    assert train("--output", tmp_path / "training", "--episodes", 60) == 0
    options, model = options_to_test(tmp_path), ("-im", tmp_path / "training")
    assert launch(tmp_path / "here", *model, options=options) == 0
    for version, command in (("batsim", BATSIM), ("batsim5", f"{BATSIM}5")):
        batsim = ("--simulator", version, "--batsim-command", command, "--timeout", 300)
        assert launch(tmp_path / version, *model, *batsim, options=options) == 0
        assert schedule(tmp_path / "here") == schedule(tmp_path / version)


# trains and draws once more
@pytest.mark.more
def test_a_training_with_batsim_leaves_the_logs_and_pictures_of_one_in_process(tmp_path):
    batsim = ("--simulator", "batsim", "--batsim-command", BATSIM, "--timeout", 300)
    for name, flags in (("here", ()), ("there", batsim)):
        assert launch(tmp_path / name, "--runs", 3, "--log-decisions", *flags) == 0
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
        assert main(["visual", kind, "--run", str(tmp_path / "there"), "-s", str(tmp_path / f"{kind}.png")]) == 0
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
    agent = ROOT / "agents" / "ppo.py"
    assert train("--output", tmp_path / "training", options=options, agent=agent) == 0
    content["pybatsim"]["agent"]["run"] = "test"
    options.write_text(json.dumps(content))
    model = ("-im", tmp_path / "training")
    assert launch(tmp_path / "here", *model, options=options, agent=agent) == 0
    batsim = ("--simulator", "batsim", "--batsim-command", BATSIM, "--timeout", 300)
    assert launch(tmp_path / "there", *model, *batsim, options=options, agent=agent) == 0
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
    assert train("--output", tmp_path / "training", options=options) == 0
    probabilities = json.loads((tmp_path / "training" / "probs.json").read_text())["probs"]
    assert [len(row) for row in probabilities] == [4] * len(POLICIES)
    assert launch(tmp_path / "run", "-im", tmp_path / "training", options=options) == 0
    assert len(schedule(tmp_path / "run")) == 40


# takes 3 s
@pytest.mark.more
def test_an_agent_that_always_takes_a_baseline_gives_its_schedule_in_process_and_with_batsim(tmp_path):
    (tmp_path / "constant.py").write_text(CONSTANT_AGENT)
    options, found = tmp_path / "options.json", []
    for action, policy in enumerate(POLICIES):
        here, there, classic = (tmp_path / f"{place}-{action}" for place in ("here", "there", "classic"))
        options.write_text(json.dumps(contended(action=action)))
        assert launch(here, options=options, agent=tmp_path / "constant.py") == 0
        batsim = ("--simulator", "batsim", "--batsim-command", BATSIM, "--timeout", 300)
        assert launch(there, *batsim, options=options, agent=tmp_path / "constant.py") == 0
        options.write_text(json.dumps(contended() | {"pybatsim": {"agent": {"policy_pair": policy}}}))
        assert main(["launch", "-q", "--options", str(options), "--output", str(classic)]) == 0
        assert schedule(here) == schedule(there) == schedule(classic)
        found.append(schedule(here))
    assert found[0] != found[1] != found[2] != found[0]


def test_a_run_with_parts_of_ones_own_runs_again_from_its_directory(tmp_path):
    (tmp_path / "parts.py").write_text("def waiting(state):\n    return -float(len(state.waiting))\n")
    options = options_to_test(tmp_path)
    content = json.loads(options.read_text())
    content["pybatsim"]["env"]["objective"] = {"parts.py:waiting": 1.0, "makespan": 0.5}
    options.write_text(json.dumps(content))
    assert launch(tmp_path / "run", options=options) == 0
    assert launch(tmp_path / "again", "--trust", options=tmp_path / "run" / "options.json") == 0
    assert schedule(tmp_path / "run") == schedule(tmp_path / "again")


# minutes
@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_end(tmp_path):
    assert train("--output", tmp_path / "whole", "--episodes", 400) == 0
    command = [sys.executable, "-m", "hdeeprm_like", "train", "-q", "--options", str(OPTIONS), "--agent", str(AGENT)]
    cut = subprocess.Popen([*command, "--output", str(tmp_path / "cut"), "--episodes", "400"])
    deadline = time.monotonic() + 600
    while not (tmp_path / "cut" / "checkpoint.pt").exists() and time.monotonic() < deadline and cut.poll() is None:
        time.sleep(0.01)
    cut.send_signal(signal.SIGKILL)
    cut.wait(300)
    assert json.loads((tmp_path / "cut" / "run.json").read_text())["status"] in ("training", "complete")
    assert main(["train", "-q", "--resume", str(tmp_path / "cut"), "--trust"]) == 0
    for name in ("losses.log", "rewards.log", "probs.json"):
        assert (tmp_path / "cut" / name).read_text() == (tmp_path / "whole" / name).read_text()
    assert json.loads((tmp_path / "cut" / "run.json").read_text())["status"] == "complete"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--agent", "nowhere.py"], "nowhere.py: no such file"),
        (["--agent", str(AGENT), "-im", "nowhere.pt"], "nowhere.pt"),
        ([], "a LEARNING agent needs --agent"),
        (["--agent", str(AGENT), "--device", "abacus"], "abacus"),
    ],
)
def test_what_is_wrong_with_an_agent_is_told_in_one_line(tmp_path, capsys, flags, message):
    assert main(["launch", "-q", "--options", str(OPTIONS), "--output", str(tmp_path / "run"), *flags]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert message in lines[0]
    assert not (tmp_path / "run").exists()


def test_a_mistake_inside_an_agent_is_told_with_its_line(tmp_path, capsys):
    (tmp_path / "my_agent.py").write_text(APPENDIX_G.replace("self.output(out_0)", "self.outputs(out_0)"))
    assert launch(tmp_path / "run", agent=tmp_path / "my_agent.py") == 2
    assert re.search(r"my_agent\.py:1[45]", capsys.readouterr().err)


def test_a_training_is_not_overwritten(tmp_path, capsys):
    assert train("--output", tmp_path / "training", "--episodes", 2) == 0
    assert train("--output", tmp_path / "training", "--episodes", 2) == 2
    assert "resume it with --resume" in capsys.readouterr().err


def test_a_training_whose_experiment_has_changed_is_not_resumed(tmp_path, capsys):
    options = options_to_test(tmp_path)
    assert train("--output", tmp_path / "training", "--episodes", 2, options=options) == 0
    options.write_text(options.read_text().replace('"hidden": 16', '"hidden": 17'))
    assert main(["train", "-q", "--resume", str(tmp_path / "training"), "--trust"]) == 2
    assert "has changed since" in capsys.readouterr().err


def test_a_training_of_an_older_version_without_an_option_is_resumed(tmp_path):
    assert train("--output", tmp_path / "training", "--episodes", 2) == 0
    record = tmp_path / "training" / "run.json"
    content = json.loads(record.read_text())
    del content["options"]["training"]["parts"]
    record.write_text(json.dumps(content))
    assert main(["train", "-q", "--resume", str(tmp_path / "training"), "--episodes", "3", "--trust"]) == 0
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
    assert launch(tmp_path / "run", "--log-decisions", **how) == 0
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


def test_a_classic_experiment_takes_no_agent(tmp_path, capsys):
    options = ROOT / "agents" / "gaia-first-high_gflops.json"
    assert launch(tmp_path / "run", options=options) == 2
    assert "are for LEARNING agents" in capsys.readouterr().err


def test_an_agent_whose_code_has_changed_is_not_resumed(tmp_path, capsys):
    agent = tmp_path / "my_agent.py"
    agent.write_text(APPENDIX_G)
    assert train("--output", tmp_path / "training", "--episodes", 2, agent=agent) == 0
    assert main(["train", "-q", "--resume", str(tmp_path / "training"), "--episodes", "3", "--trust"]) == 0
    agent.write_text(APPENDIX_G.replace("leaky_relu", "relu"))
    assert main(["train", "-q", "--resume", str(tmp_path / "training"), "--episodes", "4", "--trust"]) == 2
    assert "my_agent.py: has changed since the training" in capsys.readouterr().err


def killed_at_random(command, resume, folder, seconds, kills=50):
    """Fork a training, kill it after a random time, go on with it, and so on; return how many were killed before the
    first checkpoint. What is imported and compiled is there already, so that the first second is that of the training.
    """
    rng, early = np.random.default_rng(1), 0
    for kill in range(kills + 1):
        arguments = resume if (folder / "run.json").exists() else command
        if kill == kills // 2:  # half of them begin anew, each with a first second of its own
            shutil.rmtree(folder, ignore_errors=True)
            arguments = command
        child = os.fork()
        if child == 0:
            os._exit(main(arguments))
        if kill < kills:
            until = time.monotonic() + rng.uniform(0.0, seconds)
            at_sight = arguments is command and kill % 2 == 0  # of its record, which the first checkpoint soon follows
            while time.monotonic() < until and not (at_sight and (folder / "run.json").exists()):
                time.sleep(0.001)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
        early += (folder / "run.json").exists() and not (folder / "checkpoint.pt").exists()
        if kill < kills // 2 and kill % 3 == 2:
            shutil.rmtree(folder, ignore_errors=True)
    return early


# kills and resumes two trainings fifty times each
@pytest.mark.slow
@pytest.mark.parametrize("agent", ["reinforce.py", "ppo.py"])
def test_kill_9_at_fifty_random_moments_gives_the_weights_of_the_whole_training(tmp_path, agent):
    options = options_to_test(tmp_path)
    content = json.loads(options.read_text())
    content["training"] = content.get("training", {}) | {"evaluate_every": 20, "checkpoint_every": 10}
    if agent == "ppo.py":
        content["training"]["prior"] = 4
    options.write_text(json.dumps(content))
    flags = ["train", "-q", "--options", str(options), "--agent", str(ROOT / "agents" / agent), "--episodes", "200"]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        begun = time.monotonic()
        assert main([*flags, "--output", str(tmp_path / "whole")]) == 0
        seconds = min(1.0, 0.5 * (time.monotonic() - begun))
        cut = tmp_path / "cut"
        resume = ["train", "-q", "--resume", str(cut), "--trust"]
        early = killed_at_random([*flags, "--output", str(cut)], resume, cut, seconds)
    finally:
        torch.set_num_threads(threads)
    assert early > 0
    one, other = (read_checkpoint(tmp_path / name / "checkpoint.pt") for name in ("whole", "cut"))
    for name, weights in one["parameters"].items():
        assert torch.equal(weights, other["parameters"][name])
    for name in ("losses.log", "rewards.log", "probs.json", "evaluations.csv"):
        assert (cut / name).read_text() == (tmp_path / "whole" / name).read_text()
