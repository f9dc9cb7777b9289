"""The options file: HDeepRM's schema, strict."""

import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES, policy_in
from hdeeprm_like.decision.observations.view import KINDS
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.decision.rewards import MODES, OBJECTIVES
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.experiment import space_of
from hdeeprm_like.options import ALL_PAIRS, CORE_POLICY_NAMES, JOB_POLICY_NAMES, Options, read_options, schema
from hdeeprm_like.studies.evolution.options import EvolutionOptions

CLASSIC = {"seed": 1, "pybatsim": {"agent": {"policy_pair": "first-high_gflops"}}}


def read(folder, **content):
    """The options of a file with a seed and more."""
    (folder / "o.json").write_text(json.dumps({"seed": 1, **content}))
    return read_options(folder / "o.json")


def of_agent(**agent):
    """The section of an agent, as a part of the options."""
    return {"pybatsim": {"agent": agent}}


@pytest.mark.parametrize("policy", ["zoo:balanced", "sjf+easy-low_power", "shortest-high_gflops"])
def test_a_policy_may_stand_at_the_top_or_be_called_so_by_a_classic_agent(tmp_path, policy):
    pair = read(tmp_path, **of_agent(policy_pair=policy)).classic_policy
    assert read(tmp_path, policy=policy).classic_policy == pair
    if "+" in policy or ":" in policy:
        agent = read(tmp_path, **of_agent(policy=policy))
        assert (agent.classic_policy, agent.pybatsim.agent.policy_pair) == (pair, policy)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (of_agent(policy="sjf+eazy"), "did you mean 'easy'"),
        (of_agent(policy=3), "policy_pair"),
        (of_agent(policy="sjf", policy_pair="sjf"), "leave one out"),
        ({"policy": "sjf", **of_agent(policy_pair="first-high_gflops")}, "policy: needs a CLASSIC agent"),
        ({"policy": "sjf", **of_agent(type="LEARNING")}, "policy: needs a CLASSIC agent"),
    ],
)
def test_a_policy_is_checked_as_a_pair_is_and_goes_with_no_other(tmp_path, content, message):
    with pytest.raises(OptionsError, match=message):
        read(tmp_path, **content)


def test_the_options_know_all_policies_and_objectives_that_exist():
    env = schema()["$defs"]["EnvOptions"]["properties"]
    assert set(JOB_POLICY_NAMES) == set(JOB_POLICIES)
    assert set(CORE_POLICY_NAMES) == set(CORE_POLICIES)
    assert env["objective"]["examples"] == list(OBJECTIVES)
    assert env["observation"]["examples"] == list(KINDS)
    assert env["preset"]["enum"] == list(PRESETS)
    assert env["reward"]["anyOf"][0]["enum"] == list(MODES)
    assert len(ALL_PAIRS) == 36
    assert PolicyActions([policy_in(name) for name in ALL_PAIRS], void=True).size == 37


def options(selection, **agent):
    return Options.model_validate(
        {"seed": 1, "pybatsim": {"env": {"actions": {"selection": selection}}, "agent": agent}}
    )


def test_a_selection_is_taken_in_the_order_of_the_file_and_each_pair_once_and_none_means_all():
    selection = [{"first": ["low_power", "random"], "shortest": ["random"]}, {"first": ["random"]}]
    pairs = ("first-low_power", "first-random", "shortest-random")
    assert options(selection, type="LEARNING").pybatsim.env.actions.names == pairs
    assert options([], type="LEARNING").pybatsim.env.actions.names == ALL_PAIRS


def policies(*names, **actions):
    env = {"actions": {"policies": list(names), **actions}}
    return Options.model_validate({"seed": 1, "pybatsim": {"env": env, "agent": {"type": "LEARNING"}}})


def test_policies_may_be_baselines_pairs_and_pairs_with_a_job_policy_of_ones_own():
    section = policies("sjf+easy", "fcfs-best_fit", "shortest-low_power", "own.py:mine-random").pybatsim.env.actions
    assert section.names == ("sjf+easy", "fcfs-best_fit", "shortest-low_power", "own.py:mine-random")


def test_the_decision_space_has_the_policies_of_the_file_as_its_actions():
    env = policies("sjf+easy", "shortest-low_power", void=True).pybatsim.env
    assert PolicyActions(space_of(env, Path()).pairs, void=True).names == ("sjf+easy", "shortest-low_power", "void")
    assert space_of(env.model_copy(update={"preset": "SMDP"}), Path()).actions == "policies"


@pytest.mark.parametrize(
    ("names", "actions", "message"),
    [
        (["sjf+eazy"], {}, "mode 'eazy' is not known; did you mean 'easy'?"),
        (["sfj+easy"], {}, "order 'sfj' is not known; did you mean 'sjf'?"),
        (["shortst-high_gflops"], {}, "order 'shortst' is not known; did you mean 'shortest'?"),
        (["own.py:mine-high_gflop"], {}, "'high_gflop' is no core policy; did you mean 'high_gflops'?"),
        (["sjf", "sjf+strict"], {}, "'sjf' is listed twice"),
        (["sjf"], {"selection": [{"first": ["random"]}]}, "exclude one another"),
        (["sjf"], {"kind": "jobs"}, "of the kind 'policies', not 'jobs'"),
    ],
)
def test_policies_that_make_no_sense_are_refused_with_their_place_in_one_line(names, actions, message, tmp_path):
    env = {"actions": {"policies": names, **actions}}
    with pytest.raises(OptionsError) as error:
        read(tmp_path, pybatsim={"env": env, "agent": {"type": "LEARNING"}})
    assert message in str(error.value)
    assert "pybatsim.env.actions" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_classic_agent_follows_its_pair_or_the_only_one_selected_or_listed():
    assert options([], policy_pair="shortest-low_power").classic_policy == "shortest-low_power"
    assert options([{"first": ["high_mem"]}]).classic_policy == "first-high_mem"
    both = options([{"first": ["high_mem"]}], policy_pair="shortest-low_power")
    assert both.classic_policy == "shortest-low_power"
    content = {"seed": 1, "pybatsim": {"env": {"actions": {"policies": ["sjf+easy"]}}}}
    assert Options.model_validate(content).classic_policy == "sjf+easy"


@pytest.mark.parametrize("selection", [[], [{"first": ["high_mem", "random"]}]])
def test_a_classic_agent_needs_exactly_one_pair(selection):
    with pytest.raises(ValueError, match="follows one policy pair"):
        options(selection)


def test_every_pair_is_split_at_its_dash():
    assert tuple("-".join(policy_in(pair)) for pair in ALL_PAIRS) == ALL_PAIRS


def test_keys_of_a_users_learner_are_kept():
    chosen = options([], type="LEARNING", depth=3, file="mine.py")
    assert chosen.pybatsim.agent.model_extra == {"depth": 3, "file": "mine.py"}


def test_layers_have_one_number_of_units_or_each_its_own():
    assert options([], type="LEARNING", hidden=8).pybatsim.agent.hidden == 8
    assert options([], type="LEARNING", hidden=[256, 128]).pybatsim.agent.hidden == [256, 128]
    for wrong in ([], [8, 0], [1.5], "8", 0, True):
        with pytest.raises(ValueError, match="a number of units of at least 1, or a list of such numbers"):
            options([], type="LEARNING", hidden=wrong)


def test_options_survive_being_written_and_read(tmp_path):
    chosen = Options.model_validate(CLASSIC)
    assert read(tmp_path, **chosen.model_dump(mode="json")) == chosen


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ACTIONS = ["pybatsim", "env", "actions"]
PLACES = [
    ["seed"],
    ["nb_jobs"],
    ["workload"],
    ["type_file_paths"],
    ["pybatsim", "agent", "type"],
    ["pybatsim", "agent"],
]
PLACES += [ACTIONS[:1], ACTIONS[:2], ACTIONS, [*ACTIONS, "selection"]]


@given(st.sampled_from(PLACES), json_values)
def test_whatever_stands_in_the_file_is_taken_or_refused_in_one_line(tmp_path_factory, place, value):
    content = json.loads(json.dumps(CLASSIC))
    at = content
    for key in place[:-1]:
        at = at.setdefault(key, {})
    at[place[-1]] = value
    path = tmp_path_factory.mktemp("options") / "o.json"
    path.write_text(json.dumps(content))
    try:
        read_options(path)
    except OptionsError as error:
        assert str(error).startswith(str(path))  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017


def sections_of(section):
    """Yield a section of an options file, and those in it."""
    yield section
    for field in section.model_fields.values():
        for inner in (field.annotation, *get_args(field.annotation)):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from sections_of(inner)


@pytest.mark.parametrize(
    "section", [*sections_of(Options), *sections_of(EvolutionOptions)], ids=lambda one: one.__name__
)
def test_every_whole_number_of_a_section_has_a_limit(section):
    """Its limit stands at the field: one without would fill the memory, or run for years."""
    for name, field in section.model_fields.items():  # the size of a pool is checked with those of other platforms
        if "int" not in str(field.annotation) or name == "platform_file_path":
            continue
        with pytest.raises(ValidationError) as refused:
            section.model_validate({name: 10**15 if name != "seed" else 2**63})
        assert any(problem["loc"][0] == name and problem["type"] != "missing" for problem in refused.value.errors()), (
            name
        )
