"""Steps per second of training with PPO end to end: playing, deciding, learning, and writing the logs of it."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hdeeprm_like.envs.vector import SchedulingVectorEnv
from hdeeprm_like.envs.windows import Windows
from hdeeprm_like.experiment import episodes_of, load_experiment
from hdeeprm_like.launch.learner import AgentChoice, Learner
from hdeeprm_like.learning.training import TrainingOptions, train
from hdeeprm_like.plugins import import_file
from hdeeprm_like.run.episodes import Plays
from hdeeprm_like.run.runs import Runs

pytestmark = pytest.mark.bench

AGENTS = Path(__file__).parent.parent.parent / "agents"
WANTED = 20_000  # steps/s on 2 cores
ENVS, UPDATES, REPEATS = 64, 2, 2
EXPERIMENT = load_experiment(AGENTS / "ppo-window.json")


class Clock:
    """Seconds that are spent in some functions."""

    def __init__(self):
        self.spent = {}

    def of(self, patch, owner, name, what):
        plain = getattr(owner, name)

        def timed(*given, **named):
            began = time.perf_counter()
            found = plain(*given, **named)
            self.spent[what] = self.spent.get(what, 0.0) + time.perf_counter() - began
            return found

        patch.setattr(owner, name, timed)


def tell(what, rounds):
    """Print the best of several rounds, each its steps, seconds, and seconds of its parts."""
    steps, seconds, parts = max(rounds, key=lambda one: one[0] / one[1])
    rate, slowest = steps / seconds, min(one[0] / one[1] for one in rounds)
    shares = ", ".join(f"{name} {spent / seconds:.0%}" for name, spent in parts.items())
    print(f"{what:58} {rate:7,.0f} steps/s ({slowest:,.0f} at worst), {rate / WANTED:.2f} of what is wanted; {shares}")


def experiment(**agent):
    options = EXPERIMENT.options
    section = options.pybatsim.agent.model_copy(update=agent)
    pybatsim = options.pybatsim.model_copy(update={"agent": section})
    return replace(EXPERIMENT, options=options.model_copy(update={"pybatsim": pybatsim}))


def ours(folder, patch, **agent):
    """Print the figures of `train --envs 64` with some options of the agent."""
    learner = Learner(experiment(**agent), AgentChoice(str(AGENTS / "ppo.py")))
    plays = learner.plays(episodes_of(EXPERIMENT)[0])
    clock, steps = Clock(), []
    plain = learner.agent.learn
    patch.setattr(learner.agent, "learn", lambda played: steps.append(sum(map(len, played))) or plain(played))
    for owner, name, what in (
        (Plays, "batch", "simulation"),
        (Runs, "step", "simulation"),
        (learner.agent, "decide", "decisions"),
        (learner.agent, "learn", "learning"),
    ):
        clock.of(patch, owner, name, what)
    rounds = []
    for number in range(REPEATS + 1):  # the first one warms up
        steps.clear()
        clock.spent.clear()
        how = TrainingOptions(episodes=ENVS * UPDATES, envs=ENVS, checkpoint_every=10**6)
        began = time.perf_counter()
        train(learner.agent, plays, learner.actions.names, folder / str(number), how, quiet=True, tensorboard=False)
        rounds.append((sum(steps), time.perf_counter() - began, dict(clock.spent)))
    tell("ours, " + ", ".join(f"{name} {value}" for name, value in agent.items()), rounds[1:])


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("epochs", [1, 2, 4, 10])
def test_ppo(epochs, shared, tmp_path, monkeypatch):
    print(f"\n{torch.get_num_threads()} threads, {os.getloadavg()[0]:.1f} processes ran in the last minute")
    for minibatch in (4096, 512) if epochs == 1 else (4096,):
        ours(tmp_path / str(minibatch), monkeypatch, epochs=epochs, shared=shared, minibatch=minibatch)


@pytest.mark.parametrize("epochs", [1, 4, 10])
def test_maskable_ppo_with_the_same_networks(epochs, monkeypatch):
    contrib = pytest.importorskip("sb3_contrib")
    adapter = import_file(AGENTS / "sb3_vector.py")
    options, jobs = EXPERIMENT.options, EXPERIMENT.workload
    windows = Windows(jobs, options.training.fragment_jobs)
    how = {"clock": options.training.clock, "limits": jobs.limits(), "copy": False}
    env = SchedulingVectorEnv(EXPERIMENT.space, EXPERIMENT.platform, windows, ENVS, **how)
    layers = list(options.pybatsim.agent.hidden)
    model = contrib.MaskablePPO(
        "MlpPolicy",
        adapter.SideBySide(env),
        n_steps=416,  # about what an episode takes
        batch_size=4096,
        n_epochs=epochs,
        policy_kwargs={"net_arch": {"pi": layers, "vf": layers}},
        device="cpu",
    )
    clock = Clock()
    for owner, name, what in (
        (env, "step", "simulation"),
        (model.policy, "forward", "decisions"),
        (model, "train", "learning"),
    ):
        clock.of(monkeypatch, owner, name, what)
    rounds = []
    for _ in range(REPEATS + 1):
        clock.spent.clear()
        began = time.perf_counter()
        model.learn(ENVS * 416 * UPDATES)
        rounds.append((ENVS * 416 * UPDATES, time.perf_counter() - began, dict(clock.spent)))
    print()
    tell(f"MaskablePPO, epochs {epochs}, minibatch 4096", rounds[1:])
