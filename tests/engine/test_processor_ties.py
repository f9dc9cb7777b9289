"""Of processors that a core policy finds equally good, the lowest is taken.

Eight processors make a group of the index, so ten of them make two groups and seventy three levels.
"""

import pytest
from small import jobs, platform, run

PEAK_POLICIES = ["high_gflops", "low_power"]  # by figures that stay as they are
CORE_POLICIES = ["high_cores", "high_mem", "high_mem_bw", *PEAK_POLICIES]


ONE = (1, 1.0, 100.0, 10.0)  # cores, GFLOP/s, W, GB/s of a processor
TWO, THREE = (2, *ONE[1:]), (3, *ONE[1:])
BETTER_BUT_FULL = (5.0, [(2, 2.0, 50.0, 20.0)])  # more cores, faster, less power, more bandwidth, but no memory
SMALL = {"memory": 10.0, "bandwidth": 1.0}  # what each core of a job requests


@pytest.mark.parametrize("policy", CORE_POLICIES)
@pytest.mark.parametrize(
    "nodes",
    [*([(1000.0, [ONE])] * count for count in (2, 10, 70)), [(1000.0, [ONE] * 10)]],
    ids=["2 nodes", "10 nodes", "70 nodes", "10 processors of a node"],
)
def test_equal_processors_are_taken_from_the_lowest_on(nodes, policy):
    machine = platform(*nodes)
    finished = run(machine, jobs(seconds=[100.0] * machine.cores, **SMALL), ("first", policy))
    assert finished.cores == [[core] for core in range(machine.cores)]


@pytest.mark.parametrize("policy", ["high_cores", "high_mem_bw", *PEAK_POLICIES])
def test_behind_a_better_processor_without_memory_the_lowest_of_the_others_is_taken(policy):
    finished = run(
        platform(BETTER_BUT_FULL, *[(1000.0, [ONE])] * 20), jobs(seconds=[100.0] * 20, memory=10.0), ("first", policy)
    )
    assert finished.cores == [[core] for core in range(2, 22)]


@pytest.mark.parametrize(
    ("nodes", "size", "memory", "policy", "cores"),
    [
        # a job of several cores takes those of the lowest processors
        *([[(1000.0, [TWO])] * 10, 3, 0.0, policy, [0, 1, 2]] for policy in PEAK_POLICIES),
        # 2 and 3 free cores: one is taken of the second, and then both are alike: the next one is of the lower
        ([(1000.0, [TWO, THREE])], 2, 0.0, "high_cores", [0, 2]),
        # 100 MB on the first node, of which a core takes 20: 80 are left, less or more than on the other
        ([(100.0, [ONE, ONE]), (90.0, [ONE])], 2, 20.0, "high_mem", [0, 2]),
        ([(100.0, [ONE, ONE]), (80.0, [ONE])], 2, 20.0, "high_mem", [0, 1]),
        ([(100.0, [ONE, ONE]), (75.0, [ONE])], 2, 20.0, "high_mem", [0, 1]),
    ],
)
def test_a_job_of_several_cores_takes_them_one_after_the_other(nodes, size, memory, policy, cores):
    assert run(platform(*nodes), jobs(size=size, memory=memory), ("first", policy)).cores == [cores]
