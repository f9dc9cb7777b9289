"""What an agent can do at an instant."""

import pytest
from paper_clusters import cluster, jobs, learning_jobs, started

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.named_parts import policy_of
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.errors import OptionsError


def test_there_are_thirty_six_pairs_and_the_void_action_makes_thirty_seven():
    assert PolicyActions().size == 36
    assert PolicyActions(void=True).size == 37
    assert PolicyActions(void=True).names[-1] == "void"


def test_only_the_job_policies_in_use_need_sorted_lists():
    assert PolicyActions([("first", "random"), ("low_mem", "random")]).needs.searched == ((0, False), (3, False))


def test_a_pair_whose_jobs_are_not_kept_sorted_is_refused():
    state = State(cluster(), learning_jobs(), needs=PolicyActions([("first", "random")]).needs)
    state.receive(Instant(0.0, [], 2, True))
    actions = PolicyActions([("shortest", "high_gflops")])
    system = DecisionSystem(state, actions)
    for use in (lambda: actions.apply(0, state), lambda: actions.choices(state), lambda: system.act(0)):
        with pytest.raises(ValueError, match="keeps no list of jobs"):
            use()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["shortest"], "a job policy of pairs, as shortest-high_gflops"),
        (["shortes-high_gflops"], "did you mean 'shortest'"),
        (["first-high_gflop"], "did you mean 'high_gflops'"),
        ([], "at least one"),
        (["first-random", "first-random"], "'first-random' is listed twice"),
    ],
)
def test_actions_that_make_no_sense_are_refused_with_the_nearest_name(names, said):
    with pytest.raises(OptionsError, match=said):
        PolicyActions([policy_of(name) for name in names])


def test_a_pair_starts_jobs_until_the_selected_one_does_not_fit_and_ends_the_instant():
    state = State(cluster(), jobs([0, 0, 0], [3.0, 1.0, 2.0], size=2))
    state.receive(Instant(0.0, [], 3, True))
    assert PolicyActions([("shortest", "high_gflops")]).apply(0, state) is False
    assert state.drain().starts[0][0] == 1
    assert state.tables.jobs["status"].tolist() == [1, 2, 2]


def test_the_void_action_starts_nothing():
    state = State(cluster(), learning_jobs())
    state.receive(Instant(0.0, [], 2, False))
    actions = PolicyActions([("first", "high_gflops")], void=True)
    assert actions.apply(1, state) is False
    assert state.drain().starts == []


def test_the_void_action_is_legal_only_while_something_else_can_happen():
    actions = PolicyActions([("first", "high_gflops")], void=True)
    state = State(cluster(), jobs([0.0, 1.0], 5.0, size=4))
    state.receive(Instant(0.0, [], 1, False))
    assert actions.mask(state).tolist() == [True, True]  # a job will come
    actions.apply(0, state)
    state.receive(Instant(1.0, [], 1, True))
    assert actions.mask(state).tolist() == [True, True]  # a job runs
    state.receive(Instant(5.0, [0], 0, True))
    assert actions.mask(state).tolist() == [True, False]


def test_an_agent_that_waits_whenever_it_may_still_finishes_all_jobs():
    actions = PolicyActions([("first", "high_gflops")], void=True)
    play = started(lambda state: DecisionSystem(state, actions), workload=jobs([0, 1, 2], 5.0, size=4))
    while play.advance():
        play.act(int(play.observe()[1].nonzero()[0][-1]))
    assert play.simulator.unfinished == 0
