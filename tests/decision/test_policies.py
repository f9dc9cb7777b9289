"""Which job a policy serves next, and on which cores (thesis 3.2.3.2, table 3.2)."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow import CORE_KEYS, SlowCluster
from small import jobs, platform, run

from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES
from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine.allocation import choose_cores
from hdeeprm_like.engine.lifecycle import receive
from hdeeprm_like.engine.numbers import RANDOM_JOB
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import CORES, MEMORY, NOTHING
from hdeeprm_like.engine.waiting_queue import select_job

ONE_CORE = ((1000.0, [(1, 1.0, 100.0, 10.0)]),)
#         memory   cores, GFLOP/s, W, GB/s
VARIED = (
    (400.0, [(2, 2.0, 90.0, 20.0), (3, 1.0, 80.0, 30.0)]),  # cores 0-1 and 2-4
    (900.0, [(1, 4.0, 200.0, 10.0), (1, 3.0, 10.0, 25.0)]),  # core 5 and core 6
)
CHI_SQUARE_0_999 = {3: 16.27, 4: 18.47, 5: 20.52}  # by degrees of freedom; the seeds are fixed


def waiting(cluster, workload, seed=0):
    """A state in which all jobs wait."""
    state = State(cluster, workload, seed=seed)
    empty = np.zeros(0, np.int32)
    receive(state.tables, 0.0, empty, 0, len(workload), True)
    return state


def started(state):
    """The jobs started in this instant and their cores."""
    return {j: cores.tolist() for j, cores in state.drain().starts}


def arrays(tables):
    """The arrays of the cluster and of its lists of jobs."""
    for _, content in tables.fields():
        yield from [content] if isinstance(content, np.ndarray) else arrays(content)


def chosen(cores_policy, cluster=None, **job):
    """The cores that one job gets on an idle cluster."""
    finished = run(cluster or platform(*VARIED), jobs(**job), policy=("first", cores_policy))
    return finished.cores[0]


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ("first", [0, 1, 2, 3]),
        ("shortest", [2, 1, 3, 0]),
        ("smallest", [1, 3, 0, 2]),
        ("low_mem", [3, 2, 0, 1]),
        ("low_mem_bw", [2, 3, 1, 0]),
    ],
)
def test_a_job_policy_serves_the_least_first_and_ties_by_submission(policy, order):
    workload = jobs(
        estimate=[9.0, 5.0, 1.0, 5.0],
        size=[2, 1, 2, 1],
        memory=[30.0, 40.0, 20.0, 10.0],
        bandwidth=[4.0, 3.0, 1.0, 1.0],
    )
    state = waiting(platform((1e6, [(100, 1.0, 1.0, 1e6)])), workload)
    apply_pair(state.tables, JOB_POLICIES[policy], CORE_POLICIES["high_gflops"])
    assert list(started(state)) == order


def test_the_selected_job_that_does_not_fit_keeps_all_others_waiting():
    finished = run(
        platform((1000.0, [(2, 1.0, 1.0, 10.0)])), jobs(submit=[0, 1, 2], seconds=[10.0, 5.0, 1.0], size=[1, 2, 1])
    )
    assert finished.start_time.tolist() == [0.0, 10.0, 15.0]


def test_shortest_first_starts_the_short_job_and_makes_the_long_one_wait():
    finished = run(platform(*ONE_CORE), jobs(seconds=[30, 10]), policy=("shortest", "high_gflops"))
    assert finished.start_time.tolist() == [10.0, 0.0]


def test_the_estimate_counts_and_not_the_real_run_time():
    finished = run(platform(*ONE_CORE), jobs(seconds=[3, 10], estimate=[20, 15]), policy=("shortest", "high_gflops"))
    assert finished.start_time.tolist() == [10.0, 0.0]


@pytest.mark.parametrize(
    ("policy", "size", "cores"),
    [
        ("high_gflops", 3, [0, 5, 6]),
        ("low_power", 3, [2, 3, 6]),
        ("high_cores", 1, [2]),  # three free beside it
        ("high_cores", 2, [0, 2]),  # then both processors of the first node have two left: the lowest core
        ("high_cores", 4, [0, 1, 2, 3]),  # 0 and 2, then 3 (two are left to one), then all have one: the lowest
        ("high_mem", 3, [0, 5, 6]),  # 900, 700 (200 MB each), then the first node with 400
        ("high_mem_bw", 3, [2, 3, 6]),  # 30, 25 beside 24, then 24 beside 19
    ],
)
def test_a_core_policy_takes_the_best_core_and_ranks_again(policy, size, cores):
    assert chosen(policy, size=size, memory=200.0 if policy == "high_mem" else 0.0, bandwidth=6.0) == cores


@pytest.mark.parametrize("policy", CORE_KEYS)
def test_among_equal_cores_the_lowest_is_taken(policy):
    equal = platform((100.0, [(2, 1.0, 1.0, 10.0)] * 2), (100.0, [(2, 1.0, 1.0, 10.0)] * 2))
    assert chosen(policy, equal, size=1, memory=1.0, bandwidth=1.0) == [0]


def test_peak_figures_rank_a_slowed_processor_still_first():
    cluster = platform((1e3, [(3, 2.0, 50.0, 10.0), (3, 1.6, 60.0, 10.0)]))  # 1.5 GFLOP/s when slowed
    finished = run(cluster, jobs(submit=[0, 1, 2], bandwidth=[8.0, 8.0, 0.0], seconds=50.0))
    assert finished.cores == [[0], [1], [2]]


def test_memory_is_taken_for_each_core_from_its_node():
    finished = run(platform(*VARIED), jobs(submit=[0, 1], seconds=5.0, size=[4, 1], memory=[400.0, 300.0]))
    assert finished.cores == [None, [5]]  # 400 + 2 x 400 hold three, never four
    assert finished.status.tolist() == [4, 3]
    finished = run(
        platform(*VARIED), jobs(submit=[0, 1, 2], seconds=[9.0, 5.0, 5.0], size=[3, 1, 1], memory=[400.0, 100.0, 101.0])
    )
    assert finished.cores[0] == [0, 5, 6]
    assert finished.start_time[1] == 4.5  # no node has the memory, though cores are free; 9 s at 2 GFLOP/s
    assert finished.overutilizations["mem"] == [(1.0, 4.5)]


def test_bandwidth_is_taken_for_each_core_from_its_processor():
    cluster = platform((1e3, [(4, 1.0, 50.0, 20.0), (4, 1.0, 50.0, 19.0)]))
    state = waiting(cluster, jobs(size=[3, 2], bandwidth=[6.0, 4.0], seconds=5.0))
    apply_pair(state.tables, JOB_POLICIES["first"], CORE_POLICIES["high_mem_bw"])
    assert started(state) == {0: [0, 1, 4], 1: [5, 6]}  # 20, 19, 14 of 14 and 13; then 8 to 13, 9
    assert state.tables.loads["used_bandwidth"].tolist() == [12.0, 14.0]


def test_a_job_without_enough_free_cores_lacks_cores_and_changes_nothing():
    state = waiting(platform(*VARIED), jobs(size=[6, 2]))
    apply_pair(state.tables, JOB_POLICIES["first"], CORE_POLICIES["high_gflops"])
    assert list(started(state)) == [0]
    assert (state.tables.clock["blocked"][0], state.tables.clock["blocked_job"][0]) == (CORES, 1)


def test_a_pair_counts_the_selections_it_made():
    state = waiting(platform(*VARIED), jobs(size=[6, 1, 2]))
    assert apply_pair(state.tables, JOB_POLICIES["first"], CORE_POLICIES["high_gflops"]) == 2
    assert state.tables.clock["decisions"][0] == 3


memories = st.sampled_from([0.0, 10.0, 64.0, 100.0, 100.1])
processors = st.tuples(
    st.integers(1, 4), st.sampled_from([1.0, 2.0, 3.5]), st.sampled_from([10.0, 80.0]), st.sampled_from([10.0, 20.0])
)
clusters = st.lists(
    st.tuples(st.sampled_from([100.0, 200.0, 500.3]), st.lists(processors, min_size=1, max_size=3)),
    min_size=1,
    max_size=3,
).map(lambda nodes: platform(*nodes))
requests = st.lists(
    st.tuples(st.integers(1, 6), memories, st.sampled_from([0.0, 3.0, 5.0, 7.7])), min_size=1, max_size=8
)


@settings(max_examples=150)
@given(clusters, requests, st.sampled_from(sorted(CORE_KEYS)))
def test_cores_are_those_taken_one_after_the_other_with_a_new_ranking_each_time(cluster, asked, policy):
    size, memory, bandwidth = zip(*asked, strict=True)
    state = waiting(cluster, jobs(size=size, memory=memory, bandwidth=bandwidth))
    slow = SlowCluster(cluster)
    apply_pair(state.tables, JOB_POLICIES["first"], CORE_POLICIES[policy])
    ours = started(state)
    rejected = state.tables.rejected_now[: state.tables.clock["rejected_now"][0]].tolist()
    for j, request in enumerate(asked):
        if j in rejected:
            assert SlowCluster(cluster).choose(policy, *request) is None
            continue
        cores = slow.choose(policy, *request)
        assert ours.get(j) == cores
        if cores is None:
            break
    for p in range(cluster.processors):
        assert state.tables.loads["used_bandwidth"][p] == pytest.approx(slow.used[p])


@given(clusters, requests, st.sampled_from(sorted(CORE_POLICIES)))
def test_a_job_that_does_not_fit_leaves_no_trace_not_even_a_rounding_error(cluster, asked, policy):
    size, memory, bandwidth = zip(*asked, strict=True)
    state = waiting(cluster, jobs(size=size, memory=memory, bandwidth=bandwidth))
    t = state.tables
    apply_pair(t, JOB_POLICIES["first"], CORE_POLICIES[policy])
    if t.clock["blocked"][0] == NOTHING:
        return
    before = [column.copy() for column in (t.loads, t.node_loads, t.words, t.members, t.jobs)]
    assert choose_cores(t, CORE_POLICIES[policy], t.clock["blocked_job"][0]) == t.clock["blocked"][0]
    np.testing.assert_array_equal(t.loads, before[0])
    np.testing.assert_array_equal(t.node_loads, before[1])
    for now, then in zip((t.words, t.members), before[2:4], strict=True):
        assert now.tobytes() == then.tobytes()
    for column in t.jobs.dtype.names:  # one by one, for a copy leaves the gap behind the last one as it was
        assert t.jobs[column].tobytes() == before[4][column].tobytes()


def test_a_job_that_takes_back_its_booking_leaves_an_idle_node_whole():
    # the second job books 3 x 0.1 MB on the second node before it finds no fourth core
    cluster = platform((0.1, [(2, 1.0, 1.0, 1.0)]), (0.3, [(3, 0.5, 1.0, 1.0)]))
    state = waiting(cluster, jobs(size=[1, 4], memory=[0.1, 0.1]))
    apply_pair(state.tables, JOB_POLICIES["first"], CORE_POLICIES["high_gflops"])
    assert list(started(state)) == [0]
    assert state.tables.clock["blocked"][0] == MEMORY
    assert state.node_free_memory.tolist() == [0.0, 0.3]


@pytest.mark.parametrize(
    ("cores", "memory", "node"), [(3, 0.005, 0.015), (3, 0.1, 0.3), (10, 6.4, 64.0), (2, 1e-310, 64.0)]
)
def test_a_job_that_needs_a_node_to_the_last_byte_gets_it(cores, memory, node):
    finished = run(platform((node, [(cores, 1.0, 1.0, 1.0)])), jobs(size=cores, memory=[memory, memory]))
    assert finished.start_time.tolist() == [0.0, 1.0]


def chi_square(counts, kinds):
    expected = counts.total() / kinds
    assert len(counts) == kinds
    return sum((count - expected) ** 2 / expected for count in counts.values())


def test_random_draws_every_waiting_job_equally_often():
    state = waiting(platform(), jobs(size=np.ones(5)), seed=7)
    counts = Counter(select_job(state.tables, RANDOM_JOB) for _ in range(4000))
    assert chi_square(counts, 5) < CHI_SQUARE_0_999[4]


def test_random_draws_every_set_of_free_cores_with_memory_equally_often():
    cluster = platform((100.0, [(1, 1.0, 1.0, 1.0), (3, 2.0, 1.0, 1.0)]), (5.0, [(2, 1.0, 1.0, 1.0)]))
    workload = jobs(size=np.full(1, 2), memory=10.0)
    state, counts = waiting(cluster, workload, seed=3), Counter()
    before = [column.copy() for column in arrays(state.tables)]
    for _ in range(3000):
        assert choose_cores(state.tables, CORE_POLICIES["random"], 0) == NOTHING
        counts[tuple(state.cores_of(0).tolist())] += 1
        drawn = state.tables.clock["random"].copy()
        for now, then in zip(arrays(state.tables), before, strict=True):
            now[...] = then
        state.tables.clock["random"] = drawn
    assert set(counts) == set(combinations(range(4), 2))
    assert chi_square(counts, 6) < CHI_SQUARE_0_999[5]


def test_random_policies_repeat_with_their_seed_and_differ_with_another():
    workload = jobs(submit=np.arange(40) % 5, seconds=np.arange(40) % 7 + 1.0, size=np.arange(40) % 3 + 1)
    runs = [run(platform(*VARIED), workload, ("random", "random"), seed=seed) for seed in (1, 1, 2)]
    assert runs[0].cores == runs[1].cores
    assert runs[0].start_time.tolist() == runs[1].start_time.tolist()
    assert runs[0].cores != runs[2].cores
