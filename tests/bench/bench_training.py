"""Decisions per CPU second of learning, all included: playing, deciding, learning, and writing the logs of it.

The first test prints the table of docs/notebook/results.md: PPO with two hidden layers of 64 units, four passes and
minibatches of 512 decisions on one thread, on windows of 256 jobs of Lublin-1 on 256 cores, seen and acted on as in
`CompactRM`. An environment of the same shape that does nothing shows what the library of the algorithm takes. The
others tell where the time goes in `agents/ppo-window.json` and what agents over all jobs reach, with 64 environments.
CPU seconds of all threads are counted, so that other work on the machine does not count.
"""

import json
import time
from dataclasses import replace
from itertools import count as numbers
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from hdeeprm_like.envs.vector import SchedulingVectorEnv
from hdeeprm_like.envs.windows import Windows
from hdeeprm_like.experiment import episodes_of, load_experiment
from hdeeprm_like.gym import environment, environments
from hdeeprm_like.launch.learner import AgentChoice, Learner
from hdeeprm_like.learning.training import Played, Training
from hdeeprm_like.option_sections import TrainingSection
from hdeeprm_like.plugins import import_file
from hdeeprm_like.run.episodes import Plays
from hdeeprm_like.run.runs import Runs

pytestmark = [pytest.mark.bench, pytest.mark.usefixtures("one_thread")]

ROOT = Path(__file__).parents[2]
AGENTS = ROOT / "agents"
JOBS, STEPS, ENVS = 256, 8192, 16  # of a window; decisions that count; episodes of an update
TASK = {"platform": 256, "workload": ROOT / "workloads" / "lublin_256.swf.gz", "jobs": JOBS}
MANY, UPDATES, REPEATS = 64, 2, 3  # environments; updates of a measurement; measurements


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


def by_sb3(make, layers=(64, 64), **options):
    """Return a function that learns from so many decisions with MaskablePPO."""
    contrib = pytest.importorskip("sb3_contrib")
    env = make()
    how = {"n_steps": 2048 // getattr(env, "num_envs", 1), "batch_size": 512, "n_epochs": 4, **options}
    layers = {"net_arch": {"pi": list(layers), "vf": list(layers)}}
    model = contrib.MaskablePPO("MlpPolicy", env, policy_kwargs=layers, device="cpu", **how)
    return lambda steps: model.learn(steps, reset_num_timesteps=False) and steps


def side_by_side(env):
    """Return environments in one, as SB3 takes them."""
    return import_file(AGENTS / "sb3_vector.py").SideBySide(env)


def by_cleanrl(count):
    """Return a function that learns from so many decisions with our example in one file."""
    cleanrl = import_file(AGENTS / "cleanrl_ppo.py")
    how = {"envs": count, "length": 2048 // count, "epochs": 4, "minibatches": 4}
    return lambda steps: cleanrl.train("CompactRM", cleanrl.Options(steps=steps, **how), **TASK) and steps


def by_train(learner, folder, plays, **how):
    """Return a function that learns with `train`, from so many decisions at least where *how* does not say."""
    runs, learned, plain = numbers(), [], learner.agent.learn
    learner.agent.learn = lambda played: learned.append(sum(map(len, played))) or plain(played)

    def learn(steps):
        learned.clear()
        options, target = TrainingSection(**({"steps": steps} | how), checkpoint_every=10**6), folder / str(next(runs))
        Training(learner.agent, Played(plays, learner.actions.names), target, options).run(quiet=True, callbacks=())
        return sum(learned)

    return learn


def by_ours(folder):
    """Return a function that learns from so many decisions at least with `train`."""
    options = json.loads((AGENTS / "ppo-window.json").read_text())
    options |= {name: str(AGENTS / options[name]) for name in ("workload_file_path", "platform_file_path")}
    del options["pybatsim"]["env"]["window"]
    options["pybatsim"]["agent"] |= {"hidden": 64, "shared": False, "minibatch": 512}
    (folder / "options.json").write_text(json.dumps(options))
    learner = Learner(load_experiment(folder / "options.json"), AgentChoice(str(AGENTS / "ppo.py")))
    return by_train(learner, folder / "runs", learner.plays(episodes_of(learner.experiment)[0]), envs=ENVS)


def with_agent(name, **options):
    """Return an experiment of the examples with some options of its agent."""
    experiment = load_experiment(AGENTS / name)
    section = experiment.options.pybatsim.agent.model_copy(update=options)
    pybatsim = experiment.options.pybatsim.model_copy(update={"agent": section})
    return replace(experiment, options=experiment.options.model_copy(update={"pybatsim": pybatsim}))


def by_many(experiment, agent, folder):
    """Return a function that learns from so many episodes with `train`, and its learner."""
    learner = Learner(experiment, AgentChoice(str(AGENTS / agent)))
    plays = learner.plays(episodes_of(experiment)[0], experiment.options.training.alike)
    return by_train(learner, folder, plays, episodes=MANY * UPDATES, envs=MANY), learner


class Parts:
    """CPU seconds that are spent in some functions."""

    def __init__(self, patch, *parts):
        self.spent = {}
        for owner, name, what in parts:
            patch.setattr(owner, name, self.timed(getattr(owner, name), what))

    def timed(self, plain, what):
        def call(*given, **named):
            began = time.process_time()
            found = plain(*given, **named)
            self.spent[what] = self.spent.get(what, 0.0) + time.process_time() - began
            return found

        return call


def tell(what, learn, steps=0, spent=None):
    """Print the best of some measurements, after one that warms up, and the shares of its parts."""
    rounds = []
    for _ in range(REPEATS + 1):
        if spent is not None:
            spent.clear()
        began = time.process_time()
        count = learn(steps)
        seconds = time.process_time() - began
        rounds.append((count / seconds, {name: part / seconds for name, part in (spent or {}).items()}))
    rate, shares = max(rounds[1:], key=lambda one: one[0])
    told = "".join(f", {name} {share:.0%}" for name, share in shares.items())
    print(f"{what:50} {rate:8,.0f} decisions per CPU s ({min(one[0] for one in rounds[1:]):,.0f} at worst){told}")


def test_decisions_per_cpu_second_with_learning(tmp_path):
    like = environment("CompactRM", **TASK)
    together = lambda: side_by_side(environments(16, "CompactRM", autoreset="SameStep", **TASK))  # noqa: E731
    cases = {
        "MaskablePPO of SB3, an environment that does nothing": lambda: by_sb3(lambda: Empty(like)),
        "MaskablePPO of SB3, one environment of ours": lambda: by_sb3(lambda: environment("CompactRM", **TASK)),
        "MaskablePPO of SB3, 16 side by side": lambda: by_sb3(together),
        "agents/cleanrl_ppo.py, one environment": lambda: by_cleanrl(1),
        "agents/cleanrl_ppo.py, 16 side by side": lambda: by_cleanrl(16),
        "train, agents/ppo.py, 16 side by side": lambda: by_ours(tmp_path),
    }
    print("\n| learns | decisions per CPU s |\n|---|--:|")
    for name, made in cases.items():
        learn = made()
        learn(1024)  # loads what the first decisions need
        begin = time.process_time()
        steps = learn(STEPS)
        print(f"| {name} | {steps / (time.process_time() - begin):,.0f} |", flush=True)


@pytest.mark.parametrize("options", [{"epochs": 1}, {"epochs": 4}, {"epochs": 4, "minibatch": 512, "shared": True}])
def test_where_the_time_goes_in_ppo(options, tmp_path, monkeypatch):
    learn, learner = by_many(with_agent("ppo-window.json", **options), "ppo.py", tmp_path)
    agent = learner.agent
    parts = [(Plays, "batch", "simulation"), (Runs, "step", "simulation")]
    parts += [(agent, "decide", "decisions"), (agent, "learn", "learning")]
    print()
    tell(f"ours, {options}", learn, spent=Parts(monkeypatch, *parts).spent)


@pytest.mark.parametrize("agent", ["kernel", "attention"])
def test_agents_over_all_jobs(agent, tmp_path):
    more = {"hidden": 32} if agent == "attention" else {}  # it learns from the hidden units of one layer
    learn, learner = by_many(with_agent("kernel.json", **more), f"{agent}.py", tmp_path)
    print()
    tell(f"{agent}, {learner.agent.epochs} epochs, {learner.layout.slots} slots", learn)


@pytest.mark.parametrize(("name", "epochs"), [("ppo-window.json", 4), ("kernel.json", 3)])
def test_maskable_ppo_on_the_same_environments(name, epochs):
    experiment = load_experiment(AGENTS / name)
    jobs = experiment.workload
    how = {"clock": "textbook", "limits": jobs.limits(), "copy": False}
    windows = Windows(jobs, experiment.options.training.fragment_jobs)
    env = SchedulingVectorEnv(experiment.space, experiment.platform, windows, MANY, **how)
    learn = by_sb3(lambda: side_by_side(env), n_steps=416, batch_size=4096, n_epochs=epochs)
    print()
    tell(f"MaskablePPO, {name}, {epochs} epochs", learn, MANY * 416)
