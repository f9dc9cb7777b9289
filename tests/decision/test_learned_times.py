"""What learned predictors make of jobs: orders and reservations on paper, and nothing of the future."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from on_paper import cores, of_users
from on_paper import starts as starts_on
from small import check_that_the_future_is_unknown, jobs

from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.policies.baselines import make_room, new_baselines
from hdeeprm_like.decision.policies.plans import needs_of
from hdeeprm_like.engine.numbers import FIRST_PREDICTED, RUN_TIMES
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import longer

FOUR = cores(4)
LEAF, SHORT = {"value": 0.0}, {"value": -3.0}  # as requested, and exp(-3) = 1 / 20 of it


def asks(feature, at_most, below, above, missing="right"):
    """A tree with one question."""
    return [{"feature": feature, "at_most": at_most, "left": 1, "right": 2, "missing": missing}, below, above]


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """Writes a predictor and returns its name."""
    folder = tmp_path_factory.mktemp("trees")

    def write(*trees):
        path = folder / f"p-{len(list(folder.iterdir()))}.json"
        path.write_text(json.dumps({"baseline": 0.0, "trees": trees}))
        return f"learned:{path}"

    return write


def starts(workload, name, users=0):
    return starts_on(FOUR, of_users(workload, users), name)


def test_a_tree_decides_an_order(trees):
    # 1 requests 4 cores and 50 s; 2 for one core and 100 s, which the tree takes for 5 s
    workload = jobs(submit=[0, 1, 1], seconds=[10, 50, 10], estimate=[10, 50, 100], size=[4, 4, 1])
    name = trees(asks("log_all_cores", 0.5, SHORT, LEAF))
    assert starts(workload, "sjf+easy") == [0, 10, 60]
    assert starts(workload, f"sjf@{name}+easy") == [0, 20, 10]


def test_a_job_of_whose_user_nothing_is_known_goes_where_the_tree_says(trees):
    workload = jobs(submit=[0, 1, 1], seconds=[10, 20, 30], estimate=[10, 90, 100], size=4)
    for missing, expected in (("left", [0, 40, 10]), ("right", [0, 10, 30])):
        name = trees(asks("log_last", -1000.0, SHORT, LEAF, missing))
        assert starts(workload, f"sjf@{name}+easy", users=[0, 0, 1]) == expected


def test_the_run_before_the_last_is_known_of_a_user_with_two_ended_jobs(trees):
    # at 20 two jobs of user 0 have ended, so 2 counts as requested; of user 1 nothing is known, so 3 counts as short
    workload = jobs(submit=[0, 1, 2, 2], seconds=[10, 10, 20, 30], estimate=[10, 10, 90, 100], size=4)
    name = trees(asks("log_before_last", -1000.0, SHORT, LEAF, "left"))
    assert starts(workload, f"sjf@{name}+easy", users=[0, 0, 0, 1]) == [0, 10, 50, 20]


def test_a_prediction_is_made_anew_when_a_job_of_the_user_has_ended(trees):
    # when 1 and 2 are submitted no job of anybody has ended; when 0 ends, its user is known to run but briefly
    name = trees(asks("user_ended", 0.5, LEAF, SHORT))
    workload = jobs(submit=[0, 1, 1], seconds=[10, 50, 10], estimate=[10, 50, 100], size=4)
    assert starts(workload, f"sjf@{name}+easy", users=[0, 1, 0]) == [0, 20, 10]
    assert starts(workload, f"sjf@{name}+easy", users=[0, 1, 2]) == [0, 10, 60]


def test_a_running_job_that_outlives_its_prediction_is_expected_to_run_on(trees):
    # 0 has two cores and is expected to end at 5 in place of 100, so 2 may not start before 1, which takes all. At 10
    # it is still there and expected to end at 65: 2 and 3 would end at 20 and may start
    narrow_or_wide = {"feature": "log_all_cores", "at_most": 1.0, "left": 3, "right": 4}
    name = trees(
        [{"feature": "log_all_cores", "at_most": 0.5, "left": 1, "right": 2}, LEAF, narrow_or_wide, SHORT, LEAF]
    )
    estimate = [100, 100, 10, 10]
    workload = jobs(submit=[0, 1, 2, 10], seconds=[30, 5, 10, 10], estimate=estimate, size=[2, 4, 1, 1])
    assert starts(workload, "fcfs+easy") == [0, 30, 2, 10]
    assert starts(workload, f"fcfs+easy@{name}") == [0, 30, 10, 10]


def test_orders_and_reservations_may_use_predictors_of_their_own(trees):
    workload = jobs(submit=[0, 1, 1], seconds=[10, 50, 10], estimate=[10, 50, 100], size=[4, 4, 1])
    short, long = trees([SHORT]), trees(asks("log_all_cores", 0.5, SHORT, LEAF))
    assert starts(workload, f"sjf@{short}+easy@{long}") == starts(workload, "sjf+easy")
    assert starts(workload, f"sjf@{long}+easy@{short}") == [0, 20, 10]


def test_there_is_room_for_jobs_that_become_known_on_the_way(trees):
    name = trees(asks("user_ended", 0.5, LEAF, SHORT))
    policy = baseline(f"sjf@{name}+easy")
    state = State(FOUR, jobs(submit=[0, 1]), needs=needs_of(policy))
    plans = new_baselines(state, [policy])
    history = plans.knowledge.history
    history.planned[:, 1], history.trees.seen[0, 1] = 7.0, 3
    state.tables.jobs = longer(state.tables.jobs, 50)
    make_room(plans, state, [policy])
    assert history.trees.seen.shape == history.trees.made.shape == (1, 50)
    assert history.planned.shape == (len(RUN_TIMES) - FIRST_PREDICTED + 1, 50)
    assert history.planned[:, 1].tolist() == [7.0] * len(history.planned)
    assert history.trees.seen[0].tolist() == [0, 3, *[0] * 48]


@pytest.mark.compiled
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_nothing_of_the_future_is_known(trees, seed):
    rng = np.random.default_rng(seed)
    kinds = ("log_last", "class_ratio", "log_ratio", "expected_log_ratio", "since_end", "user_waiting")
    name = trees(*(asks(kind, float(rng.normal()), SHORT, LEAF) for kind in kinds))
    check_that_the_future_is_unknown(f"sjf@{name}+easy@{name}", seed)
