"""EASY: a job behind the head may be backfilled if it ends by the head's shadow time, that time included."""

import pytest
from small import jobs
from test_baselines import starts

TWO_CORES = ((1000.0, [(2, 1.0, 100.0, 1e6)]),)


@pytest.mark.parametrize(("seconds", "start"), [(8.0, 2.0), (8.5, 15.0)])
def test_a_job_that_ends_exactly_at_the_shadow_time_is_backfilled_and_a_longer_one_is_not(seconds, start):
    # one of two cores is busy until 10, which is the shadow time of the head, which needs both for 5 s;
    # at 2 comes a job for the core in between: it ends at 10 or at 10.5
    workload = jobs(submit=[0, 1, 2], seconds=[10, 5, seconds], size=[1, 2, 1])
    assert starts(workload, "fcfs+easy", TWO_CORES) == [0, 10, start]


@pytest.mark.parametrize(("seconds", "start"), [(8.0, 2.0), (8.5, 15.0)])
def test_the_shadow_time_of_a_head_that_waits_for_memory_is_included_too(seconds, start):
    # 100 MB: the first job holds 55 until 10 and the head wants 60 for 5 s; the third wants 45: 40 are left then
    nodes = ((100.0, [(3, 1.0, 100.0, 1e6)]),)
    workload = jobs(submit=[0, 1, 2], seconds=[10, 5, seconds], size=1, memory=[55.0, 60.0, 45.0])
    assert starts(workload, "fcfs+easy", nodes) == [0, 10, start]


def test_a_job_refused_beside_one_head_is_tried_again_beside_the_next_that_spares_more():
    # of ten cores 0 has two until 100 and 1 four until 50, as requested; 2 wants eight for 20 s, expected at 50
    # and spares none: 4, with two cores for long, would delay it. At 10 both end and 2 starts; 3, which wants five, is
    # expected at 30 and spares five: 4 starts, though fewer cores are free than before and the shadow time is earlier
    seconds = [10, 10, 20, 5, 1000]
    workload = jobs([0, 0, 1, 2, 3], seconds, [2, 4, 8, 5, 2], estimate=[100, 50, 20, 5, 1000], delay=seconds)
    assert starts(workload, "fcfs+easy", ((1000.0, [(10, 1.0, 100.0, 1e6)]),)) == [0, 0, 10, 30, 10]
