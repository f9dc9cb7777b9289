"""What users' own parts read of a state, on a cluster that fits on paper, instant by instant."""

import numpy as np
import pytest
from small import jobs, platform, textbook

from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES
from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine.state import State

# two nodes: one with processors of 2 and 1 cores and 100 MB, one with a processor of 2 cores, 200 MB and 3 GPUs
NODES = (100.0, [(2, 1.0, 80.0, 10.0), (1, 1.0, 80.0, 10.0)]), (200.0, [(2, 1.0, 80.0, 20.0)])
# job 0 takes node 0 whole and oversubscribes its bandwidth, so that it runs 10 s at 3/4 of the speed; job 1, of two
# cores, runs on node 1; job 2 waits for a core; job 3 has more memory than any node; job 4 comes late
WORKLOAD = {
    "submit": [0, 0, 1, 1, 50],
    "seconds": [7.5, 20.0, 30.0, 40.0, 50.0],
    "size": [3, 2, 1, 1, 1],
    "memory": [20.0, 30.0, 5.0, 900.0, 0.0],
    "bandwidth": [6.0, 1.0, 0.0, 0.0, 0.0],
    "gpus": [0.0, 2.0, 0.0, 0.0, 0.0],
    "estimate": [15.0, 25.0, 35.0, 45.0, 55.0],
}
TABLES = {  # property: the same figures by job, as they were requested
    "submit_time": WORKLOAD["submit"],
    "requested_time": WORKLOAD["estimate"],
    "requested_ops": [1e9 * seconds for seconds in WORKLOAD["estimate"]],
    "requested_cores": WORKLOAD["size"],
    "requested_memory": WORKLOAD["memory"],
    "requested_bandwidth": WORKLOAD["bandwidth"],
    "requested_gpus": [0.0, 1.0, 0.0, 0.0, 0.0],  # for each of two cores
}


def states():
    """Yield the state after the decisions of each instant, first come, first served."""
    workload = jobs(**WORKLOAD)
    state = State(platform(*NODES, gpus=[0.0, 3.0]), workload)
    clock = textbook(state, workload)
    while (instant := clock.next_instant()) is not None:
        state.receive(instant)
        apply_pair(state.tables, JOB_POLICIES["first"], CORE_POLICIES["high_gflops"])
        clock.apply(state.drain())
        yield state


def at(time):
    """Return the state after the decisions of the instant at *time*."""
    return next(state for state in states() if state.now == time)


def rows(state):
    return [found.tolist() for found in (state.waiting, state.running, state.completed, state.rejected)]


def test_jobs_wait_run_complete_or_are_rejected():
    found = {state.now: rows(state) for state in states()}
    assert found == {
        0.0: [[], [0, 1], [], []],
        1.0: [[2], [0, 1], [], [3]],
        10.0: [[], [1, 2], [0], [3]],
        20.0: [[], [2], [0, 1], [3]],
        40.0: [[], [], [0, 1, 2], [3]],
        50.0: [[], [4], [0, 1, 2], [3]],
        100.0: [[], [], [0, 1, 2, 4], [3]],
    }


@pytest.mark.parametrize("name", TABLES)
def test_what_jobs_request_is_an_array_over_them(name):
    assert getattr(at(1.0), name).tolist() == TABLES[name]


def test_times_of_jobs_are_nan_until_they_are_known():
    state = at(20.0)
    np.testing.assert_array_equal(state.start_time, [0.0, 0.0, 10.0, np.nan, np.nan])
    np.testing.assert_array_equal(state.finish_time, [10.0, 20.0, np.nan, np.nan, np.nan])


@pytest.mark.parametrize(
    ("name", "all_serve", "job_2_alone"),  # at 1 s; at 20 s, on the first core
    [
        ("core_job", [0, 0, 0, 1, 1], [2, -1, -1, -1, -1]),
        ("processor_free_cores", [0, 0, 0], [1, 1, 2]),
        ("processor_busy_cores", [2, 1, 2], [1, 0, 0]),
        ("processor_free_bandwidth", [10.0 - 2 * 6.0, 10.0 - 6.0, 20.0 - 2 * 1.0], [10.0, 10.0, 20.0]),
        ("node_free_cores", [0, 0], [2, 2]),
        ("node_free_memory", [100.0 - 3 * 20.0, 200.0 - 2 * 30.0], [95.0, 200.0]),
        ("node_free_gpus", [0.0, 1.0], [0.0, 3.0]),
    ],
)
def test_what_is_free_while_all_cores_serve_jobs_and_after_two_have_ended(name, all_serve, job_2_alone):
    assert [getattr(at(time), name).tolist() for time in (1.0, 20.0)] == [all_serve, job_2_alone]
    assert [at(time).free_cores for time in (1.0, 20.0)] == [0, 4]


def test_it_is_known_whether_more_jobs_come():
    assert [state.arrivals_over for state in states()] == [False, False, False, False, False, True, True]


def test_nothing_can_be_written_through_a_property():
    state = at(1.0)
    views = [*TABLES, "start_time", "finish_time", "processor_free_cores", "processor_busy_cores"]
    for name in [*views, "node_free_memory", "node_free_gpus", "core_job"]:
        with pytest.raises(ValueError, match="read-only"):
            getattr(state, name)[0] = 7
