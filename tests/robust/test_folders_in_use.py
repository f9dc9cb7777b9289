"""Two commands into one folder of results: the second one says so in a line, and touches nothing."""

import argparse
import json

import pytest
from robust_inputs import refused

from hdeeprm_like.cli.main import parser
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.files import alone_in

TRACE = ["--trace", "lublin-1"]
OPTIONS = {"seed": 1, "nb_jobs": 5, "workload_file_path": "lublin-1", "platform_file_path": "das2", "policy": "fcfs"}
LEARNING = {key: value for key, value in OPTIONS.items() if key != "policy"} | {
    "pybatsim": {"agent": {"type": "LEARNING", "hidden": 8, "lr": 0.01, "gamma": 0.9}},
}
BATSIM = ["--simulator", "batsim", "--batsim-command", "hdeeprm-like batsim"]
WORDS = {
    "launch": ["-o", "options.json"],
    "launch with Batsim": ["-o", "options.json", *BATSIM],
    "train": ["-o", "learning.json", "--agent", "reinforce", "--episodes", "1"],
    "compare": [*TRACE, "--policies", "fcfs", "--windows", "1x5"],
    "stream": [*TRACE, "--policy", "fcfs"],
    "benchmark": ["fcfs", "--quick"],
    "sweep": ["options.json"],
    "whatif": ["--jobs", "lublin-1", "--cores", "256", "--now", "fcfs", "--policies", "sjf"],
    "reproduce": ["R01"],
}


def writes_a_folder(command):
    """Whether a command has ``--output DIR``, or one that its help calls a folder."""
    found = [action for action in command._actions if "--output" in action.option_strings]
    return bool(found) and (found[0].metavar == "DIR" or "folder" in (found[0].help or ""))


def test_every_command_that_writes_a_folder_is_tried():
    (commands,) = (one.choices for one in parser()._actions if isinstance(one, argparse._SubParsersAction))
    assert {name for name, one in commands.items() if writes_a_folder(one)} == {name.split()[0] for name in WORDS}


@pytest.mark.parametrize("name", WORDS)
def test_a_folder_in_use_is_left_alone(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "options.json").write_text(json.dumps(OPTIONS))
    (tmp_path / "learning.json").write_text(json.dumps(LEARNING))
    with alone_in(tmp_path / "out"):
        line = refused(name.split()[0], *WORDS[name], "--output", "out", "-q")
        assert list((tmp_path / "out").iterdir()) == []
    assert "out: another command is writing there" in line
    assert not (tmp_path / "out").exists()


def test_a_folder_that_was_there_stays(tmp_path):
    with pytest.raises(ResultsError), alone_in(tmp_path):
        raise ResultsError("nothing came of it")
    assert tmp_path.exists()
