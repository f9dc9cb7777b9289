"""Many environments in one: each is the single environment, to the last bit."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st
from random_worlds import platforms, workloads
from small import jobs, parted, platform

from hdeeprm_like.cluster.partitions import Demand, demands_of
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.presets import PRESETS, Space
from hdeeprm_like.engine.state_view import StateView
from hdeeprm_like.envs.single import SchedulingEnv
from hdeeprm_like.envs.vector import SchedulingVectorEnv
from hdeeprm_like.envs.windows import Windows
from hdeeprm_like.errors import AgentError, OptionsError, WorkloadError
from hdeeprm_like.learning.agents import PolicyLearningAgent
from hdeeprm_like.learning.rollout import batched_rollout
from hdeeprm_like.learning.training import play_episodes
from hdeeprm_like.plugins import import_file
from hdeeprm_like.run.episodes import Plays
from hdeeprm_like.run.runs import Runs

ENVS, STEPS = 3, 25
CLUSTER = platform((1000.0, [(4, 1.0, 100.0, 10.0)]), (500.0, [(2, 2.0, 80.0, 10.0), (2, 1.0, 50.0, 5.0)]))
POOL = platform((0.0, [(8, 1.0, 100.0, 0.0)]))


def made(rng):
    """Some jobs, another number of them each time."""
    count = int(rng.integers(1, 30))
    submit = np.sort(rng.integers(0, 40, count)).astype(float)
    return jobs(submit, rng.integers(1, 15, count), rng.integers(1, 7, count), estimate=rng.integers(1, 20, count))


def played(env, seed, chosen):
    """What one environment returns for a list of random numbers that choose among the legal actions."""
    seen = [env.reset(seed=seed)]
    for share in chosen:
        legal = np.flatnonzero(env.action_masks())
        observation, reward, over, cut, info = env.step(int(legal[int(share * len(legal))]))
        if over or cut:
            last, ended = observation, info
            observation, info = env.reset()
            seen.append((observation, reward, over, cut, info, last, ended))
        else:
            seen.append((observation, reward, over, cut, info, None, None))
    return seen


def check_equal(many, singles, seed, shares):
    """Play *many* and each of the *singles* with the same choices, and compare all that they return."""
    told = [played(env, seed + i, shares[i]) for i, env in enumerate(singles)]
    observations, info = many.reset(seed=seed)
    for i, steps in enumerate(told):
        assert observations[i].tobytes() == steps[0][0].tobytes()
        assert info["action_mask"][i].tolist() == steps[0][1]["action_mask"].tolist()
        assert info["time"][i] == steps[0][1]["time"]
    for step in range(shares.shape[1]):
        legal = [np.flatnonzero(mask) for mask in many.action_masks()]
        chosen = np.array([own[int(share * len(own))] for own, share in zip(legal, shares[:, step], strict=True)])
        observations, rewards, overs, cuts, info = many.step(chosen)
        for i, steps in enumerate(told):
            observation, reward, over, cut, single, last, _ = steps[step + 1]
            assert observations[i].tobytes() == observation.tobytes()
            assert (rewards[i], overs[i], cuts[i], info["time"][i]) == (reward, over, cut, single["time"])
            assert info["action_mask"][i].tolist() == single["action_mask"].tolist()
            assert (last is not None) == ("_final_obs" in info and bool(info["_final_obs"][i]))
            if last is not None:
                assert info["final_obs"][i].tobytes() == last.tobytes()


def check_many(space, machine, drawn, windows, seed, **how):
    """Compare environments side by side with single ones, on jobs that are drawn or on windows of some of them."""
    rng = np.random.default_rng(seed)
    workload_of = Windows(drawn(rng), 5) if windows else drawn
    singles = [SchedulingEnv(space, machine, workload_of, **how) for _ in range(ENVS)]
    many = SchedulingVectorEnv(space, machine, workload_of, ENVS, **how)
    try:
        check_equal(many, singles, int(rng.integers(2**31)), rng.random((ENVS, STEPS)))
    except WorkloadError:  # no window has a decision to make
        return


# takes 7 s
@pytest.mark.lane(more=r"(?!PolicySelect-batsim$).*")
@pytest.mark.parametrize("clock", ["batsim", "textbook"])
@pytest.mark.parametrize("preset", list(PRESETS))
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    windows=st.booleans(),
    cut=st.sampled_from([None, 7]),
    pool=st.booleans(),
    limits=st.sampled_from([None, JobLimits(20.0, 8, 90.0, 11.0)]),
)
def test_each_environment_is_the_single_one(preset, clock, seed, windows, cut, pool, limits):
    how = {"clock": clock, "max_steps": cut, "limits": limits}
    check_many(PRESETS[preset], POOL if pool else CLUSTER, made, windows, seed, **how)


def asking(rng, several=True):
    """Such jobs, each for a partition, features or nodes of its own."""
    made_here = made(rng)
    demands = [
        Demand(
            partition=str(rng.choice(["", "all", "fast"])),
            constraint=str(rng.choice(["", "", "ib"])),
            nodes=min(int(rng.integers(0, 3)), int(size)) if several else 0,
            task=int(rng.integers(1, 3)) if several else 1,
            exclusive=bool(rng.random() < 0.2),
        )
        for size in made_here.size
    ]
    return replace(made_here, demands=demands_of(demands))


# takes 12 s
@pytest.mark.more
@pytest.mark.parametrize("clock", ["batsim", "textbook"])
@pytest.mark.parametrize(
    "space",
    [
        PRESETS["SMDP"],
        PRESETS["JobMachine"],
        Space(pairs=(baseline("sjf+easy"), baseline("fcfs+conservative"), ("shortest", "high_gflops"))),
    ],
    ids=["jobs", "machines", "policies"],
)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**31), windows=st.booleans())
def test_so_it_is_where_jobs_request_partitions(space, clock, seed, windows):
    check_many(space, parted(), partial(asking, several=not space.whole), windows, seed, clock=clock)


# more kinds of runs
@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(machine=platforms, workload=workloads(), seed=st.integers(0, 2**31))
def test_each_environment_is_the_single_one_on_random_platforms(machine, workload, seed):
    space = Space(pairs=(("random", "random"), ("shortest", "high_mem"), ("first", "low_power")), void=True)
    check_many(space, machine, lambda rng: workload, True, seed)


def test_threads_change_nothing():
    windows, space = Windows(made(np.random.default_rng(1)), 5), PRESETS["SMDP"]
    found = []
    for threads in (1, 2, 3):
        env = SchedulingVectorEnv(space, POOL, windows, 5, clock="textbook", threads=threads)
        rng, seen = np.random.default_rng(2), [env.reset(seed=3)[0]]
        for _ in range(STEPS):
            chosen = np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])
            observations, rewards, *_ = env.step(chosen)
            seen += [observations, rewards]
        found.append(b"".join(part.tobytes() for part in seen))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("clock", ["batsim", "textbook"])
@pytest.mark.parametrize("preset", list(PRESETS))
def test_a_run_that_begins_again_is_as_one_never_used(preset, clock):
    workload = made(np.random.default_rng(5))
    used, fresh = (Runs(PRESETS[preset], CLUSTER, 1, clock) for _ in range(2))
    for runs in (used, fresh):
        runs.put(0, workload)
        runs.make_room(len(workload), int(workload.size.sum()))
    used.load(0, 3, len(workload) - 3, float(workload.submit[3]), 7, workload.limits())
    used.begin(np.array([0]))
    for _ in range(20):
        used.step(np.array([used.masks[0].argmax()]))
    batch = used._batch
    batch.blocks[:, len(batch.fresh) :] = 0xAB  # rows by job hold anything before a run
    used.rewards[:] = 0.0
    for runs in (used, fresh):
        runs.load(0, 0, len(workload), float(workload.submit[0]), 7, workload.limits())
        runs.begin(np.array([0]))
    for _ in range(200):
        for one, other in zip(told(used), told(fresh), strict=True):
            assert one.tobytes() == other.tobytes()
        if fresh.over[0]:
            break
        chosen = np.array([fresh.masks[0].argmax()])
        assert used.step(chosen) == fresh.step(chosen)
    assert fresh.over[0]


def told(runs):
    """All that a caller sees of runs."""
    return runs.observations, runs.masks, runs.rewards, runs.now, runs.over, runs.episodes["reward"]


def test_an_episode_is_reported_at_its_end():
    env = SchedulingVectorEnv(Space(observation="minimal"), POOL, Windows(jobs([0.0, 5.0], 3.0)), 2, clock="textbook")
    env.reset(seed=1)
    env.step(np.array([0, 0]))
    *_, over, _, info = env.step(np.array([0, 0]))
    assert over.all()
    assert info["final_info"]["episode"]["l"].tolist() == [2, 2]
    # each starts at once: one job in the system right after both decisions, which requests 3 s
    assert info["final_info"]["episode"]["r"] == pytest.approx([-2.0 / 3.0, -2.0 / 3.0])
    assert info["time"].tolist() == [0.0, 0.0]  # of the next episodes


def test_a_step_of_its_own_can_begin_the_next_episode():
    windows = Windows(jobs([0.0, 5.0], 3.0))
    env = SchedulingVectorEnv(
        Space(observation="minimal"), POOL, windows, 2, clock="textbook", autoreset=AutoresetMode.NEXT_STEP
    )
    first, _ = env.reset(seed=1)
    env.step(np.array([0, 0]))
    _, _, over, _, info = env.step(np.array([0, 0]))
    assert over.all()
    assert "final_obs" not in info
    observations, rewards, over, _, _ = env.step(np.array([9, 9]))  # is not looked at
    assert not over.any()
    assert rewards.tolist() == [0.0, 0.0]
    assert observations.tobytes() == first.tobytes()


def test_arrays_can_be_had_without_copies():
    env = SchedulingVectorEnv(PRESETS["SMDP"], POOL, made, 2, copy=False)
    observations, info = env.reset(seed=1)
    before = observations.copy()
    chosen = info["action_mask"].argmax(1)
    assert env.step(chosen)[0] is observations
    assert observations.tobytes() != before.tobytes()


def test_environments_can_begin_alone():
    env = SchedulingVectorEnv(Space(observation="minimal"), POOL, made, 2)
    env.reset(seed=1)
    env.step(np.array([0, 0]))
    before = env.runs.now
    first, _ = env.reset(seed=[None, 2], options={"reset_mask": np.array([False, True])})
    assert env.runs.now[0] == before[0]
    assert first[1].tobytes() == SchedulingEnv(Space(observation="minimal"), POOL, made).reset(seed=2)[0].tobytes()


def test_what_cannot_be_is_refused():
    windows = Windows(jobs([0.0, 5.0], 3.0))
    with pytest.raises(OptionsError, match="num_envs: is 0; a whole number from 1"):
        SchedulingVectorEnv(Space(), POOL, windows, 0)
    own = Space(observation="minimal", objectives={lambda state: 0.0: 1.0})
    with pytest.raises(OptionsError, match="no built-in one"):
        SchedulingVectorEnv(own, POOL, windows, 1)
    env = SchedulingVectorEnv(Space(observation="minimal", void=True), POOL, windows, 2)
    with pytest.raises(AgentError, match="call reset"):
        env.step(np.array([0, 0]))
    env.reset(seed=1)
    with pytest.raises(AgentError, match=r"environment 1: action 99; there are 37"):
        env.step(np.array([0, 99]))
    with pytest.raises(OptionsError, match="'sed' is not known"):
        env.reset(options={"sed": 1})


class Chooser(PolicyLearningAgent):
    """A policy with random weights."""

    def __init__(self, features, actions):
        torch.manual_seed(1)
        self.layer = torch.nn.Linear(features, actions)

    def forward_policy(self, observation):
        return torch.softmax(self.layer(observation), dim=1)


PROPERTIES = [name for name, kind in vars(StateView).items() if isinstance(kind, property)]


class Everything:
    """Observation of a user: a number within [0, 1] for each that a state tells, and for how often it looked."""

    shape = (len(PROPERTIES) + 4,)

    def __init__(self, state, window):
        self.slots, self.looks = window.slots, 0

    def __call__(self, state):
        self.looks += 1
        numbers = [np.nansum(getattr(state, name)) for name in PROPERTIES]
        cores = sum(int(state.cores_of(job).sum()) for job in state.running)
        told = [*numbers, cores, len(state.jobs), state.limits.time, self.looks * self.slots]
        return np.modf(0.6180339 * np.nan_to_num(told, posinf=1.0))[0].astype(np.float32)


SPACES = {name: PRESETS[name] for name in ("PolicySelect", "SMDP", "JobMachine")} | {
    "own": replace(PRESETS["SMDP"], observation=Everything)
}


# takes 2 s
@pytest.mark.lane(more=r"(?!(PolicySelect|own)-batsim$).*")
@pytest.mark.parametrize("clock", ["batsim", "textbook"])
@pytest.mark.parametrize("space", SPACES)
def test_a_batched_rollout_gives_the_episodes_of_rollouts_one_by_one(space, clock):
    plays = Plays(CLUSTER, lambda number: made(np.random.default_rng(number)), SPACES[space], seed=5, clock=clock)
    sample = SPACES[space].sample(CLUSTER)
    one, other = (Chooser(sample.observer.shape[0], sample.actions.size) for _ in range(2))
    for first in (0, 4):  # the second time in the rows of the first
        one_by_one = play_episodes(one, [plays(number) for number in range(first, first + 4)])
        batched = batched_rollout(other, plays.batch(first, 4))
        for a, b in zip(one_by_one, batched, strict=True):
            assert a.end == b.end
            for column in ("observations", "masks", "actions", "rewards", "times"):
                assert getattr(a, column).tobytes() == getattr(b, column).tobytes()
                assert getattr(a, column).dtype == getattr(b, column).dtype


def test_an_observation_of_another_shape_than_it_says_is_refused_in_one_line():
    class Wrong(Everything):
        shape = (2,)

        def __call__(self, state):
            return np.zeros(1, np.float32)

    space = Space(observation=Wrong)
    with pytest.raises(OptionsError, match=r"Wrong: gives \(1,\) numbers; \(2,\) are needed"):
        Plays(CLUSTER, lambda number: made(np.random.default_rng(number)), space).batch(0, 1)


# trains sb3-contrib's agents
@pytest.mark.slow
def test_maskable_ppo_trains_on_environments_side_by_side():
    sb3 = pytest.importorskip("sb3_contrib")
    adapter = import_file(Path(__file__).parents[2] / "agents" / "sb3_vector.py")

    with pytest.raises(OptionsError, match="'SameStep'"):
        adapter.SideBySide(SchedulingVectorEnv(PRESETS["CompactRM"], POOL, made, 4, autoreset="NextStep"))
    env = adapter.SideBySide(SchedulingVectorEnv(PRESETS["CompactRM"], POOL, made, 4, clock="textbook"))
    model = sb3.MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=32, n_epochs=1, seed=1, device="cpu")
    model.learn(128)
    assert model.num_timesteps == 128
    assert len(model.ep_info_buffer) > 0
    assert all(episode["l"] > 0 for episode in model.ep_info_buffer)
