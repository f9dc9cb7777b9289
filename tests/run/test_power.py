"""Idle cores draw a quarter of their peak power beside busy ones, and a twentieth on a processor without any."""

import numpy as np
import pytest
from small import jobs, platform, run

# two processors of two cores; a core of the first draws 80 W at its peak, one of the second 100 W
NODE = (1000.0, [(2, 2.0, 80.0, 10.0), (2, 1.0, 100.0, 10.0)])

ASLEEP = 2 * 0.05 * 80.0 + 2 * 0.05 * 100.0  # 18 W
ONE_BUSY = 80.0 + 0.25 * 80.0 + 2 * 0.05 * 100.0  # 110 W
FIRST_PROCESSOR_BUSY = 2 * 80.0 + 2 * 0.05 * 100.0  # 170 W
THREE_BUSY = 2 * 80.0 + 100.0 + 0.25 * 100.0  # 285 W


def test_the_energy_of_a_run_is_the_sum_over_its_stretches_of_power_times_time():
    # two jobs of 20 and 40 Gflop run on the processor of 2 GFLOP/s, for 10 and 20 s; the third has 1 GFLOP/s
    workload = jobs(submit=[5.0, 5.0, 5.0], seconds=[20.0, 40.0, 30.0])
    finished = run(platform(NODE), workload)
    assert finished.cores == [[0], [1], [2]]
    assert finished.finish_time - 5.0 == pytest.approx([10.0, 20.0, 30.0], abs=1e-4)
    stretches = [
        (5.0, ASLEEP),  # nothing has come yet
        (10.0, THREE_BUSY),
        (10.0, 80.0 + 0.25 * 80.0 + 100.0 + 0.25 * 100.0),  # 225 W: on each processor one core is busy, one idle
        (10.0, 2 * 0.05 * 80.0 + 100.0 + 0.25 * 100.0),  # 133 W: the first processor sleeps
    ]
    assert finished.state.joules == pytest.approx(sum(time * watts for time, watts in stretches), abs=0.01)


@pytest.mark.parametrize(
    ("size", "watts"), [(1, ONE_BUSY), (2, FIRST_PROCESSOR_BUSY), (3, THREE_BUSY), (4, 2 * 80.0 + 2 * 100.0)]
)
def test_the_power_before_a_job_while_it_runs_and_after_it(size, watts):
    finished = run(platform(NODE), jobs(submit=5.0, seconds=10.0, size=size))
    joules = finished.record.power.energy(np.array([1.0, 4.0, 6.0, 9.0]))
    assert joules[1] - joules[0] == pytest.approx(3.0 * ASLEEP)
    assert joules[3] - joules[2] == pytest.approx(3.0 * watts)
    assert finished.state.watts == pytest.approx(ASLEEP)
