"""The engine decides what a slow scheduler in plain Python decides, which knows the definitions alone.

Each world is compared instant by instant: which jobs start, in which order, on which cores. A difference is shrunk to a
world that one can draw on paper. Not covered: the random placement and order, predicted run times and multifactor,
learned policies that keep cores, and on partitions the modes that have no rule of their own there
(commit, commitbackfill, packing). Nor is Slurm's mode: no text defines when Slurm looks at its queue and which nodes it
takes, so a second scheduler would repeat ours; it is held to recorded queues of real ones (`test_golden_slurm`).
"""

import dataclasses
import json
import os

import numpy as np
import pytest
from reference_scheduler import Reference
from small_worlds import CLOCKS, CONSTRAINTS, MODES, PARTITIONED, PARTITIONED_MODES, difference, draw, shrunk

from hdeeprm_like.cluster.partitions import Demand, Partitions
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine import node_sets, tables

FEW = 63  # worlds of each mode in `make test`: three of each clock and constraint, 1,188 with all others
MORE = 100  # in `make test-more`
SCALE = int(os.environ.get("HDEEPRM_LIKE_WORLDS", "50000")) / 50_000  # of the worlds of `make test-all`
MANY, MANY_PARTITIONED, MANY_SCORED = (round(count * SCALE) for count in (4_000, 1_300, 500))


# All fields that there are: those that the reference reads, and behind them those that bind nothing. A resource that is
# added anywhere is in neither, and a test below fails until it is known here.
KNOWN = {
    "Workload": (
        "submit size requested_time ops delay memory bandwidth gpus demands",
        # limits that no world has, users, networks, what a file left out
        "ids profiles requested_ops walltime capacity user program bytes account",
    ),
    "Platform": (
        "node_memory node_gpus processor_node processor_bandwidth processor_flops processor_watts core_processor "
        "power_cap partitions",
        "name cluster_names node_cluster node_types processor_types core_names network routes topology limiters "
        "links_of_file master_link "
        "speeds",  # changes how long jobs run, on Batsim's clock alone
    ),
    "Demand": ("partition constraint nodes task exclusive gpus_per_node", "account qos nice"),
    "Partitions": (
        "names nodes exclusive features weights default",
        "tiers factors settings",
    ),  # for Slurm's priorities
    "NODE": ("memory gpus cores", "first_processor processors"),
    "NODE_LOAD": ("free_memory free_gpus", "busy"),
    "PROCESSOR": ("bandwidth flops watts node cores", "first_core first_word words"),
    "LOAD": ("used_bandwidth free", "busy oversubscribed picked watts"),
    "JOB": (
        "submit requested_time memory gpus bandwidth start run_time size",
        "requested_ops finish done speed as_of user program first status place lacks stretches",
    ),
    "DEMAND": ("set partition nodes task exclusive asked gpus", "held first_hold"),
    "CLOCK": (
        "now free_cores most_cores whole partitioned",
        "watts joules wake_at calls random epoch submitted waiting demanding sorted always running completed rejected "
        "placed places changes first_start started_now rejected_now touched blocked blocked_job blocked_before "
        "arrivals_over logged decisions ends_now",
    ),
}


def compare(mode, constraints, seeds, learned="", placed=""):
    """Play worlds with all clocks and constraints in turn; a difference is reported as small as possible."""
    for seed in seeds:
        constraint = constraints[seed // len(CLOCKS) % len(constraints)]
        world = draw(mode, CLOCKS[seed % len(CLOCKS)], constraint, seed, learned, placed)
        if difference(world):
            small = shrunk(world)
            raise AssertionError(f"{mode}, {constraint}, seed {seed}: {difference(small)}\n{small}")


def lanes(few, more, many):
    """Worlds up to these numbers for `make test`, `make test-more` and `make test-all`."""
    in_lanes = (("few", 0, few, ()), ("more", few, more, pytest.mark.more), ("many", more, many, pytest.mark.slow))
    chosen = [
        pytest.param(range(first, end), marks=mark, id=name) for name, first, end, mark in in_lanes if first < end
    ]
    return pytest.mark.parametrize("seeds", chosen)


@pytest.mark.parametrize("mode", MODES)
@lanes(FEW, MORE, MANY)
def test_every_mode_decides_as_the_reference(mode, seeds):
    compare(mode, CONSTRAINTS, seeds)


@pytest.mark.parametrize("mode", PARTITIONED_MODES)
@lanes(15, MORE, MANY_PARTITIONED)
def test_so_it_does_with_partitions(mode, seeds):
    compare(mode, PARTITIONED, seeds)


@pytest.fixture
def learned(tmp_path):
    """The file of a learned policy whose score is the requested time."""
    path = tmp_path / "shortest.json"
    path.write_text(json.dumps({"queue": {"log_time": 1.0}}))
    return str(path)


@lanes(15, MORE, MANY_SCORED)
def test_so_do_learned_policies(learned, seeds):
    compare("scored", CONSTRAINTS, seeds, learned)


PLACED = {  # learned placements without what only the history knows, a cap or whole nodes; by rounding no two terms tie
    "fast": {"speed": -1.0, "bandwidth": -0.31},
    "frugal": {"added_power": 1.0, "asleep*log_cores": 0.3, "lag": 0.7, "elsewhere": 0.013},
    "narrow": {"node_left": 1.0, "cores_left*queue": 0.4, "memory_left": -0.23, "gpus*on_gpus": -0.9},
    "aware": {"contended": 2.0, "slowed*free": 3.1, "elsewhere": 0.5, "bandwidth_left*bandwidth_share": -0.7},
}


@pytest.mark.parametrize("name", PLACED)
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "packing"])
@lanes(9, 9, MANY_SCORED)
def test_so_they_do_with_a_learned_placement(tmp_path, mode, name, seeds):
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps({"queue": {"one": 1.0}, "placement": PLACED[name]}))
    compare(mode, ("cores", "memory", "gpus"), seeds, placed=str(path))


@pytest.mark.parametrize("kind", KNOWN)
def test_the_reference_knows_every_resource(kind):
    own = {"Workload": Workload, "Platform": Platform, "Partitions": Partitions}
    if kind in own:
        there = {column.name for column in dataclasses.fields(own[kind])}
    else:
        there = set(
            Demand._fields if kind == "Demand" else getattr(node_sets if kind == "DEMAND" else tables, kind).names
        )
    known, no_resource = (set(names.split()) for names in KNOWN[kind])
    unknown = there - known - no_resource
    assert not unknown, f"{kind}: the reference scheduler does not know {sorted(unknown)}; see KNOWN"
    assert (known | no_resource) - there == set()


def test_a_difference_is_shrunk_to_what_one_can_draw_on_paper(monkeypatch):
    def forgetful(self, free, j):  # a reference that forgets GPUs, as an engine might
        asked = self.jobs.memory[j]
        return min(free[0], max(np.floor(free[1] / asked + 1e-9), 0)) if asked > 0 else free[0]

    monkeypatch.setattr(Reference, "room_on", forgetful)
    found = next(world for seed in range(100) if difference(world := draw("easy", "textbook", "gpus", seed)))
    small = shrunk(found)
    assert difference(small)
    assert len(small.jobs) <= 2
    assert len(small.nodes) == 1
