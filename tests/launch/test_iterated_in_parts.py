"""Policy iteration in parts: what is learned does not depend on who compares which part."""

import json
from pathlib import Path

import pytest

from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.launch.iterated import iterate_learner
from hdeeprm_like.launch.learner import AgentChoice, Learner
from hdeeprm_like.launch.resuming import training_options
from hdeeprm_like.learning.checkpoint import read_checkpoint
from hdeeprm_like.studies.sweep.engine import Where, gathering

AGENTS = Path(__file__).parents[2] / "agents"


def options_file(folder):
    content = json.loads((AGENTS / "hold.json").read_text())
    content |= {"platform_file_path": str(AGENTS.parent / "platforms" / "pool_256.csv"), "nb_jobs": 40}
    content["training"] |= {"evaluation_episodes": 2, "parts": 2}
    content["training"]["policy_iteration"] |= {"windows": 4, "iterations": 2, "branches": 16, "epochs": 2}
    (folder / "options.json").write_text(json.dumps(content))
    return folder / "options.json"


def trained(options, output, *gather):
    learner = Learner(load_experiment(options), AgentChoice(str(AGENTS / "hold.py")))
    iterate_learner(learner, output, training_options(learner.experiment, None, None), False, False, *gather)
    return read_checkpoint(output / "checkpoint.pt")


# on two workers, which load everything anew
@pytest.mark.more
def test_two_processes_teach_to_the_last_bit_what_this_one_does(tmp_path):
    options = options_file(tmp_path)
    here = trained(options, tmp_path / "here")
    there = trained(options, tmp_path / "two", gathering(Where("local", tmp_path / "two", 2)))
    for name, weights in here["parameters"].items():
        assert weights.tolist() == there["parameters"][name].tolist()
    assert here["compared 0"]["gains"].tolist() == there["compared 0"]["gains"].tolist()
    assert len(here["compared 0"]["gains"]) > 0
