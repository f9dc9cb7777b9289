"""What a decision is worth."""

import numpy as np
import pytest
from paper_clusters import cluster, jobs, learning_jobs, started
from roll_outs import batched, one_by_one, rewards
from small import jobs as small_jobs
from small import platform as one_core

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.rewards import OBJECTIVES, Reward
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.engine.tables import WAITING
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.gym import environment

LEARNING_PAIRS = [
    ("shortest", "high_gflops"),
    ("shortest", "high_mem_bw"),
    ("shortest", "low_power"),
    ("first", "high_gflops"),
    ("first", "high_mem_bw"),
]


def episode(objective, mode, actions, pairs=LEARNING_PAIRS, workload=None, platform=None, **state):
    """Play a fixed sequence of actions, its last one repeated, and return play and episode."""
    reward = Reward(OBJECTIVES.get(objective, objective), mode)
    play = started(
        lambda state: DecisionSystem(state, PolicyActions(pairs), None, reward),
        platform=platform,
        workload=workload,
        **state,
    )
    left = list(actions)
    while play.advance():
        play.act(left.pop(0) if len(left) > 1 else left[0])
    return play, play.episode


@pytest.mark.parametrize(("action", "expected"), [(0, 6.6), (1, 8.4), (2, 6.0), (3, 6.6), (4, 8.4)])
def test_the_makespan_rewards_of_the_learning_example_are_those_of_the_thesis(action, expected):
    _, done = episode("makespan", "sample", [action])
    assert done.rewards == pytest.approx([expected])


def after_one_start():
    """The learning platform with one job of 5 s running on the slow processor, and one of 10 s waiting."""
    state = State(cluster(), jobs([0.0, 0.0], [5.0, 10.0], size=[1, 4]))
    state.receive(Instant(0.0, [], 2, True))
    PolicyActions([("shortest", "low_power")]).apply(0, state)
    return state


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        ("avg_job_slowdown", -(1 / 5 + 1 / 10)),
        ("avg_job_completion", -2.0),
        ("avg_completion_time", -2.0),
        ("avg_utilization", 1.0),
        ("makespan", 4.0),
        ("energy_consumption", -(80.0 + 20.0 + 2 * 5.0)),  # busy, idle beside it, two on the sleeping processor
        ("edp", 0.0 - (80.0 + 20.0 + 2 * 5.0) * 0.0),
    ],
)
def test_objectives_are_what_section_3_2_4_says(objective, expected):
    assert OBJECTIVES[objective](after_one_start()) == pytest.approx(expected)


def test_a_job_on_several_cores_counts_once():
    state = State(cluster(), jobs([0.0, 0.0], [5.0, 10.0], size=[3, 1]))
    state.receive(Instant(0.0, [], 2, True))
    PolicyActions([("first", "high_gflops")]).apply(0, state)
    assert OBJECTIVES["avg_job_slowdown"](state) == pytest.approx(-0.3)
    assert OBJECTIVES["avg_job_completion"](state) == -2.0


def test_the_integral_of_the_jobs_in_the_system_is_their_time_in_it():
    workload = jobs([0.0, 0.0, 3.0], [5.0, 10.0, 2.0], size=4)
    play, done = episode("avg_job_completion", "integral", [0], workload=workload)
    rows = play.system.state.tables.jobs
    assert done.rewards.sum() == pytest.approx(-np.sum(rows["finish"] - rows["submit"]), abs=1e-4)


@pytest.mark.parametrize("clock", ["batsim", "textbook"])
@pytest.mark.parametrize("roll_out", [one_by_one, batched])
def test_each_decision_is_paid_until_the_next_and_the_last_one_until_the_episode_ends(roll_out, clock):
    # both start at 0 on one core each and run 5 and 8 s: 2 cores are busy for 5 s, then 1 for 3 s
    at_once = jobs([0.0, 0.0], [5.0, 8.0])
    assert rewards(roll_out, clock, "avg_utilization", at_once) == pytest.approx([13.0], abs=1e-3)
    assert rewards(roll_out, clock, "avg_job_completion", at_once) == pytest.approx([-13.0], abs=1e-3)
    if roll_out is one_by_one:  # a function in Python has no batch
        busy_cores = {lambda state: float(state.platform.cores - state.free_cores): 1.0}
        assert rewards(roll_out, clock, busy_cores, at_once) == pytest.approx([13.0], abs=1e-3)
    # decisions at 0 and at 6; the first job ends at 5, the second runs from 6 to 13 on three cores
    one_after_the_other = jobs([0.0, 6.0], [5.0, 7.0], size=[2, 3])
    assert rewards(roll_out, clock, "avg_utilization", one_after_the_other) == pytest.approx([10.0, 21.0], abs=1e-3)


def test_the_integral_of_power_is_the_energy_and_that_of_edp_the_energy_delay_product():
    workload = jobs([0.0, 1.0, 3.0], [5.0, 10.0, 2.0], size=[3, 4, 1])
    play, done = episode("energy_consumption", "integral", [0], workload=workload)
    state = play.system.state
    assert done.rewards.sum() == pytest.approx(-state.joules, rel=1e-6)
    play, done = episode("edp", "integral", [0], workload=workload)
    assert done.rewards.sum() == pytest.approx(-state.joules * state.now, rel=1e-6)


def test_the_integral_reaches_to_the_next_decision_over_instants_without_one():
    workload = jobs([0.0, 0.0, 20.0], [5.0, 8.0, 1.0])  # both end before the third comes; there is no decision then
    _, done = episode("avg_utilization", "integral", [2], workload=workload)
    assert done.rewards == pytest.approx([5.0 + 8.0, 1.0], abs=1e-3)


def test_changes_add_up_to_the_whole_change_and_reward_the_last_decision():
    workload = jobs([0.0, 1.0, 2.0], 50.0)
    _, done = episode("avg_job_completion", "change", [0], workload=workload)
    assert done.rewards.tolist() == [-1.0, -1.0, 3.0]


@pytest.mark.parametrize("mode", ["sample", "integral", "change"])
def test_every_decision_is_rewarded_the_last_one_too(mode):
    workload = jobs([0.0, 1.0, 2.0], 5.0, size=4)
    _, done = episode("makespan", mode, [0], workload=workload)
    assert len(done.rewards) == len(done.actions) > 2


def test_an_objective_of_ones_own_is_a_function_of_the_state():
    _, done = episode(lambda state: -float(len(state.waiting)), "sample", [0], workload=jobs([0, 0], 5.0, size=4))
    assert done.rewards.tolist() == [-1.0, 0.0]


def test_an_unknown_mode_is_refused():
    with pytest.raises(OptionsError, match="did you mean 'sample'"):
        Reward(OBJECTIVES["makespan"], "sampel")


def test_the_recorded_rewards_of_the_original_are_these_three(pytestconfig):
    recorded = (pytestconfig.rootpath / "tests/golden/hdeeprm/learning_350/rewards.log").read_text().split()
    ours = {round(float(episode("makespan", "sample", [a], workload=learning_jobs())[1].reward), 9) for a in range(5)}
    assert {round(float(value), 9) for value in recorded} == ours


@pytest.mark.parametrize("objective", ["avg_job_slowdown", "avg_job_completion", "avg_utilization", "makespan"])
@pytest.mark.parametrize("log", [True, False])
def test_a_built_in_objective_gives_in_compiled_code_what_it_gives_as_a_function(objective, log):
    rng = np.random.default_rng(5)
    submit, seconds = np.sort(rng.integers(0, 60, 40)), rng.integers(1, 20, 40)
    workload = jobs(submit, seconds, size=rng.integers(1, 5, 40), bandwidth=rng.integers(1, 24, 40), memory=4000.0)
    _, compiled = episode(objective, "integral", [1], workload=workload, log=log)
    _, called = episode(lambda state: OBJECTIVES[objective](state), "integral", [1], workload=workload, log=log)
    assert compiled.rewards == pytest.approx(called.rewards, rel=1e-9)
    assert compiled.times.tolist() == called.times.tolist()


CROWD = small_jobs([0.0, 0.0, 0.0, 2.0, 40.0], [4.0, 20.0, 8.0, 1.0, 30.0], [2, 1, 1, 2, 1], estimate=60.0)


def rewards_of(preset="CompactRM", **how):
    """The rewards of an episode of four jobs on two cores, each time the first legal action, and its figures."""
    env = environment(preset, platform=2, workload=CROWD, clock="textbook", **how)
    _, info = env.reset(seed=1)
    gained, over = [], False
    while not over:
        _, reward, over, _, info = env.step(int(info["action_mask"].argmax()))
        gained.append(reward)
    return gained, info["metrics"]


def first_rewards(preset, platform, workload, count=1, **how):
    """The rewards of the first action, which is taken so often."""
    env = environment(preset, platform=platform, workload=workload, clock="textbook", **how)
    env.reset(seed=1)
    return [env.step(0)[1] for _ in range(count)]


@pytest.mark.parametrize("preset", ["CompactRM", "PolicySelect"])
@pytest.mark.parametrize(
    ("objective", "figure", "least"), [("bounded_slowdown", "bounded_slowdown", 1.0), ("wait", "wait", 0.0)]
)
def test_what_is_reported_can_be_optimized_by_each_decision_and_at_the_end(preset, objective, figure, least):
    dense, figures = rewards_of(preset, objective=objective, reward="change")
    at_end, same = rewards_of(preset, objective=objective, reward="end")
    assert figures == same
    assert figures[figure] > least
    assert sum(dense) == pytest.approx(least - figures[figure])
    assert at_end[:-1] == [0.0] * (len(at_end) - 1)
    assert at_end[-1] == pytest.approx(-figures[figure])


def test_slowdowns_by_execution_time_and_by_requested_time_are_two_objectives():
    # one job of 20 s, estimated at 60 s, alone: 1/60 each second of the thesis, 1/20 each of the dissertation
    one = small_jobs([0.0], [20.0], [1], estimate=60.0)
    for objective, expected in (("avg_job_slowdown", -20.0 / 60.0), ("execution_slowdown", -1.0)):
        found = first_rewards("PolicySelect", 2, one, objective=objective, reward="integral")
        assert found == pytest.approx([expected])
    two = small_jobs([0.0, 0.0], [20.0, 5.0], [2, 2], estimate=60.0)
    for objective, expected in (("window_slowdown", -1.0 / 60.0), ("window_execution_slowdown", -1.0 / 5.0)):
        found = first_rewards("CompactRM", 2, two, objective=objective, reward="sample")
        assert found == pytest.approx([expected])  # the second one waits


def test_execution_slowdown_of_a_state_alone_is_that_of_a_run():
    state = State(one_core(), small_jobs([0.0], [20.0], [1], estimate=60.0))
    state.tables.jobs["status"] = WAITING
    assert OBJECTIVES["execution_slowdown"](state) == pytest.approx(-1.0 / 20.0)


def test_an_objective_that_is_nothing_at_the_end_is_refused_there():
    with pytest.raises(OptionsError, match="has no value at the end"):
        Reward(OBJECTIVES["makespan"], "end")


def test_each_span_of_time_up_to_a_decision_is_discounted_by_all_spans_before_it():
    # three busy cores for 5 s, two for 3 s, one for 2 s, then none; each second counts half the one before
    workload = small_jobs([0.0, 0.0, 0.0, 20.0], [5.0, 8.0, 10.0, 1.0], estimate=60.0)
    found = first_rewards("PolicySelect", 3, workload, objective="avg_utilization", reward="discounted", gamma=0.5)
    expected = sum(busy * 0.5**second for second, busy in enumerate([3] * 5 + [2] * 3 + [1] * 2))
    assert found == pytest.approx([expected])


def test_the_time_in_the_queue_is_a_share_of_the_longest_that_there_was():
    # one core, three jobs of 10 s: when the second starts, two have waited 20 s in all, of which 10 stay in the queue
    three = small_jobs(np.zeros(3), 10.0)
    assert first_rewards("CompactRM", 1, three, 3, objective="queue_wait", reward="sample") == [0.0, -0.5, 0.0]
