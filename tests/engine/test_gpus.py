"""GPUs are a resource of nodes as memory is: on clusters whose answer fits on paper, and never more than there are."""

import json

import numpy as np
import pytest
from batsim_talk import assert_same_schedule, play_on_server, talk, write_inputs
from small import jobs, platform, run

from hdeeprm_like.decision.names import CORE_POLICIES
from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine.lifecycle import lacking_when_idle
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.engine.tables import COMPLETED, CORES, GPUS, MEMORY, NOTHING, REJECTED
from hdeeprm_like.formats.workload_json import read_workload

FOUR_CORES = (1000.0, [(4, 1.0, 100.0, 1e6)])
TWO_CORES = (1000.0, [(2, 1.0, 100.0, 1e6)])


def test_two_jobs_that_want_the_same_gpu_run_one_after_the_other_though_cores_are_free():
    finished = run(platform(FOUR_CORES, gpus=[1]), jobs(seconds=[5.0, 5.0, 1.0], gpus=[1, 1, 0]))
    assert finished.start_time.tolist() == [0.0, 5.0, 5.0]  # the third stands behind the second
    short = finished.overutilizations
    assert [[round(time, 6) for time in span] for span in short["gpu"]] == [[0.0, 5.0]]
    assert short["core"] == short["mem"] == []


def test_a_platform_without_gpus_does_not_mention_them():
    assert set(run(platform(), jobs(seconds=[1.0, 1.0])).overutilizations) == {"core", "mem", "mem_bw"}


def test_cores_of_jobs_share_gpus():
    # half a GPU for each core of the first, a third for those of the others
    finished = run(
        platform((1000.0, [(8, 1.0, 1.0, 1e6)]), gpus=[2]), jobs(seconds=3.0, size=[2, 3, 3], gpus=[1, 1, 1])
    )
    assert finished.start_time.tolist() == [0.0, 0.0, 3.0]


@pytest.mark.parametrize("policy", sorted(CORE_POLICIES))
def test_a_job_gets_its_gpus_on_several_nodes(policy):
    cluster = platform(TWO_CORES, TWO_CORES, gpus=[1, 1])
    one_each = run(cluster, jobs(size=2, gpus=2), policy=("first", policy)).cores[0]
    assert [core // 2 for core in one_each] == [0, 1]
    assert run(cluster, jobs(size=4, gpus=2), policy=("first", policy)).cores == [[0, 1, 2, 3]]


def test_a_node_without_gpus_is_passed_over_however_fast_it_is():
    cluster = platform((1000.0, [(2, 9.0, 1.0, 1e6)]), TWO_CORES, gpus=[0, 1])
    assert run(cluster, jobs(size=[1, 1], gpus=[1, 0])).cores == [[2], [0]]


@pytest.mark.parametrize(
    ("size", "memory", "gpus", "lacks"),
    [
        (1, 0.0, 2, NOTHING),
        (1, 0.0, 3, GPUS),  # no node has three
        (2, 0.0, 4, GPUS),  # two for each core, and only the second node has them, once
        (3, 0.0, 3, NOTHING),
        (5, 0.0, 2.5, NOTHING),  # half a GPU for each core: two cores here, three there
        (5, 0.0, 3, GPUS),
        (6, 0.0, 9, CORES),
        (1, 401.0, 9, MEMORY),
        (1, 300.0, 2, NOTHING),
        (3, 200.0, 3, NOTHING),
        (3, 201.0, 3, MEMORY),
    ],
)
def test_a_job_is_rejected_for_the_gpus_that_no_set_of_nodes_can_give(size, memory, gpus, lacks):
    cluster = platform((200.0, [(2, 1.0, 1.0, 1.0)]), (400.0, [(1, 1.0, 1.0, 1.0), (2, 1.0, 1.0, 1.0)]), gpus=[1, 2])
    workload = jobs(size=size, memory=memory, gpus=gpus)
    assert lacking_when_idle(State(cluster, workload).tables, 0) == lacks
    finished = run(cluster, workload)
    assert finished.status.tolist() == [COMPLETED if lacks == NOTHING else REJECTED]
    assert finished.state.tables.jobs["lacks"].tolist() == [lacks]


def test_gpus_on_one_node_and_memory_on_another_are_no_room():
    cluster = platform((100.0, [(1, 1.0, 1.0, 1.0)]), (900.0, [(1, 1.0, 1.0, 1.0)]), gpus=[1, 0])
    assert lacking_when_idle(State(cluster, jobs(memory=500.0, gpus=1)).tables, 0) == GPUS


def test_a_blocked_job_lacks_memory_where_more_gpus_would_not_help():
    cluster = platform((100.0, [(4, 1.0, 1.0, 1.0)]), gpus=[2])
    for asked, lacks in (((60.0, 1), MEMORY), ((40.0, 2), GPUS), ((60.0, 2), MEMORY)):
        state = State(cluster, jobs(size=1, memory=[50.0, asked[0]], gpus=[1, asked[1]]))
        state.receive(Instant(0.0, [], 2, True))
        assert apply_pair(state.tables, 0, CORE_POLICIES["high_gflops"]) == 1
        assert state.tables.clock["blocked"][0] == lacks
        assert state.tables.node_loads["free_gpus"].tolist() == [1.0]


def test_over_batsims_messages_jobs_wait_for_gpus_as_they_do_in_process(tmp_path):
    cluster = platform(TWO_CORES, FOUR_CORES, gpus=[1, 2])
    workload = jobs(submit=np.arange(12.0), seconds=7.5, size=[1, 2, 3] * 4, gpus=[2, 1, 0, 3, 4, 1] * 2)
    exact = write_inputs(cluster, workload, tmp_path)
    finished = run(cluster, read_workload(tmp_path / "workload.json", reference_flops=cluster.reference_flops))
    assert finished.start_time[-1] > 20.0
    ours = talk(policy=("first", "high_gflops"), exact=exact)  # the platform, too, comes from the messages
    assert play_on_server(ours, tmp_path)[1]
    assert_same_schedule(finished, tmp_path / "out_jobs.csv")
    assert ours.system.state.platform.node_gpus.tolist() == [1.0, 2.0]
    rejected = [line for line in (tmp_path / "out_jobs.csv").read_text().splitlines() if "REJECTED" in line]
    assert len(rejected) == sum(finished.status == REJECTED)


@pytest.mark.parametrize("turn", [False, True])
def test_where_one_node_must_take_a_job_it_lacks_gpus_if_a_node_has_memory_for_it(turn):
    # two cores with 100 MB each and a GPU: one node has the memory alone, the other the GPU alone
    nodes, gpus = [(200.0, FOUR_CORES[1]), (100.0, FOUR_CORES[1])], [0, 1]
    cluster = platform(*nodes[::-1], gpus=gpus[::-1]) if turn else platform(*nodes, gpus=gpus)
    workload = jobs(size=[2, 2, 1], memory=[100.0, 200.0, 100.0], gpus=[1, 1, 1])
    tables = State(cluster, workload, whole=True).tables
    assert [lacking_when_idle(tables, j) for j in range(3)] == [GPUS, MEMORY, NOTHING]


def test_a_workload_file_gives_the_gpus_of_whole_jobs(tmp_path):
    workload = jobs(size=[7, 8, 3], gpus=[3, 2, 0], memory=5.0)
    write_inputs(platform(), workload, tmp_path)
    profiles = json.loads((tmp_path / "workload.json").read_text())["profiles"]
    assert [profile.get("gpus") for profile in profiles.values()] == [3, 2, None]
    assert read_workload(tmp_path / "workload.json", reference_flops=1e9).gpus.tolist() == [3 / 7, 2 / 8, 0.0]
