"""Of processors that a core policy finds equally good, the lowest is taken.

Eight processors make a group of the index, so ten of them make two groups and seventy three levels.
"""

import pytest
from small import jobs, platform, run

PEAK_POLICIES = ["high_gflops", "low_power"]  # by figures that stay as they are
CORE_POLICIES = ["high_cores", "high_mem", "high_mem_bw", *PEAK_POLICIES]


def cores_taken(nodes, size, policy, **requests):
    """Return the cores of so many one-core jobs, all submitted at once, in their order."""
    finished = run(platform(*nodes), jobs(seconds=[100.0] * size, **requests), ("first", policy))
    return [cores for (cores,) in finished.cores]


@pytest.mark.parametrize("policy", CORE_POLICIES)
@pytest.mark.parametrize("count", [2, 10, 70])
def test_equal_nodes_are_taken_from_the_lowest_on(policy, count):
    node = (1000.0, [(1, 1.0, 100.0, 10.0)])
    assert cores_taken([node] * count, count, policy, memory=10.0, bandwidth=1.0) == list(range(count))


@pytest.mark.parametrize("policy", CORE_POLICIES)
def test_equal_processors_of_one_node_are_taken_from_the_lowest_on(policy):
    node = (1000.0, [(1, 1.0, 100.0, 10.0)] * 10)
    assert cores_taken([node], 10, policy, memory=10.0, bandwidth=1.0) == list(range(10))


@pytest.mark.parametrize("policy", ["high_cores", "high_mem_bw", *PEAK_POLICIES])
def test_behind_a_better_processor_without_memory_the_lowest_of_the_others_is_taken(policy):
    better_but_full = (5.0, [(2, 2.0, 50.0, 20.0)])  # more cores, faster, less power, more bandwidth
    others = [(1000.0, [(1, 1.0, 100.0, 10.0)])] * 20
    assert cores_taken([better_but_full, *others], 20, policy, memory=10.0) == list(range(2, 22))


@pytest.mark.parametrize("policy", PEAK_POLICIES)
def test_a_job_of_several_cores_takes_those_of_the_lowest_processors(policy):
    node = (1000.0, [(2, 1.0, 100.0, 10.0)])
    finished = run(platform(*[node] * 10), jobs(seconds=1.0, size=3), ("first", policy))
    assert finished.cores == [[0, 1, 2]]


def test_a_processor_that_is_no_longer_better_than_a_lower_one_gives_the_next_core_to_that():
    # 2 and 3 free cores: one is taken of the second, and then both are alike
    assert run(
        platform((1000.0, [(2, 1.0, 100.0, 10.0), (3, 1.0, 100.0, 10.0)])), jobs(size=2), ("first", "high_cores")
    ).cores == [[0, 2]]


@pytest.mark.parametrize(("other", "second"), [(90.0, 2), (80.0, 1), (75.0, 1)])
def test_where_a_processor_is_full_its_neighbour_has_the_memory_that_is_left_of_their_node(other, second):
    # 100 MB on the first node, of which a core takes 20: 80 are left, less or more than on the other
    one = (1, 1.0, 100.0, 10.0)
    finished = run(platform((100.0, [one, one]), (other, [one])), jobs(size=2, memory=20.0), ("first", "high_mem"))
    assert finished.cores == [[0, second]]
