"""Baselines as actions of an environment: one alone and many side by side play the same, to the last bit."""

from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from small import jobs, platform

import hdeeprm_like
import hdeeprm_like.gym
from hdeeprm_like.errors import OptionsError

LUBLIN = Path(__file__).parent.parent.parent / "workloads" / "lublin_256_500.swf.gz"
NAME = "hdeeprm_like/PolicySelect-v0"
POLICIES = ["sjf+easy", "f1+conservative", "shortest-high_gflops", "zoo:balanced"]
CLUSTER = platform((1000.0, [(4, 1.0, 100.0, 10.0)]), (500.0, [(2, 2.0, 80.0, 10.0), (2, 1.0, 50.0, 5.0)]))
ENVS, STEPS = 3, 120


def contended(count=120, seed=8):
    """Jobs that wait for the cores, the memory and the bandwidth of the cluster of this module, the first at 0 s."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(1, 30, count)
    submit = np.sort(rng.integers(0, 200, count))
    found = jobs(
        submit - submit[0],  # the clock of a window starts with its first job
        seconds,
        rng.integers(1, 5, count),
        memory=rng.integers(0, 200, count),
        bandwidth=rng.integers(0, 4, count),
        estimate=seconds + rng.integers(0, 20, count),
    )
    return replace(found, user=rng.integers(0, 5, count))


SOURCES = {
    "windows of a trace on a pool": {"platform": 256, "workload": LUBLIN, "jobs": 60},
    "windows on a cluster with memory": {"platform": CLUSTER, "workload": contended(), "jobs": 40},
}


def started(env):
    """When each job of the episode that is being played has started, as bytes."""
    return env.unwrapped.play.simulator.simulation.tasks["start"].tobytes()


# compiles environments with several baselines
@pytest.mark.slow
@pytest.mark.parametrize("clock", ["batsim", "textbook"])
@pytest.mark.parametrize("source", list(SOURCES))
def test_one_environment_and_many_are_equal_to_the_bit(source, clock):
    how = {"actions": POLICIES, "clock": clock, **SOURCES[source]}
    singles = [gymnasium.make(NAME, **how) for _ in range(ENVS)]
    many = gymnasium.make_vec(NAME, num_envs=ENVS, autoreset="SameStep", **how)
    assert many.action_names == singles[0].unwrapped.action_names == tuple(POLICIES)
    chosen = np.random.default_rng(1).integers(len(POLICIES), size=(STEPS, ENVS))
    seen, info = many.reset(seed=5)
    for place, env in enumerate(singles):
        observation, own = env.reset(seed=5 + place)
        assert seen[place].tobytes() == observation.tobytes()
        assert info["action_mask"][place].tolist() == own["action_mask"].tolist()
    ends = 0
    for actions in chosen:
        seen, rewards, overs, _, info = many.step(actions)
        schedules = [run.simulation.tasks["start"].copy() for run in map(many.runs.run, range(ENVS))]
        for place, env in enumerate(singles):
            observation, reward, over, _, own = env.step(actions[place])
            assert (rewards[place], overs[place]) == (reward, over)
            if over:
                ends += 1
                assert info["final_obs"][place].tobytes() == observation.tobytes()
                observation, own = env.reset()
            tasks = env.unwrapped.play.simulator.simulation.tasks
            assert schedules[place][: len(tasks)].tobytes() == tasks["start"].tobytes()
            assert seen[place].tobytes() == observation.tobytes()
            assert info["action_mask"][place].tolist() == own["action_mask"].tolist()
            assert info["time"][place] == own["time"]
    assert ends > 0


# compiles environments with several baselines
@pytest.mark.slow
@pytest.mark.parametrize("clock", ["batsim", "textbook"])
def test_what_is_recorded_for_learning_is_what_an_environment_plays(clock):
    """Decisions that Python records go through another function of the action space than those of the compiled loop."""
    how = {"actions": POLICIES, "clock": clock, "platform": CLUSTER, "workload": contended()}
    envs = [gymnasium.make(NAME, **how).unwrapped for _ in range(2)]
    envs[1].record = True
    for env in envs:
        env.reset(seed=3)
    rng, over = np.random.default_rng(2), False
    while not over:
        action = int(rng.integers(len(POLICIES)))
        (seen, reward, over, _, _), (again, same, end, _, _) = (env.step(action) for env in envs)
        assert (seen.tobytes(), reward, over) == (again.tobytes(), same, end)
    assert started(envs[0]) == started(envs[1])
    assert envs[1].play.episode.actions.tolist()


# compiles environments with several baselines
@pytest.mark.slow
@pytest.mark.parametrize("clock", ["batsim", "textbook"])
@pytest.mark.parametrize(("number", "policy"), list(enumerate(POLICIES)))
def test_an_agent_that_always_takes_one_policy_gives_the_schedule_of_that_policy(number, policy, clock):
    workload = contended()
    env = gymnasium.make(NAME, actions=POLICIES, clock=clock, platform=CLUSTER, workload=workload)
    env.reset(seed=0)
    over = False
    while not over:
        over = env.step(number)[2]
    assert started(env) == hdeeprm_like.simulate(CLUSTER, workload, policy, clock).start.tobytes()


# compiles environments with several baselines
@pytest.mark.slow
def test_the_policies_differ_on_these_jobs():
    starts = {hdeeprm_like.simulate(CLUSTER, contended(), policy).start.tobytes() for policy in POLICIES}
    assert len(starts) == len(POLICIES)


# compiles environments with several baselines
@pytest.mark.slow
@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (["sjf+eazy"], "did you mean 'easy'"),
        (["shortst-high_gflops"], "did you mean 'shortest'"),
        (["sjf+easy", "sjf+easy"], "twice"),
        ([], "at least one"),
        ([3], "names of policies"),
        ("sjf+easy", "not known"),
    ],
)
def test_policies_that_make_no_sense_are_refused_in_one_line(actions, message):
    with pytest.raises(OptionsError, match=message) as raised:
        gymnasium.make(NAME, actions=actions)
    assert "\n" not in str(raised.value)
