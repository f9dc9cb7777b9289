"""From a user's file to an agent."""

import importlib
import os

import pytest
import torch
from test_agents import APPENDIX_G

import hdeeprm_like.learning
from hdeeprm_like.decision.layout import plain_layout
from hdeeprm_like.errors import AgentError, OptionsError
from hdeeprm_like.learning.loading import build_agent, find_device, load_agent_class

LAYOUT = plain_layout((6,), "abc")

TWO = APPENDIX_G + "\nclass Another(MyLearningAgent):\n    pass\n"


def written(tmp_path, source, name="my_agent.py"):
    path = tmp_path / name
    path.write_text(source)
    return path


def test_the_only_class_of_a_file_is_found(tmp_path):
    assert load_agent_class(str(written(tmp_path, APPENDIX_G))).__name__ == "MyLearningAgent"


def test_paths_are_relative_to_the_current_folder(tmp_path, monkeypatch):
    written(tmp_path, APPENDIX_G)
    monkeypatch.chdir(tmp_path)
    assert load_agent_class("my_agent.py").__name__ == "MyLearningAgent"


def test_of_several_classes_one_is_named(tmp_path):
    assert load_agent_class(f"{written(tmp_path, TWO)}:Another").__name__ == "Another"


@pytest.mark.parametrize(
    ("source", "name", "said"),
    [
        (TWO, "", r"my_agent\.py:MyLearningAgent, .*my_agent\.py:Another"),
        (TWO, ":Anoter", "did you mean 'Another'"),
        ("x = 1\n", "", "has no class on"),
        ("def f(:\n", "", r"my_agent\.py:1: invalid syntax"),
        ("import math\nmath.sqrt(-1)\n", "", r"my_agent\.py:2: ValueError"),
        ("import hdeeprm_lik\n", "", r"my_agent\.py:1: ModuleNotFoundError"),
    ],
)
def test_a_file_without_the_agent_is_refused_in_one_line(tmp_path, source, name, said):
    with pytest.raises(AgentError, match=said) as refused:
        load_agent_class(f"{written(tmp_path, source)}{name}")
    assert "\n" not in str(refused.value)


def test_a_file_may_import_its_neighbours(tmp_path):
    written(tmp_path, "WIDTH = 3\n", "shared_numbers.py")
    load_agent_class(str(written(tmp_path, "from shared_numbers import WIDTH\n" + APPENDIX_G)))


MISSPELT = APPENDIX_G.replace("hidden, action_size)\n\n", "hiden, action_size)\n\n")
OWN_OPTION = APPENDIX_G.replace("observation_size):", "observation_size, temperature=1.0):").replace(
    "self.input =", "self.temperature = temperature\n        self.input ="
)


def test_further_options_reach_the_constructor_by_name(tmp_path):
    kind = load_agent_class(str(written(tmp_path, OWN_OPTION)))
    agent = build_agent(kind, {"gamma": 0.9, "hidden": 4, "temperature": 2.5}, LAYOUT)
    assert agent.temperature == 2.5
    assert (agent.input.in_features, agent.output.out_features) == (6, 3)


@pytest.mark.parametrize(
    ("source", "options", "error", "said"),
    [
        (
            OWN_OPTION,
            {"hidden": 4, "temperatur": 2.5},
            OptionsError,
            r"agent\.temperatur: .*did you mean 'temperature'",
        ),
        (APPENDIX_G, {}, OptionsError, "wants the agent option 'hidden'"),
        (MISSPELT, {"hidden": 4}, AgentError, r"my_agent\.py:10: NameError.*hiden"),
    ],
)
def test_an_agent_that_cannot_be_made_is_refused_with_what_would_be_right(tmp_path, source, options, error, said):
    kind = load_agent_class(str(written(tmp_path, source)))
    with pytest.raises(error, match=said):
        build_agent(kind, {"gamma": 0.9, **options}, LAYOUT)


def test_the_same_seed_gives_the_same_weights(tmp_path):
    kind = load_agent_class(str(written(tmp_path, APPENDIX_G)))
    first, second, other = (build_agent(kind, {"gamma": 1.0, "hidden": 4}, LAYOUT, seed=s) for s in (1, 1, 2))
    assert torch.equal(first.input.weight, second.input.weight)
    assert not torch.equal(first.input.weight, other.input.weight)


def test_devices():
    assert find_device("cpu").type == "cpu"
    assert find_device("auto").type in ("cpu", "cuda", "mps")
    with pytest.raises(OptionsError, match="device 'tpux' cannot be used here"):
        find_device("tpux")


@pytest.mark.parametrize(
    ("given", "spins"), [({}, "10000"), ({"GOMP_SPINCOUNT": "5"}, "5"), ({"OMP_WAIT_POLICY": "ACTIVE"}, None)]
)
def test_threads_of_torch_wait_busily_for_a_moment_only_unless_the_user_says_how(given, spins, monkeypatch):
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    importlib.reload(hdeeprm_like.learning)
    assert os.environ.get("GOMP_SPINCOUNT") == spins
