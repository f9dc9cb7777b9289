"""The textbook's clock: all of one time at once, and calls at the times that are requested."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_worlds import world
from small import jobs, platform, run_baseline, textbook

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine.event_clock import apply_decisions, next_instant
from hdeeprm_like.engine.numbers import FIRST, HIGH_GFLOPS
from hdeeprm_like.engine.state import Commands, State
from hdeeprm_like.engine.tasks import SUCCESS, WALLTIME_REACHED
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.run.simulator import Simulator


def play(workload, wake_at, one_by_one=False, cluster=None):
    """Serve first come, first served on one core, requesting a call at ``wake_at(now)``; return what happened when."""
    state = State(cluster or platform(), workload)
    clock = textbook(state, workload, one_by_one)
    instants = []
    while (instant := clock.next_instant()) is not None:
        instants.append((instant.now, len(instant.completed), instant.submitted))
        state.receive(instant)
        apply_pair(state.tables, FIRST, HIGH_GFLOPS)
        state.wake_at = wake_at(instant.now)
        clock.apply(state.drain())
    assert clock.unfinished == 0
    return instants


def asking(times):
    asked = iter(times)
    return lambda now: next(asked, np.inf)


@pytest.mark.parametrize("delay", [-1.0, 10.0])
def test_a_job_ends_at_its_walltime_and_is_said_to(delay):
    run = run_baseline(
        platform(), jobs(submit=[0, 20], seconds=[10, 3], delay=[delay, 3.0], walltime=4.0), "fcfs", "textbook"
    )
    tasks = run.simulation.tasks
    assert tasks["finish"].tolist() == [4.0, 23.0]
    assert tasks["outcome"].tolist() == [WALLTIME_REACHED, SUCCESS]


NS = 1e-9  # s, about the precision of timers: what is no further apart is one event
TWO_CORES = platform((1000.0, [(2, 1.0, 100.0, 10.0)]))
THIRD = 0.1 + 0.2  # is not 0.3
INSTANTS = {  # jobs, the calls that are requested one after the other, and (time, ends, submissions) of each instant
    "all that has one time happens at once": (
        jobs(submit=[0, 3, 3], seconds=3.0), [], [(0, 0, 1), (3, 1, 2), (6, 1, 0), (9, 1, 0)],
    ),
    "nothing else happens at a call": (
        jobs(submit=[0, 7], seconds=5.0), [2, 4], [(0, 0, 1), (2, 0, 0), (4, 0, 0), (5, 1, 0), (7, 0, 1), (12, 1, 0)],
    ),
    "unless it has the same time": (
        jobs(submit=[0, 7], seconds=5.0), [5, 7, 9], [(0, 0, 1), (5, 1, 0), (7, 0, 1), (9, 0, 0), (12, 1, 0)],
    ),
    "a call requested in the past comes ten microseconds later": (
        jobs(seconds=5.0), [-3.0], [(0, 0, 1), (1e-5, 0, 0), (5, 1, 0)],
    ),
    "a call takes the place of an earlier one": (
        jobs(submit=[0, 1, 2], seconds=5.0), [20, 4],
        [(0, 0, 1), (1, 0, 1), (2, 0, 1), (4, 0, 0), (5, 1, 0), (10, 1, 0), (15, 1, 0)],
    ),
    "and stands until it comes": (
        jobs(submit=[0, 1, 2], seconds=5.0), [20],
        [(0, 0, 1), (1, 0, 1), (2, 0, 1), (5, 1, 0), (10, 1, 0), (15, 1, 0), (20, 0, 0)],
    ),
    "a call a rounding error before an end comes with it": (jobs(seconds=THIRD), [0.3], [(0, 0, 1), (THIRD, 1, 0)]),
    "and never early": (jobs(seconds=0.3), [THIRD], [(0, 0, 1), (0.3, 1, 0), (THIRD, 0, 0)]),
}  # fmt: skip


@pytest.mark.parametrize("world", INSTANTS)
def test_instants_come_as_on_paper(world):
    workload, calls, expected = INSTANTS[world]
    assert play(workload, asking(calls)) == expected


def test_a_call_in_the_past_comes_so_where_events_are_told_one_by_one():
    assert play(jobs(seconds=5.0), asking([-3.0]), one_by_one=True) == [(0, 0, 1), (1e-5, 0, 0), (5, 1, 0)]


@pytest.mark.parametrize("apart", [0.0, 0.5 * NS, NS])
def test_events_a_nanosecond_apart_are_one(apart):
    assert play(jobs(seconds=[5.0, 5.0 + apart]), asking([]), cluster=TWO_CORES) == [(0.0, 0, 2), (5.0, 2, 0)]
    if apart:
        assert play(jobs(seconds=5.0), asking([5.0 - apart])) == [(0.0, 0, 1), (5.0, 1, 0)]


@pytest.mark.parametrize("apart", [1.2 * NS, 2.0 * NS, 1e-6])
def test_events_further_apart_are_two(apart):
    ends = play(jobs(seconds=[5.0, 5.0 + apart]), asking([]), cluster=TWO_CORES)
    assert ends == [(0.0, 0, 2), (5.0, 1, 0), (5.0 + apart, 1, 0)]
    called = play(jobs(seconds=5.0), asking([5.0 - apart]))
    assert called == [(0.0, 0, 1), (5.0 - apart, 0, 0), (5.0, 1, 0)]


@pytest.mark.parametrize("seed", [1658, 3549, 4219])
def test_the_clock_never_goes_back_where_an_end_is_found_again_and_rounded(seed):
    cluster, workload, _ = world(seed)
    times = [now for now, _, _ in play(workload, asking([]), one_by_one=True, cluster=cluster)]
    assert times == sorted(times)


def test_calls_can_be_requested_in_compiled_form():
    workload = jobs(seconds=5.0)
    state = State(platform(), workload)
    stepper = textbook(state, workload)
    assert stepper.next_instant() is not None
    stepper.simulation.sim["call_requested"] = 3.0
    apply_decisions(state.tables, stepper.simulation, stepper.clock)
    assert next_instant(state.tables, stepper.simulation, stepper.clock)
    sim = stepper.simulation.sim[0]
    assert (sim["clock"], sim["called"], sim["call"]) == (3.0, 1, np.inf)
    assert not next_instant(state.tables, stepper.simulation, stepper.clock)


def times(workload, name, named):
    clock = run_baseline(pool(16), workload, name, log=False, named=named)
    state = clock.state
    clock_row = state.tables.clock[0]
    assert (clock.unfinished, clock_row["free_cores"], state.tables.loads["busy"].tolist()) == (0, 16, [0])
    return [clock.simulation.tasks[column].tolist() for column in ("start", "finish")], clock_row["joules"]


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(["fcfs", "sjf+easy", "fcfs+conservative", "wfp3+commit"]))
def test_counting_cores_gives_the_schedule_and_the_energy_of_naming_them(seed, name):
    rng = np.random.default_rng(seed)
    submit, seconds = np.sort(rng.integers(0, 30, 20)), rng.integers(1, 20, 20)
    workload = jobs(submit=submit, seconds=seconds, size=rng.integers(1, 17, 20), estimate=seconds + 3.0)
    assert times(workload, name, named=False) == times(workload, name, named=True)


def test_where_cores_have_no_names_nothing_may_depend_on_them():
    with pytest.raises(ValueError, match="all jobs request only cores"):
        State(pool(4), jobs(bandwidth=1.0), named=False)
    with pytest.raises(ValueError, match="one processor"):
        State(platform((1e3, [(1, 1.0, 1.0, 1.0)] * 2)), jobs(), named=False)
    state = State(pool(4), jobs(size=3), named=False)
    with pytest.raises(ValueError, match="have names"):
        Simulator(state, jobs(size=3))
    clock = textbook(state, jobs(size=3))
    state.receive(clock.next_instant())
    apply_pair(state.tables, FIRST, HIGH_GFLOPS)
    assert [(j, cores.tolist()) for j, cores in state.drain().starts] == [(0, [])]
    assert state.tables.clock["free_cores"] == 1


def test_kills_are_refused():
    workload = jobs(seconds=5.0)
    clock = textbook(State(platform(), workload), workload)
    with pytest.raises(OptionsError, match="no kills"):
        clock.apply(Commands(kills=[0]))
