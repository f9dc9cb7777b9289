"""Decisions per second of the kernel agent, played and learned from, beside MaskablePPO on the same environment.

CPU seconds of all threads are counted, so that other work on the machine does not count; per second of one core.
"""

import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hdeeprm_like.envs.vector import SchedulingVectorEnv
from hdeeprm_like.envs.windows import Windows
from hdeeprm_like.experiment import episodes_of, load_experiment
from hdeeprm_like.formats.job_reading import Reading, read_jobs
from hdeeprm_like.formats.windows import window
from hdeeprm_like.launch.learner import AgentChoice, Learner
from hdeeprm_like.learning.training import TrainingOptions, train
from hdeeprm_like.plugins import import_file

pytestmark = pytest.mark.bench

ROOT = Path(__file__).parent.parent.parent
AGENTS = ROOT / "agents"
ENVS, UPDATES, REPEATS, WANTED = 64, 2, 3, 40_000  # decisions/s on two cores


def tell(what, rates):
    print(f"{what:40} {max(rates):8,.0f} decisions per CPU s ({min(rates):,.0f} at worst)", flush=True)


@pytest.fixture(autouse=True)
def one_thread():
    """Let torch take one core; a second one would mostly wait for it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("agent", ["kernel", "attention"])
def test_agents_over_all_jobs(agent, tmp_path):
    experiment = load_experiment(AGENTS / "kernel.json")
    if agent == "attention":  # learns from the hidden units of one layer
        section = experiment.options.pybatsim.agent.model_copy(update={"hidden": 32})
        pybatsim = experiment.options.pybatsim.model_copy(update={"agent": section})
        experiment = replace(experiment, options=experiment.options.model_copy(update={"pybatsim": pybatsim}))
    learner = Learner(experiment, AgentChoice(str(AGENTS / f"{agent}.py")))
    plays = learner.plays(episodes_of(experiment)[0], experiment.options.training.alike)
    plain, steps, rates = learner.agent.learn, [], []
    learner.agent.learn = lambda played: steps.append(sum(map(len, played))) or plain(played)
    how = TrainingOptions(episodes=ENVS * UPDATES * (REPEATS + 1), envs=ENVS, checkpoint_every=10**6)
    spent = [time.process_time()]
    learn = learner.agent.learn

    def noted(played):
        found = learn(played)
        spent.append(time.process_time())
        return found

    learner.agent.learn = noted
    train(learner.agent, plays, learner.actions.names, tmp_path, how, quiet=True, tensorboard=False)
    for first in range(UPDATES, len(steps), UPDATES):  # the first updates warm up
        rates.append(sum(steps[first : first + UPDATES]) / (spent[first + UPDATES] - spent[first]))
    print(f"\nSMDP, {learner.layout.slots} slots, {ENVS} environments, {WANTED:,} wanted on two cores")
    tell(f"{agent}, {learner.agent.epochs} epochs", rates)


def test_maskable_ppo_on_the_same_environment():
    contrib = pytest.importorskip("sb3_contrib")
    adapter = import_file(AGENTS / "sb3_vector.py")
    experiment = load_experiment(AGENTS / "kernel.json")
    jobs = window(
        read_jobs(ROOT / "workloads" / "lublin_256.swf.gz", Reading(memory=False)), experiment.platform.cores
    ).workload
    how = {"clock": "textbook", "limits": jobs.limits(), "copy": False}
    env = SchedulingVectorEnv(experiment.space, experiment.platform, Windows(jobs, 1024), ENVS, **how)
    steps = 1024
    model = contrib.MaskablePPO(
        "MlpPolicy", adapter.SideBySide(env), n_steps=steps, batch_size=4096, n_epochs=3, device="cpu"
    )
    rates = []
    for _ in range(REPEATS):
        began = time.process_time()
        model.learn(ENVS * steps)
        rates.append(ENVS * steps / (time.process_time() - began))
    print()
    tell("MaskablePPO, 64-64, 3 epochs", rates[1:])
