"""The columns of a workload: its limits, and which jobs no machine can hold."""

from dataclasses import replace

import numpy as np
import pytest

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.engine.lifecycle import lacking_when_idle
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import NOTHING


def jobs(size, memory) -> Workload:
    count = len(size)
    return Workload(
        ids=tuple(f"w0!{i}" for i in range(count)),
        profiles=("A",) * count,
        submit=np.zeros(count),
        size=np.array(size),
        requested_time=np.arange(1.0, count + 1),
        requested_ops=np.ones(count),
        ops=np.ones(count),
        memory=np.array(memory, dtype=float),
        bandwidth=np.arange(4.0, 4.0 + count),
        capacity=6,
    )


@pytest.fixture
def platform() -> Platform:
    """Two nodes: 4 cores on 2 processors with 1000 MB, and 2 cores on 1 processor with 3000 MB."""
    core_processor = np.array([0, 0, 1, 1, 2, 2])
    return Platform(
        name="two nodes",
        cluster_names=("c",),
        node_cluster=np.array([0, 0]),
        node_memory=np.array([1000.0, 3000.0]),
        node_types=("n", "n"),
        processor_node=np.array([0, 0, 1]),
        processor_bandwidth=np.full(3, 10.0),
        processor_types=("p", "p", "p"),
        processor_flops=np.ones((3, 4)),
        processor_watts=np.ones((3, 4)),
        core_processor=core_processor,
        core_names=tuple(f"cor_{i}" for i in range(6)),
    )


def test_the_limits_are_the_largest_request_of_each_kind():
    workload = jobs([1, 5, 2], [30, 10, 20])
    assert len(workload) == 3
    assert workload.limits() == JobLimits(time=3.0, cores=5.0, memory=30.0, bandwidth=6.0)


def oversized(workload, platform):
    """The jobs that even the idle platform cannot hold."""
    tables = State(platform, workload, log=False).tables
    return [j for j in range(len(workload)) if lacking_when_idle(tables, j) != NOTHING]


def test_a_job_of_more_cores_than_the_machine_is_oversized(platform):
    assert oversized(jobs([6, 7, 1], [0, 0, 0]), platform) == [1]


@pytest.mark.parametrize(
    ("memory", "cores"),
    [(0, 6), (250, 6), (251, 5), (500, 4), (501, 3), (1000, 3), (1001, 2), (1500, 2), (1501, 1), (3000, 1), (3001, 0)],
)
def test_a_core_counts_only_where_its_node_has_the_memory(platform, memory, cores):
    assert oversized(jobs([*range(1, 9)], [memory] * 8), platform) == [*range(cores, 8)]


def test_bandwidth_makes_no_job_oversized(platform):
    workload = replace(jobs([6], [100]), bandwidth=np.array([1e6]))
    assert oversized(workload, platform) == []
