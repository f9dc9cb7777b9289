"""Nodes whose speed follows a file take as long in the embedded simulator as on our server."""

import pytest
from batsim_talk import difference_from_server, play_on_server, talk
from changing_speeds import changing_world, played, write_world


def difference(seed, folder, network=False):
    """The first job with other cores or times than on the server, "" if there is none."""
    cluster, workload, pair = changing_world(seed, network)
    cluster, workload, content = write_world(cluster, workload, folder, network)
    simulator = played(cluster, workload, pair)
    _, ended = play_on_server(talk(cluster, pair, 3, {"w0": content["profiles"]}), folder)
    if not ended:
        return "" if simulator.unfinished else "the server has not ended"
    return difference_from_server(simulator, workload, folder)


def all_differences(seeds, folder, network=False):
    return {seed: found for seed in seeds if (found := difference(seed, folder, network))}


@pytest.mark.parametrize("network", [False, True], ids=["", "network"])
def test_worlds_with_changing_speeds_are_the_same_with_the_server(network, tmp_path):
    assert all_differences(range(30), tmp_path, network) == {}


@pytest.mark.slow
@pytest.mark.parametrize("network", [False, True], ids=["", "network"])
def test_a_thousand_worlds_with_changing_speeds_are_the_same_with_the_server(network, tmp_path):
    assert all_differences(range(30, 1030), tmp_path, network) == {}
