"""Cores kept for short jobs: `saf+reserve`."""

from dataclasses import replace

import numpy as np
from small import cluster, jobs, platform, step_baseline

from hdeeprm_like.cluster.partitions import Demand, demands_of
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.engine.state import Instant, State

FOUR = ((1000.0, [(4, 1.0, 100.0, 1e6)]),)  # one node with four cores


def starts(workload, name, nodes=FOUR):
    simulator = step_baseline(platform(*nodes), workload, name)
    assert simulator.unfinished == 0
    return simulator.simulation.tasks["start"].tolist()


def test_a_long_job_leaves_the_kept_cores_free_and_a_short_one_takes_them():
    workload = jobs(submit=[0, 1, 2], seconds=[5000, 5000, 100], size=[2, 2, 1])
    assert starts(workload, "saf+reserve:1:1000") == [0, 5000, 2]
    assert starts(workload, "saf+reserve:0") == starts(workload, "saf+greedy") == [0, 1, 5000]


def test_where_nothing_runs_a_job_may_take_all_cores():
    assert starts(jobs(submit=[0, 1], seconds=[5000, 5000], size=[4, 4]), "fcfs+reserve:2") == [0, 5000]


def test_jobs_are_served_in_the_order_whatever_it_is():
    workload = jobs(submit=[0, 1, 1], seconds=[2000, 4000, 3000], size=[4, 2, 2])
    assert starts(workload, "sjf+reserve:2") == [0, 5000, 2000]
    assert starts(workload, "ljf+reserve:2") == [0, 2000, 6000]


def test_an_eighth_of_the_cores_is_kept_for_jobs_up_to_1000_s_unless_the_name_says_otherwise():
    plain, given = baseline("saf+reserve"), baseline("saf+reserve:64:600-best_fit")
    assert (plain.mode.kept_of(256), plain.mode.short, plain.name) == (32, 1000.0, "saf+reserve")
    assert (given.mode.kept_of(256), given.mode.short, given.placement) == (64, 600.0, "best_fit")
    for name in (
        "saf+reserve:64:600-best_fit",
        "saf+reserve:16",
        "saf@tsafrir+reserve:16@tsafrir",
        "sjf+reserve:8:0.5P",
    ):
        assert baseline(name).name == name
        assert baseline(baseline(name).name) == baseline(name)
        assert policy_named(name) == baseline(name)


def test_what_another_policy_has_reserved_on_a_node_binds_it_not():
    # EASY reserves all four cores for 1, so 2, with its 500 s, has none; an agent that then takes this policy starts 2
    jobs_of_node = jobs(submit=[0, 1, 2], seconds=[100, 100, 500], size=[3, 4, 1])
    workload = replace(jobs_of_node, demands=demands_of([Demand("all")] * 3))
    actions = PolicyActions([baseline("fcfs+easy"), baseline("fcfs+reserve:0")])
    state = State(cluster({}, cores=4), workload, needs=actions.needs)
    for now in range(3):
        state.receive(Instant(float(now), [], 1, False))
        actions.apply(0, state)
    assert state.running.tolist() == [0]
    actions.apply(1, state)
    assert sorted(state.running.tolist()) == [0, 2]


def test_predicted_times_decide_what_is_short():
    # the user's jobs all end after 10 s, so from the third on they count as short whatever is requested
    workload = jobs(submit=np.arange(4) * 100.0, seconds=[10, 10, 10, 10], estimate=[5000] * 4, size=[3, 3, 3, 3])
    blocked = jobs(submit=[0, 300, 301], seconds=[1e4, 10, 10], estimate=[1e4, 5000, 5000], size=[1, 3, 1])
    assert starts(workload, "saf+reserve:2@tsafrir") == [0, 100, 200, 300]
    assert starts(blocked, "saf+reserve:2")[1] == 1e4


def test_an_agent_may_choose_it_and_the_engine_counts_its_action():
    from hdeeprm_like.decision.named_parts import space_with

    space = space_with(PRESETS["PolicySelect"], {"actions": ["saf+reserve:64", "sjf+easy"]})
    assert [policy.name for policy in space.pairs] == ["saf+reserve:64", "sjf+easy"]
