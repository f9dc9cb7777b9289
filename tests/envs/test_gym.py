"""Environments by name: registered, out of options files, out of traces, with one's own parts; MaskablePPO on each."""

import gzip
import importlib
import inspect
import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from small import jobs

import hdeeprm_like.gym
from hdeeprm_like.decision.presets import PRESETS, Space
from hdeeprm_like.decision.rewards import OBJECTIVES
from hdeeprm_like.errors import AgentError, OptionsError
from hdeeprm_like.gym import environment
from hdeeprm_like.plugins import import_file

ROOT = Path(__file__).parents[2]
AGENTS = ROOT / "agents"
OWN = str(AGENTS / "own_parts.py")


def wander(env, steps=10**6, seed=0):
    rng, over, rewards = np.random.default_rng(seed), False, []
    _, info = env.reset(seed=seed)
    while not over and len(rewards) < steps:
        _, reward, over, _, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
        rewards.append(reward)
    return rewards


def options_file(folder, **env):
    content = json.loads((AGENTS / "ppo.json").read_text())
    for key in ("workload_file_path", "platform_file_path"):
        content[key] = str((AGENTS / content[key]).resolve())
    content["pybatsim"]["env"] = env
    content["training"] = {"fragment_jobs": 30, "clock": "textbook"}
    path = folder / "exp.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("preset", PRESETS)
def test_gymnasium_makes_every_preset(preset):
    env = gymnasium.make(f"hdeeprm_like/{preset}-v0", render_mode="rgb_array", jobs=10)
    env.reset(seed=1)
    assert env.render().shape[2] == 3
    assert env.unwrapped.space == environment(preset).space


@pytest.mark.parametrize("preset", PRESETS)
def test_gymnasium_makes_many_of_every_preset(preset):
    envs = gymnasium.make_vec(f"hdeeprm_like/{preset}-v0", num_envs=2, jobs=10)
    one = gymnasium.make(f"hdeeprm_like/{preset}-v0", jobs=10)
    observations, info = envs.reset(seed=4)
    for place, observation in enumerate(observations):
        seen, _ = one.reset(seed=4 + place)
        assert observation.tobytes() == seen.tobytes()
    envs.step(info["action_mask"].argmax(1))
    with pytest.raises(OptionsError, match="threads is 0"):
        gymnasium.make_vec(f"hdeeprm_like/{preset}-v0", num_envs=2, threads=0)


def test_the_package_alone_imports_neither_gymnasium_nor_torch():
    code = "import sys, hdeeprm_like; print([name for name in ('gymnasium', 'torch', 'numba') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_a_missing_gymnasium_is_told_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "hdeeprm_like.envs.single")
    with pytest.raises(OptionsError, match=r"need the package gymnasium; .* pip install 'hdeeprm_like\[rl\]'$"):
        importlib.import_module("hdeeprm_like.envs.single")


def test_an_options_file_tells_platform_jobs_and_decision_space(tmp_path):
    path = options_file(tmp_path, objective="avg_utilization", observation="minimal")
    env = environment("PolicySelect", options=path, reward="sample")
    assert (env.platform.cores, env.clock, env.observation_space.shape) == (2280, "textbook", (21,))
    assert env.space.pairs == PRESETS["PolicySelect"].pairs  # the file names no preset
    rewards = wander(env)
    assert len(env.workload) == 30
    assert 0 < max(rewards) <= 2280
    path = options_file(tmp_path, preset="SMDP")
    with pytest.raises(OptionsError, match="its preset is SMDP, not DeepRM"):
        environment("DeepRM", options=path)
    with pytest.raises(OptionsError, match="leave platform, workload and jobs out"):
        environment("SMDP", options=path, jobs=10)


def test_a_trace_on_a_pool_lasts_as_long_as_it_tells(tmp_path):
    env = environment("SMDP", platform=256, workload=ROOT / "workloads" / "lublin_256.swf.gz", jobs=20, head=8)
    wander(env, seed=2)
    assert env.action_space.n == 9
    with gzip.open(ROOT / "workloads" / "lublin_256.swf.gz", "rt") as file:
        lengths = {float(line.split()[3]) for line in file if not line.startswith(";")}
    tasks = env.play.simulator.simulation.tasks
    assert set(np.round(tasks["finish"] - tasks["start"], 3).tolist()) <= lengths


def test_models_workloads_and_functions_make_episodes():
    ready = jobs(submit=np.arange(9.0), seconds=5.0)
    for workload, number in (("lublin", 100), (ready, 9), (lambda rng: ready, 9), ("mao", None)):
        env = environment("PolicySelect", platform=16, workload=workload)
        env.reset(seed=3)
        assert len(env.workload) == number or number is None
    assert len(environment("PolicySelect", platform=1, workload=ready, jobs=4).reset()[0]) == 21


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"preset": "SDMP"}, "did you mean 'SMDP'"),
        ({"heads": 3}, "'heads' is no field of a decision space; did you mean 'head'"),
        ({"observation": "imagine"}, "did you mean 'image'"),
        ({"objectives": "makespam"}, "did you mean 'makespan'"),
        ({"pairs": ["shortest"]}, "is not of the form 'job_policy-core_policy'"),
        ({"pairs": [f"{OWN}:shortest-low_power"]}, "has no 'shortest'"),
        ({"opens": "always"}, "opens 'always' is not known"),
        ({"preset": 3}, "preset 3 is not known"),
        *(({"jobs": wrong}, "jobs is .*; a whole number is needed, at least 1") for wrong in (0, -3, 2.5, "10", True)),
        ({"workload": jobs(), "jobs": 0}, "jobs is 0; a whole number is needed, at least 1"),
        ({"platform": -1}, "a pool of -1 cores cannot be had"),
        *(({"platform": wrong}, "the cores of a pool as a whole number") for wrong in (256.0, True)),
        ({"workload": 3}, "a Workload is needed"),
        *(({"head": wrong}, "head is .*; a whole number is needed, at least 0") for wrong in ("x", 2.5, -1)),
        ({"horizon": 0}, "horizon is 0; a whole number is needed, at least 1"),
        ({"step": "a"}, "step is 'a'; a number is needed"),
        ({"void": "yes"}, "True or False is needed"),
        ({"max_steps": 2.5}, "max_steps is 2.5; a whole number is needed"),
        ({"opens": 3}, "opens 3 is not known"),
        ({"core_policy": "x"}, "core_policy 'x' is not known"),
        *(({name: 3}, f"{name} is 3; a name is needed") for name in ("observation", "actions", "pairs")),
        ({"objective": 3}, "objective 3: a name is needed"),
        ({"objective": {"makespan": "x"}}, "the weight of objective 'makespan' is 'x'; a number is needed"),
        ({"objective": "makespan", "objectives": "edp"}, "give one of them"),
    ],
)
def test_names_that_are_not_known_are_refused_with_the_nearest(more, why):
    with pytest.raises(OptionsError, match=why):
        environment(**more)


def test_the_ids_of_papers_have_their_sizes():
    env = gymnasium.make("hdeeprm_like/SMDP-paper-v0").unwrapped
    env.reset(seed=1)
    assert (env.platform.cores, len(env.workload), env.action_space.n, env.space.horizon) == (256, 256, 129, 60)
    assert env.space.objectives == {OBJECTIVES["window_execution_slowdown"]: 1.0}
    processors = [environment(f"CompactRM-paper-{number}").platform.cores for number in range(1, 11)]
    assert processors == [10, 10, 38, 38, 38, 64, 64, 64, 64, 64]
    env = gymnasium.make("hdeeprm_like/CompactRM-paper-4-v0").unwrapped
    for seed in range(3):
        env.reset(seed=seed)
        assert not env.workload.memory.any()  # nothing that the observation would hide
        assert env.workload.size.max() <= 32


def test_the_objective_goes_by_the_name_that_options_files_give_it():
    assert environment("SMDP", objective="edp").space == environment("SMDP", objectives={"edp": 1.0}).space


def test_all_keywords_are_listed():
    told = re.findall("``([a-z_]+)``", hdeeprm_like.envs.registration.__doc__)
    keywords = [*inspect.signature(environment).parameters][1:-1] + [field.name for field in fields(Space)]
    vector = [*inspect.signature(hdeeprm_like.gym.environments).parameters][2:-1]
    assert set(keywords + vector + ["objective"]) <= set(told)


def test_lines_without_a_job_are_told_of_once_however_many_environments_are_made(tmp_path, caplog):
    trace = tmp_path / "short.swf"
    memory = (-1, 9000, 9000)  # KB; HDeepRM makes no job of lines without
    lines = [f"{j} {j} 0 5 1 -1 {own} 1 5 {own}" + " -1" * 8 for j, own in enumerate(memory)]
    trace.write_text("\n".join(("; Version: 2.2", *lines, "")))
    for _ in range(2):
        environment("PolicySelect", workload=trace, platform=AGENTS.parent / "platforms" / "learning.json")
    assert sum("gave no job" in line for line in caplog.messages) == 1


def test_a_job_policy_of_ones_own_starts_jobs_by_its_keys():
    workload = jobs(seconds=[10.0, 30.0, 20.0])
    env = environment("PolicySelect", platform=1, workload=workload, pairs=[f"{OWN}:longest-high_gflops"])
    assert env.action_names == ("longest-high_gflops",)
    wander(env)
    assert np.round(env.play.simulator.simulation.tasks["start"], 3).tolist() == [50.0, 0.0, 30.0]


def test_an_objective_and_an_observation_of_ones_own_beside_built_in_ones(tmp_path):
    weights = {f"{OWN}:fresh_queue": 3600.0, "avg_utilization": 100.0}
    env = environment("PolicySelect", platform=1, workload=jobs(submit=[0, 4], seconds=10.0), clock="textbook",
                      observation=f"{OWN}:Occupancy", objectives=weights, reward="sample")  # fmt: skip
    observation, _ = env.reset()
    assert observation.tolist() == [0.0, 0.0]
    assert env.step(0)[1] == 100.0  # the only core serves a job and none waits
    assert env.step(0)[1] == 100.0  # at 4 a job comes and waits since now
    actions = {"selection": [{f"{OWN}:longest": ["low_power"], "first": ["low_power"]}]}
    env = environment(
        options=options_file(tmp_path, observation=f"{OWN}:Occupancy", objective=weights, actions=actions)
    )
    assert (env.observation_space.shape, env.action_names) == ((2,), ("longest-low_power", "first-low_power"))
    assert len(wander(env)) > 10


def test_an_action_space_of_ones_own_forbids_wide_jobs_beside_others():
    workload = jobs(seconds=10.0, size=[1, 3])
    env = environment("SMDP", platform=4, workload=workload, actions=f"{OWN}:NarrowSlots", head=2)
    _, info = env.reset()
    assert info["action_mask"].tolist() == [True, True, True]
    _, _, _, _, info = env.step(0)
    assert info["action_mask"].tolist() == [False, False, True]
    with pytest.raises(AgentError, match="not legal now"):
        env.step(1)


@pytest.mark.parametrize("preset", PRESETS)
def test_maskable_ppo_trains_on_every_preset(preset):
    pytest.importorskip("sb3_contrib")
    example = import_file(AGENTS / "train_maskable_ppo.py")
    env = environment(preset, jobs=20)
    model = example.train(env, 128, seed=1, n_steps=64)
    assert model.num_timesteps == 128
    figures = example.evaluate(env, 1, model, seed=0)
    assert np.isfinite(list(figures.values())).all()


def test_the_example_of_training_compares_with_random_actions(caplog):
    pytest.importorskip("sb3_contrib")
    example = import_file(AGENTS / "train_maskable_ppo.py")
    caplog.set_level("INFO")
    example.main(["CompactRM", "--steps", "64", "--episodes", "2"])
    assert [line.split()[0] for line in caplog.messages] == ["random", "trained"]
    assert hdeeprm_like.gym.SETTINGS.keys() == PRESETS.keys()
