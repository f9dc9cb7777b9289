"""The columns of a platform and the figures of the four P-states."""

from dataclasses import FrozenInstanceError

import pytest
from small import platform

from hdeeprm_like.cluster.platform import flops_by_pstate, watts_by_pstate

# a node of one processor with two cores at 4 GFLOP/s, and a node of two processors with one core at 1 and 7
TWO = platform((1000.0, [(2, 4.0, 40.0, 32.0)]), (2000.0, [(1, 1.0, 10.0, 16.0), (1, 7.0, 70.0, 16.0)]))


def test_a_platform_counts_its_nodes_processors_and_cores_and_does_not_change():
    assert (TWO.nodes, TWO.processors, TWO.cores) == (2, 3, 4)
    assert TWO.processor_cores.tolist() == [2, 1, 1]
    with pytest.raises(FrozenInstanceError):
        TWO.name = "other"


def test_the_reference_speed_is_the_mean_peak_of_the_cores_and_not_of_the_processors():
    assert TWO.reference_flops == (4e9 + 4e9 + 1e9 + 7e9) / 4


def test_speed_and_power_in_each_p_state_are_shares_of_the_peak_rounded_to_what_the_xml_carries():
    assert flops_by_pstate(4.0) == [4e9, 3e9, 0.001, 0.001]
    assert watts_by_pstate(40.0) == [40.0, 40.0, 10.0, 2.0]
    assert flops_by_pstate(1.23456)[0] == 1.235e9
    assert watts_by_pstate(71.25 / 6) == [11.875, 11.875, 2.969, 0.594]
