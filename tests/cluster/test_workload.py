"""The columns of a workload: its limits, and which jobs no machine can hold."""

from dataclasses import replace

import numpy as np
import pytest
from small import jobs, platform

from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.engine.lifecycle import lacking_when_idle
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import NOTHING

PROCESSOR = (2, 1.0, 100.0, 10.0)
TWO_NODES = platform((1000.0, [PROCESSOR, PROCESSOR]), (3000.0, [PROCESSOR]))


def test_the_limits_are_the_largest_request_of_each_kind():
    workload = jobs(seconds=[1.0, 2.0, 3.0], size=[1, 5, 2], memory=[30, 10, 20], bandwidth=[4.0, 5.0, 6.0])
    assert len(workload) == 3
    assert workload.limits() == JobLimits(time=3.0, cores=5.0, memory=30.0, bandwidth=6.0)


def oversized(workload):
    """The jobs that even the idle platform cannot hold."""
    tables = State(TWO_NODES, workload, log=False).tables
    return [j for j in range(len(workload)) if lacking_when_idle(tables, j) != NOTHING]


def test_a_job_of_more_cores_than_the_machine_is_oversized_and_bandwidth_makes_none_so():
    assert oversized(jobs(size=[6, 7, 1])) == [1]
    assert oversized(replace(jobs(size=[6], memory=100.0), bandwidth=np.array([1e6]))) == []


@pytest.mark.parametrize(
    ("memory", "cores"),
    [(0, 6), (250, 6), (251, 5), (500, 4), (501, 3), (1000, 3), (1001, 2), (1500, 2), (1501, 1), (3000, 1), (3001, 0)],
)
def test_a_core_counts_only_where_its_node_has_the_memory(memory, cores):
    assert oversized(jobs(size=[*range(1, 9)], memory=memory)) == [*range(cores, 8)]
