"""A training that was cut short goes on where it was, and damaged checkpoints and logs are refused in one line."""

import contextlib
import math
import random

import pytest
import torch
from robust_inputs import ROOT, refused, write_inputs
from toy import LAYOUT, NAMES, Walk

from hdeeprm_like.errors import AgentError, ResultsError
from hdeeprm_like.learning.checkpoint import load_agent, read_checkpoint
from hdeeprm_like.learning.loading import build_agent, load_agent_class
from hdeeprm_like.learning.logs import TrainingLog
from hdeeprm_like.learning.training import Played, Training
from hdeeprm_like.option_sections import TrainingSection

REINFORCE = str(ROOT / "agents" / "reinforce.py")


def agent_of(seed=7):
    options = {"gamma": 1.0, "hidden": 8, "lr": 0.01}
    return build_agent(load_agent_class(REINFORCE), options, LAYOUT, seed=seed)


def trained(folder, resume=False, episodes=4):
    given = {"episodes": episodes, "envs": 2, "checkpoint_every": 2, "evaluate_every": 2, "evaluation_episodes": 2}
    agent = agent_of()
    Training(agent, Played(Walk, NAMES, Walk), folder, TrainingSection(**given)).run(resume, quiet=True, callbacks=())
    return agent


# kills a comparison and a training once more
@pytest.mark.more
def test_a_training_killed_right_after_its_first_checkpoint_keeps_the_first_evaluation(tmp_path, monkeypatch):
    trained(tmp_path / "whole")

    class Killed(BaseException):
        pass

    def kill(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("hdeeprm_like.learning.training.Training.update", kill)
        with pytest.raises(Killed):
            trained(tmp_path / "cut")
    trained(tmp_path / "cut", resume=True)
    for name in ("evaluations.csv", "rewards.log", "losses.log"):
        assert (tmp_path / "cut" / name).read_text() == (tmp_path / "whole" / name).read_text()
    assert (tmp_path / "cut" / "evaluations.csv").read_text().splitlines()[1].startswith("0,")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    trained(folder)
    return folder / "checkpoint.pt"


@pytest.mark.parametrize("seed", range(12))
def test_a_checkpoint_with_thirty_flipped_bytes_is_refused_or_as_good_as_before(checkpoint, tmp_path, seed):

    rng, data = random.Random(seed), bytearray(checkpoint.read_bytes())
    for _ in range(30):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    (tmp_path / "checkpoint.pt").write_bytes(data)
    with contextlib.suppress(AgentError):  # nothing else may be raised
        trained(tmp_path, resume=True, episodes=6)


WRONG = {
    "counters": [None, [], "x", {}, {"episode": "x"}],
    "parameters": [None, {}, {"output.bias": 3}, [1]],
    "optimizer": [None, {}, {"state": {}, "param_groups": []}, {"state": {0: {"exp_avg": "x"}}, "param_groups": [{}]}],
    "generators": [None, {}, {"agent": torch.zeros(3)}],
    "agent": [None, 5, "Another"],
    "actions": [None, 5, ["stay"], [1, 2, 3, 4]],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in WRONG.items() for value in values])
def test_a_checkpoint_with_a_wrong_entry_or_without_it_is_refused(checkpoint, tmp_path, key, value):
    for number, change in enumerate((lambda c: c.update({key: value}), lambda c: c.pop(key))):
        content = torch.load(checkpoint, weights_only=True)
        change(content)
        folder = tmp_path / str(number)
        folder.mkdir()
        torch.save(content, folder / "checkpoint.pt")
        with pytest.raises(AgentError, match=r"checkpoint\.pt: ") as error:
            trained(folder, resume=True, episodes=6)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("episode", "x"),
        ("episode", -1),
        ("episode", 10**9),
        ("episode", True),
        ("episode", 5),
        ("envs", 0),
        ("best", math.nan),
        ("best", "good"),
        ("episodes", None),
    ],
)
def test_counters_that_cannot_be_are_refused(checkpoint, tmp_path, name, value):
    content = torch.load(checkpoint, weights_only=True)
    content["counters"][name] = value
    torch.save(content, tmp_path / "checkpoint.pt")
    with pytest.raises(AgentError, match="counters: "):
        trained(tmp_path, resume=True, episodes=6)


def test_weights_that_are_no_numbers_are_refused(checkpoint, tmp_path):
    content = torch.load(checkpoint, weights_only=True)
    content["parameters"]["output.bias"][0] = math.nan
    torch.save(content, tmp_path / "c.pt")
    with pytest.raises(AgentError, match=r"output\.bias holds weights that are no numbers"):
        load_agent(agent_of(), tmp_path / "c.pt", NAMES)


def test_bytes_that_are_no_text_in_the_progress_are_told_in_one_line(checkpoint, tmp_path):
    folder = tmp_path / "t"
    trained(folder)
    (folder / "progress.csv").write_bytes(b"episode,p:a\n\xff\xfe,1\n")
    with pytest.raises(ResultsError, match=r"progress\.csv: is not UTF-8 text"):
        trained(folder, resume=True, episodes=6)


def test_a_log_that_cannot_be_read_leaves_no_file_open(tmp_path):
    (tmp_path / "progress.csv").write_bytes(b"p:a\n\xff\n")
    log = TrainingLog(tmp_path, ("a",), 1)
    with pytest.raises(ResultsError):
        log.close()


def test_options_that_a_save_cannot_hold_are_seen_before_the_training(tmp_path):
    folder = write_inputs(tmp_path)
    (folder / "file").write_text("")
    line = refused(
        "train", "--options", folder / "learning.json", "--agent", REINFORCE, "--output", folder / "file" / "t"
    )
    assert "cannot be written" in line


def test_checkpoints_are_read_from_regular_files_alone(tmp_path):
    (tmp_path / "c.pt").symlink_to("/dev/zero")
    with pytest.raises(AgentError, match="is a device, a pipe or a socket"):
        read_checkpoint(tmp_path / "c.pt")
