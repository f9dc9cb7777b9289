"""Networks of Stable-Baselines3 as agents: what they say there they say here, and nothing in their files is run."""

import json
import pickle
import zipfile
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from hdeeprm_like.cli.main import main
from hdeeprm_like.decision.layout import plain_layout
from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.loading import build_agent, load_agent_class

missing = [name for name in ("sb3_contrib", "stable_baselines3") if find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
gym = pytest.importorskip("hdeeprm_like.gym")

SPACE = {"actions": ["sjf+easy", "fcfs+strict", "shortest-high_gflops"], "observation": "minimal"}


@pytest.fixture(scope="module")
def environment():
    return gym.environment("HDeepRM", workload="lublin", platform=16, jobs=20, **SPACE)


def agent_of(path, environment, **options):
    kind = load_agent_class("agents/sb3_network.py")
    shape, actions = environment.observation_space.shape, environment.action_space.n
    return build_agent(kind, {"model": str(path), **options}, plain_layout(shape, [""] * int(actions)))


def seen(environment, count=64):
    return np.random.default_rng(1).random((count, *environment.observation_space.shape)).astype(np.float32)


@pytest.mark.parametrize("activation", [None, torch.nn.ReLU])
@pytest.mark.parametrize("layers", [None, {"pi": [16], "vf": [8]}])
def test_a_policy_network_gives_the_same_probabilities(environment, tmp_path, activation, layers):
    given = {"net_arch": layers, "activation_fn": activation}
    from sb3_contrib import MaskablePPO

    model = MaskablePPO(
        "MlpPolicy", environment, policy_kwargs={k: v for k, v in given.items() if v is not None}, seed=1, device="cpu"
    )
    model.save(tmp_path / "model.zip")
    agent, observations = agent_of(tmp_path / "model.zip", environment), torch.from_numpy(seen(environment))
    masks = torch.from_numpy(np.random.default_rng(2).random((64, 3)) < 0.6)
    masks[:, 0] = True
    with torch.no_grad():
        wanted = model.policy.get_distribution(observations, masks.numpy()).distribution.probs
        torch.testing.assert_close(agent.log_probabilities(observations, masks).exp(), wanted)
    agent.greedy = True
    actions = agent.decide(observations.numpy(), masks.numpy(), np.arange(64))
    assert (
        actions.tolist() == model.predict(seen(environment), action_masks=masks.numpy(), deterministic=True)[0].tolist()
    )


def test_a_network_of_values_takes_the_same_actions(environment, tmp_path):
    from stable_baselines3 import DQN

    model = DQN("MlpPolicy", environment, seed=1, device="cpu", buffer_size=10)
    model.save(tmp_path / "model.zip")
    agent, masks = agent_of(tmp_path / "model.zip", environment), np.ones((64, 3), bool)
    agent.greedy = True
    actions = agent.decide(seen(environment), masks, np.arange(64))
    assert actions.tolist() == model.predict(seen(environment), deterministic=True)[0].tolist()


# compiles policies of three kinds together
@pytest.mark.slow
def test_it_is_launched_and_schedules_what_it_schedules_in_its_own_library(environment, tmp_path):
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", environment, seed=1, device="cpu")
    with torch.no_grad():
        model.policy.action_net.bias.copy_(torch.tensor([0.0, 9.0, 0.0]))  # always fcfs
    model.save(tmp_path / "model.zip")
    content = {
        "seed": 1,
        "nb_jobs": 20,
        "workload": {"model": "lublin"},
        "pybatsim": {
            "env": {"observation": "minimal", "actions": {"policies": SPACE["actions"]}},
            "agent": {"type": "LEARNING", "run": "test", "model": str(tmp_path / "model.zip")},
        },
    }
    (tmp_path / "options.json").write_text(json.dumps(content))
    platform = ["--platform", "platforms/pool_64.csv", "--options", str(tmp_path / "options.json")]
    line = ["launch", "-q", *platform, "--agent", "agents/sb3_network.py", "--output", str(tmp_path / "run")]
    assert main(line) == 0
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    content["pybatsim"] = {"agent": {"type": "CLASSIC", "policy_pair": "fcfs+strict"}}
    (tmp_path / "options.json").write_text(json.dumps(content))
    assert main(["launch", "-q", *platform, "--output", str(tmp_path / "classic")]) == 0
    classic = json.loads((tmp_path / "classic" / "run.json").read_text())
    assert run["metrics"]["makespan"] == classic["metrics"]["makespan"]


class Harmful:
    def __reduce__(self):
        return (exec, ("raise SystemExit('ran')",))


def test_nothing_in_a_file_is_unpickled(environment, tmp_path):
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("policy.pth", pickle.dumps(Harmful()))
        file.writestr("data", "{}")
    with pytest.raises(AgentError, match=r"model\.zip: is no model of Stable-Baselines3 \(UnpicklingError\)"):
        agent_of(path, environment)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"not a zip", r"is no model of Stable-Baselines3 \(BadZipFile\)"),
        ({}, r"is no model of Stable-Baselines3 \(KeyError\)"),
    ],
)
def test_other_files_are_refused_in_one_line(environment, tmp_path, content, message):
    path = tmp_path / "model.zip"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        zipfile.ZipFile(path, "w").close()
    with pytest.raises(AgentError, match=message):
        agent_of(path, environment)


def test_a_network_for_another_space_is_refused_with_both_sizes(environment, tmp_path):
    from stable_baselines3 import A2C

    A2C("MlpPolicy", environment, device="cpu").save(tmp_path / "model.zip")
    kind = load_agent_class("agents/sb3_network.py")
    with pytest.raises(AgentError, match=r"sees 21 numbers and does 3 actions; here are 8 and 2"):
        build_agent(kind, {"model": str(tmp_path / "model.zip")}, plain_layout((8,), "ab"))
