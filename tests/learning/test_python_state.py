"""What an agent keeps outside of torch goes into its checkpoints, or it is not resumed; the docs' agent is tried."""

import json
from pathlib import Path

import pytest

from hdeeprm_like.cli.main import main
from hdeeprm_like.learning.checkpoint import read_checkpoint

ROOT = Path(__file__).parents[2]
Q_LEARNING = (ROOT / "docs" / "q_learning.py").read_text()
OWN_STATE = "    def get_extra_state"


@pytest.fixture
def agent(tmp_path, monkeypatch):
    monkeypatch.setenv("HDEEPRM_LIKE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "agents" / "q_learning.py"
    path.parent.mkdir()
    path.write_text(Q_LEARNING)
    return path


def train(agent, output, episodes):
    content = json.loads((ROOT / "agents" / "reinforce.json").read_text())
    content |= {name: str(ROOT / "agents" / content[name]) for name in ("workload_file_path", "platform_file_path")}
    content["pybatsim"]["agent"] = {"type": "LEARNING", "run": "train", "gamma": 0.99, "lr": 0.005}
    options = agent.parent.parent / "options" / "exp.json"
    options.parent.mkdir(exist_ok=True)
    options.write_text(json.dumps(content))
    line = ["train", "-q", "--options", str(options), "--agent", str(agent), "--episodes", str(episodes)]
    return main([*line, "--output", str(output)])


def resume(output, episodes, *flags):
    return main(["train", "-q", "--resume", str(output), "--episodes", str(episodes), *flags])


def test_the_q_learning_agent_of_the_docs_goes_on_with_its_memory_without_trust(agent, tmp_path):
    assert train(agent, tmp_path / "whole", 60) == 0
    assert train(agent, tmp_path / "cut", 30) == 0
    assert resume(tmp_path / "cut", 60) == 0
    rewards = [(tmp_path / name / "rewards.log").read_text() for name in ("whole", "cut")]
    assert rewards[0] == rewards[1]
    weights = [read_checkpoint(tmp_path / name / "checkpoint.pt")["parameters"] for name in ("whole", "cut")]
    assert repr(weights[0]) == repr(weights[1])


def test_a_memory_that_no_checkpoint_holds_is_named_when_the_training_is_to_go_on(agent, tmp_path, capsys):
    agent.write_text(Q_LEARNING.partition(OWN_STATE)[0])
    assert train(agent, tmp_path / "cut", 20) == 0
    assert resume(tmp_path / "cut", 40) == 2
    told = capsys.readouterr().err
    assert "does not hold memory (deque)" in told
    assert "get_extra_state" in told


def test_a_file_that_has_changed_since_it_was_named_needs_trust(agent, tmp_path, capsys):
    assert train(agent, tmp_path / "cut", 10) == 0
    agent.write_text(Q_LEARNING + "\n")
    assert resume(tmp_path / "cut", 20) == 2
    assert "--trust" in capsys.readouterr().err


def test_state_that_could_not_be_read_again_is_refused_when_it_is_written(agent, tmp_path, capsys):
    agent.write_text(Q_LEARNING.replace('return {"memory"', "return {'own': __import__('pathlib').Path(), 'memory'"))
    assert train(agent, tmp_path / "cut", 10) == 2
    assert "get_extra_state" in capsys.readouterr().err
