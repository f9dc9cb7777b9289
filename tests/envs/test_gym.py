"""Environments by name: registered, out of options files, out of traces, with one's own parts; MaskablePPO on each."""

import gzip
import importlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from small import jobs

import hdeeprm_like.gym
from hdeeprm_like.decision.presets import PRESETS, Space
from hdeeprm_like.decision.rewards import OBJECTIVES
from hdeeprm_like.engine.tables import RUNNING
from hdeeprm_like.envs import ids
from hdeeprm_like.envs.settings import PAPERS
from hdeeprm_like.errors import AgentError, OptionsError
from hdeeprm_like.gym import environment
from hdeeprm_like.plugins import import_file
from hdeeprm_like.run.episodes import fragment

ROOT = Path(__file__).parents[2]
AGENTS = ROOT / "agents"
WHOLE = "a whole number from 1 to 2,147,483,647 is needed"
OWN = str(AGENTS / "own_parts.py")


def wander(env, seed=0):
    """The rewards of an episode of random legal actions, which is not cut off, and its final info."""
    rng, over, rewards = np.random.default_rng(seed), False, []
    _, info = env.reset(seed=seed)
    while not over:
        _, reward, over, cut, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
        rewards.append(reward)
        assert not cut
    return rewards, info


def options_file(folder, **env):
    content = json.loads((AGENTS / "ppo.json").read_text())
    for key in ("workload_file_path", "platform_file_path"):
        content[key] = str((AGENTS / content[key]).resolve())
    content["pybatsim"]["env"] = env
    content["training"] = {"fragment_jobs": 30, "clock": "textbook"}
    path = folder / "exp.json"
    path.write_text(json.dumps(content))
    return path


def test_options_of_a_reset_that_are_no_mapping_are_refused_in_one_line():
    with pytest.raises(OptionsError, match="reset: options is 5; a mapping is needed, with workload or window"):
        environment("SMDP").reset(options=5)
    with pytest.raises(OptionsError, match="reset: options is 5; a mapping is needed, with reset_mask"):
        hdeeprm_like.gym.environments(2, "SMDP").reset(options=5)


# takes 2 s
@pytest.mark.lane(more=r"(?!(PolicySelect|SMDP)$).*")
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
    with pytest.raises(OptionsError, match="threads: is 0; a whole number from 1"):
        gymnasium.make_vec(f"hdeeprm_like/{preset}-v0", num_envs=2, threads=0)


def test_the_package_alone_imports_neither_gymnasium_nor_torch():
    code = "import sys, hdeeprm_like; print([name for name in ('gymnasium', 'torch', 'numba') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_a_missing_gymnasium_gives_a_one_line_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "hdeeprm_like.envs.single")
    with pytest.raises(OptionsError, match=r"need the package gymnasium; .* pip install 'hdeeprm_like\[rl\]'$"):
        importlib.import_module("hdeeprm_like.envs.single")


# takes 1 s
@pytest.mark.more
def test_an_options_file_sets_platform_jobs_and_decision_space(tmp_path):
    path = options_file(tmp_path, objective="avg_utilization", observation="minimal")
    env = environment("PolicySelect", options=path, reward="sample")
    assert (env.platform.cores, env.clock, env.observation_space.shape) == (2280, "textbook", (21,))
    assert env.space.pairs == PRESETS["PolicySelect"].pairs  # the file names no preset
    rewards, _ = wander(env)
    assert len(env.workload) == 30
    assert 0 < max(rewards) <= 2280
    path = options_file(tmp_path, preset="SMDP")
    with pytest.raises(OptionsError, match="its preset is SMDP, not DeepRM"):
        environment("DeepRM", options=path)
    with pytest.raises(OptionsError, match="leave platform, workload and jobs out"):
        environment("SMDP", options=path, jobs=10)


def test_jobs_of_a_trace_on_a_pool_take_its_run_times(tmp_path):
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
        ({"pairs": ["shortest"]}, "is no order, but a job policy of pairs"),
        ({"pairs": [f"{OWN}:shortest-low_power"]}, "has no 'shortest'"),
        ({"actions": ["sjf+eazy"]}, "did you mean 'easy'"),
        ({"actions": ["shortst-high_gflops"]}, "did you mean 'shortest'"),
        ({"actions": ["sjf+easy", "sjf+easy"]}, "twice"),
        ({"actions": []}, "at least one"),
        ({"actions": [3]}, "names of policies"),
        ({"actions": "sjf+easy"}, "not known"),
        ({"opens": "always"}, "opens 'always' is not known"),
        ({"preset": 3}, "preset 3 is not known"),
        *(({"jobs": wrong}, f"jobs: is .*; {WHOLE}") for wrong in (0, -3, 2.5, "10", True)),
        ({"workload": jobs(), "jobs": 0}, f"jobs: is 0; {WHOLE}"),
        ({"platform": -1}, "a pool of -1 cores is not possible"),
        *(({"platform": wrong}, "the cores of a pool as a whole number") for wrong in (256.0, True)),
        ({"workload": 3}, "a Workload is needed"),
        *(
            ({"head": wrong}, "head: is .*; a whole number from 0 to 2,147,483,647 is needed")
            for wrong in ("x", 2.5, -1)
        ),
        ({"horizon": 0}, f"horizon: is 0; {WHOLE}"),
        ({"step": "a"}, r"step: is 'a'; a number from -1e\+12 to 1e\+12 is needed"),
        ({"void": "yes"}, "True or False is needed"),
        ({"max_steps": 2.5}, "max_steps: is 2.5; a whole number from 1"),
        ({"opens": 3}, "opens 3 is not known"),
        ({"core_policy": "x"}, "core_policy 'x' is not known"),
        *(({name: 3}, f"{name} is 3; a name is needed") for name in ("observation", "actions", "pairs")),
        ({"objective": 3}, "objective 3: a name is needed"),
        (
            {"objective": {"makespan": "x"}},
            "the weight of objective 'makespan': is 'x'; a number from",
        ),
        ({"objective": "makespan", "objectives": "edp"}, "give one of them"),
        ({"options": 5}, "options is 5; the path of an options file is needed"),
        ({"objective": {"wait": float("inf")}}, r"is inf; a number from -1e\+12 to 1e\+12 is needed"),
        ({"objective": {"wait": float("nan")}}, r"is nan; a number from -1e\+12 to 1e\+12 is needed"),
        ({"until": float("inf")}, r"until: is inf; a number from -1e\+12 to 1e\+12 is needed"),
        ({"preset": "HDeepRM", "masked": False}, "masked: policies are always legal"),
        ({"preset": "DeepRM", "wait": True}, "observation 'image' has no place for waiting times"),
        *(({"num_envs": 2, "copy": wrong}, r"copy is .*; True or False is needed") for wrong in ("x", 1, None)),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line_with_the_nearest_name(more, why):
    with pytest.raises(OptionsError, match=why) as raised:
        (hdeeprm_like.gym.environments if "num_envs" in more else environment)(**more)
    assert "\n" not in str(raised.value)


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


def test_an_episode_of_the_compact_mdp_ends_after_its_hundred_steps_whatever_still_waits():
    env = gymnasium.make("hdeeprm_like/CompactRM-paper-v0").unwrapped
    for seed in range(3):
        _, info = env.reset(seed=seed)
        ended = False
        while not ended:
            last = info["time"]
            *_, ended, cut, info = env.step(env.action_space.n - 1)  # waits
            assert not cut
        assert last < 100.0 <= info["time"]


def test_deep_backfilling_as_its_paper_has_it():
    env = environment("DeepBackfilling-paper")
    assert (env.platform.cores, env.space.placed, env.clock) == (256, 1000, "one-by-one")
    assert env.observation_space.shape == (256 + 3 * 20,)
    assert len(env.workload_of(np.random.default_rng(1))) == 2000


@pytest.mark.parametrize(("processors", "published"), [(10, 301_068), (38, 1_089_548), (64, 1_821_708)])
def test_deeprms_image_has_the_parameters_of_the_dissertation(processors, published):
    env = environment("DeepRM-paper", platform=processors, workload="mao", memory_units=0)
    inputs = int(np.prod(env.observation_space.shape))
    policy, value = (torch.nn.Sequential(*dense(inputs, last)) for last in (env.action_space.n, 1))
    assert sum(own.numel() for net in (policy, value) for own in net.parameters()) == published


def dense(inputs, outputs, hidden=64):
    """Two hidden layers of 64 units, as in 000, section 5.2."""
    sizes = (inputs, hidden, hidden, outputs)
    return [torch.nn.Linear(a, b) for a, b in pairwise(sizes)]


def test_deeprm_as_its_paper_has_it():
    env = environment("DeepRM-paper", clock="textbook")
    assert env.observation_space.shape == (20, 224)
    assert np.prod(env.observation_space.shape) == 4480  # inputs of the network of 000, section 5.1.1
    rng = np.random.default_rng(0)
    seen, info = env.reset(seed=1)
    over = False
    while not over:
        state, now = env.play.system.state, info["time"]
        came = env.workload.submit[env.workload.submit <= now][-1]
        np.testing.assert_allclose(seen[:, -1], min((now - came) / 10, 1.0), rtol=1e-6)
        table = state.tables.jobs
        running = np.flatnonzero(table["status"] == RUNNING)
        colours = dict(zip(*np.unique(seen[0, :10], return_counts=True), strict=True))
        colours.pop(0.0, None)
        assert colours == {np.float32((j + 1) / 40): table["size"][j] for j in running}
        seen, _, over, _, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
    assert info["time"] <= 50.0


def test_an_agent_that_only_waits_is_cut_off():
    env = environment("DeepRM", platform=8, workload="lublin", jobs=3, horizon=2, clock="textbook")
    assert env.max_steps == 10_000
    assert environment("SMDP", head=2, jobs=200).max_steps == 20_000
    assert environment("SMDP", head=2, max_steps=5).max_steps == 5
    assert environment("HDeepRM").max_steps is None  # policies are applied when something happens


def waits_of(env):
    """When the agent takes its first decisions if it always waits, and the jobs that come until then."""
    _, info = env.reset(seed=3)
    times = [info["time"]]
    for _ in range(4):
        times.append(env.step(env.action_space.n - 1)[4]["time"])
    return times, env.workload.submit


def test_waiting_can_jump_to_the_next_event():
    how = {"platform": 64, "workload": "lublin", "jobs": 20, "opens": "ticks", "head": 2, "clock": "textbook"}
    times, _ = waits_of(environment("CompactRM", **how))
    np.testing.assert_allclose(np.diff(times), 1.0)
    times, submit = waits_of(environment("CompactRM", jump=True, **how))
    np.testing.assert_allclose(times, np.unique(submit)[:5])  # nothing runs, so nothing but a submission happens


def test_waiting_times_and_the_clock_stand_behind_what_is_seen():
    plain, more = (environment("CompactRM", head=3, clock="textbook", wait=wait) for wait in (False, True))
    many = gymnasium.make_vec("hdeeprm_like/CompactRM-v0", 2, head=3, clock="textbook", wait=True)
    seen, other, both = plain.reset(seed=1)[0], more.reset(seed=1)[0], many.reset(seed=1)[0]
    names = more.space.layout(more.platform).names
    assert names[-4:] == ("job 0 waiting time", "job 1 waiting time", "job 2 waiting time", "clock")
    over = False
    while not over:
        assert other.tobytes() == both[0].tobytes()
        assert other[: len(seen)].tobytes() == seen.tobytes()
        tables, window = more.play.system.state.tables, more.play.system.window.arrays
        now = tables.clock["now"][0]
        waits = [now - tables.jobs["submit"][j] if j >= 0 else 0.0 for j in window.slots]
        np.testing.assert_allclose(other[-4:], np.log1p([*waits, now]) / np.log1p(30 * 86400), rtol=1e-5)
        legal = np.flatnonzero(more.action_masks())
        action = int(legal[int(now) % len(legal)])
        seen, both = plain.step(action)[0], many.step([action, 3])[0]
        other, _, over, _, _ = more.step(action)
    assert now > 0.0


ENDS = {"platform": 16, "workload": "lublin", "head": 4, "tail": 0, "clock": "textbook"}


def test_an_episode_ends_when_some_jobs_have_been_placed_while_others_come():
    env = environment("DeepBackfilling", placed=5, **ENDS)
    wander(env, seed=1)
    assert len(env.workload) == 10
    assert env.play.system.state.tables.clock["started_now"][0] >= 1  # the last one, with which it is over
    assert env.play.system.window.arrays.params["started"][0] == 5


def test_an_episode_ends_after_some_time():
    env = environment("DeepBackfilling", until=7000.0, jobs=60, **ENDS)
    _, info = wander(env, seed=1)
    assert info["time"] == pytest.approx(7000.0)  # nothing else happens then
    assert env.workload.submit[-1] > 7000.0


def test_episodes_end_alike_side_by_side():
    how = {**ENDS, "placed": 5, "jobs": 12}
    single, many = (
        environment("DeepBackfilling", **how),
        gymnasium.make_vec("hdeeprm_like/DeepBackfilling-v0", 2, **how),
    )
    single.reset(seed=1)
    many.reset(seed=1)
    over = False
    while not over:
        action = int(np.flatnonzero(single.action_masks())[0])
        one, reward, over, _, _ = single.step(action)
        seen, rewards, overs, _, _ = many.step([action, action])
        assert (seen[0].tobytes(), rewards[0], overs[0]) == (one.tobytes(), reward, over)


def test_jobs_of_one_time_come_one_by_one():
    three = jobs([0, 0, 0, 50], seconds=[5, 5, 5, 1], size=[1, 1, 1, 1])
    how = {**ENDS, "workload": three, "platform": 4}
    counts = {}
    for clock in ("textbook", "one-by-one"):
        env = environment("DeepBackfilling", **{**how, "clock": clock})
        env.reset(seed=1)
        counts[clock] = [env.action_masks()[:4].sum()]
        for _ in range(2):
            env.step(4)
            counts[clock].append(env.action_masks()[:4].sum())
    assert counts == {"textbook": [3, 4, 4], "one-by-one": [1, 2, 3]}


def test_a_wrong_choice_costs_what_waiting_costs_where_masks_leave_all_open():
    wide = jobs([0, 0, 3, 9], seconds=[5, 5, 5, 1], size=[4, 4, 1, 1])
    how = ENDS | {"workload": wide, "platform": 4, "masked": False}
    wrong, waits = (environment("DeepBackfilling", **how) for _ in "ab")
    many = gymnasium.make_vec("hdeeprm_like/DeepBackfilling-v0", 1, **how)
    for env in (wrong, waits, many):
        env.reset(seed=1)
    assert wrong.action_masks().all()
    assert many.action_masks().all()
    for actions in ((0, 0), (0, 4), (3, 4)):  # the first job; then the second one, which has no room; an empty slot
        left, right = (env.step(action) for env, action in zip((wrong, waits), actions, strict=True))
        assert left[1:4] == right[1:4]
        assert left[0].tobytes() == right[0].tobytes() == many.step([actions[0]])[0][0].tobytes()
    assert left[1] < 0.0
    wander(waits, seed=1)  # choosing at random comes to an end


def test_the_objective_goes_by_the_name_that_options_files_give_it():
    assert environment("SMDP", objective="edp").space == environment("SMDP", objectives={"edp": 1.0}).space


def test_all_keywords_are_listed():
    told = re.findall("``([a-z_]+)``", hdeeprm_like.envs.registration.__doc__)
    keywords = [*inspect.signature(environment).parameters][1:-1] + [field.name for field in fields(Space)]
    vector = [*inspect.signature(hdeeprm_like.gym.environments).parameters][2:-1]
    assert set(keywords + vector + ["objective"]) <= set(told)


def test_lines_without_a_job_are_reported_once_however_many_environments_are_made(tmp_path, caplog):
    trace = tmp_path / "short.swf"
    memory = (-1, 9000, 9000)  # KB
    lines = [f"{j} {j} 0 5 1 -1 {own} 1 5 {own}" + " -1" * 8 for j, own in enumerate(memory)]
    trace.write_text("\n".join(("; Version: 2.2", *lines, "")))
    for _ in range(2):
        environment("PolicySelect", workload=trace, platform=AGENTS.parent / "platforms" / "learning.json")
    assert sum("1 of unknown memory that need none" in line for line in caplog.messages) == 1


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
    assert len(wander(env)[0]) > 10


def test_an_action_space_of_ones_own_forbids_wide_jobs_beside_others():
    workload = jobs(seconds=10.0, size=[1, 3])
    env = environment("SMDP", platform=4, workload=workload, actions=f"{OWN}:NarrowSlots", head=2)
    _, info = env.reset()
    assert info["action_mask"].tolist() == [True, True, True]
    _, _, _, _, info = env.step(0)
    assert info["action_mask"].tolist() == [False, False, True]
    with pytest.raises(AgentError, match="not legal now"):
        env.step(1)


# the same with another published space
@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_maskable_ppo_trains_on_every_preset(preset):
    pytest.importorskip("sb3_contrib")
    example = import_file(AGENTS / "train_maskable_ppo.py")
    env = environment(preset, jobs=20)
    model = example.train(env, 128, seed=1, n_steps=64)
    assert model.num_timesteps == 128
    figures = example.evaluate(env, 1, model, seed=0)
    assert np.isfinite(list(figures.values())).all()


# trains sb3-contrib's agents
@pytest.mark.slow
def test_the_example_of_training_compares_with_random_actions(caplog):
    pytest.importorskip("sb3_contrib")
    example = import_file(AGENTS / "train_maskable_ppo.py")
    caplog.set_level("INFO")
    example.main(["CompactRM", "--steps", "64", "--episodes", "2"])
    assert [line.split()[0] for line in caplog.messages] == ["random", "trained"]
    assert hdeeprm_like.gym.SETTINGS.keys() == PRESETS.keys()


def test_the_order_of_the_pairs_is_that_of_the_docs():
    text = " ".join((Path(__file__).parents[2] / "docs" / "gymnasium.md").read_text().split())
    orders, cores = re.search(r"in the order (.*?), each with the core policies (.*?); void", text).groups()
    pairs = [f"{order}-{core}" for order in orders.split(", ") for core in cores.split(", ")]
    assert list(gymnasium.make("hdeeprm_like/HDeepRM-v0").unwrapped.action_names) == pairs


def test_the_ids_that_a_plugin_registers_are_the_presets_and_the_papers():
    registering = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["entry-points"]
    assert registering["gymnasium.envs"] == {"__root__": f"{ids.__name__}:register"}
    assert tuple(PAPERS) == ids.PAPERS or set(ids.PAPERS) == set(PAPERS)
    assert all(f"hdeeprm_like/{name}-v0" in gymnasium.registry for name in (*PRESETS, *PAPERS))


MANY = jobs([float(i) for i in range(10)], [5.0 + i for i in range(10)], [1 + i % 4 for i in range(10)])


def test_limits_scale_the_jobs_of_a_function_as_those_of_a_workload():
    def make(rng):
        return fragment(MANY, int(rng.integers(5)), 5)

    seen = {}
    for name, more in {"own": {}, "given": {"limits": MANY}, "whole": {"limits": MANY.limits()}}.items():
        envs = gymnasium.make_vec("hdeeprm_like/HDeepRM-v0", 2, platform=8, workload=make, clock="textbook", **more)
        seen[name] = envs.reset(seed=4)[0].tobytes()
    assert seen["given"] == seen["whole"] != seen["own"]
    with pytest.raises(OptionsError, match="limits is 3; a Workload is needed"):
        gymnasium.make("hdeeprm_like/HDeepRM-v0", platform=8, workload=make, limits=3)
