"""Gymnasium's wrappers and makers of many environments, and Stable-Baselines3's, around ours."""

import copy
import importlib
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector
from small import jobs

import hdeeprm_like.gym  # noqa: F401 - registers the environments
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.gym import environment

NAME, COUNT = "hdeeprm_like/CompactRM-v0", 2
FOUR = jobs([0.0, 1.0, 2.0, 30.0], [5.0, 8.0, 2.0, 1.0], [1, 2, 1, 1])
HOW = {"workload": FOUR, "platform": 2, "head": 2}


def flat(env):
    return spaces.Box(0.0, 2.0, env.single_observation_space.shape, np.float32)


WRAPPERS = {
    "VectorizeTransformObservation": lambda w, env, _: w(env, gymnasium.wrappers.FlattenObservation),
    "VectorizeTransformAction": lambda w, env, _: w(
        env, gymnasium.wrappers.TransformAction, func=lambda chosen: chosen, action_space=env.single_action_space
    ),
    "VectorizeTransformReward": lambda w, env, _: w(env, gymnasium.wrappers.TransformReward, func=lambda r: 2 * r),
    "DictInfoToList": lambda w, env, _: w(env),
    "TransformObservation": lambda w, env, _: w(env, lambda seen: 2 * seen, single_observation_space=flat(env)),
    "FilterObservation": None,  # of observations with names
    "FlattenObservation": lambda w, env, _: w(env),
    "GrayscaleObservation": None,  # of pictures in colour
    "ResizeObservation": None,  # of pictures of bytes
    "ReshapeObservation": lambda w, env, _: w(env, (1, *env.single_observation_space.shape)),
    "RescaleObservation": lambda w, env, _: w(env, np.float32(-1.0), np.float32(1.0)),
    "DtypeObservation": lambda w, env, _: w(env, np.float64),
    "NormalizeObservation": lambda w, env, _: w(env),
    "TransformAction": lambda w, env, _: w(env, lambda chosen: chosen, action_space=env.action_space),
    "ClipAction": None,  # of actions that are real numbers
    "RescaleAction": None,
    "TransformReward": lambda w, env, _: w(env, lambda reward: 2 * reward),
    "ClipReward": lambda w, env, _: w(env, -1.0, 1.0),
    "NormalizeReward": lambda w, env, _: w(env),
    "RecordEpisodeStatistics": lambda w, env, _: w(env),
    "RecordVideo": lambda w, env, folder: w(
        env, str(folder / "v"), episode_trigger=lambda n: True, disable_logger=True
    ),
    "HumanRendering": lambda w, env, _: w(env),
    "ArrayConversion": lambda w, env, _: w(env, env_xp=np, target_xp=np),
    "JaxToNumpy": None,  # of environments in JAX
    "JaxToTorch": None,
    "NumpyToTorch": lambda w, env, _: w(env),
}
ARRAYS = "array_api_compat"
NEEDS = {"RecordVideo": "moviepy", "HumanRendering": "cv2", "NumpyToTorch": ARRAYS, "ArrayConversion": ARRAYS}


def legal(info):
    """The first legal action of each."""
    masks = [one["action_mask"] for one in info] if isinstance(info, list) else info["action_mask"]
    return np.asarray(masks).argmax(1)


# makes environments in processes of their own; `test_vector` plays the same
@pytest.mark.more
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")  # Gymnasium's own, where it widens a Box
@pytest.mark.parametrize("name", [name for name in vector.__all__ if WRAPPERS.get(name, True) is not None])
def test_every_vector_wrapper_works_around_make_vec(name, tmp_path, monkeypatch):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    shown = {"render_mode": "rgb_array"} if name in ("RecordVideo", "HumanRendering") else {}
    env = WRAPPERS[name](getattr(vector, name), gymnasium.make_vec(NAME, num_envs=COUNT, **HOW, **shown), tmp_path)
    seen, info = env.reset(seed=1)
    ended = 0
    for _ in range(30):
        chosen = legal(info)
        if name == "NumpyToTorch":
            chosen = importlib.import_module("torch").from_numpy(chosen)
        seen, rewards, over, cut, info = env.step(chosen)
        assert tuple(seen.shape) == env.observation_space.shape
        assert len(rewards) == len(over) == len(cut) == COUNT
        ended += int(np.asarray(over).sum())
    assert ended > COUNT
    env.close()
    assert name != "RecordVideo" or any(tmp_path.iterdir())


# makes environments in processes of their own; `test_vector` plays the same
@pytest.mark.more
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_statistics_of_episodes_equal_those_of_the_environment_itself(mode):
    env = vector.RecordEpisodeStatistics(gymnasium.make_vec(NAME, num_envs=COUNT, autoreset=mode, **HOW))
    _, info = env.reset(seed=1)
    ends = 0
    for _ in range(40):
        *_, over, _, info = env.step(legal(info))
        for place in np.flatnonzero(over):
            ends += 1
            assert info["episode"]["r"][place] == pytest.approx(info["final_info"]["episode"]["r"][place])
            assert info["episode"]["l"][place] == info["final_info"]["episode"]["l"][place]
    assert ends > COUNT


# the same with another published space
@pytest.mark.slow
@pytest.mark.parametrize("preset", ["CompactRM", "HDeepRM"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_the_end_of_an_episode_is_reported_as_by_sync_vector_env(mode, preset):
    how = {"jobs": 10, "max_steps": 9}
    ours = gymnasium.make_vec(f"hdeeprm_like/{preset}-v0", num_envs=COUNT, autoreset=mode, **how)
    theirs = SyncVectorEnv([lambda: environment(preset, **how)] * COUNT, autoreset_mode=mode)
    (mine, info), (other, told) = ours.reset(seed=3), theirs.reset(seed=3)
    ends = 0
    for _ in range(40):
        chosen = legal(info)
        mine, rewards, over, cut, info = ours.step(chosen)
        other, theirs_rewards, theirs_over, theirs_cut, told = theirs.step(chosen)
        assert mine.tobytes() == other.tobytes()
        assert (rewards.tolist(), over.tolist(), cut.tolist()) == (
            theirs_rewards.tolist(), theirs_over.tolist(), theirs_cut.tolist(),
        )  # fmt: skip
        if not (over | cut).any():
            assert "final_info" not in info
            continue
        ends += 1
        final, expected = (info["final_info"], told["final_info"]) if mode == AutoresetMode.SAME_STEP else (info, told)
        assert final["_metrics"].tolist() == expected["_metrics"].tolist()
        which = final["_metrics"]
        for name, values in expected["metrics"].items():
            np.testing.assert_allclose(final["metrics"][name][which], values[which], rtol=1e-12, err_msg=name)
        assert info["final_info"]["time"][which].tolist() == expected["time"][which].tolist()
    assert ends > 1
    assert cut.dtype == np.bool_


# makes environments in processes of their own; `test_vector` plays the same; the same with another published space
@pytest.mark.lane(more=r"<lambda>-SMDP|deepcopy-SMDP", slow=r"(?!(<lambda>-SMDP|deepcopy-SMDP)$).*")
@pytest.mark.parametrize("preset", ["HDeepRM", "SMDP", "DeepRM", "JobMachine"])
@pytest.mark.parametrize("copied", [lambda env: pickle.loads(pickle.dumps(env)), copy.deepcopy])
def test_a_copy_in_mid_episode_goes_on_alike(copied, preset):
    env = environment(preset, jobs=10)
    _, info = env.reset(seed=1)
    for _ in range(3):
        info = env.step(legal([info])[0])[4]
    other = copied(env)
    assert other.action_masks().tolist() == env.action_masks().tolist()
    ends = 0
    while ends < 2:
        chosen = legal([info])[0]
        seen, reward, over, _, info = env.step(chosen)
        again, same, *_ = other.step(chosen)
        assert (seen.tobytes(), reward) == (again.tobytes(), same)
        if over:
            ends += 1
            (seen, info), (again, _) = env.reset(), other.reset()
            assert seen.tobytes() == again.tobytes()


# makes environments in processes of their own; `test_vector` plays the same
@pytest.mark.more
def test_one_from_an_options_file_and_one_that_has_not_begun_can_be_pickled(tmp_path):
    env = environment("SMDP", options="agents/smdp.json")
    other = pickle.loads(pickle.dumps(env))
    assert env.reset(seed=1)[0].tobytes() == other.reset(seed=1)[0].tobytes()


# makes environments in processes of their own; `test_vector` plays the same
@pytest.mark.more
def test_environments_in_processes_of_their_own_play_the_same():
    there = AsyncVectorEnv([lambda: environment("CompactRM", **HOW)] * COUNT)
    here = gymnasium.make_vec(NAME, num_envs=COUNT, **HOW)
    try:
        (seen, info), (mine, _) = there.reset(seed=1), here.reset(seed=1)
        for _ in range(15):
            assert seen.tobytes() == mine.tobytes()
            chosen = legal(info)
            seen, *_, info = there.step(chosen)
            mine, *_ = here.step(chosen)
    finally:
        there.close()


# makes environments in processes of their own; `test_vector` plays the same
@pytest.mark.more
def test_stable_baselines_plays_them_in_processes():
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    env = vec_env.SubprocVecEnv([lambda: environment("CompactRM", **HOW)] * COUNT)
    one = environment("CompactRM", **HOW)
    try:
        env.seed(7)
        assert env.reset()[0].tobytes() == one.reset(seed=7)[0].tobytes()
        chosen = np.stack(env.env_method("action_masks")).argmax(1)
        seen, rewards, *_ = env.step(chosen)
        mine, reward, *_ = one.step(chosen[0])
        assert (seen[0].tobytes(), rewards[0]) == (mine.tobytes(), np.float32(reward))
    finally:
        env.close()


# makes environments in processes of their own; `test_vector` plays the same
@pytest.mark.more
def test_the_checker_of_gymnasium_passes_with_windows_where_there_is_a_display(monkeypatch):
    """A window on a display that is not there: matplotlib's own file backend, said to be interactive."""
    from matplotlib import pyplot
    from matplotlib.backends import backend_agg

    monkeypatch.setattr(backend_agg.FigureCanvasAgg, "required_interactive_framework", "headless")
    monkeypatch.setattr(backend_agg.FigureCanvasAgg.manager_class, "show", lambda self: None)
    pyplot.switch_backend("agg")
    check_env(gymnasium.make(NAME, **HOW).unwrapped)
    assert not pyplot.get_fignums()  # closed again


# makes environments in processes of their own; `test_vector` plays the same
@pytest.mark.more
def test_without_a_display_a_window_is_refused_with_what_would_be_right(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    with pytest.raises(ResultsError, match="no display to show a picture on; use render_mode='rgb_array'"):
        gymnasium.make(NAME, render_mode="human", **HOW).reset()
