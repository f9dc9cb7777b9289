"""EASY on paper: nothing that starts delays the head of the queue, whatever it waits for."""

from dataclasses import replace

import numpy as np
import pytest
from on_paper import OnPaper, cores, node, starts
from small import jobs, platform

HUNDRED_MB = cores(4, memory=100.0)
TWO_NODES = platform(node(2, memory=100.0), node(2, memory=100.0))
CAPPED = replace(TWO_NODES, power_cap=float(TWO_NODES.most_watts[3]))  # three of the four cores can serve jobs
HELD_IN_FRONT = jobs([0, 1, 2], [10, 5, 50], [2, 3, 1])  # 0 has two of three cores until 10, then 1 takes all
WHOLE = {"whole": True}  # each node takes a job whole
REFUSED = [10, 10, 20, 5, 1000]  # s of the jobs of a world

WORLDS = {
    "a job that outlives the reservation starts on cores that the head leaves over": OnPaper(
        cores(3), jobs([0, 1, 2], [10, 5, 50], [2, 2, 1]), {"fcfs+easy": [0, 10, 2]}
    ),
    "and waits where the head leaves none": OnPaper(
        cores(3), HELD_IN_FRONT, {"fcfs+easy": [0, 10, 15], "fcfs+greedy": [0, 52, 2]}
    ),
    # one of two cores is busy until 10, which is the shadow time of the head, which needs both for 5 s; at 2 comes a
    # job for the core in between
    "a job that ends at 10, exactly at the shadow time, is backfilled": OnPaper(
        cores(2), jobs([0, 1, 2], [10, 5, 8.0], [1, 2, 1]), {"fcfs+easy": [0, 10, 2]}
    ),
    "one that ends at 10.5 is not": OnPaper(
        cores(2), jobs([0, 1, 2], [10, 5, 8.5], [1, 2, 1]), {"fcfs+easy": [0, 10, 15]}
    ),
    # of the four cores two are free at 0; at 100 the head takes three, so that one is spare for longer jobs
    "jobs backfilled in one instant use up the spare cores together": OnPaper(
        cores(4), jobs([0, 1, 2, 2], [100, 10, 500, 500], [2, 3, 1, 1]), {"fcfs+easy": [0, 100, 2, 110]}
    ),
    # of ten cores 0 has two until 100 and 1 four until 50, as requested; 2 wants eight for 20 s, expected at 50 and
    # spares none: 4, with two cores for long, would delay it. At 10 both end and 2 starts; 3, which wants five, is
    # expected at 30 and spares five: 4 starts, though fewer cores are free than before and the shadow time is earlier
    "a job refused beside one head is tried again beside the next that spares more": OnPaper(
        cores(10),
        jobs([0, 0, 1, 2, 3], REFUSED, [2, 4, 8, 5, 2], estimate=[100, 50, 20, 5, 1000], delay=REFUSED),
        {"fcfs+easy": [0, 0, 10, 30, 10]},
    ),
    # at 12 the first should have ended at 10; the third, of one second, may start, the last, of two, may not
    "an overdue job is expected to end in a second": OnPaper(
        cores(3),
        jobs([0, 1, 12, 12], [20, 5, 1, 2], [2, 3, 1, 1], estimate=[10, 5, 1, 2]),
        {"fcfs+easy": [0, 20, 12, 25]},
    ),
    # three cores, two of them taken until 5, as requested; 1 needs all. 2 comes at 4.5 for 0.9 s: too long. When at 5.5
    # 3 comes, the first is overdue and expected to end in a second, so 2 would end before that
    "what was tried in vain is tried again when the shadow time has moved later": OnPaper(
        cores(3),
        jobs([0, 1, 4.5, 5.5], [20, 5, 0.9, 5], [2, 3, 1, 3], estimate=[5, 5, 0.9, 5]),
        {"fcfs+easy": [0, 20, 5.5, 25]},
    ),
    # 100 MB: 0 holds 55 until 10, when 1 wants 60 for 5 s; 2 without memory may outlive that, 3 with 45 may not, 4 with
    # the 40 that are left may
    "a reservation waits for memory too": OnPaper(
        HUNDRED_MB,
        jobs([0, 1, 2, 3, 4], [10, 5, 50, 50, 50], memory=[55, 60, 0, 45, 40]),
        {"fcfs+easy": [0, 10, 2, 15, 4], "fcfs+greedy": [0, 53, 2, 3, 10]},
    ),
    # 100 MB: the first holds 55 until 10 and the head wants 60 for 5 s; the third wants 45: 40 are left then
    "beside a head that waits for memory a job may end exactly at the shadow time": OnPaper(
        HUNDRED_MB, jobs([0, 1, 2], [10, 5, 8.0], memory=[55, 60, 45]), {"fcfs+easy": [0, 10, 2]}
    ),
    "and no later": OnPaper(HUNDRED_MB, jobs([0, 1, 2], [10, 5, 8.5], memory=[55, 60, 45]), {"fcfs+easy": [0, 10, 15]}),
    # 100 MB: 0 holds 60 until 10, when the head wants 80 for 5 s. At 2 come 2 for 30 MB, which would delay the head,
    # and 3 for 20, which would not; both run for long
    "what a job that may not start would have taken is left to the next": OnPaper(
        HUNDRED_MB, jobs([0, 1, 2, 2], [10, 5, 100, 100], memory=[60, 80, 30, 20]), {"fcfs+easy": [0, 10, 15, 2]}
    ),
    "a job that takes the GPUs' node does not delay the head": OnPaper(
        platform(node(3), node(1), gpus=[2, 0]),
        jobs([0, 1, 2], [3, 7, 4], [2, 3, 1], gpus=[0, 1, 0]),
        {"fcfs+easy": [0, 3, 3]},
    ),
    # the second waits for both GPUs until 10; a job with a GPU may overtake it only if it ends by then
    "GPUs are reserved for the head of the queue": OnPaper(
        platform(node(6), gpus=[2]),
        jobs([0, 1, 2, 2, 2], [10, 5, 12, 8, 30], gpus=[1, 2, 1, 1, 0]),
        {"fcfs+easy": [0, 10, 15, 2, 2], "fcfs": [0, 10, 15, 15, 15]},
    ),
    # of 3 GPUs 0 has a third for each of its cores until 10, 1 has one until 100, and the head wants two: at 10. What
    # is taken and returned in thirds is not quite one. 3 would take the last GPU for long
    "GPUs that are free but for a rounding error are enough for the head": OnPaper(
        platform(node(6), gpus=[3]),
        jobs([0, 0, 1, 2], [10, 100, 5, 50], [3, 1, 1, 1], gpus=[1, 1, 2, 1]),
        {"fcfs+easy": [0, 0, 10, 15]},
    ),
    # 0 has three cores of the node of four until 50; 1 needs all four of it, which no other node has. At 2 comes 2 for
    # two cores, which the node of two has: it must not be in the way of 1
    "where nodes take jobs whole the node of the head is left to it": OnPaper(
        platform(node(4), node(1), node(2)),
        jobs([0, 1, 2], [50, 10, 100], [3, 4, 2], memory=[0, 1, 0]),
        {"fcfs+easy": [0, 50, 2]},
        WHOLE,
    ),
    # it is put where it leaves least, beside 0, and waits there: it would outlive the reservation
    "a job of one core waits beside the first": OnPaper(
        platform(node(4), node(2)), jobs([0, 1, 2], [50, 10, 100], [3, 4, 1]), {"fcfs+easy": [0, 50, 50]}, WHOLE
    ),
    # one core of the only node is free
    "a job that outlives the reservation waits for its end and a shorter one starts": OnPaper(
        cores(4), jobs([0, 1, 2, 3], [50, 10, 100, 40], [3, 4, 1, 1]), {"fcfs+easy": [0, 50, 60, 3]}, WHOLE
    ),
    "where a power cap leaves fewer cores than nodes have these are what the head needs": OnPaper(
        CAPPED, jobs([0, 0, 1], [5, 4, 2], [3, 1, 2], memory=[0, 60, 100]), {"fcfs+easy": [0, 5, 9]}
    ),
    "and one job more waits for the head": OnPaper(
        CAPPED, jobs([0, 0, 1, 2], [5, 4, 2, 5], [3, 1, 2, 2], memory=[0, 60, 100, 0]), {"fcfs+easy": [0, 5, 9, 11]}
    ),
}


@pytest.mark.parametrize("world", WORLDS)
def test_jobs_start_as_on_paper(world):
    WORLDS[world].check()


def test_thirds_of_a_gpu_are_not_quite_a_gpu():
    third = 1 / 3
    assert 3 - third - third - third - 1 + third + third + third < 2


@pytest.mark.parametrize("clock", ["batsim", "one-by-one"])
def test_a_job_that_ends_at_this_very_moment_is_not_taken_to_run_on(clock):
    # at 9 jobs 0 and 1 end and 3 comes: if one of them were taken to run on, 3 could start for its second before 2
    found = starts(cores(4), jobs([0, 2, 3, 9], [9, 7, 5, 1], [2, 1, 4, 1]), "fcfs+easy", clock)
    assert np.rint(found).tolist() == [0, 2, 9, 14]
