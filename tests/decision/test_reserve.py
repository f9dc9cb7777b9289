"""Cores kept for short jobs: `saf+reserve`."""

import numpy as np
import pytest
from on_paper import OnPaper, cores, in_all
from small import cluster, jobs

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.named_parts import space_with
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.engine.state import Instant, State

WORLDS = {
    "a long job leaves the kept cores free and a short one takes them": OnPaper(
        cores(4),
        jobs([0, 1, 2], [5000, 5000, 100], [2, 2, 1]),
        {"saf+reserve:1:1000": [0, 5000, 2], "saf+reserve:0": [0, 1, 5000], "saf+greedy": [0, 1, 5000]},
    ),
    "where nothing runs a job may take all cores": OnPaper(
        cores(4), jobs([0, 1], [5000, 5000], 4), {"fcfs+reserve:2": [0, 5000]}
    ),
    "jobs are served in the order whatever it is": OnPaper(
        cores(4),
        jobs([0, 1, 1], [2000, 4000, 3000], [4, 2, 2]),
        {"sjf+reserve:2": [0, 5000, 2000], "ljf+reserve:2": [0, 2000, 6000]},
    ),
    # the user's jobs all end after 10 s, so from the third on they count as short whatever is requested
    "predicted times decide what is short": OnPaper(
        cores(4),
        jobs(np.arange(4) * 100.0, [10] * 4, 3, estimate=[5000] * 4),
        {"saf+reserve:2@tsafrir": [0, 100, 200, 300]},
    ),
    "and what is requested where nothing is predicted": OnPaper(
        cores(4),
        jobs([0, 300, 301], [1e4, 10, 10], [1, 3, 1], estimate=[1e4, 5000, 5000]),
        {"saf+reserve:2": [0, 1e4, 301]},
    ),
}


@pytest.mark.parametrize("world", WORLDS)
def test_jobs_start_as_on_paper(world):
    WORLDS[world].check()


def test_an_eighth_of_the_cores_is_kept_for_jobs_up_to_1000_s_unless_the_name_says_otherwise():
    plain, given = baseline("saf+reserve"), baseline("saf+reserve:64:600-best_fit")
    assert (plain.mode.kept_of(256), plain.mode.short, plain.name) == (32, 1000.0, "saf+reserve")
    assert (given.mode.kept_of(256), given.mode.short, given.placement) == (64, 600.0, "best_fit")


def test_what_another_policy_has_reserved_on_a_node_binds_it_not():
    # EASY reserves all four cores for 1, so 2, with its 500 s, has none; an agent that then takes this policy starts 2
    workload = in_all(jobs(submit=[0, 1, 2], seconds=[100, 100, 500], size=[3, 4, 1]))
    actions = PolicyActions([baseline("fcfs+easy"), baseline("fcfs+reserve:0")])
    state = State(cluster({}, cores=4), workload, needs=actions.needs)
    for now in range(3):
        state.receive(Instant(float(now), [], 1, False))
        actions.apply(0, state)
    assert state.running.tolist() == [0]
    actions.apply(1, state)
    assert sorted(state.running.tolist()) == [0, 2]


def test_an_agent_may_choose_it_and_the_engine_counts_its_action():
    space = space_with(PRESETS["PolicySelect"], {"actions": ["saf+reserve:64", "sjf+easy"]})
    assert [policy.name for policy in space.pairs] == ["saf+reserve:64", "sjf+easy"]
