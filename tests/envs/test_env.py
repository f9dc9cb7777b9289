"""Gymnasium environments of all presets: what the checkers of others say, and the same schedule as everywhere else."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from batsim_talk import assert_same_schedule, play_on_server, write_inputs
from gymnasium.utils.env_checker import check_env
from small import Finished, jobs, platform

from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.decision.rewards import OBJECTIVES
from hdeeprm_like.envs.single import SchedulingEnv
from hdeeprm_like.envs.windows import Windows
from hdeeprm_like.errors import AgentError, OptionsError, ResultsError, WorkloadError
from hdeeprm_like.gym import environment
from hdeeprm_like.run.python_loop import play
from hdeeprm_like.run.simulator import Simulator

CLOCKS = ("batsim", "textbook")
each_preset = pytest.mark.parametrize("preset", PRESETS)


class Wanderer:
    """Draws legal actions."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def act(self, observation, mask):
        return int(self.rng.choice(np.flatnonzero(mask)))


def wander(env, luck=0, **how):
    """Play an episode with random legal actions; return its rewards and the last ``info``."""
    agent, rewards, over = Wanderer(luck), [], False
    observation, info = env.reset(**how)
    while not over:
        assert info["action_mask"].any()
        observation, reward, terminated, truncated, info = env.step(agent.act(observation, env.action_masks()))
        assert observation in env.observation_space
        rewards.append(reward)
        over = terminated or truncated
    return rewards, info


def starts(env):
    return env.play.simulator.simulation.tasks["start"].tolist()


def paper_env(**more):
    """Three jobs of 10 s that all need the only core, one each second."""
    workload = jobs(submit=[0, 1, 2], seconds=10.0)
    space = replace(PRESETS["DeepBackfilling"], **more.pop("space", {}))
    return SchedulingEnv(space, platform(), Windows(workload), clock="textbook", **more)


@each_preset
def test_gymnasiums_checker_accepts_every_preset(preset):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        check_env(environment(preset, jobs=20), skip_render_check=True)
    assert [str(one.message) for one in told] == []


@each_preset
def test_the_checker_of_stable_baselines_accepts_every_preset(preset):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        checker.check_env(environment(preset, jobs=20))
    # an image of 0s and 1s whose meaning depends on the column is none for its convolutions
    assert [one for one in told if "unconventional shape" not in str(one.message)] == []


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize(
    ("preset", "more"),
    [*((name, {}) for name in PRESETS), ("PolicySelect", {"actions": ["sjf+easy", "f1+conservative", "zoo:balanced"]})],
)
def test_random_legal_actions_finish_all_jobs_and_all_is_the_same_whether_it_is_recorded_or_not(preset, more, clock):
    fast, slow = (environment(preset, clock=clock, jobs=30, **more) for _ in range(2))
    slow.record = True  # which goes through each part by itself
    agent, rewards, over = Wanderer(4), [], False
    seen = [env.reset(seed=6)[0] for env in (fast, slow)]
    while not over:
        assert np.array_equal(*seen)
        assert np.array_equal(fast.action_masks(), slow.action_masks())
        action = agent.act(seen[0], fast.action_masks())
        (one, reward, over, _, info), (other, *theirs, _, told) = fast.step(action), slow.step(action)
        assert [reward, over, info["time"]] == [*theirs, told["time"]]
        seen = [one, other]
        rewards.append(reward)
    assert len(rewards) > 5
    assert info["metrics"]["jobs"] == len(fast.workload)
    assert np.isfinite(starts(fast)).all()
    assert starts(slow) == starts(fast)
    episode = slow.play.episode
    assert episode.rewards.tolist() == rewards
    assert np.sum(rewards) == pytest.approx(episode.reward, rel=1e-12)


@each_preset
def test_the_same_seed_gives_the_same_episode_and_the_next_is_another(preset):
    first, second = environment(preset), environment(preset)
    rewards, _ = wander(first, 1, seed=7)
    assert wander(second, 1, seed=7)[0] == rewards
    following, _ = wander(first, 1)
    assert following != rewards
    assert wander(second, 1)[0] == following
    assert wander(second, 1, seed=8)[0] != rewards


@each_preset
def test_in_process_over_messages_and_in_gymnasium_the_schedule_is_the_same(preset, tmp_path):
    env = environment(preset, jobs=30)
    wander(env, 5, seed=11)
    workload, space, exists = env.workload, env.space, env.platform
    state = space.state(exists, workload, env.policy_seed)
    simulator = Simulator(state, workload)
    play(simulator, space.system(state), Wanderer(5))
    assert starts(env) == simulator.simulation.tasks["start"].tolist()
    finished = Finished(simulator, workload)
    assert finished.cores == Finished(env.play.simulator, workload).cores

    exact = write_inputs(exists, workload, tmp_path)

    def decide(platform, limits):
        return space.system(space.state(platform, None, env.policy_seed, limits=limits))

    talk = Conversation(decide, Wanderer(5), Codec4(), exists, workload.limits(), exact)
    assert play_on_server(talk, tmp_path)[1]
    assert_same_schedule(finished, tmp_path / "out_jobs.csv")


def test_rewards_slots_and_figures_of_three_jobs_on_one_core_fit_on_paper():
    env = paper_env(
        space={"head": 2, "tail": 1, "objectives": {OBJECTIVES["avg_job_completion"]: 1.0}, "reward": "integral"}
    )
    _, info = env.reset()
    assert env.action_names == ("job 0", "job 1", "job 2", "wait")
    assert info["action_mask"].tolist() == [True, False, False, True]
    step = env.step(0)  # job 0 runs from 0 to 10; the next decision is wanted when job 1 comes
    assert step[1:4] == (-1.0, False, False)
    assert (step[4]["time"], step[4]["action_mask"].tolist()) == (1.0, [False, False, False, True])
    assert [env.step(3)[1] for _ in range(2)] == [-2.0, -24.0]  # two jobs until 2, three until 10
    assert env.action_masks().tolist() == [True, True, False, False]  # for nothing else would ever happen
    assert env.step(1)[1] == 0.0  # the last job starts before the other
    assert env.step(3)[1] == -20.0  # and both are there until 20
    _, reward, over, cut, info = env.step(0)
    assert (reward, over, cut) == (-10.0, True, False)
    assert info["metrics"] == pytest.approx(
        {"slowdown": 1.9, "bounded_slowdown": 1.9, "wait": 9.0, "utilization": 1.0, "makespan": 30.0, "jobs": 3.0}
    )


def test_an_action_that_is_not_legal_waits_where_that_is_forgiven_and_is_refused_elsewhere():
    env = paper_env(space={"head": 2, "tail": 1})
    env.reset()
    assert env.step(2)[4]["time"] == 1.0
    pairs = SchedulingEnv(
        replace(PRESETS["HDeepRM"], void=True), platform(), Windows(jobs(seconds=[1.0])), clock="textbook"
    )
    pairs.reset()
    with pytest.raises(AgentError, match=r"36 \(void\), which is not legal now"):
        pairs.step(36)
    with pytest.raises(AgentError, match="there are 37, numbered from 0"):
        pairs.step(37)


def test_steps_before_the_beginning_and_after_the_end_are_refused():
    env = paper_env(max_steps=1)
    with pytest.raises(AgentError, match="call reset"):
        env.step(0)
    env.reset()
    _, _, over, cut, info = env.step(0)
    assert (over, cut, info["metrics"]["jobs"]) == (False, True, 0.0)
    with pytest.raises(AgentError, match="reset\\(\\) begins another"):
        env.step(0)


def test_an_episode_is_the_window_or_the_workload_that_reset_is_given():
    env = SchedulingEnv(PRESETS["PolicySelect"], platform(), Windows(jobs(submit=np.arange(9.0), seconds=1.0), 2))
    drawn = {len(env.workload) for _ in range(3) if env.reset(seed=1)}
    assert drawn == {2}
    env.reset(options={"window": (4, 3)})
    assert env.workload.ids == ("w0!000004", "w0!000005", "w0!000006")
    assert env.workload.submit.tolist() == [0.0, 1.0, 2.0]
    other = jobs(submit=[0.0, 1.0], seconds=2.0)
    env.reset(options={"workload": other})
    assert env.workload is other
    for wrong, why in (
        ({"windows": (0, 1)}, "did you mean 'window'"),
        ({"window": (5, 5)}, "do not lie within 9 jobs"),
        ({"window": 5}, "the number of the first job"),
        ({"workload": 5}, "a Workload or a path is needed, not a int"),
    ):
        with pytest.raises(OptionsError, match=why):
            env.reset(options=wrong)


def test_a_workload_in_batsims_json_can_be_played(tmp_path):
    env = environment("PolicySelect", jobs=5)
    write_inputs(env.platform, jobs(submit=[0.0, 1.0], seconds=2.0), tmp_path)
    env.reset(options={"workload": tmp_path / "workload.json"})
    assert env.workload.ids == ("w0!000000", "w0!000001")


def test_jobs_without_a_decision_are_an_error():
    env = SchedulingEnv(PRESETS["PolicySelect"], platform(), Windows(jobs(seconds=1.0, size=2)))
    with pytest.raises(WorkloadError, match="had a decision to make"):
        env.reset()


# takes 4 s
@pytest.mark.more
def test_a_picture_shows_the_cores_and_the_queue():
    env = paper_env(render_mode="rgb_array")
    env.reset()
    before = env.render()
    env.step(0)
    env.step(20)
    picture = env.render()
    assert (picture.shape, picture.dtype) == ((500, 800, 3), np.uint8)
    assert not np.array_equal(before, picture)
    shades, counts = np.unique(picture.reshape(-1, 3), axis=0, return_counts=True)
    drawn = counts[shades.std(axis=1) > 10.0]  # in colour, not in a shade of grey
    assert drawn.max() > 0.3 * counts.sum()  # one job has had the only core all the time


def test_pictures_need_a_mode_and_windows_a_display(monkeypatch):
    env = paper_env()
    env.reset()
    with pytest.raises(OptionsError, match="render_mode 'human' or 'rgb_array'"):
        env.render()
    monkeypatch.setenv("MPLBACKEND", "agg")
    with pytest.raises(ResultsError, match="no display"):
        paper_env(render_mode="human").reset()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"clock": "textbok"}, "did you mean 'textbook'"),
        ({"render_mode": "rgb_aray"}, "did you mean 'rgb_array'"),
        ({"max_steps": 0}, "max_steps: is 0; a whole number from 1"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(more, why):
    with pytest.raises(OptionsError, match=why):
        SchedulingEnv(PRESETS["SMDP"], platform(), Windows(jobs(seconds=[1.0])), **more)
