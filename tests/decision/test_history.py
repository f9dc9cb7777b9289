"""What policies make of past jobs: predictions by hand, and nothing of the future."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from on_paper import OnPaper, cores, of_users, starts
from small import check_that_the_future_is_unknown, jobs, run_baseline

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.policies import estimates as made
from hdeeprm_like.decision.policies.history import OF_EXPECTED, read_history
from hdeeprm_like.decision.policies.plans import new_plans
from hdeeprm_like.decision.policies.run_times import known_or_predicted
from hdeeprm_like.engine.numbers import FIRST_PREDICTED, LAST_TWO
from hdeeprm_like.engine.plain import ENABLED
from hdeeprm_like.engine.state import Instant, State

ONE, FOUR = cores(1), cores(4)
LOOK_BACK = (
    "sjf@tsafrir+easy",
    "fcfs+easysjf@ewma",
    "saf@expected+conservative@tsafrir",
    "multifactor",
    "zoo:balanced",
)


BRIEF = jobs([0, 0, 7, 7], [2, 4, 3, 50], estimate=[100, 100, 100, 50])
WORLDS = {
    # user 0 requests 100 s and runs 2 s and 4 s; so the job of 50 s that user 1 requests comes later, not earlier
    "the last two jobs of a user predict the next one": OnPaper(
        ONE, of_users(BRIEF, [0, 0, 0, 1]), {"sjf": [0, 2, 57, 7], "sjf@tsafrir": [0, 2, 7, 10]}
    ),
    "nothing is known of another user": OnPaper(ONE, of_users(BRIEF, [0, 0, 2, 1]), {"sjf@tsafrir": [0, 2, 57, 7]}),
    "jobs of unknown users predict nothing about one another": OnPaper(
        ONE, BRIEF, {"sjf": [0, 2, 57, 7], "sjf@tsafrir": [0, 2, 57, 7], "sjf@ewma": [0, 2, 57, 7]}
    ),
    "a prediction is never more than what was requested": OnPaper(
        ONE,
        of_users(jobs([0, 0, 200, 200], [90, 90, 3, 4], estimate=[100, 100, 5, 9]), [0, 0, 0, 1]),
        {"sjf@tsafrir": [0, 90, 200, 203]},
    ),
    # user 0 runs 0.375 s on average, which counts as the second that user 1 requests: who came first is first
    "a prediction is never less than a second": OnPaper(
        ONE,
        of_users(jobs([0, 0, 7, 7], [0.25, 0.5, 0.5, 0.5], estimate=[100, 100, 1, 100]), [0, 0, 1, 0]),
        {"sjf@tsafrir": [0, 0.25, 7, 7.5]},
    ),
    # user 0 runs a tenth of what is requested: 100 s are expected to be 10 s, less than the 50 s of user 1
    "the share of requests that a user runs predicts the next job": OnPaper(
        ONE,
        of_users(jobs([0, 30, 30], [20, 3, 50], estimate=[200, 100, 50]), [0, 0, 1]),
        {"sjf@ewma": [0, 30, 33], "sjf": [0, 80, 30]},
    ),
    # 3 needs all four cores and is reserved for when 2 is expected to end: at 130 as requested, so that both jobs
    # behind it end before that, or at 40 by the past, which the one of 50 s does not
    "orders and reservations look at run times of their own": OnPaper(
        FOUR,
        of_users(
            jobs([0, 0, 30, 31, 32, 33], [10, 10, 10, 20, 5, 50], [1, 1, 2, 4, 1, 1], estimate=[*[100] * 3, 20, 5, 50]),
            [0, 0, 0, 1, 1, 1],
        ),
        {"fcfs+easy": [0, 0, 30, 83, 32, 33], "fcfs+easy@tsafrir": [0, 0, 30, 40, 32, 60]},
    ),
}


@pytest.mark.parametrize("world", WORLDS)
def test_jobs_start_as_on_paper(world):
    WORLDS[world].check()


WEEK = 7 * 86400.0  # s


@pytest.mark.parametrize(("used", "first"), [(800, 2), (1200, 3)])
def test_half_of_what_a_user_has_used_is_forgotten_in_a_week(used, first):
    # a week after user 0 has used so many core seconds, user 1 uses 500; then both have a job that waits as long
    workload = jobs(submit=[0, WEEK + used, WEEK + used + 1, WEEK + used + 1], seconds=[used, 500, 10, 10])
    started = starts(ONE, of_users(workload, [0, 1, 0, 1]), "multifactor")
    assert started[first] == WEEK + used + 500
    assert started[5 - first] == WEEK + used + 510


def test_usage_is_the_same_however_often_decisions_are_made():
    """A run under one policy decides at every instant; one that stops for an agent decides only where jobs wait."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        seconds = rng.integers(1, 60, 40) * 10.0 ** rng.integers(3, 5, 40)
        submit = np.sort(rng.integers(0, 8, 40)) * 2e6  # some at once, and in between the queue is empty for days
        workload = jobs(submit=submit, seconds=seconds, estimate=seconds, size=rng.integers(1, 5, 40))
        workload = of_users(workload, rng.integers(0, 4, 40))
        whole = run_baseline(FOUR, workload, "multifactor", "textbook").simulation.tasks["start"]
        assert starts(FOUR, workload, "multifactor") == whole.tolist()


@pytest.mark.parametrize(("submitted", "first"), [(1.5 * WEEK, 3), (2.5 * WEEK, 2)])
def test_a_job_ages_for_a_week_and_no_longer(submitted, first):
    # users 0 and 1 run 100 s and three weeks; then the job of user 0, who has used more than user 2, waits for three
    # weeks, and that of user 2 for 1.5 weeks, which counts alike, or for half a week, which counts less
    workload = jobs(submit=[0, 1, 2, submitted], seconds=[100, 3 * WEEK, 10, 10])
    started = starts(ONE, of_users(workload, [0, 1, 0, 2]), "multifactor")
    assert started[first] == 3 * WEEK + 100


@pytest.mark.skipif(not ENABLED, reason="calls functions that machine code alone calls")
def test_a_job_that_outlives_its_prediction_is_expected_to_run_longer_by_one_increment_after_the_other():
    rows = of_users(jobs(submit=[0, 0, 50], seconds=[10, 10, 9999], estimate=1000.0), 7)
    policy = baseline("sjf@tsafrir")
    actions = PolicyActions([policy])
    state = State(FOUR, rows, needs=actions.needs)
    history = new_plans(state, [policy]).knowledge.history
    for instant in (Instant(0.0, [], 2, False), Instant(10.0, [0, 1], 0, False), Instant(50.0, [], 1, True)):
        state.receive(instant)
        read_history(state.tables, history)
        actions.apply(0, state)
    expected = {0: 10, 9: 10, 10: 70, 69: 70, 70: 370, 369: 370, 370: 1000, 999: 1000, 1500: 1500}  # 1270 > the request
    found = {}
    for elapsed in expected:
        state.tables.clock["now"] = 50.0 + elapsed
        found[elapsed] = known_or_predicted(state.tables, history, LAST_TWO, 2)
    assert found == expected
    state.tables.clock["now"] = 51.0
    history.planned[LAST_TWO - FIRST_PREDICTED, 2] = 5000.0  # as a model of survival may say
    assert known_or_predicted(state.tables, history, LAST_TWO, 2) == 1000.0


def estimated(past, running, job, now, shares):
    """How long a job is estimated to run, the mean of 1 / time and the chance to be short, in plain Python.

    *past* are (run time, request, cores, submit) of the user's ended jobs, the latest first; *running* s that a job of
    the user with the same request has run, 0 for none.
    """
    request, cores, submit = job
    points = [
        (made.JOBS_OF_ALL * share / sum(shares), max(request * math.exp(-0.3 * b), 1.0))
        for b, share in enumerate(shares)
    ]
    for i, (run_time, its_request, its_cores, its_submit) in enumerate(past[:32]):
        unlike = abs(math.log(its_request / request)) / made.ALIKE_TIME
        unlike += abs(math.log(its_cores / cores)) / made.ALIKE_CORES
        weight = math.exp(-i / made.FORGETTING) * max(made.LEAST_ALIKE, math.exp(-unlike))
        weight *= 1 + made.BURST * math.exp(-abs(submit - its_submit) / made.BURST_TIME)
        time = min(max(run_time, 1.0), request)
        points.append((weight * (made.OUTLIVED if time < running else 1.0), time))
    if running:
        points += [(made.SIBLING / 3, running * (request / running) ** ((g + 0.5) / 3)) for g in range(3)]
    total = sum(weight for weight, _ in points)
    mean = sum(weight * time for weight, time in points) / total
    rate = sum(weight / max(time, 10.0) for weight, time in points) / total
    return mean, rate, sum(weight for weight, time in points if time < 600) / total


def prior():
    return [1 - math.exp(-0.15)] + [math.exp(-0.3 * b + 0.15) - math.exp(-0.3 * b - 0.15) for b in range(1, 40)]


def test_an_estimate_is_what_plain_python_makes_of_the_same_past():
    rows = jobs(submit=[0, 1, 2, 50], seconds=1.0, estimate=[900, 300, 900, 900], size=[1, 2, 1, 1])
    rows = of_users(rows, 5)
    policy = baseline("sjf@expected+greedy")
    actions = PolicyActions([policy])
    state = State(FOUR, rows, needs=actions.needs)
    plans = new_plans(state, [policy])
    state.receive(Instant(0.0, [], 1, False))
    assert not actions.apply(0, state)
    state.receive(Instant(1.0, [], 1, False))
    actions.apply(0, state)
    state.receive(Instant(20.0, [1], 1, False))  # job 1 has run 19 s
    actions.apply(0, state)
    state.receive(Instant(45.0, [2], 0, False))  # job 2 has run 25 s
    state.receive(Instant(50.0, [], 1, True))  # job 0 has been running for 50 s
    plans.knowledge.history.past["refreshed"] = made.MOST_REFRESHED
    read_history(state.tables, plans.knowledge.history)
    assert plans.knowledge.history.past["refreshed"] == 0  # each decision may make so many estimates anew
    made.bring_estimate(state.tables, plans.knowledge.history, 3)
    shares = [10 * share for share in prior()]
    for run_time, request in ((19.0, 300.0), (25.0, 900.0)):  # both requests are in the range up to 1800 s
        shares = [share * 0.998 for share in shares]
        shares[int(0.5 + math.log(request / run_time) / 0.3)] += 1
    past = [(25.0, 900.0, 1, 2.0), (19.0, 300.0, 2, 1.0)]
    expected = estimated(past, 50.0, (900.0, 1, 50.0), 50.0, shares)
    found = plans.knowledge.history.outlooks[OF_EXPECTED, 3]
    assert [found["time"], found["rate"], found["short"]] == pytest.approx(expected, rel=1e-12)


@pytest.mark.lane(compiled=r"zoo:balanced|saf@expected.*")
@pytest.mark.parametrize("name", LOOK_BACK)
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_nothing_of_the_future_is_known(name, seed):
    check_that_the_future_is_unknown(name, seed)


def test_the_candidates_for_backfilling_have_run_times_of_their_own():
    rng = np.random.default_rng(3)
    seconds = rng.integers(1, 60, 60)
    workload = jobs(
        submit=np.sort(rng.integers(0, 300, 60)),
        seconds=seconds,
        estimate=seconds * rng.integers(1, 4, 60),
        size=rng.integers(1, 5, 60),
    )
    workload = of_users(workload, rng.integers(0, 3, 60))
    alike, own = "sjf@tsafrir+easysjf@tsafrir", "sjf@tsafrir+easysjf@ewma"
    assert starts(FOUR, workload, alike) == starts(FOUR, workload, "sjf@tsafrir+easy@tsafrir")
    assert starts(FOUR, workload, own) != starts(FOUR, workload, "sjf@tsafrir+easy@ewma")


def test_a_job_that_is_predicted_to_run_more_briefly_now_is_tried_again():
    # 0 has 3 of 6 cores until 100, 3 waits for all; 4 requests 2 cores and 200 s, too long to start at 2. Until 10 two
    # jobs of its user have ended, of 2 s and 10 s; so it is predicted to end before 100, on no more cores than at 2
    estimate, size = [100, 50, 50, 100, 200, 60], [3, 1, 1, 6, 2, 1]
    rows = jobs(submit=[0, 0, 0, 1, 1, 5], seconds=1.0, estimate=estimate, size=size)
    rows = of_users(rows, [1, 0, 0, 1, 0, 1])
    actions = PolicyActions([baseline("fcfs+easy@tsafrir"), baseline("sjf")])
    state = State(cores(6), rows, needs=actions.needs)
    for now, completed, submitted, action in ((0, [], 3, 0), (1, [], 2, 0), (2, [1], 0, 0), (5, [], 1, 1)):
        state.receive(Instant(float(now), completed, submitted, now == 5))
        actions.apply(action, state)
    assert state.waiting.tolist() == [3, 4]  # at 5 the other policy has started 5 on one of the cores
    state.receive(Instant(10.0, [2], 0, True))
    actions.apply(0, state)
    assert state.started_now.tolist() == [4]
