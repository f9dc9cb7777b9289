"""The survival model: hazards on paper, what it makes of users, programs and arrays, and nothing of the future."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from on_paper import cores
from on_paper import starts as starts_on
from small import check_that_the_future_is_unknown, jobs

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.policies import estimates as made
from hdeeprm_like.decision.policies import survival as model
from hdeeprm_like.decision.policies.history import OF_SURVIVAL, read_history
from hdeeprm_like.decision.policies.plans import new_plans
from hdeeprm_like.decision.policies.run_times import bring_outlook
from hdeeprm_like.engine.state import Instant, State

ONE, FOUR = cores(1), cores(4)
NAME = "sjf@survival+greedy"
BINS = 64


def starts(workload, name, machine=ONE, users=0, programs=-1):
    columns = {"user": users, "program": programs}
    known = {key: np.broadcast_to(np.array(value), len(workload)) for key, value in columns.items()}
    return np.array(starts_on(machine, replace(workload, **known), name))


def at(rows, programs=2):
    """A state with jobs of user 5, of some programs in turn, and the history of a policy that uses the model."""
    rows = replace(rows, user=np.full(len(rows), 5), program=np.arange(len(rows)) % programs)
    actions = PolicyActions([baseline(NAME)])
    state = State(FOUR, rows, needs=actions.needs)
    return state, actions, new_plans(state, [baseline(NAME)]).knowledge.history


def written(history, ended, outlived=(), logs=math.log):
    """Write weights by hand: {s: weight of the jobs that ended then}, {s: weight of those that have come so far}."""
    history.bins[:] = 0.0
    for time, weight in ended.items():
        b = bin_of(time)
        history.bins[b, model.ENDED] += weight
        history.bins[b, model.LOG_SUM] += weight * logs(time)
    for time, weight in dict(outlived).items():
        history.bins[bin_of(time), model.OUTLIVED] += weight
    model.survive(history)
    return {b: mass for b, mass in enumerate(history.bins[:, model.MASS].tolist()) if mass}


def bin_of(time):
    return min(max(1 + math.floor(math.log(time / 10.0) / model.WIDTH + 1e-12), 0), BINS - 1)


def test_the_hazard_of_a_bin_is_what_ended_there_of_what_came_so_far():
    # of four jobs one ends after 20 s, two after 200 s; the fourth still runs after 100 s. The hazard is 1 / 4 at 20 s
    # and 1 at 200 s, where the fourth is no longer counted
    _, _, history = at(jobs(submit=[0]))
    assert written(history, {20.0: 1.0, 200.0: 2.0}) == pytest.approx({bin_of(20.0): 1 / 3, bin_of(200.0): 2 / 3})
    found = written(history, {20.0: 1.0, 200.0: 2.0}, {100.0: 1.0})
    assert found == pytest.approx({bin_of(20.0): 0.25, bin_of(200.0): 0.75})
    # one that has come as far as 20 s may yet end there: it says nothing about that
    found = written(history, {20.0: 1.0, 200.0: 2.0}, {20.0: 1.0})
    assert found == pytest.approx({bin_of(20.0): 1 / 3, bin_of(200.0): 2 / 3})


def test_quantiles_and_means_are_those_of_the_jobs_that_run_longer():
    _, _, history = at(jobs(submit=[0]))
    written(history, {20.0: 1.0, 200.0: 2.0, 2000.0: 1.0})
    assert [model.quantile(history, share, 0.0) for share in (0.2, 0.3, 0.7, 0.9)] == pytest.approx(
        [20, 200, 200, 2000]
    )
    assert model.quantile(history, 0.5, 50.0) == pytest.approx(200.0)
    assert model.quantile(history, 0.9, 50.0) == pytest.approx(2000.0)
    assert model.quantile(history, 0.1, 300.0) == pytest.approx(2000.0)
    assert model.quantile(history, 0.5, 5000.0) == 5000.0  # nothing is known of longer ones
    assert model.mean_after(history, 50.0) == pytest.approx(math.exp((2 * math.log(200) + math.log(2000)) / 3))
    assert model.mean_after(history, 5000.0) == 5000.0


def modelled(past, running, job, shares):
    """The masses of the model in plain Python: {bin: (mass, mean ln s)}.

    *past* are (run time, request, cores, submit, program) of the user's ended jobs, the latest first, *running* are
    (elapsed, request, cores, submit, program), *job* is (request, cores, submit, program).
    """
    request, cores, submit, program = job

    def like(its_request, its_cores, its_submit, its_program):
        unlike = (
            abs(math.log(its_request / request)) / made.ALIKE_TIME + abs(math.log(its_cores / cores)) / made.ALIKE_CORES
        )
        burst = 1 + made.BURST * math.exp(-abs(submit - its_submit) / made.BURST_TIME)
        other = 1.0 if program == its_program else model.OTHER_PROGRAM
        return max(made.LEAST_ALIKE, math.exp(-unlike)) * burst * other

    points = [
        (model.OF_ALL * share / sum(shares), max(request * math.exp(-0.3 * b), 10.0)) for b, share in enumerate(shares)
    ]
    for i, (run_time, *other) in enumerate(past):
        points.append((math.exp(-i / made.FORGETTING) * like(*other), min(max(run_time, 10.0), request)))
    censored = [(like(*other), min(max(elapsed, 10.0), request)) for elapsed, *other in running]
    found, left = {}, 1.0
    for b in range(BINS):
        here = [(weight, math.log(time)) for weight, time in points if bin_of(time) == b]
        risk = sum(w for w, time in points if bin_of(time) >= b) + sum(w for w, time in censored if bin_of(time) > b)
        ended = sum(weight for weight, _ in here)
        if ended:
            mass = left * ended / risk
            found[b] = mass, sum(weight * log for weight, log in here) / ended
            left -= mass
    return found


def test_the_model_is_what_plain_python_makes_of_the_same_past():
    rows = jobs(submit=[0, 1, 2, 50], seconds=1.0, estimate=[900, 300, 900, 900], size=[1, 2, 1, 1])
    state, actions, history = at(rows)  # programs 0, 1, 0, 1
    state.receive(Instant(0.0, [], 1, False))
    actions.apply(0, state)
    state.receive(Instant(1.0, [], 1, False))
    actions.apply(0, state)
    state.receive(Instant(21.0, [1], 1, False))  # job 1 has run 20 s
    actions.apply(0, state)
    state.receive(Instant(46.0, [2], 0, False))  # job 2 has run 25 s
    state.receive(Instant(50.0, [], 1, True))  # job 0 has been running for 50 s
    read_history(state.tables, history)
    shares = [10 * (math.exp(-0.3 * b) * (math.exp(0.15) - math.exp(-0.15))) for b in range(40)]
    shares[0] = 10 * (1 - math.exp(-0.15))
    for run_time, request in ((20.0, 300.0), (25.0, 900.0)):
        shares = [share * 0.998 for share in shares]
        shares[int(0.5 + math.log(request / run_time) / 0.3)] += 1
    past = [(25.0, 900.0, 1, 2.0, 0), (20.0, 300.0, 2, 1.0, 1)]
    expected = modelled(past, [(50.0, 900.0, 1, 0.0, 0)], (900.0, 1, 50.0, 1), shares)
    bring_outlook(state.tables, history, OF_SURVIVAL, 3)
    masses, logs = history.bins[:, model.MASS], history.bins[:, model.LOG_TIME]
    assert {b: (masses[b], logs[b]) for b in expected} == {
        b: pytest.approx(one, rel=1e-9) for b, one in expected.items()
    }
    assert masses.sum() == pytest.approx(1.0)
    outlook = history.outlooks[OF_SURVIVAL, 3]
    mean = sum(mass * log for mass, log in expected.values())
    assert outlook["log_time"] == pytest.approx(mean)
    assert outlook["time"] == pytest.approx(sum(mass * math.exp(log) for mass, log in expected.values()))
    assert outlook["rate"] == pytest.approx(sum(mass * math.exp(-log) for mass, log in expected.values()))
    assert outlook["short"] == pytest.approx(sum(mass for b, (mass, _) in expected.items() if b <= bin_of(599.0)))
    assert outlook["work"] == pytest.approx(math.exp(mean))


def test_of_many_jobs_the_last_32_count_and_before_these_so_many_of_the_same_program_that_it_has_16():
    rows = jobs(submit=np.arange(151.0), seconds=1.0, estimate=900)  # each fifth is of the program of the last
    state, actions, history = at(rows, 5)
    for j in range(151):
        state.receive(Instant(float(j), [j - 1] if j else [], 1, j == 150))
        actions.apply(0, state)
    read_history(state.tables, history)
    expected, same = model.OF_ALL, 0
    for i, j in enumerate(range(149, -1, -1)):  # the latest first
        alike = j % 5 == 0
        if i < 32 or (alike and same < 16):
            age = i if i < 32 else same
            weight = math.exp(-age / made.FORGETTING) * (1 + made.BURST * math.exp(-(150 - j) / made.BURST_TIME))
            expected += weight if alike else weight * model.OTHER_PROGRAM
            same += alike
    model.build(state.tables, history, 150)
    assert same == 16
    assert history.bins[:, model.ENDED].sum() == pytest.approx(expected)


def test_a_program_that_ran_briefly_goes_before_one_that_ran_long():
    # one user, one request; program 1 runs 11 s, program 2 runs 900 s. Two more of each wait from 4000 on behind a job
    submit = [*range(0, 8), 3690, 3700, 3701]
    seconds = [11, 900] * 4 + [400, 900, 11]
    programs = [1, 2] * 4 + [3, 2, 1]
    rows = jobs(submit=submit, seconds=seconds, estimate=1000)
    found = starts(rows, "fcfs", programs=programs)
    assert found[9:].tolist() == [4090, 4990]
    assert starts(rows, "sjf@survival", programs=programs)[9:].tolist() == [4101, 4090]


def test_what_runs_long_says_that_its_siblings_will_run_long():
    # user 0 has three jobs on three of four cores, which have been running for 950 s when the fourth core gets free; a
    # fourth one of them and a job of user 1, of whom nothing is known, wait for it with the same request
    rows = jobs(submit=[0, 0, 0, 0, 10, 11], seconds=[2000, 2000, 2000, 950, 2000, 100], estimate=3000, size=1)
    users = [0, 0, 0, 2, 0, 1]
    assert starts(rows, "sjf@requested+greedy", FOUR, users)[4:].tolist() == [950, 2000]
    assert starts(rows, "sjf@survival+greedy", FOUR, users)[4:].tolist() == [1050, 950]


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["saf@survival+easy@survival90", "zoo:steady@survival"])
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_nothing_of_the_future_is_known(name, seed):
    check_that_the_future_is_unknown(name, seed)
