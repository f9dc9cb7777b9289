"""Masks in the observation: the same numbers as without, for one environment and many, and learners of others."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from test_wrappers import COUNT, HOW, NAME

import hdeeprm_like.gym
from hdeeprm_like.envs.single import SchedulingEnv
from hdeeprm_like.envs.vector import SchedulingVectorEnv
from hdeeprm_like.errors import AgentError, OptionsError
from hdeeprm_like.gym import environment
from hdeeprm_like.plugins import import_file

AGENTS = Path(__file__).parents[2] / "agents"


def test_an_observation_that_holds_the_mask_is_the_same_one_with_the_mask_beside_it():
    plain, shown = environment("CompactRM", **HOW), environment("CompactRM", mask="observation", **HOW)
    (seen, info), (both, told) = plain.reset(seed=1), shown.reset(seed=1)
    over = False
    while not over:
        assert both in shown.observation_space
        assert both["observation"].tobytes() == seen.tobytes()
        assert both["action_mask"].tolist() == told["action_mask"].tolist() == info["action_mask"].tolist()
        action = int(np.flatnonzero(both["action_mask"])[0])
        seen, reward, over, _, info = plain.step(action)
        both, same, *_, told = shown.step(action)
        assert reward == same


def test_an_observation_that_was_kept_keeps_its_mask():
    env = environment("CompactRM", mask="observation", **HOW)
    first, _ = env.reset(seed=1)
    before = first["action_mask"].tolist()
    second = env.step(0)[0]
    assert first["action_mask"].tolist() == before != second["action_mask"].tolist()


def test_the_checker_of_gymnasium_passes_with_the_mask_in_the_observation():
    check_env(environment("CompactRM", mask="observation", **HOW), skip_render_check=True)


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_many_environments_show_the_masks_of_single_ones(mode):
    plain = gymnasium.make_vec(NAME, num_envs=COUNT, autoreset=mode, **HOW)
    shown = gymnasium.make_vec(NAME, num_envs=COUNT, autoreset=mode, mask="observation", **HOW)
    (seen, info), (both, _) = plain.reset(seed=1), shown.reset(seed=1)
    ends = 0
    for _ in range(40):
        assert both in shown.observation_space
        assert both["observation"].tobytes() == seen.tobytes()
        assert both["action_mask"].tolist() == info["action_mask"].astype(int).tolist()
        actions = both["action_mask"].argmax(1)
        seen, _, over, _, info = plain.step(actions)
        both, *_, told = shown.step(actions)
        if over.any() and mode == "SameStep":
            ends += 1
            assert told["final_obs"]["observation"].tobytes() == info["final_obs"].tobytes()
            assert told["final_obs"]["action_mask"].all()
    assert ends or mode == "NextStep"


def test_without_copies_the_masks_are_the_arrays_that_compiled_code_writes():
    env = gymnasium.make_vec(NAME, num_envs=COUNT, copy=False, mask="observation", **HOW)
    seen, _ = env.reset(seed=1)
    assert np.shares_memory(seen["action_mask"], env.unwrapped.runs.masks)


@pytest.mark.parametrize("make", [environment, lambda *a, **k: hdeeprm_like.gym.environments(2, *a, **k)])
def test_a_place_for_the_mask_that_is_not_known_is_refused(make):
    with pytest.raises(OptionsError, match="mask is 'info2'; 'info' or 'observation' is needed"):
        make("CompactRM", mask="info2", **HOW)


def test_with_autoreset_disabled_an_ended_episode_waits_for_reset():
    env = gymnasium.make_vec(NAME, num_envs=COUNT, autoreset="Disabled", **HOW)
    assert env.unwrapped.autoreset_mode == env.metadata["autoreset_mode"] == AutoresetMode.DISABLED
    one = environment("CompactRM", **HOW)
    _, info = env.reset(seed=1)
    seen, told = one.reset(seed=1)
    over = np.zeros(COUNT, bool)
    while not over.any():
        action = int(told["action_mask"].argmax())
        everyone, _, over, _, info = env.step(info["action_mask"].argmax(1))
        seen, _, ended, _, told = one.step(action)
        assert (everyone[0].tobytes(), bool(over[0])) == (seen.tobytes(), ended)
    assert info["final_info"]["episode"]["l"][0] > 0
    with pytest.raises(AgentError, match=r"environment 0 is over; reset\(options=\{'reset_mask': mask\}\) begins"):
        env.step(info["action_mask"].argmax(1))
    everyone, info = env.reset(options={"reset_mask": over})
    assert everyone[0].tobytes() == one.reset()[0].tobytes()
    env.step(info["action_mask"].argmax(1))


# learners of other libraries


@pytest.fixture
def actions_are_legal(monkeypatch):
    """Look at every action of every environment; return how many were legal, and how often some was not legal."""
    seen = {"legal": 0, "with a choice to go wrong": 0}

    def look(mask, action):
        assert mask[int(action)], f"action {action} is not legal: {mask}"
        seen["legal"] += 1
        seen["with a choice to go wrong"] += not mask.all()

    def step_one(self, action):
        look(self.action_masks(), action)
        return of_one(self, action)

    def step_many(self, actions):
        for mask, action in zip(self.runs.masks, actions, strict=True):
            look(mask, action)
        return of_many(self, actions)

    of_one, of_many = SchedulingEnv.step, SchedulingVectorEnv.step
    monkeypatch.setattr(SchedulingEnv, "step", step_one)
    monkeypatch.setattr(SchedulingVectorEnv, "step", step_many)
    return seen


# trains for some 5 s
@pytest.mark.more
def test_ppo_in_one_file_learns_with_masks(actions_are_legal):
    example = import_file(AGENTS / "cleanrl_ppo.py")
    options = example.Options(steps=128, envs=4, length=16, hidden=8, epochs=1)
    _, course = example.train("CompactRM", options, max_steps=9, **HOW)
    assert len(course) == 2
    assert np.isfinite(course).all()
    assert actions_are_legal["legal"] == 128
    assert actions_are_legal["with a choice to go wrong"] > 10


# trains another library's agent
@pytest.mark.more
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # TorchRL's of itself
@pytest.mark.parametrize(("mode", "place"), [("Disabled", "observation"), ("Disabled", "info"), ("SameStep", "info")])
def test_torchrl_wraps_many_environments(mode, place):
    """With SameStep TorchRL's reader of last observations knows no dictionaries; Disabled is what TorchRL prefers."""
    envs = pytest.importorskip("torchrl.envs", reason="TorchRL is not installed")
    env = gymnasium.make_vec(NAME, num_envs=COUNT, autoreset=mode, mask=place, **HOW)
    wrapped = envs.GymWrapper(env, categorical_action_encoding=True)
    played = wrapped.rollout(30, break_when_any_done=False)
    assert played["next", "done"].sum() > 1
    if place == "observation":
        assert tuple(played["action_mask"].shape) == (COUNT, 30, len(env.unwrapped.action_names))


# trains another library's agent
@pytest.mark.more
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # TorchRL's of itself
def test_ppo_of_torchrl_learns_with_masks(actions_are_legal):
    pytest.importorskip("torchrl", reason="TorchRL is not installed")
    example = import_file(AGENTS / "torchrl_ppo.py")
    env = example.environment("CompactRM", 4, **HOW)
    _, learned = example.train(env, 128, batch=64, epochs=1)
    assert learned == 128
    assert actions_are_legal["with a choice to go wrong"] > 10


# trains another library's agent
@pytest.mark.more
def test_ppo_of_tianshou_learns_with_masks(actions_are_legal):
    pytest.importorskip("tianshou", reason="Tianshou is not installed")
    example = import_file(AGENTS / "tianshou_ppo.py")
    _, told = example.train("CompactRM", 128, envs=2, batch=64, **HOW)
    assert told.train_step >= 128
    assert actions_are_legal["with a choice to go wrong"] > 10


# starts Ray
@pytest.mark.slow
def test_ppo_of_rllib_learns_with_masks(actions_are_legal):
    pytest.importorskip("ray.rllib", reason="RLlib is not installed")
    example = import_file(AGENTS / "rllib_ppo.py")
    ppo = example.algorithm("CompactRM", batch=64, **HOW)
    try:
        assert ppo.train()["env_runners"]["num_env_steps_sampled"] >= 64
    finally:
        ppo.stop()
    assert actions_are_legal["with a choice to go wrong"] > 10


def test_the_mask_of_info_draws_a_legal_action_from_the_action_space():
    env = gymnasium.make("hdeeprm_like/SMDP-v0", jobs=20)
    _, info = env.reset(seed=1)
    assert info["action_mask"].dtype == env.unwrapped.action_masks().dtype == np.int8
    env.action_space.seed(3)
    for _ in range(20):
        action = env.action_space.sample(info["action_mask"])
        assert info["action_mask"][action]
        *_, over, _, info = env.step(action)
        if over:
            break
    many = gymnasium.make_vec(NAME, num_envs=COUNT, **HOW)
    _, info = many.reset(seed=1)
    assert many.action_space.contains(many.action_space.sample(tuple(info["action_mask"])))
