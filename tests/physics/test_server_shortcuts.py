"""The server's shortcuts change nothing: no message, no time to its last bit, no row of a file.

Without them every action follows each step, and every message shares its links.
"""

import json
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenario_scheduler import Scheduler
from scenarios import scenario_of, star, workflow_of
from test_batsim_messages import options_of
from wider_scenarios import machines_of, talking_of

from hdeeprm_like.batsim_server import clock, countdowns
from hdeeprm_like.batsim_server.countdowns import Action, Countdown, Works
from hdeeprm_like.batsim_server.server import Server
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.errors import HDeepRMError


def played(scenario, folder):
    """All that the server says, with its clock, all that it notes for its files, and why it refuses a reply, if so."""
    (folder / "p.xml").write_text(scenario["xml"])
    master = "master_host0" if 'prefix="master_host"' in scenario["xml"] else "master_host"
    options = options_of({"master": master, **scenario, "platform": str(folder / "p.xml")}, folder)
    simulation, scheduler, said, refusal = Simulation(options), Scheduler(scenario), [], None
    name = "wf0" if "workflow" in scenario else "w0"

    def ask(text):
        said.append((simulation.engine.now, text))
        message = json.loads(text.replace(f'"{name}!', '"w0!'))
        now, replies = scheduler.answer(message["now"], [(event["type"], event["data"]) for event in message["events"]])
        listed = [{"timestamp": time, "type": kind, "data": data} for time, kind, data in replies]
        return json.dumps({"now": now, "events": listed}).replace('"w0!', f'"{name}!').encode()

    try:
        Server(simulation, ask).run()
    except HDeepRMError as error:  # a requested call is over when its reply arrives, where Batsim aborts
        refusal = str(error)
    machines = simulation.machines
    return said, simulation.rows, machines.state_rows, machines.energy_rows, machines.seconds, refusal


def assert_the_same(scenario, folder, monkeypatch):
    monkeypatch.setattr(clock, "MOST_STEPS", 7)
    short = played(scenario, folder)
    with monkeypatch.context() as without:
        without.setattr(countdowns, "NEAR", inf)
        without.setattr(clock.Clock, "way", lambda *_: None)
        assert played(scenario, folder) == short


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_shortcuts_change_nothing_in_20_scenarios(first, tmp_path, monkeypatch):
    for seed in range(first, first + 20):
        assert_the_same(scenario_of(seed, energy=seed % 4 == 0), tmp_path, monkeypatch)


def test_shortcuts_change_nothing_where_messages_take_longer_than_jobs(tmp_path, monkeypatch):
    for seed in range(200, 230):
        assert_the_same(scenario_of(seed) | {"xml": star("300ms")}, tmp_path, monkeypatch)


def test_shortcuts_change_nothing_where_machines_change_and_jobs_talk(tmp_path, monkeypatch):
    for seed in range(20):
        assert_the_same(machines_of(seed), tmp_path, monkeypatch)
        assert_the_same(talking_of(seed), tmp_path, monkeypatch)


def test_shortcuts_change_nothing_in_workflows(tmp_path, monkeypatch):
    for seed in range(5):
        assert_the_same(workflow_of(seed), tmp_path, monkeypatch)


@pytest.mark.slow  # a minute
def test_shortcuts_change_nothing_in_2000_scenarios(tmp_path, monkeypatch):
    for seed in range(5000, 7000):
        assert_the_same(scenario_of(seed, energy=seed % 4 == 0), tmp_path, monkeypatch)


def ended_after_each_step(kind, amounts, steps, most):
    """What is left of each action after each step of a clock, to the last bit, and which of them ended."""
    noted, now, log = [], 0.0, []
    countdown = kind(1e-9 if kind is Countdown else 1e-14, log)
    actions = [Action(number, lambda: None, ()) for number in range(len(amounts))]
    for action, amount in zip(actions, amounts, strict=True):
        if kind is Countdown:
            countdown.add(action, amount, now)
        else:
            countdown.add(action, 1.0, now)
            countdown.set_rate(action, 1.0 / amount, now)
    for longest in steps:
        step = min(longest, countdown.nearest(now, longest))
        if len(log) >= most:
            countdown.forget_steps()
            log.clear()
        log.append(step)
        now += step
        ended = countdown.advance(step)
        for action in ended:
            countdown.drop(action)
        left = [countdown.left(action) for action in actions if action.countdown is not None]
        noted.append((step, left, sorted(action.sequence for action in ended)))
    return noted


@given(
    st.sampled_from([Countdown, Works]),
    st.lists(st.floats(1e-6, 1e5), min_size=1, max_size=8),
    st.lists(st.sampled_from([1e-9, 3e-5, 0.1, 7.3, 1e4]), min_size=1, max_size=60),
    st.integers(1, 9),
)
def test_what_is_left_of_an_action_that_makes_up_for_steps_is_what_following_each_leaves(kind, amounts, steps, most):
    with pytest.MonkeyPatch.context() as patch:
        short = ended_after_each_step(kind, amounts, steps, most)
        patch.setattr(countdowns, "NEAR", inf)
        assert ended_after_each_step(kind, amounts, steps, 10**9) == short
