"""Whatever a job requests, nothing that starts moves what is reserved for another: worlds that fit on paper."""

from dataclasses import replace

import pytest
from batsim_talk import LIMITS
from small import jobs, partitions_of, platform, step_baseline

from hdeeprm_like.cluster.partitions import Demand, demands_of
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.policies.baselines import make_room, new_baselines
from hdeeprm_like.engine.bundles import bundle_in
from hdeeprm_like.engine.job_rows import Request
from hdeeprm_like.engine.state import State


def node(cores, memory=1000.0):
    return memory, [(cores, 1.0, 100.0, 1e6)]


def starts(cluster, workload, name, **state):
    simulator = step_baseline(cluster, workload, name, **state)
    assert simulator.unfinished == 0
    return simulator.simulation.tasks["start"].tolist()


def test_where_a_node_takes_a_job_whole_the_node_of_the_head_is_left_to_it():
    # 0 has three cores of the node of four until 50; 1 needs all four of it, which no other node has. At 2 comes 2 for
    # two cores, which the node of two has: it must not be in the way of 1
    cluster = platform(node(4), node(1), node(2))
    workload = jobs(submit=[0, 1, 2], seconds=[50, 10, 100], size=[3, 4, 2], memory=[0, 1, 0])
    assert starts(cluster, workload, "fcfs+easy", whole=True) == [0, 50, 2]
    # a job of one core is put where it leaves least, beside 0, and waits there: it would outlive the reservation
    workload = jobs(submit=[0, 1, 2], seconds=[50, 10, 100], size=[3, 4, 1])
    assert starts(platform(node(4), node(2)), workload, "fcfs+easy", whole=True) == [0, 50, 50]
    # with one core of that node free and no other node, a job that outlives the reservation waits for its end
    workload = jobs(submit=[0, 1, 2, 3], seconds=[50, 10, 100, 40], size=[3, 4, 1, 1])
    assert starts(platform(node(4)), workload, "fcfs+easy", whole=True) == [0, 50, 60, 3]


def test_where_a_power_cap_leaves_fewer_cores_than_nodes_have_these_are_what_the_head_needs():
    cluster = platform(node(2, memory=100.0), node(2, memory=100.0))
    cluster = replace(cluster, power_cap=float(cluster.most_watts[3]))
    workload = jobs(submit=[0, 0, 1, 2], seconds=[5, 4, 2, 5], size=[3, 1, 2, 2], memory=[0, 60, 100, 0])
    three = jobs(submit=[0, 0, 1], seconds=[5, 4, 2], size=[3, 1, 2], memory=[0, 60, 100])
    assert starts(cluster, three, "fcfs+easy") == [0, 5, 9]
    assert starts(cluster, workload, "fcfs+easy") == [0, 5, 9, 11]


def test_what_was_tried_in_vain_is_tried_again_when_the_shadow_time_has_moved_later():
    # three cores, two of them taken until 5, as requested; 1 needs all. 2 comes at 4.5 for 0.9 s: too long. When at 5.5
    # 3 comes, the first is overdue and expected to end in a second, so 2 would end before that
    workload = jobs(submit=[0, 1, 4.5, 5.5], seconds=[20, 5, 0.9, 5], estimate=[5, 5, 0.9, 5], size=[2, 3, 1, 3])
    assert starts(platform(node(3)), workload, "fcfs+easy") == [0, 20, 5.5, 25]


def test_what_a_job_that_may_not_start_would_have_taken_is_left_to_the_next():
    # 100 MB: 0 holds 60 until 10, when the head wants 80 for 5 s. At 2 come 2 for 30 MB, which would delay the head,
    # and 3 for 20, which would not; both run for long
    workload = jobs(submit=[0, 1, 2, 2], seconds=[10, 5, 100, 100], size=1, memory=[60, 80, 30, 20])
    assert starts(platform(node(4, memory=100.0)), workload, "fcfs+easy") == [0, 10, 15, 2]


def test_gpus_that_are_free_but_for_a_rounding_error_are_enough_for_the_head():
    # of 3 GPUs 0 has a third for each of its cores until 10, 1 has one until 100, and the head wants two: at 10. What
    # is taken and returned in thirds is not quite one. 3 would take the last GPU for long
    workload = jobs(submit=[0, 0, 1, 2], seconds=[10, 100, 5, 50], size=[3, 1, 1, 1], gpus=[1, 1, 2, 1])
    third = 1 / 3
    assert 3 - third - third - third - 1 + third + third + third < 2
    assert starts(platform(node(6), gpus=[3]), workload, "fcfs+easy") == [0, 0, 10, 15]


def test_conservative_reserves_memory_for_every_job():
    # 100 MB: 0 holds 60 until 10. 1 wants 60 then, for 10 s; 2 wants all of it, at 20; 3 wants 30 for 25 s. It leaves 1
    # its memory but not 2, though cores are free for all
    workload = jobs(submit=[0, 1, 2, 3], seconds=[10, 10, 10, 25], size=1, memory=[60, 60, 100, 30])
    assert starts(platform(node(4, memory=100.0)), workload, "fcfs+conservative") == [0, 10, 20, 30]
    shorter = jobs(submit=[0, 1, 2, 3], seconds=[10, 10, 10, 17], size=1, memory=[60, 60, 100, 30])
    assert starts(platform(node(4, memory=100.0)), shorter, "fcfs+conservative") == [0, 10, 20, 3]


def test_conservative_starts_a_job_on_other_cores_than_the_fastest_if_these_are_reserved():
    # 0 has 6 of the 8 MB of the fast node until 4, when 1 needs them all; 2 finds 2 MB there, and gets a slow core
    cluster = platform((8.0, [(2, 2.0, 100.0, 1e6)]), (4.0, [(2, 1.0, 100.0, 1e6)]))
    workload = jobs(submit=[0, 0, 1], delay=[4, 4, 9], estimate=[4, 4, 9], size=1, memory=[6, 8, 2])
    simulator = step_baseline(cluster, workload, "fcfs+conservative")
    assert simulator.simulation.tasks["start"].tolist() == [0, 4, 1]
    assert simulator.state.cores_of(2).tolist() == [2]


@pytest.mark.compiled
def test_conservative_keeps_its_promises_however_many_nodes_and_dates_there_are():
    # 2,100 nodes of one core; 90 jobs run on half of them, the head needs nearly all, the last does not fit beside it
    seconds, size = [*range(100, 190), 10.0, 10_000.0], [11] * 90 + [2095, 11]
    workload = jobs([0] * 90 + [1, 2], seconds, size, memory=1.0, estimate=seconds, delay=seconds)
    assert starts(platform(*[node(1)] * 2100), workload, "fcfs+conservative")[90:] == [189, 199]


def test_conservative_knows_all_dates_where_jobs_become_known_during_the_run():
    policy = baseline("fcfs+conservative")
    state = State(platform(node(4), node(4)), None, needs=PolicyActions([policy]).needs, limits=LIMITS)
    plans = new_baselines(state, [policy])
    for _ in range(70):
        state.append(Request(0.0, 5, 1.0, 1e9, 1.0, 0.0))
    make_room(plans, state, [policy])
    profile = plans.node_profile
    assert len(bundle_in(plans.memories, 0).profile.slices) >= 2 + 2 * 70
    assert len(profile.first_change) >= 1 + 2 * 70
    assert len(profile.changes) >= 2 * 70
    assert len(profile.hold_node) >= 2 * 70 + 2


@pytest.mark.more
def test_with_partitions_each_job_may_have_a_reservation(two_partitions):
    workload = replace(jobs([0.0] * 1500), demands=demands_of([Demand("all")] * 1500))
    policy = baseline("fcfs+conservative")
    state = State(two_partitions, workload, needs=PolicyActions([policy]).needs)
    assert len(new_baselines(state, [policy]).node_plans.spans.begins) >= 1500 + 2


def test_a_committed_pick_waits_for_memory_as_for_cores():
    # 1 is picked at 1 and lacks memory until 10; 2 ends before that, 3 does not
    workload = jobs(submit=[0, 1, 2, 3], seconds=[10, 5, 7, 9], size=1, memory=[60, 60, 30, 30])
    assert starts(platform(node(4, memory=100.0)), workload, "fcfs+commitbackfill") == [0, 10, 2, 10]


def test_packing_weighs_work_by_the_jobs_that_a_node_can_take_whole():
    # at 1 both 3 of one core and 4 of two fit, 0 having ended; earlier only 0 to 2 are there, and 0 takes a node alone
    cluster = platform(node(3, memory=4.0), node(3, memory=8.0))
    workload = jobs([0, 0, 0, 1, 1], [1, 2, 2, 1, 1], [3, 1, 1, 1, 2], estimate=[2, 1, 1, 1, 1], delay=[1, 2, 2, 1, 1])
    simulator = step_baseline(cluster, workload, "fcfs+packing-tetris_srtf", whole=True)
    assert simulator.state.cores_of(3).tolist() == [1]
    assert simulator.state.cores_of(4).tolist() == [4, 5]


@pytest.fixture
def two_partitions():
    """A node that belongs to both partitions beside one of the first alone."""
    cluster = platform(node(2), node(2))
    partitions = partitions_of({"all": [True, True], "fast": [True, False]})
    return replace(cluster, partitions=partitions)


@pytest.mark.more
def test_with_partitions_cores_are_kept_for_short_jobs_too(two_partitions):
    workload = jobs(submit=[0, 1, 2], seconds=[5000, 5000, 100], size=[2, 1, 1])
    workload = replace(workload, demands=demands_of([Demand("all")] * 3))
    assert starts(two_partitions, workload, "fcfs+reserve:2:1000") == [0, 5000, 2]
    assert starts(two_partitions, workload, "fcfs+reserve:1:1000") == [0, 1, 2]


@pytest.mark.more
def test_with_partitions_candidates_that_come_together_are_in_the_order_of_the_queue(two_partitions):
    # all but the first come at 1; 3, the largest, is the head, and of the others the order serves 2 before 1
    workload = jobs(submit=[0, 1, 1, 1], seconds=[9, 2, 3, 9], size=[3, 1, 1, 4])
    workload = replace(workload, demands=demands_of([Demand("all")] * 4))
    assert starts(two_partitions, workload, "laf+easyfcfs") == [0, 4, 1, 9]
