"""Agents without a training's folder beside baselines: plain functions, and models of Stable-Baselines3."""

import json
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
from robust_inputs import printed, refused

from hdeeprm_like.cli.main import parser
from hdeeprm_like.cli.trust import trusted_by
from hdeeprm_like.decision.agent_names import agent_named
from hdeeprm_like.errors import OptionsError

SPACE = {"observation": "minimal", "actions": {"policies": ["sjf+easy", "fcfs+strict"]}}
SECOND = (
    "def second(observation, mask):\n    assert mask.dtype == 'int8' and observation.shape == (21,)\n    return 1\n"
)
WRONG = "\n\ndef far(observation, mask):\n    return len(mask)\n\n\ndef named(observation, mask):\n    return 'sjf'\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.csv").write_text("MachineName,TotalMemory,TotalCPUs,TotalGPUs\npool,100000,8,0\n")
    lines = [
        f"{n} {10 * n} -1 {50 + 7 * n} {1 + n % 8} -1 -1 {1 + n % 8} {90 + 9 * n} -1 1 1 1 -1 1 -1 -1 -1"
        for n in range(30)
    ]
    (tmp_path / "t.swf").write_text("\n".join(["; MaxProcs: 8", *lines]) + "\n")
    content = {
        "seed": 1,
        "nb_jobs": 10,
        "workload": {"model": "lublin"},
        "platform_file_path": "pool.csv",
        "pybatsim": {"env": SPACE, "agent": {"type": "LEARNING", "run": "test", "hidden": 16}},
    }
    (tmp_path / "exp.json").write_text(json.dumps(content))
    (tmp_path / "own.py").write_text(SECOND + WRONG)
    return tmp_path


def line_of(*policies):
    """The words that compare policies on the trace."""
    line = ("compare", "-q", "--trace", "t.swf", "--policies", ",".join(policies), "--windows", "2x12")
    return *line, "--output", "out"


def waits(*policies):
    """The mean wait in each window under each of some policies that are compared."""
    printed(*line_of(*policies))
    rows = pd.read_csv("out/results.csv").set_index("policy")
    return {policy: rows.loc[policy, "wait"].tolist() for policy in policies}


def test_a_function_of_ones_own_stands_beside_baselines(folder):
    (folder / "own.json").write_text((folder / "exp.json").read_text())
    found = waits("fcfs+strict", "sjf+easy", "agent:own.py:second:exp.json", "agent:own.py:second")
    assert found["agent:own.py:second:exp.json"] == found["agent:own.py:second"] == found["fcfs+strict"]
    assert found["sjf+easy"] != found["fcfs+strict"]


@pytest.mark.skipif(find_spec("stable_baselines3") is None, reason="Stable-Baselines3 is not installed")
@pytest.mark.parametrize("kind", ["PPO", "A2C", "DQN"])
def test_a_model_of_stable_baselines_stands_beside_baselines(folder, kind):
    import stable_baselines3
    import torch

    from hdeeprm_like.gym import environment

    env = environment("HDeepRM", options="exp.json")
    model = getattr(stable_baselines3, kind)("MlpPolicy", env, seed=1, device="cpu")
    last = model.policy.q_net.q_net[-1] if kind == "DQN" else model.policy.action_net
    with torch.no_grad():
        last.bias.copy_(torch.tensor([0.0, 99.0]))  # always fcfs
    model.save(folder / "model.zip")
    found = waits("fcfs+strict", "sjf+easy", "agent:model.zip:exp.json")
    assert found["agent:model.zip:exp.json"] == found["fcfs+strict"] != found["sjf+easy"]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("agent:own.py:far:exp.json", r"own.py:6: answers 2; legal now: [0, 1]"),
        ("agent:own.py:named:exp.json", r"own.py:10: answers 'sjf'; the number of an action is needed"),
        ("agent:own.py:secnd:exp.json", "did you mean 'second'?"),
        ("agent:own.py", "which function? write agent:own.py:NAME"),
        ("agent:own.py:second", "own.json: no such file; the options file of its decision space is needed"),
        ("agent:mine.zip", "mine.zip: no such file"),
        ("agent:own.py:second:smpd", "did you mean 'smdp'?"),
        ("agent:kernel-lublin", "no such folder; did you mean 'agent:zoo/kernel-lublin'?"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_wrong_with_such_an_agent_is_told_in_one_line(policy, message):
    assert message in refused(*line_of("fcfs+strict", policy))


def test_an_agent_that_only_waits_is_refused_after_the_steps_of_an_environment(folder):
    content = json.loads((folder / "exp.json").read_text())
    content["pybatsim"]["env"] = {"preset": "SMDP"}
    (folder / "waits.json").write_text(json.dumps(content))
    (folder / "waits.py").write_text("def waits(observation, mask):\n    return int(mask.nonzero()[0][-1])\n")
    lines = [f"{n} {10 * n} -1 9000 1 -1 -1 1 9000 -1 1 1 1 -1 1 -1 -1 -1" for n in range(30)]
    (folder / "t.swf").write_text("\n".join(["; MaxProcs: 8", *lines]) + "\n")
    line = refused(*line_of("fcfs+strict", "agent:waits.py:waits:waits.json"))
    assert "has decided 10,000 times in a window and its jobs are not over: it waits again and again" in line


def test_benchmark_runs_the_function_that_it_names_itself(folder):
    line = parser().parse_args(["benchmark", "agent:own.py:second:exp.json", "order.py:order", "-o", "card"])
    assert {Path("own.py"), Path("order.py"), folder} <= set(trusted_by(line))


@pytest.mark.parametrize("command", ["train", "launch"])
@pytest.mark.parametrize(("given", "near"), [("actor_critic", "actor-critic"), ("sb3-network", "sb3_network")])
def test_the_nearest_shipped_agent_is_named(command, given, near):
    assert f"did you mean {near!r}?" in refused(command, "--options", "learning", "--agent", given)


def test_a_folder_is_an_agent_whatever_its_name(folder):
    (folder / "old.zip").mkdir()
    assert agent_named("agent:old.zip").options is None
    with pytest.raises(OptionsError, match="no such file"):
        agent_named("agent:older.zip")
