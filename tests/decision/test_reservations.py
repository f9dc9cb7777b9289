"""Whatever a job requests, nothing that starts moves what is reserved for another; EASY has worlds of its own."""

from dataclasses import replace

import pytest
from batsim_talk import LIMITS
from on_paper import OnPaper, cores, in_all, node, starts
from small import jobs, partitions_of, platform, step_baseline

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.policies.baselines import make_room, new_baselines
from hdeeprm_like.engine.bundles import bundle_in
from hdeeprm_like.engine.job_rows import Request
from hdeeprm_like.engine.state import State

MEMORY = {"memory": [60, 60, 100, 30]}
# a node that belongs to both partitions beside one of the first alone
TWO_PARTITIONS = replace(
    platform(node(2), node(2)), partitions=partitions_of({"all": [True, True], "fast": [True, False]})
)

WORLDS = {
    # 100 MB: 0 holds 60 until 10. 1 wants 60 then, for 10 s; 2 wants all of it, at 20; 3 wants 30 for 25 s. It leaves 1
    # its memory but not 2, though cores are free for all
    "conservative reserves memory for every job": OnPaper(
        cores(4, memory=100.0), jobs([0, 1, 2, 3], [10, 10, 10, 25], **MEMORY), {"fcfs+conservative": [0, 10, 20, 30]}
    ),
    "and starts one that ends at 20": OnPaper(
        cores(4, memory=100.0), jobs([0, 1, 2, 3], [10, 10, 10, 17], **MEMORY), {"fcfs+conservative": [0, 10, 20, 3]}
    ),
    "with partitions two cores are kept for short jobs, or one": OnPaper(
        TWO_PARTITIONS,
        in_all(jobs([0, 1, 2], [5000, 5000, 100], [2, 1, 1])),
        {"fcfs+reserve:2:1000": [0, 5000, 2], "fcfs+reserve:1:1000": [0, 1, 2]},
    ),
    # all but the first come at 1; 3, the largest, is the head, and of the others the order serves 2 before 1
    "with partitions candidates that come together are in the order of the queue": OnPaper(
        TWO_PARTITIONS, in_all(jobs([0, 1, 1, 1], [9, 2, 3, 9], [3, 1, 1, 4])), {"laf+easyfcfs": [0, 4, 1, 9]}
    ),
}


@pytest.mark.parametrize("world", WORLDS)
def test_jobs_start_as_on_paper(world):
    WORLDS[world].check()


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


def test_with_partitions_each_job_may_have_a_reservation():
    policy = baseline("fcfs+conservative")
    state = State(TWO_PARTITIONS, in_all(jobs([0.0] * 1500)), needs=PolicyActions([policy]).needs)
    assert len(new_baselines(state, [policy]).node_plans.spans.begins) >= 1500 + 2


def test_packing_weighs_work_by_the_jobs_that_a_node_can_take_whole():
    # at 1 both 3 of one core and 4 of two fit, 0 having ended; earlier only 0 to 2 are there, and 0 takes a node alone
    cluster = platform(node(3, memory=4.0), node(3, memory=8.0))
    workload = jobs([0, 0, 0, 1, 1], [1, 2, 2, 1, 1], [3, 1, 1, 1, 2], estimate=[2, 1, 1, 1, 1], delay=[1, 2, 2, 1, 1])
    simulator = step_baseline(cluster, workload, "fcfs+packing-tetris_srtf", whole=True)
    assert simulator.state.cores_of(3).tolist() == [1]
    assert simulator.state.cores_of(4).tolist() == [4, 5]
