"""Batsim's clock: its rounding, and what comes in one message."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_worlds import platforms, workloads
from small import begun, jobs, platform, run

from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine.dates import SAME_DATE, request_call, wire_time
from hdeeprm_like.engine.state import Instant, State


@settings(max_examples=1000)
@given(st.floats(0.0, 1e9))
@example(0.0000005)
@example(0.0000015)
@example(0.5000005)
@example(2.5e-6)
@example(77.5 * 1e-6)  # a little less than half, by less than what is lost when 0.5 is added to it
@example(999999999.9999995)
@example(134217728.0000005)
def test_a_time_on_the_wire_is_what_printf_and_a_parser_make_of_it(time):
    assert wire_time(time) == float(f"{time:.6f}")


@settings(max_examples=500)
@given(st.integers(0, 10**9), st.integers(0, 10**6))
def test_times_halfway_between_two_microseconds_round_as_printf_does(whole, micro):
    time = whole + (micro + 0.5) * 1e-6
    assert wire_time(time) == float(f"{time:.6f}")


@settings(max_examples=150)
@given(st.floats(0.0, 1e9), st.floats(-10.0, 1e6))
@example(16321.62, 3e-12)  # a reservation with more digits than the wire
@example(44541.333333, 3.3e-7)
@example(1e13, 0.0)
def test_a_call_is_dated_neither_before_its_date_nor_before_now_and_requested_once(moment, ahead):
    state, now = State(platform(), jobs()), wire_time(moment)
    state.receive(Instant(now, [], 0, False))
    wanted = now + ahead
    date = request_call(state.tables, wanted)
    assert date == float(f"{date:.6f}")
    assert date > now
    assert wanted <= date <= max(wanted, now + SAME_DATE) + 1e-6 + 1e-15 * now
    assert request_call(state.tables, wanted) == np.inf
    later = request_call(state.tables, date + 1.0)
    assert later > date
    assert request_call(state.tables, later) == request_call(state.tables, np.inf) == np.inf
    state.receive(Instant(date, [], 0, False))
    assert date < request_call(state.tables, wanted) <= date + SAME_DATE + 1e-6 + 1e-15 * now


def instants(cluster, workload):
    simulator, pair = begun(cluster, workload)
    found = []
    while (instant := simulator.next_instant()) is not None:
        found.append(instant)
        simulator.state.receive(instant)
        apply_pair(simulator.state.tables, *pair)
        simulator.apply(simulator.state.drain())
    return found


def test_a_computation_that_ends_when_a_job_comes_is_reported_after_it():
    # the end lies some 1e-10 s behind the nominal date, as the start was a message of its own
    two = instants(platform(), jobs(submit=[0.0, 3.0], seconds=[3.0, 1.0]))[1:3]
    assert [(instant.now, instant.completed, instant.submitted) for instant in two] == [(3.0, [], 1), (3.0, [0], 0)]


def test_a_delay_that_ends_when_a_job_comes_is_reported_with_it():
    (one,) = instants(platform(), jobs(submit=[0.0, 3.0], delay=[3.0, 1.0]))[1:2]
    assert (one.now, one.completed, one.submitted) == (3.0, [0], 1)


def test_computations_that_start_and_end_together_are_reported_together_in_the_order_of_their_starts():
    cluster = platform((1e3, [(3, 1.0, 1.0, 1.0)]))
    _, ends = instants(cluster, jobs(seconds=np.full(3, 2.0)))
    assert ends.completed == [0, 1, 2]


@given(platforms, workloads())
def test_time_never_goes_back_and_every_job_is_reported_once(cluster, workload):
    found = instants(cluster, workload)
    times = [instant.now for instant in found]
    assert times == sorted(times)
    assert sum(instant.submitted for instant in found) == len(workload)
    ended = [j for instant in found for j in instant.completed]
    assert len(ended) == len(set(ended))
    over = [instant.arrivals_over for instant in found]
    assert over == sorted(over)


@given(platforms, workloads())
def test_the_decision_system_dates_a_start_to_the_microsecond_in_which_it_is(cluster, workload):
    finished = run(cluster, workload)
    started = np.isfinite(finished.simulator.simulation.tasks["start"])
    theirs = finished.simulator.simulation.tasks["start"][started]
    ours = finished.state.tables.jobs["start"][started]
    assert np.all(np.abs(ours - theirs) < 0.5e-6 + 1e-8)  # 25 decisions of 1e-10 s, and the messages before
    assert [wire_time(time) for time in ours] == ours.tolist()


@pytest.mark.parametrize("late", [1e6, 1e8, 1e9])
def test_late_clocks_lose_no_job(late):
    workload = jobs(submit=[0.0, late, late + 1, late + 1], seconds=[2.0, 1.0, 0.5, 0.25])
    finished = run(platform((1e3, [(2, 1.0, 1.0, 1.0)])), workload)
    assert finished.simulator.unfinished == 0
    assert finished.simulator.simulation.tasks["finish"] == pytest.approx(
        [2, late + 1, late + 1.5, late + 1.25], abs=1e-5
    )
