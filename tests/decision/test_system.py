"""The decision system under the embedded simulator."""

import numpy as np
import pytest
from paper_clusters import cluster, jobs, learning_jobs, started

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES
from hdeeprm_like.decision.observations.view import View
from hdeeprm_like.decision.rewards import OBJECTIVES, Reward
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.decision.window.window import JobWindow
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import AgentError
from hdeeprm_like.run.python_loop import play
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy


class Always:
    """Agent that knows one action."""

    def __init__(self, action=0):
        self.action = action

    def act(self, observation, mask):
        return self.action


def pairs(*names):
    return PolicyActions([tuple(name.split("-")) for name in names])


def test_spreading_the_jobs_of_the_learning_example_ends_sooner():
    ends = {}
    for core_policy in ("high_gflops", "high_mem_bw", "low_power"):
        workload = learning_jobs()
        state = State(cluster(), workload)
        play(Simulator(state, workload), DecisionSystem(state, pairs(f"first-{core_policy}")), Always())
        ends[core_policy] = round(state.now, 6)
    assert ends == {"high_gflops": 6.363636, "high_mem_bw": 5.25, "low_power": 7.0}


@pytest.mark.parametrize("job_policy", JOB_POLICIES)
@pytest.mark.parametrize("core_policy", CORE_POLICIES)
def test_deciding_pair_by_pair_gives_the_schedule_of_the_compiled_loop(job_policy, core_policy):
    rng = np.random.default_rng(3)
    submit, seconds = np.sort(rng.integers(0, 30, 25)), rng.integers(1, 20, 25)
    workload = jobs(submit, seconds, size=rng.integers(1, 5, 25), memory=4000.0, bandwidth=rng.integers(1, 24, 25))
    schedules = []
    for compiled_loop in (True, False):
        state = State(cluster(), workload, seed=11)
        simulator = Simulator(state, workload)
        if compiled_loop:
            list(run_policy(simulator, pairs(f"{job_policy}-{core_policy}")))
        else:
            play(simulator, DecisionSystem(state, pairs(f"{job_policy}-{core_policy}")), Always())
        used = state.tables.allocation[: int(state.tables.clock["placed"][0])]
        schedules.append((state.tables.jobs["start"].tolist(), used.tolist(), state.joules))
    assert schedules[0] == schedules[1]


def test_a_decision_is_open_only_while_jobs_wait():
    begun = started(lambda state: DecisionSystem(state, pairs("first-high_gflops")), workload=jobs([0, 4, 4], 50.0))
    times = []
    while begun.advance():
        times.append(begun.system.state.now)
        begun.act(0)
        assert not begun.system.open
    assert times == [0.0, 4.0]


def test_the_episode_holds_what_was_seen_done_and_got():
    begun = started(
        lambda state: DecisionSystem(
            state,
            pairs("first-high_gflops", "first-low_power"),
            View(state, JobWindow(state), "small"),
            Reward(OBJECTIVES["makespan"]),
        ),
        workload=jobs([0, 1, 2], 5.0, size=4),
    )
    seen = []
    while begun.advance():
        seen.append(begun.observe()[0])
        begun.act(len(seen) % 2)
    episode = begun.episode
    assert len(episode) == len(seen)
    np.testing.assert_array_equal(episode.observations, np.array(seen))
    assert episode.observations.dtype == np.float32
    assert episode.masks.shape == (len(seen), 2)
    assert episode.actions.tolist() == [(step + 1) % 2 for step in range(len(seen))]
    assert episode.end == begun.system.state.now
    assert episode.reward == pytest.approx(sum(episode.rewards))


def test_observing_twice_shows_the_same():
    begun = started(
        lambda state: DecisionSystem(state, pairs("first-high_gflops"), View(state, JobWindow(state), "minimal"))
    )
    begun.advance()
    assert begun.observe()[0] is begun.observe()[0]


@pytest.mark.parametrize(("action", "said"), [(2, "there are 2"), (-1, "there are 2"), (1, r"\(void\).*not legal")])
def test_an_action_that_is_none_or_is_not_legal_is_refused(action, said):
    begun = started(
        lambda state: DecisionSystem(state, PolicyActions([("first", "high_gflops")], void=True)),
        workload=jobs([0.0, 1.0], 5.0, size=4),
    )
    begun.advance()
    if action == 1:  # the first job runs, the second arrives, and the first ends
        begun.act(0)
        begun.advance()
        begun.act(0)
        begun.advance()
    with pytest.raises(AgentError, match=said):
        begun.act(action)


def test_a_classic_agent_needs_neither_observer_nor_reward():
    begun = started(lambda state: DecisionSystem(state, pairs("first-high_gflops")))
    begun.advance()
    begun.act(0)
    assert not begun.advance()
    assert begun.episode.observations.shape == (1, 0)
    assert begun.episode.reward == 0.0
