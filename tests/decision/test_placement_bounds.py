"""What no schedule of a machine of several kinds of cores can go below: on paper, and against schedules."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small import jobs, platform

sys.path.append(str(Path(__file__).parents[1] / "bench"))
from placement_bounds import Bounds
from placements import played

FAST, SLOW = (1, 2.0, 100.0, 1e3), (1, 1.0, 50.0, 1e3)  # cores, GFLOP/s, W, GB/s of a processor
POLICIES = ("sjf+easy-high_gflops", "fcfs+greedy-low_power", "saf+easy-random")


def test_alone_a_job_has_the_fastest_cores_that_can_hold_it():
    machine = platform((1000.0, [FAST]), (100.0, [SLOW]), gpus=(0, 1))
    three = jobs(seconds=[20, 20, 20], size=[1, 2, 1], gpus=[0, 0, 1])  # one core, both, and one beside the GPU
    bounds = Bounds(machine, three)
    assert bounds.best_seconds.tolist() == [10.0, 20.0, 20.0]
    assert bounds.alone() == pytest.approx(50 / 3)


def test_rents_count_that_two_jobs_share_the_fast_core():
    machine = platform((1000.0, [FAST, SLOW]))
    bounds = Bounds(machine, jobs(seconds=[20, 20]))
    assert bounds.alone() == 10.0
    assert 14.0 < bounds.with_rents() <= 15.0  # one of the two takes 20 s, wherever and whenever it runs


def test_rents_count_that_two_jobs_share_the_gpu_while_a_faster_core_is_free():
    machine = platform((1000.0, [FAST]), (1000.0, [SLOW]), gpus=(0, 1))
    bounds = Bounds(machine, jobs(seconds=[20, 20], gpus=[1, 1]))
    assert bounds.alone() == 20.0
    assert 28.0 < bounds.with_rents() <= 30.0


def test_energy_is_that_of_the_frugal_cores_as_far_as_they_have_time():
    one = Bounds(platform((1000.0, [SLOW])), jobs(seconds=10))
    assert one.frugal() == pytest.approx((500.0, 5000.0))
    greedy = (1, 2.0, 300.0, 1e3)
    two = Bounds(platform((1000.0, [greedy, SLOW])), jobs(seconds=[10, 10]))
    energy, product = two.frugal()
    whole = (50.0 + 15.0) * 20.0  # both jobs on the frugal core, the other asleep
    shared = (50.0 + 300.0) * 20.0 / 3.0  # all work spread over both, to the same end
    assert whole * 0.97 < energy <= whole
    assert shared * 20.0 / 3.0 * 0.95 < product <= shared * 20.0 / 3.0


# some seconds for each world
@pytest.mark.more
@settings(max_examples=15, deadline=None)
@example(182130)  # all rents are 0
@given(st.integers(0, 10**6))
def test_no_schedule_is_below_a_bound(seed):
    rng = np.random.default_rng(seed)
    kinds = [
        (int(rng.integers(1, 4)), float(rng.choice([1.0, 1.5, 3.0])), float(rng.choice([20.0, 90.0]))) for _ in "abcd"
    ]
    machine = platform(
        *((float(rng.choice([60.0, 200.0])), [(*kinds[n], 12.0)]) for n in range(3)),
        (200.0, [(*kinds[3], 12.0)]),
        gpus=(0, 0, 0, 2),
    )
    count = 25
    workload = jobs(
        submit=np.sort(rng.uniform(0, 120, count)),
        seconds=rng.choice([2.0, 10.0, 60.0], count),
        size=rng.integers(1, 4, count),
        memory=rng.choice([0.0, 30.0], count),
        bandwidth=rng.choice([1.0, 8.0], count),
        gpus=rng.choice([0.0, 1.0], count, p=[0.9, 0.1]),
    )
    bounds = Bounds(machine, workload)
    energy, product = bounds.frugal()
    assert bounds.alone() <= bounds.with_rents()
    for name in POLICIES:
        found = played(machine, workload, name)
        assert found.turnaround >= bounds.with_rents() - 1e-3
        assert found.energy >= energy * (1.0 - 1e-9)
        assert found.energy_delay_product >= product * (1.0 - 1e-9)
