"""Shared bandwidth, P-states, power and rejections, on clusters whose answer fits on paper (thesis 3.1.1, 3.1.2)."""

import numpy as np
import pytest
from small import jobs, platform, run, run_baseline

from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine.core_pstates import pstate_of
from hdeeprm_like.engine.lifecycle import lacking_when_idle
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.engine.tables import CORES, MEMORY, NOTHING

#                            cores, GFLOP/s, W, GB/s
TWO_PROCESSORS = ((1000.0, [(2, 1.0, 100.0, 10.0), (2, 2.0, 200.0, 10.0)]),)
FIRST, LOW_POWER = 1 - 1, 5


def decided(state, now, completed, submitted):
    """Move on, decide by first-low_power, and return the P-states of all cores."""
    state.receive(Instant(now, completed, submitted, False))
    apply_pair(state.tables, FIRST, LOW_POWER)
    return [pstate_of(state.tables, core) for core in range(state.platform.cores)]


def test_pstates_follow_the_jobs_of_a_processor():
    state = State(platform(*TWO_PROCESSORS), jobs(seconds=np.full(3, 9.0), bandwidth=[6.0, 6.0, 1.0]))
    assert decided(state, 0.0, [], 0) == [3, 3, 3, 3]
    assert decided(state, 1.0, [], 1) == [0, 2, 3, 3]
    assert decided(state, 2.0, [], 1) == [1, 1, 3, 3]  # 12 of 10 GB/s
    assert decided(state, 3.0, [], 1) == [1, 1, 0, 2]
    assert decided(state, 4.0, [0], 0) == [2, 0, 0, 2]
    assert decided(state, 5.0, [1], 0) == [3, 3, 0, 2]
    assert decided(state, 6.0, [2], 0) == [3, 3, 3, 3]


def test_idle_cores_of_a_processor_of_many_words_change_pstate_with_its_first_and_its_last_job():
    """A job on one of 100 cores, which two words hold, raises the others from P3 to P2, and its end drops them."""
    state = State(platform((1e3, [(100, 1.0, 100.0, 10.0)])), jobs(seconds=np.full(2, 9.0)))
    assert decided(state, 0.0, [], 1) == [0] + 99 * [2]
    assert state.drain(requested=True).pstates == {0: 0} | dict.fromkeys(range(1, 100), 2)
    decided(state, 1.0, [], 1)
    assert state.drain(requested=True).pstates == {1: 0}
    decided(state, 2.0, [0], 0)
    assert state.drain(requested=True).pstates == {0: 2}
    decided(state, 3.0, [1], 0)
    assert state.drain(requested=True).pstates == dict.fromkeys(range(100), 3)


def test_a_pstate_that_was_requested_is_not_requested_again():
    state = State(platform((1e3, [(2, 1.0, 100.0, 10.0)])), jobs(seconds=np.full(2, 9.0), bandwidth=6.0))
    assert decided(state, 0.0, [], 2) == [1, 1]  # 12 of 10 GB/s
    assert [state.drain(requested=True).pstates for _ in "ab"] == [{0: 1, 1: 1}, {}]


def test_power_and_energy_follow_the_pstates():
    state = State(platform(*TWO_PROCESSORS), jobs(seconds=np.full(2, 9.0), bandwidth=6.0))
    watts = []
    for instant in ((0.0, [], 0), (1.0, [], 1), (2.0, [], 1), (4.0, [0], 0), (5.0, [1], 0)):
        decided(state, *instant)
        watts.append(state.watts)
    # 5 % of 600 W; 100 + 25 + 20; 100 + 100 + 20: slowed cores draw all; 25 + 100 + 20; idle
    assert watts == pytest.approx([30.0, 145.0, 220.0, 145.0, 30.0])
    assert state.joules == pytest.approx(30.0 + 145.0 + 2 * 220.0 + 145.0)


def test_an_idle_processor_uses_no_bandwidth_whatever_sums_were_rounded_before():
    state = State(platform((1e3, [(2, 1.0, 1.0, 10.0)])), jobs(seconds=np.full(2, 9.0), bandwidth=[0.1, 0.2]))
    for instant in ((0.0, [], 2), (1.0, [0], 0), (2.0, [1], 0)):
        decided(state, *instant)
    assert 0.1 + 0.2 - 0.1 - 0.2 > 0.0
    assert state.tables.loads["used_bandwidth"].tolist() == [0.0]


def test_exactly_the_bandwidth_of_a_processor_slows_no_job():
    finished = run(platform((1e3, [(3, 1.0, 1.0, 0.3)])), jobs(seconds=np.full(3, 5.0), bandwidth=0.1))
    assert finished.finish_time.tolist() == [5.0, 5.0, 5.0]  # although 0.1 + 0.1 + 0.1 > 0.3


@pytest.mark.parametrize("clock", ["textbook", "one-by-one"])
def test_a_job_that_is_slowed_again_and_again_does_all_of_its_work_once(clock):
    # 0 is alone until 4, has a neighbour at 75 % until 8 and another from 9 to 13: 4 + 3 + 1 + 3 s of its 20 s of work,
    # and 9 more
    cluster = platform((1e3, [(2, 1.0, 100.0, 10.0)]))
    workload = jobs(submit=[0, 4, 9], seconds=[20.0, 3.0, 3.0], bandwidth=6.0)
    finished = run_baseline(cluster, workload, "fcfs", clock).simulation.tasks["finish"]
    assert finished.tolist() == pytest.approx([22.0, 8.0, 13.0])


def test_oversubscription_slows_the_jobs_and_its_end_speeds_them_up_again():
    cluster = platform((1e3, [(2, 1.0, 100.0, 10.0)]))
    finished = run(cluster, jobs(submit=[0, 4], seconds=[10.0, 3.0], bandwidth=6.0))
    # the second takes 4 s at 75 %, in which the first does 3 s of its work; 3 s are left at 8 s
    assert finished.start_time.tolist() == [0.0, 4.0]
    assert finished.finish_time.tolist() == [11.0, 8.0]
    assert finished.energy == pytest.approx([1100.0, 400.0], rel=1e-6)
    assert finished.overutilizations["mem_bw"]["procs"]["0"]["values"] == [(4.0, 4.0)]


def test_a_job_is_as_slow_as_its_slowest_core():
    finished = run(platform(*TWO_PROCESSORS), jobs(seconds=6.0, size=3), policy=("first", "high_gflops"))
    assert finished.cores == [[0, 2, 3]]
    assert finished.finish_time.tolist() == [6.0]  # 2 GFLOP/s cores wait for the one of 1 GFLOP/s


def test_slowing_one_processor_slows_a_job_that_spans_two():
    workload = jobs(submit=[0, 0, 3], seconds=[6.0, 4.5, 9.0], size=[2, 1, 1], bandwidth=[4.0, 5.0, 5.0])
    cluster = platform((1e3, [(1, 1.0, 1.0, 10.0), (3, 1.0, 1.0, 10.0)]))
    finished = run(cluster, workload)
    assert finished.cores == [[0, 1], [2], [3]]
    # 14 of 10 GB/s from 3 s on: the second ends at 3 + 1.5 / 0.75 = 5 s; the first has done 4.5 of 6 by then
    assert finished.finish_time[:2].tolist() == [6.5, 5.0]


def test_the_state_knows_how_much_a_job_has_done():
    state = State(platform((1e3, [(2, 1.0, 1.0, 10.0)])), jobs(seconds=np.full(2, 9.0), bandwidth=6.0))
    for instant in ((0.0, [], 1), (2.0, [], 1), (6.0, [1], 0)):
        decided(state, *instant)
    assert state.tables.jobs["done"][0] == 2e9 + 4 * 0.75e9


@pytest.mark.parametrize(
    ("size", "memory", "lacks"),
    [
        (5, 0.0, NOTHING),
        (6, 0.0, CORES),
        (2**31 - 1, 1e300, CORES),
        (5, 100.0, NOTHING),
        (5, 100.5, MEMORY),  # the first node holds one core of it
        (4, 100.5, NOTHING),
        (1, 400.0, NOTHING),
        (1, 401.0, MEMORY),
        (2, 400.0, MEMORY),
        (5, 5e-324, NOTHING),
    ],
)
def test_only_what_the_empty_platform_cannot_hold_is_rejected(size, memory, lacks):
    cluster = platform((200.0, [(2, 1.0, 1.0, 1.0)]), (400.0, [(1, 1.0, 1.0, 1.0), (2, 1.0, 1.0, 1.0)]))
    state = State(cluster, jobs(size=size, memory=memory))
    assert lacking_when_idle(state.tables, 0) == lacks


def test_a_rejected_job_stands_in_no_jobs_way():
    finished = run(platform(), jobs(size=[2, 1], memory=[0.0, 1000.5], seconds=1.0, ids=["w0!a", "w0!b"]))
    assert finished.status.tolist() == [4, 4]
    finished = run(platform(), jobs(size=[2, 1], submit=[0, 0], seconds=1.0))
    assert finished.start_time[1] == 0.0
    assert finished.simulator.unfinished == 0


def test_bandwidth_bars_no_job():
    assert run(platform(), jobs(bandwidth=1000.0, seconds=3.0)).finish_time.tolist() == [4.0]
