"""What baselines own: each mode's memory, guarantees, and the type of plans that they all share."""

import pytest
from on_paper import cores
from small import jobs, platform

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.policies.baselines import forget, make_room, new_baselines
from hdeeprm_like.engine.bundles import bundle_in
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import longer


def state_for(*names):
    policies = [baseline(name) for name in names]
    state = State(cores(4), jobs(submit=[0, 1]), needs=PolicyActions(policies).needs)
    return state, policies


def test_two_baselines_of_a_mode_have_two_memories():
    state, policies = state_for("sjf+conservative", "fcfs+conservative")
    plans = new_baselines(state, policies)
    bundle_in(plans.memories, 0).start[1] = 7.0
    assert bundle_in(plans.memories, 1).start[1] == -1.0


@pytest.mark.parametrize(("nodes", "words"), [(64, 1), (65, 2)])
def test_the_nodes_of_a_guarantee_are_bits_of_words(nodes, words):
    policy = baseline("sjf+bounded")
    machine = platform(*[(1000.0, [(1, 1.0, 4.0, 10.0)])] * nodes)
    state = State(machine, jobs(), needs=PolicyActions([policy]).needs)
    bounds = bundle_in(new_baselines(state, [policy]).guarantees, 0)
    assert bounds.spans.nodes.shape == (1, words)


def test_room_for_more_jobs_keeps_what_a_baseline_remembers():
    state, policies = state_for("sjf+conservative", "sjf+bounded")
    plans = new_baselines(state, policies)
    memory, bounds = bundle_in(plans.memories, 0), bundle_in(plans.guarantees, 1)
    memory.start[1], memory.profile.slices["free"][2] = 7.0, 3
    bounds.jobs["promised"][0], bounds.spans.nodes[1] = 9.0, 5
    state.tables.jobs = longer(state.tables.jobs, 50)
    make_room(plans, state, policies)
    assert memory.start.tolist() == [-1.0, 7.0, *[-1.0] * 48]
    assert memory.profile.slices["free"].tolist() == [0, 0, 3, *[0] * 101]
    assert bounds.jobs["promised"][0] == 9.0
    assert bounds.spans.nodes.tolist() == [[0], [5], *[[0]] * 48]


def test_a_baseline_whose_jobs_have_moved_plans_all_of_them_again():
    state, policies = state_for("sjf+conservative")
    plans = new_baselines(state, policies)
    memory = bundle_in(plans.memories, 0)
    memory.start[0], memory.profile.count[0] = 7.0, 2
    memory.planned["stale"], memory.planned["jobs"] = 0, 1
    forget(plans, state, policies)
    assert (memory.start[0], memory.profile.count[0]) == (-1.0, 0)
    assert (memory.planned["stale"][0], memory.planned["jobs"][0]) == (1, 0)


@pytest.mark.parametrize("name", ["saf@ewma+easy", "sjf+conservative", "zoo:balanced", "multifactor+bounded"])
def test_plans_have_one_type_so_that_modes_are_compiled_once(name):
    alone = new_baselines(*state_for("fcfs+strict"))
    assert new_baselines(*state_for("fcfs+strict", name)).layout is alone.layout
