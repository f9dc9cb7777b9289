"""A fork of a running simulation goes on as its origin does, and neither disturbs the other."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_vector import CLUSTER, POOL, made

from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.envs.single import SchedulingEnv
from hdeeprm_like.envs.vector import SchedulingVectorEnv
from hdeeprm_like.envs.windows import Windows
from hdeeprm_like.errors import AgentError, OptionsError, WorkloadError
from hdeeprm_like.run.runs import Runs

RESERVE = replace(PRESETS["PolicySelect"], void=True, pairs=(("random", "random"), ("shortest", "high_gflops")))
SPACES = {**{name: PRESETS[name] for name in ("PolicySelect", "SMDP", "CompactRM", "JobMachine")}, "random": RESERVE}


def drawn(masks, shares):
    """One legal action for each row of masks, by numbers from 0 to 1."""
    legal = [np.flatnonzero(mask) for mask in np.atleast_2d(masks)]
    return np.array([own[int(share * len(own))] for own, share in zip(legal, shares, strict=True)])


def told(env, places):
    """What can be seen of some environments."""
    runs = env.runs
    return [
        column[places].tobytes()
        for column in (runs.observations, runs.masks, runs.rewards, runs.now, runs.terminated, runs.figures)
    ]


# takes 3 s
@pytest.mark.lane(more=r"(?!(random|SMDP)-textbook).*")
@pytest.mark.parametrize("clock", ["batsim", "textbook"])
@pytest.mark.parametrize("name", list(SPACES))
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**31), before=st.integers(0, 25), windows=st.booleans())
def test_forked_environments_play_on_as_their_origins(name, clock, seed, before, windows):
    rng = np.random.default_rng(seed)
    machine = POOL if name != "JobMachine" and rng.random() < 0.5 else CLUSTER
    env = SchedulingVectorEnv(SPACES[name], machine, Windows(made(rng), 5) if windows else made, 4, clock=clock)
    try:
        env.reset(seed=int(rng.integers(2**31)))
        for _ in range(before):
            env.step(drawn(env.action_masks(), rng.random(4)))
        env.fork([0, 1], [2, 3])
        assert told(env, [0, 1]) == told(env, [2, 3])
        for _ in range(30):  # over the end of an episode into the next one
            chosen = drawn(env.action_masks()[:2], rng.random(2))
            env.step(np.concatenate([chosen, chosen]))
            assert told(env, [0, 1]) == told(env, [2, 3])
    except WorkloadError:  # no window has a decision to make
        return


@pytest.mark.parametrize("clock", ["batsim", "textbook"])
def test_a_fork_that_is_played_otherwise_leaves_its_origin_alone(clock):
    envs = [SchedulingVectorEnv(RESERVE, POOL, made, 2, clock=clock) for _ in range(2)]
    for env in envs:
        env.reset(seed=5)
        env.step(np.zeros(2, np.int64))
    envs[0].fork([0], [1])
    rng = np.random.default_rng(1)
    for _ in range(20):
        first = int(drawn(envs[0].action_masks()[:1], rng.random(1))[0])
        mine = np.array([first, np.flatnonzero(envs[0].action_masks()[1])[-1]])
        theirs = np.array([first, np.flatnonzero(envs[1].action_masks()[1])[0]])
        envs[0].step(mine)
        envs[1].step(theirs)
        assert told(envs[0], [0]) == told(envs[1], [0])


@pytest.mark.parametrize("clock", ["batsim", "textbook"])
def test_runs_are_forked_into_other_runs_with_the_same_room(clock):
    space, jobs = PRESETS["SMDP"], [made(np.random.default_rng(seed)) for seed in range(3)]
    runs, forks = Runs(space, POOL, 3, clock), Runs(space, POOL, 5, clock)
    for place, one in enumerate(jobs):
        runs.load(place, runs.put(place, one), len(one), 0.0, 7, one.limits())
    runs.begin(np.arange(3))
    with pytest.raises(ValueError, match="room_like"):
        forks.fork(np.array([0]), np.array([1]), runs)
    forks.room_like(runs)
    forks.fork(np.array([2, 0]), np.array([1, 4]), runs)
    assert forks.over.tolist() == [True, bool(runs.over[2]), True, True, bool(runs.over[0])]
    while not runs.over[[0, 2]].all():
        runs.step(runs.masks.argmax(1))
        forks.step(forks.masks.argmax(1))
        for mine, theirs in ((runs, forks), (runs.now, forks.now), (runs.figures, forks.figures))[1:]:
            assert mine[[2, 0]].tobytes() == theirs[[1, 4]].tobytes()
        assert runs.observations[[2, 0]].tobytes() == forks.observations[[1, 4]].tobytes()


@pytest.mark.parametrize("clock", ["batsim", "textbook"])
@pytest.mark.parametrize("name", ["SMDP", "random"])
def test_a_deep_copy_of_an_environment_takes_no_step_again(name, clock, monkeypatch):
    env = SchedulingEnv(SPACES[name], POOL, made, clock=clock)
    env.reset(seed=3)
    for _ in range(4):
        env.step(int(np.flatnonzero(env.action_masks())[0]))
    with monkeypatch.context() as patch:
        patch.setattr(SchedulingEnv, "_act", lambda *_: pytest.fail("the episode is played again"))
        other = copy.deepcopy(env)
    rng, over = np.random.default_rng(2), False
    while not over:
        action = int(drawn(env.action_masks(), rng.random(1))[0])
        seen, reward, over, _, info = env.step(action)
        again, same, ended, _, told_there = other.step(action)
        assert (seen.tobytes(), reward, over) == (again.tobytes(), same, ended)
        assert info["action_mask"].tolist() == told_there["action_mask"].tolist()
    assert info["metrics"] == told_there["metrics"]
    assert env.reset()[0].tobytes() == other.reset()[0].tobytes()


def test_forks_that_cannot_be_are_refused():
    env = SchedulingVectorEnv(PRESETS["SMDP"], POOL, made, 3, clock="textbook")
    with pytest.raises(AgentError, match="no episode has begun"):
        env.fork([0], [1])
    env.reset(seed=1)
    for sources, places in (([0], [0]), ([0, 1], [1, 2]), ([0], [1, 2]), ([0, 0], [1, 1])):
        with pytest.raises(OptionsError, match="as many places as sources"):
            env.fork(sources, places)
    with pytest.raises(OptionsError, match="whole numbers from 0 to 2"):
        env.fork([0], [3])
