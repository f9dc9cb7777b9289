"""Whether a job fits now, on nodes whose memory and GPUs can be counted on paper."""

import numpy as np
import pytest
from small import jobs, platform

from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine.fitting import fits, fits_on, fits_some_node
from hdeeprm_like.engine.state import Instant, State

FIRST, HIGH_GFLOPS = 0, 1


@pytest.mark.parametrize(
    ("memory", "gpus", "room"), [(50.0, 0, True), (60.0, 0, False), (0.0, 2, True), (0.0, 3, False)]
)
def test_a_node_has_room_for_a_job_only_with_memory_and_gpus_for_all_of_its_cores(memory, gpus, room):
    # 100 MB and two GPUs; each of two cores alone would find enough
    state = State(platform((100.0, [(2, 1.0, 1.0, 1.0)]), gpus=[2]), jobs(size=2, memory=memory, gpus=gpus))
    first_processor = np.array([0, 1])
    assert fits_on(state.tables, first_processor, 0, 0) == room
    assert fits_some_node(state.tables, first_processor, 0) == room
    assert fits(state.tables, 0) == room


def test_gpus_that_are_free_but_for_a_rounding_error_are_room_enough():
    # of three GPUs one is taken in thirds, and another is taken and returned
    cluster = platform((1000.0, [(6, 1.0, 1.0, 1.0)]), gpus=[3])
    state = State(cluster, jobs(size=[3, 1, 1, 1], gpus=[1, 1, 2, 3]))
    for instant in (Instant(0.0, [], 2, False), Instant(1.0, [1], 0, False)):
        state.receive(instant)
        apply_pair(state.tables, FIRST, HIGH_GFLOPS)
    assert 1.0 < state.tables.node_loads["free_gpus"][0] < 2.0
    assert [fits(state.tables, j) for j in (2, 3)] == [True, False]
