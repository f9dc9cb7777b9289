"""The columns of a platform and the figures of the four P-states."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from hdeeprm_like.cluster.platform import Platform, flops_by_pstate, watts_by_pstate


def two_nodes():
    """A node of one processor with two cores at 4 GFLOP/s, and a node of two processors with one core at 1 and 7."""
    return Platform(
        name="two",
        cluster_names=("lab",),
        node_cluster=np.array([0, 0]),
        node_memory=np.array([1000.0, 2000.0]),
        node_types=("A", "B"),
        processor_node=np.array([0, 1, 1]),
        processor_bandwidth=np.array([32.0, 16.0, 16.0]),
        processor_types=("a", "b", "c"),
        processor_flops=np.array([flops_by_pstate(gflops) for gflops in (4.0, 1.0, 7.0)]),
        processor_watts=np.array([watts_by_pstate(watts) for watts in (40.0, 10.0, 70.0)]),
        core_processor=np.array([0, 0, 1, 2]),
        core_names=("cor_00000", "cor_00001", "cor_00002", "cor_00003"),
    )


def test_a_platform_counts_its_nodes_processors_and_cores():
    platform = two_nodes()
    assert (platform.nodes, platform.processors, platform.cores) == (2, 3, 4)
    assert platform.processor_cores.tolist() == [2, 1, 1]


def test_the_reference_speed_is_the_mean_peak_of_the_cores_and_not_of_the_processors():
    assert two_nodes().reference_flops == (4e9 + 4e9 + 1e9 + 7e9) / 4


def test_a_platform_does_not_change():
    with pytest.raises(FrozenInstanceError):
        two_nodes().name = "other"


def test_speed_and_power_in_each_p_state_are_shares_of_the_peak_rounded_to_what_the_xml_carries():
    assert flops_by_pstate(4.0) == [4e9, 3e9, 0.001, 0.001]
    assert watts_by_pstate(40.0) == [40.0, 40.0, 10.0, 2.0]
    assert flops_by_pstate(1.23456)[0] == 1.235e9
    assert watts_by_pstate(71.25 / 6) == [11.875, 11.875, 2.969, 0.594]
