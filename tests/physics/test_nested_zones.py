"""Zones within zones: their routes and latencies are SimGrid's, to the last bit, and tasks end when SimGrid says so.

Vivaldi zones hold hosts, peers and routers; SimGrid's XML cannot give coordinates to a zone inside one.
"""

import random

import pytest
from nested_zones import platform_of
from test_random_zones import assert_the_same
from test_simgrid import asked, pytestmark, random_task  # noqa: F401 - marks this file

from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml


def scenario_of(seed, folder):
    """A platform, tasks that overlap, and changes of P-states meanwhile; peers draw no power."""
    dice = random.Random(seed)
    path = folder / "platform.xml"
    path.write_text(platform_of(dice))
    names = [name for name in read_simgrid_xml(path).hosts if name != "master_host"]
    tasks = [random_task(dice, names, round(i * dice.uniform(0, 1), 3), True, dice.random() < 0.2) for i in range(8)]
    many = [name for name in names if not name.startswith("p")]  # hosts with several P-states
    changes = [(round(dice.uniform(0, 12), 3), dice.choice(many), dice.randint(0, 2)) for _ in range(6 * bool(many))]
    energy = len(many) == len(names) and dice.random() < 0.7
    return {"platform": str(path), "tasks": tasks, "changes": sorted(changes), "energy": energy}


def assert_the_same_routes(seed, folder):
    path = folder / "platform.xml"
    path.write_text(platform_of(random.Random(seed)))
    platform = read_simgrid_xml(path)
    for source, destination, links, latency in asked("simgrid_routes.py", path):
        found, delay = platform.route(source, destination)
        assert (len(found), delay) == (len(links), latency), (seed, source, destination)
        assert own_names(link.name for link in found) == own_names(links), (seed, source, destination)


def own_names(links):
    """The links of a route that the file names; those of clusters and peers have SimGrid's own names."""
    return [name for name in links if name.startswith("l") and name.partition("_")[0][1:].isdigit()]


@pytest.mark.parametrize("seed", range(6))
def test_routes_through_nested_zones_are_those_of_simgrid(seed, tmp_path):
    assert_the_same_routes(seed, tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_tasks_in_nested_zones_end_when_simgrid_says(seed, tmp_path):
    assert_the_same(seed, tmp_path, scenario_of)


@pytest.mark.more  # a minute of SimGrid
def test_tasks_and_routes_in_60_nested_platforms_are_those_of_simgrid(tmp_path):
    for seed in range(100, 160):
        assert_the_same_routes(seed, tmp_path)
        assert_the_same(seed, tmp_path, scenario_of)


@pytest.mark.slow  # a quarter of an hour of SimGrid
def test_tasks_and_routes_in_1000_nested_platforms_are_those_of_simgrid(tmp_path):
    for seed in range(1000, 2000):
        assert_the_same_routes(seed, tmp_path)
        assert_the_same(seed, tmp_path, scenario_of)
