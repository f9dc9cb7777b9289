"""Names of policies: their words, and that every command reads one name as one policy."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like import refusals
from hdeeprm_like.decision.actions import name_of, policy_named
from hdeeprm_like.decision.compared_policies import Paired, compared_policy
from hdeeprm_like.decision.modes import mode_named
from hdeeprm_like.decision.named_parts import policy_of
from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES, Baseline, baseline, policy_in
from hdeeprm_like.decision.policy_words import Words, signs_and_words, words_of
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.options import read_options

NAMES = (
    "sjf",
    "smallest",
    "smallest-high_gflops",
    "smallest+strict-high_gflops",
    "random-random",
    "first-low_power",
    "saf+bounded:.1",
    "saf+reserve:4:.5-best_fit",
    "sjf@ewma+easy@tsafrir-spread",
    "fcfs+easyP",
    "zoo:balanced",
    "zoo:steady@survival+bounded:2-first_fit",
    "bfbp",
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sjf@ewma+reserve:4:.5@tsafrir-spread", Words("sjf", "ewma", "reserve:4:.5", "tsafrir", "spread")),
        ("scored:a-b+c@d.json+bounded-low_power", Words("scored:a-b+c@d.json", None, "bounded", None, "low_power")),
        ("sjf+easy-scored:x-y.json", Words("sjf", None, "easy", None, "scored:x-y.json")),
        ("sjf@learned:my-own.py+easy", Words("sjf", "learned:my-own.py", "easy")),
        ("my-folder/own.py:longest-low_power", Words("my-folder/own.py:longest", placement="low_power")),
        ("scored:no-ending", Words("scored:no-ending")),
        ("agent:runs/a+b-c", Words("agent:runs/a+b-c")),
    ],
)
def test_a_word_ends_at_a_sign_that_is_in_no_path(name, words):
    assert words_of(name) == words


@given(st.text("zo:scredlarnt.jpy/@+-ab\n", max_size=40))
def test_the_words_behind_their_signs_are_the_name(name):
    assert "".join(sign + word for sign, word in signs_and_words(name)) == name


@pytest.mark.parametrize("name", NAMES)
def test_every_command_reads_one_name_as_one_policy(name, tmp_path):
    found = policy_in(name)
    (tmp_path / "o.json").write_text(json.dumps({"seed": 1, "policy": name}))
    compared = compared_policy(name)
    assert policy_named(read_options(tmp_path / "o.json").classic_policy, refusals.LAUNCH) == found
    assert (compared.pair if isinstance(compared, Paired) else compared) == found
    assert Space(actions=[name]).pairs == (policy_of(name),) == (found,)
    assert policy_in(name_of(found)) == found


def test_a_job_policy_and_a_core_policy_of_the_thesis_are_a_pair_also_where_an_order_has_that_name():
    assert {type(policy_in(f"{job}-{core}")) for job in JOB_POLICIES for core in CORE_POLICIES} == {tuple}
    assert isinstance(policy_in("smallest"), Baseline)
    assert policy_in("smallest+strict-low_power") == Baseline("smallest", mode_named("strict")(), placement="low_power")
    for name in ("smallest-best_fit", "shortest-best_fit"):
        with pytest.raises(OptionsError, match="'best_fit' is no core policy"):
            policy_in(name)


def test_a_job_policy_of_ones_own_goes_with_the_fastest_cores_unless_it_names_others():
    file = Path(__file__).parents[2] / "agents" / "own_parts.py"
    assert (
        policy_in(f"{file}:longest") == policy_in(f"{file}:longest-high_gflops") == (f"{file}:longest", "high_gflops")
    )
    assert policy_named(f"{file}:longest-low_power")[1] == "low_power"
    assert policy_named("own_parts.py:longest", folder=file.parent)[0].__name__ == "longest"


@pytest.mark.parametrize(
    "name", ["sjf+easy-a-b", "sjf@a@b", "sjf+easy+greedy", "sjf-low_power@ewma", "sjf-zoo:a-zoo:b"]
)
def test_words_in_another_order_are_refused_in_one_line(name):
    with pytest.raises(OptionsError, match="is not of the form ORDER@TIMES") as refused:
        policy_in(name)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sfj+easy", r"order 'sfj' is not known; did you mean 'sjf'\?"),
        ("sjf+eas", r"mode 'eas' is not known; did you mean 'easy'\?"),
        ("sjf@+easy", "run times '' is not known"),
        ("sjf@tsafir+easy", "did you mean 'tsafrir'"),
        ("sjf+easy@", "run times '' is not known"),
        ("sjf@tsafrir+easyP", "mode 'easyP' is not known"),
        ("sjf+easylearned:own.py", r"mode 'easylearned:own\.py' is not known"),
        ("sjf@learned+easy", r"write learned:FILE\.json"),
        ("sjf@learned:trees.txt+easy", r"write learned:FILE\.json"),
        ("sjf@learned:+easy", r"write learned:FILE\.json"),
        ("sjf@learned:/nowhere/m.json+easy", r"/nowhere/m\.json: cannot be read: No such file"),
        ("sjf@learned:/nowhere+easy", r"write learned:FILE\.json"),
        ("saf+reserve:", "write reserve"),
        ("saf+reserve:many", "reserve:many is not known"),
        ("saf+reserve:-3", "write reserve"),
        ("saf+reserve:1:2:3", "reserve:1:2:3 is not known"),
        ("saf+reserve:" + "9" * 400, "reserve:9999"),
        ("saf+easy:3", "'easy' has no options; only reserve, slurm, bounded have"),
        ("saf+bounded:", "write bounded"),
        ("saf+bounded:much", "bounded:much is not known"),
        ("saf+bounded:0", "from 0.1 to 100"),
        ("saf+bounded:101", "from 0.1 to 100"),
        ("saf+bounded:1:2", "bounded:1:2 is not known"),
        ("saf+bounded:" + "9" * 400, "bounded:9999"),
        ("zoo:balanced+bounded:x", "bounded:x is not known"),
        ("zoo:balanced+bounded:1:2", "bounded:1:2 is not known"),
        ("saf+bounded@ewma", "guaranteed starts use requested times, not predicted ones"),
        ("saf+boundd", "did you mean 'bounded'"),
        ("zoo:steady@", "run times '' is not known"),
        ("zoo:steady@emwa", "did you mean 'ewma'"),
        ("zoo:balancd", r"did you mean 'balanced'\?"),
        ("sjf+scored", r"write scored:FILE\.json"),
        ("multifactor+slurm:60", "Slurm's own order, for which no watch sets factors"),
        ("sjf+slurm:fast", "write slurm"),
        ("zoo:balanced+slurm:10:0", "site factor, from 1 to"),
        ("zoo:balanced+easy", r"gives its order to Slurm \(\+slurm\)"),
        ("zoo:balanced+slurm-best", "placement 'best' is not known"),
        ("sjf-bestfit", r"placement 'bestfit' is not known; did you mean 'best_fit'\?"),
        ("sjf-", "placement '' is not known"),
        ("fcfs+packing-low_power", "packing goes with best_fit, tetris, tetris_srtf"),
    ],
)
def test_a_name_that_makes_no_sense_is_refused_in_one_line(name, message):
    with pytest.raises(OptionsError, match=message) as refused:
        baseline(name)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


WRITTEN = {  # names, and how they are written: without what goes without saying
    "sjf": "sjf+strict",
    "sjf+easy-high_gflops": "sjf+easy",
    "fcfs-tetris": "fcfs+strict-tetris",
    "bfbp": "fcfs+packing",
    "tetris": "fcfs+packing-tetris",
    "sjf@actual+easy@actual": "sjf+easyP",
    "sjf@requested+easy@ewma-first_fit": "sjf+easy@ewma-first_fit",
    "saf+bounded:1": "saf+bounded",
    "sjf+slurm:10": "sjf+slurm",
    "sjf+slurm:10:10000": "sjf+slurm",
    "zoo:balanced+scored": "zoo:balanced",
    "zoo:steady+bounded:1.1": "zoo:steady",
    "zoo:steady@expected": "zoo:steady",
}
AS_THEY_ARE = (
    "f1+easyP", "sjf+easyP-best_fit", "sjf@actual+easy", "zoo:balanced-low_power",
    "saf+reserve:64:600-best_fit", "saf+reserve:16", "saf@tsafrir+reserve:16@tsafrir", "sjf+reserve:8:0.5P",
    "sjf+bounded:2", "sjf@tsafrir+bounded:1.5-best_fit", "saf+boundedP", "saf+bounded:0.5P",
    "zoo:balanced+bounded", "zoo:slowdown+bounded:2-first_fit", "zoo:steady+bounded:2-first_fit",
    "saf@ewma+slurm:10:500", "zoo:balanced+slurm:60", "zoo:balanced+slurm:0-first_fit",
    "zoo:steady@ewma+bounded:2-first_fit",
)  # fmt: skip


@pytest.mark.parametrize("name", [*WRITTEN, *AS_THEY_ARE])
def test_a_name_contains_what_differs_from_the_defaults(name):
    written = WRITTEN.get(name, name)
    assert baseline(name).name == written
    assert baseline(written) == baseline(name) == policy_named(written)


@pytest.mark.parametrize("name", ["f1+easyP", "sjf@actual+easy", "zoo:balanced@actual"])
def test_a_policy_that_knows_actual_times_needs_them(name):
    assert baseline(name).needs_run_times


@pytest.mark.parametrize(
    ("driver", "name"),
    [
        (driver, name)
        for driver in refusals.DRIVERS
        for name in ("agent:zoo/none", "actual")
        if name != "actual" or driver != refusals.COMPARE
    ],
)
def test_agents_and_recorded_schedules_are_refused_where_nothing_plays_them(driver, name):
    if name == "actual" or driver not in refusals.AGENTS_PLAYED:
        with pytest.raises(OptionsError, match=r"is a trained agent|is the schedule that a trace records"):
            policy_in(name, driver)
