"""A power cap: never is more drawn, whatever decides, and it is a smaller machine to whoever plans."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import jobs, platform

from hdeeprm_like import load_platform, simulate
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.platform_hosts import read_platform_xml
from hdeeprm_like.formats.platform_json_writer import write_platform_json
from hdeeprm_like.formats.platform_xml import write_platform_xml
from hdeeprm_like.run.loop import OVER, advance
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import constant_run

ROOT = Path(__file__).parents[2]
# two cores of 100 W beside two of 40 W on one node, and four of 60 W on another
MIXED = platform((4000.0, [(2, 1.0, 100.0, 10.0), (2, 2.0, 40.0, 10.0)]), (4000.0, [(4, 1.0, 60.0, 5.0)]))
IDLE = 0.25 * (2 * 100 + 2 * 40 + 4 * 60)  # W at most, in P2
ROUNDING = 1.0 + 1e-12  # power is added up change by change
POLICIES = ("shortest-high_gflops", "first-low_power", "fcfs+easy", "sjf+conservative", "saf+greedy")


def highest(machine, workload, policy):
    """Return the most W that are drawn at an instant of a run, and its simulator."""
    actions = PolicyActions([policy_named(policy)])
    state = State(machine, workload, needs=actions.needs)
    simulator = Simulator(state, workload)
    run, most = constant_run(simulator, actions.choices(state, constant=0)), state.watts
    while advance(run, 1) != OVER:
        state.make_room()
        most = max(most, state.watts)
    return most, simulator


def test_what_cores_draw_at_most_is_worked_out():
    """The hungriest cores first: 100 - 25 W more for each of two, 60 - 15 W for each of four, 40 - 10 W for two."""
    np.testing.assert_allclose(MIXED.most_watts, IDLE + np.array([0, 75, 150, 195, 240, 285, 330, 360, 390]))
    assert MIXED.usable_cores == 8
    assert replace(MIXED, power_cap=IDLE + 240).usable_cores == 4
    assert replace(MIXED, power_cap=IDLE + 239.9).usable_cores == 3


@settings(max_examples=25)
@given(
    cap=st.floats(IDLE + 75, IDLE + 420),
    rows=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9), st.integers(1, 8), st.integers(0, 9)), min_size=1),
    policy=st.sampled_from(POLICIES),
)
def test_no_more_than_the_cap_is_ever_drawn(cap, rows, policy):
    submit, seconds, size, bandwidth = (list(column) for column in zip(*rows, strict=True))
    workload, machine = jobs(submit, seconds, size, bandwidth=bandwidth), replace(MIXED, power_cap=cap)
    most, simulator = highest(machine, workload, policy)
    assert most <= cap * ROUNDING
    rejected = np.isnan(simulator.simulation.tasks["start"])
    np.testing.assert_array_equal(rejected, workload.size > machine.usable_cores)


@pytest.mark.parametrize("policy", POLICIES)
def test_without_the_cap_the_same_jobs_draw_more(policy):
    workload = jobs([0, 0, 0, 1, 2], [5, 6, 7, 3, 2], [3, 3, 2, 4, 1])
    cap = IDLE + 240
    assert highest(MIXED, workload, policy)[0] > cap
    assert highest(replace(MIXED, power_cap=cap), workload, policy)[0] <= cap * ROUNDING


def test_what_may_still_be_drawn_is_reported():
    state = State(replace(MIXED, power_cap=500.0), jobs())
    assert state.free_watts == pytest.approx(500.0 - 0.05 * (2 * 100 + 2 * 40 + 4 * 60))  # all rest in P3
    assert State(MIXED, jobs()).free_watts == np.inf


@pytest.mark.lane(compiled=r"zoo:.*")
@pytest.mark.parametrize(
    "policy", ["fcfs+easy", "fcfs+conservative", "sjf+easy", "saf+reserve", "zoo:slowdown", "zoo:balanced"]
)
def test_where_cores_are_alike_the_schedule_is_that_of_a_smaller_machine(policy):
    rng = np.random.default_rng(1)
    workload = jobs(np.sort(rng.integers(0, 2000, 400)), rng.integers(1, 40, 400), rng.integers(1, 6, 400), user=1)
    alike = platform((1e4, [(8, 1.0, 100.0, 100.0)]))
    capped = replace(alike, power_cap=alike.most_watts[5])
    smaller = platform((1e4, [(5, 1.0, 100.0, 100.0)]))
    found, wanted = (simulate(machine, workload, policy, clock="textbook") for machine in (capped, smaller))
    assert len(found) == len(wanted) == len(workload)
    np.testing.assert_array_equal(found.start, wanted.start)


def test_a_cap_that_leaves_no_core_is_refused_in_one_line():
    with pytest.raises(PlatformError, match=re.escape("a power cap of 200 W leaves no core; one that serves a job")):
        State(replace(MIXED, power_cap=200.0), jobs())


@pytest.mark.parametrize("cap", [float("nan"), -np.inf, 0.0, None, "much"])
def test_a_cap_that_is_no_power_is_refused(cap):
    with pytest.raises(PlatformError, match=r"power_cap is .*; a number of W is needed"):
        replace(MIXED, power_cap=cap)


def test_jobs_that_run_whole_cannot_be_had_with_a_cap():
    with pytest.raises(PlatformError, match="a power cap is not supported with jobs that run whole on a node"):
        State(replace(MIXED, power_cap=400.0), jobs(), whole=True)


def test_files_keep_the_cap(tmp_path):
    content = json.loads((ROOT / "platforms" / "learning.json").read_text())
    (tmp_path / "capped.json").write_text(json.dumps(content | {"power_cap": 5e3}))
    machine = load_platform(tmp_path / "capped.json")
    assert machine.power_cap == 5e3
    assert machine.digest() != replace(machine, power_cap=np.inf).digest()
    write_platform_xml(machine, tmp_path / "capped.xml")
    assert read_platform_xml(tmp_path / "capped.xml").power_cap == 5e3
    odd = (tmp_path / "capped.xml").read_text().replace('"5000.0"', '"1e400"')
    (tmp_path / "odd.xml").write_text(odd)
    with pytest.raises(PlatformError, match="hdeeprm_power_cap of master_host: is '1e400'"):
        read_platform_xml(tmp_path / "odd.xml")
    write_platform_json(machine, tmp_path / "again.json")
    assert load_platform(tmp_path / "again.json").power_cap == 5e3


@pytest.mark.parametrize("cap", [0, -1, "many", None])
def test_a_cap_that_is_no_power_is_refused_in_one_line(tmp_path, cap):
    content = json.loads((ROOT / "platforms" / "learning.json").read_text())
    (tmp_path / "capped.json").write_text(json.dumps(content | {"power_cap": cap}))
    with pytest.raises(PlatformError, match=r"power_cap"):
        load_platform(tmp_path / "capped.json")
