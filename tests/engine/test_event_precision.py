"""The event clock takes two events for one where they are closer than the precision of timers, about a nanosecond."""

import numpy as np
import pytest
from small import jobs, platform, textbook

from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine.numbers import FIRST, HIGH_GFLOPS
from hdeeprm_like.engine.state import State

NANOSECOND = 1e-9
TWO_CORES = (1000.0, [(2, 1.0, 100.0, 10.0)])


def instants(workload, wake_up=np.inf):
    """Run first come, first served on two cores, called once at *wake_up*; return (time, ends, submissions) of each."""
    state = State(platform(TWO_CORES), workload)
    clock = textbook(state, workload)
    found = []
    while (instant := clock.next_instant()) is not None:
        found.append((instant.now, len(instant.completed), instant.submitted))
        state.receive(instant)
        apply_pair(state.tables, FIRST, HIGH_GFLOPS)
        state.wake_at = wake_up if len(found) == 1 else np.inf
        clock.apply(state.drain())
    return found


@pytest.mark.parametrize("apart", [0.0, 0.5 * NANOSECOND, NANOSECOND])
def test_jobs_that_end_a_nanosecond_apart_end_at_once(apart):
    assert instants(jobs(seconds=[5.0, 5.0 + apart])) == [(0.0, 0, 2), (5.0, 2, 0)]


@pytest.mark.parametrize("apart", [1.2 * NANOSECOND, 2.0 * NANOSECOND, 1e-6])
def test_jobs_that_end_further_apart_end_one_after_the_other(apart):
    assert instants(jobs(seconds=[5.0, 5.0 + apart])) == [(0.0, 0, 2), (5.0, 1, 0), (5.0 + apart, 1, 0)]


@pytest.mark.parametrize("before", [0.5 * NANOSECOND, NANOSECOND])
def test_a_call_a_nanosecond_before_an_end_comes_with_it(before):
    assert instants(jobs(seconds=5.0), wake_up=5.0 - before) == [(0.0, 0, 1), (5.0, 1, 0)]


@pytest.mark.parametrize("before", [1.2 * NANOSECOND, 2.0 * NANOSECOND, 1e-6])
def test_a_call_further_before_an_end_comes_alone(before):
    assert instants(jobs(seconds=5.0), wake_up=5.0 - before) == [(0.0, 0, 1), (5.0 - before, 0, 0), (5.0, 1, 0)]
