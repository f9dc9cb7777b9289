"""Files of learned run-time predictors: names with paths in them, trees in compiled code, files that make no sense."""

import json
from pathlib import Path

import numpy as np
import pytest

from hdeeprm_like.decision.named_parts import policy_of
from hdeeprm_like.decision.names import baseline, policy_in
from hdeeprm_like.decision.policies.trees import new_trees, sum_of_trees
from hdeeprm_like.decision.policy_words import beside
from hdeeprm_like.decision.score_files import FEATURES as SCORE_FEATURES
from hdeeprm_like.decision.tree_files import FEATURES, predictor, predictor_of
from hdeeprm_like.errors import OptionsError

LEAF = {"baseline": 0, "trees": [[{"value": -1.0}]]}
ASKS = {"feature": "log_last", "at_most": 0.5, "left": 1, "right": 2}


def tree(**changes):
    return {"baseline": 0.0, "trees": [[ASKS | changes, {"value": 1.0}, {"value": 2.0}]]}


@pytest.fixture
def name(tmp_path):
    path = tmp_path / "a+b-c@d" / "my-trees.json"
    path.parent.mkdir()
    path.write_text(json.dumps(LEAF))
    return f"learned:{path}"


def test_paths_may_hold_what_names_are_split_at(name):
    found = baseline(f"sjf@{name}+easy@ewma-first_fit")
    assert (found.order, found.order_times, found.mode.name, found.times) == ("sjf", name, "easy", "ewma")
    assert found.placement == "first_fit"
    assert baseline(found.name) == found
    both = baseline(f"saf@{name}+conservative@{name}")
    assert (both.order_times, both.times, both.name) == (name, name, f"saf@{name}+conservative@{name}")
    assert baseline(f"fcfs+easy@{name}").predictors == (name,)
    assert baseline(f"sjf@{name}").mode.name == "strict"
    assert not baseline(f"sjf@{name}").needs_run_times


def test_options_files_and_lists_of_policies_take_such_names(name):
    text = f"sjf@{name}+easy"
    assert policy_in(f"{text}-best_fit").placement == "best_fit"
    assert policy_in(text) == policy_of(text) == baseline(text)


def test_files_in_an_options_file_are_named_from_its_folder():
    content = {"policy": "sjf@learned:m.json+easy@learned:../n-1.json-first_fit", "seed": 1}
    folder = Path("/experiments/one")
    wanted = "sjf@learned:/experiments/one/m.json+easy@learned:/experiments/one/../n-1.json-first_fit"
    assert beside(content, folder) == {"policy": wanted, "seed": 1}


def test_a_file_that_has_changed_is_read_again(name):
    path = Path(name.removeprefix("learned:"))
    assert predictor(name) is predictor(name)
    path.write_text(json.dumps(LEAF | {"baseline": -12.5}))
    assert predictor(name).baseline == -12.5
    path.write_text("{")
    with pytest.raises(OptionsError, match="not valid JSON"):
        predictor(name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "an object is needed"),
        ({"baseline": 0}, "trees: a list of trees is needed, not None"),
        ({"baseline": 0, "trees": [[]]}, "tree 0: a list of nodes is needed"),
        ({"trees": []}, "baseline: is null; a number from -1e+12 to 1e+12 is needed"),
        ({"baseline": 0, "trees": [], "tree": []}, "'tree' is not known; did you mean 'trees'?"),
        (
            {"baseline": 0, "trees": [[{"value": "x"}]]},
            "tree 0: node 0: value: is 'x'; a number from -1e+12 to 1e+12 is needed",
        ),
        ({"baseline": 0, "trees": [[{"value": 1, "left": 1}]]}, "'left' is not known"),
        ({"baseline": 0, "trees": [[3]]}, "tree 0: node 0: an object is needed"),
        ({"baseline": 0, "trees": [[{}]]}, "feature: a name is needed, or a value alone"),
        (tree(feature="log_las"), "'log_las' is not known; did you mean 'log_last'?"),
        (tree(at_most=float("nan")), "at_most: is nan; a number from -1e+12 to 1e+12 is needed"),
        (tree(left=0), "left: a node from 1 to 2 is needed, not 0"),
        (tree(right=3), "right: a node from 1 to 2 is needed, not 3"),
        (tree(right=True), "right: a node from 1 to 2 is needed, not True"),
        (tree(missing="up"), "missing: left or right is needed, not 'up'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_one_line(content, message):
    with pytest.raises(OptionsError) as caught:
        predictor_of(content, "my.json")
    assert str(caught.value).startswith("my.json: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_trees_add_up_on_paper():
    other = tree(missing="left", feature="log_all_cores", left=2, right=1)["trees"]
    found = new_trees([predictor_of(LEAF, "a"), predictor_of(tree() | {"trees": tree()["trees"] + other}, "b")], 1)
    places = [list(FEATURES).index(feature) for feature in ("log_last", "log_all_cores")]

    def told(*features):
        found.features[places] = features
        return sum_of_trees(found, 1)

    assert sum_of_trees(found, 0) == -1.0
    assert told(0.5, 0.0) == 1.0 + 2.0
    assert told(0.6, 0.0) == 2.0 + 2.0
    assert told(0.6, 9.0) == 2.0 + 1.0
    assert told(np.nan, np.nan) == 2.0 + 2.0  # right where it is left out, left where it says so


# grows forests of every size; one tree decides in its own test
@pytest.mark.more
def test_compiled_trees_predict_what_scikit_learn_predicts():
    ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is missing: its trees are not looked at")
    from hdeeprm_like.studies.prediction.training import content_of, sum_in_python

    rng = np.random.default_rng(5)
    rows = rng.normal(size=(600, len(FEATURES)))
    rows[rng.uniform(size=rows.shape) < 0.3] = np.nan
    target = np.nansum(rows[:, :4], axis=1) + np.isnan(rows[:, 5])
    for loss in ({}, {"loss": "quantile", "quantile": 0.8}):
        model = ensemble.HistGradientBoostingRegressor(max_iter=20, random_state=0, **loss).fit(rows, target)
        content = json.loads(json.dumps(content_of(model, {})))
        found = predictor_of(content, "m")
        trees, fresh = new_trees([found], 1), rng.normal(size=(200, len(FEATURES)))
        fresh[rng.uniform(size=fresh.shape) < 0.3] = np.nan
        told = []
        for row in fresh:
            trees.features[:] = row
            told.append(sum_of_trees(trees, 0))
        assert np.allclose(told, model.predict(fresh), rtol=0, atol=1e-12)
        assert sum_in_python(found, fresh[0].tolist()) == pytest.approx(told[0], abs=1e-12)


def test_predictors_look_at_what_learned_policies_look_at_but_for_waits_and_the_machine():
    shared = [name for name in FEATURES if name in SCORE_FEATURES]
    assert shared == list(SCORE_FEATURES)[: len(shared)]
    assert shared[-1] == "user_share"
    assert not any("wait" in meaning and "user" not in meaning for meaning in map(FEATURES.get, shared))
