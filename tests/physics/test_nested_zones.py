"""Zones within zones: their routes and latencies are SimGrid's, to the last bit, and tasks end when SimGrid says so.

Vivaldi zones hold hosts, peers and routers; SimGrid's XML cannot give coordinates to a zone inside one.
"""

from functools import partial

import pytest
from nested_zones import platform_of
from test_random_zones import assert_the_same, assert_the_same_routes, scenario_of
from test_simgrid import pytestmark  # noqa: F401 - marks this file

nested = partial(scenario_of, make=platform_of)


@pytest.mark.parametrize("seed", range(6))
def test_routes_through_nested_zones_are_those_of_simgrid(seed, tmp_path):
    assert_the_same_routes(seed, tmp_path, platform_of)


@pytest.mark.parametrize("seed", range(4))
def test_tasks_in_nested_zones_end_when_simgrid_says(seed, tmp_path):
    assert_the_same(seed, tmp_path, nested)


@pytest.mark.more  # a minute of SimGrid
def test_tasks_and_routes_in_60_nested_platforms_are_those_of_simgrid(tmp_path):
    for seed in range(100, 160):
        assert_the_same_routes(seed, tmp_path, platform_of)
        assert_the_same(seed, tmp_path, nested)


@pytest.mark.slow  # a quarter of an hour of SimGrid
def test_tasks_and_routes_in_1000_nested_platforms_are_those_of_simgrid(tmp_path):
    for seed in range(1000, 2000):
        assert_the_same_routes(seed, tmp_path, platform_of)
        assert_the_same(seed, tmp_path, nested)
