"""Decisions per CPU second of PPO, learning included: prints the table of docs/notebook/results.md and fails nothing.

All learn with two hidden layers of 64 units, four passes and minibatches of 512 decisions on one thread: windows of 256
jobs of Lublin-1 on 256 cores, seen and acted on as in `CompactRM`. An environment of the same shape that does nothing
shows what the library of the algorithm takes.
"""

import json
import time
from itertools import count as numbers
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch

from hdeeprm_like.experiment import episodes_of, load_experiment
from hdeeprm_like.gym import environment, environments
from hdeeprm_like.launch.learner import AgentChoice, Learner
from hdeeprm_like.learning.training import TrainingOptions, train
from hdeeprm_like.plugins import import_file

pytestmark = pytest.mark.bench

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "workloads" / "lublin_256.swf.gz"
JOBS, STEPS, ENVS = 256, 8192, 16  # of a window; decisions that count; episodes of an update
TASK = {"platform": 256, "workload": TRACE, "jobs": JOBS}


class Empty(gymnasium.Env):
    """An environment of the same shape that does nothing; each episode takes as many decisions as a window has jobs."""

    def __init__(self, like):
        self.observation_space, self.action_space = like.observation_space, like.action_space
        self._seen = np.zeros(like.observation_space.shape, np.float32)
        self._masks, self._left = np.ones(like.action_space.n, np.int8), JOBS

    def reset(self, *, seed=None, options=None):
        self._left = JOBS
        return self._seen, {}

    def step(self, action):
        self._left -= 1
        return self._seen, 0.0, not self._left, False, {}

    def action_masks(self):
        return self._masks


def by_sb3(make):
    """Return a function that learns from so many decisions with MaskablePPO."""
    contrib = pytest.importorskip("sb3_contrib")
    env = make()
    count = getattr(env, "num_envs", 1)
    layers = {"net_arch": {"pi": [64, 64], "vf": [64, 64]}}
    how = {"n_steps": 2048 // count, "batch_size": 512, "n_epochs": 4, "policy_kwargs": layers, "device": "cpu"}
    model = contrib.MaskablePPO("MlpPolicy", env, **how)
    return lambda steps: model.learn(steps, reset_num_timesteps=False) and steps


def side_by_side(count):
    """Return environments of the task in one, as SB3 takes them."""
    adapter = import_file(ROOT / "agents" / "sb3_vector.py")
    return adapter.SideBySide(environments(count, "CompactRM", autoreset="SameStep", **TASK))


def by_cleanrl(count):
    """Return a function that learns from so many decisions with our example in one file."""
    cleanrl = import_file(ROOT / "agents" / "cleanrl_ppo.py")
    how = {"envs": count, "length": 2048 // count, "epochs": 4, "minibatches": 4}
    return lambda steps: cleanrl.train("CompactRM", cleanrl.Options(steps=steps, **how), **TASK) and steps


def by_ours(folder, monkeypatch):
    """Return a function that learns from so many decisions at least with `train`."""
    options = json.loads((ROOT / "agents" / "ppo-window.json").read_text())
    options |= {name: str(ROOT / "agents" / options[name]) for name in ("workload_file_path", "platform_file_path")}
    del options["pybatsim"]["env"]["window"]
    options["pybatsim"]["agent"] |= {"hidden": 64, "shared": False, "minibatch": 512}
    folder.mkdir()
    (folder / "options.json").write_text(json.dumps(options))
    learner = Learner(load_experiment(folder / "options.json"), AgentChoice(str(ROOT / "agents" / "ppo.py")))
    plays, runs = learner.plays(episodes_of(learner.experiment)[0]), numbers()

    def learn(steps):
        learned, plain = [], type(learner.agent).learn
        monkeypatch.setattr(
            learner.agent, "learn", lambda played: learned.append(sum(map(len, played))) or plain(learner.agent, played)
        )
        how = TrainingOptions(steps=steps, envs=ENVS, checkpoint_every=10**6)
        train(learner.agent, plays, learner.actions.names, folder / str(next(runs)), how, quiet=True, tensorboard=False)
        return sum(learned)

    return learn


def test_decisions_per_cpu_second_with_learning(tmp_path, monkeypatch):
    like = environment("CompactRM", **TASK)
    cases = {
        "MaskablePPO of SB3, an environment that does nothing": lambda: by_sb3(lambda: Empty(like)),
        "MaskablePPO of SB3, one environment of ours": lambda: by_sb3(lambda: environment("CompactRM", **TASK)),
        "MaskablePPO of SB3, 16 side by side": lambda: by_sb3(lambda: side_by_side(16)),
        "agents/cleanrl_ppo.py, one environment": lambda: by_cleanrl(1),
        "agents/cleanrl_ppo.py, 16 side by side": lambda: by_cleanrl(16),
        "train, agents/ppo.py, 16 side by side": lambda: by_ours(tmp_path / "ours", monkeypatch),
    }
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    print("\n| learns | decisions per CPU s |\n|---|--:|")
    for name, made in cases.items():
        learn = made()
        learn(1024)  # loads what the first decisions need
        begin = time.process_time()
        steps = learn(STEPS)
        print(f"| {name} | {steps / (time.process_time() - begin):,.0f} |", flush=True)
    torch.set_num_threads(threads)
