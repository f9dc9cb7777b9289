"""A name in a table without its function is refused when what dispatches on it is imported."""

import json
import subprocess
import sys

import pytest

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dispatch import ForgottenBranchError, by_number, check_names, check_numbers

# Each adds one thing wrongly, before what dispatches on it is imported: what to do, what to import, what is said.
WRONG = {
    "order": ("numbers.ORDERS['newest'] = 17", "decision.policies.baselines", "orders: 'newest' has the number 17"),
    "order that changes": ("numbers.ORDERS['nicest'] = 23 + 1", "decision.policies.baselines", "orders: 'nicest' has"),
    "job policy": ("numbers.JOB_POLICIES['thin'] = 17", "engine.waiting_queue", "orders: 'thin' has the number 17"),
    "core policy": ("numbers.CORE_POLICIES['cold'] = 10", "engine.allocation", "core policies: 'cold' has the number"),
    "placement": ("numbers.PLACEMENTS['last_fit'] = 12", "engine.allocation", "placements: 'last_fit' has the number"),
    "packing": ("numbers.PACKINGS['dot'] = 10", "engine.allocation", "packings: 'dot' has the number 10"),
    "run times": ("numbers.RUN_TIMES['median'] = 7", "decision.policies.baselines", "run times: 'median' has the"),
    "mode": ("modes.MODES['slack'] = 'easy:Slack'; modes.mode_named('slack')", "decision.modes",
             "modes: 'slack' has no code at hdeeprm_like.decision.policies.easy:Slack"),
    "objective": ("specs.OBJECTIVES['fairness'] = specs.ObjectiveSpec('', code='fairness')", "decision.rewards",
                  "objectives: 'fairness' has no code at hdeeprm_like.decision.objectives:fairness"),
    "observation": ("specs.OBSERVATIONS['graph'] = specs.ObservationSpec('', code='graph:GRAPH')",
                    "decision.observations.view",
                    "observations: 'graph' has no code at hdeeprm_like.decision.observations.graph:GRAPH"),
    "name of an observation": ("specs.OBSERVATIONS['graph'] = specs.ObservationSpec('', code='image:IMAGE')",
                               "decision.observations.view", "observations: 'graph' is not in"),
    "reward mode": ("specs.REWARD_MODES['late'] = specs.Spec('')", "decision.rewards",
                    "reward modes: 'late' is not in"),
    "decision point": ("specs.DECISION_POINTS['dusk'] = specs.Spec('')", "decision.window.arrays",
                       "decision points: 'dusk' is not in"),
    "feature": ("score_files.FEATURES['moon'] = 'phase'", "decision.policies.scores", "features of scores: 'moon'"),
    "feature of a predictor": ("tree_files.FEATURES['moon'] = 'phase'", "decision.policies.run_times",
                               "features of trees: 'moon' is not in"),
}  # fmt: skip

# One process, which numba takes a second to load in, and a child of it for each.
PROGRAM = """
import importlib, json, os, sys
import hdeeprm_like.engine.compiled

def tried(change, module):
    from hdeeprm_like.engine import numbers
    from hdeeprm_like.decision import modes, score_files, specs, tree_files
    try:
        exec(change)
        importlib.import_module('hdeeprm_like.' + module)
    except LookupError as error:
        return str(error)
    return 'not refused'

for change, module in json.load(sys.stdin):
    child = os.fork()
    if child == 0:
        print(json.dumps(tried(change, module)), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def refusals():
    """What is said of each of WRONG."""
    asked = json.dumps([[change, module] for change, module, _ in WRONG.values()])
    done = subprocess.run([sys.executable, "-c", PROGRAM], input=asked, capture_output=True, text=True, check=True)
    return dict(zip(WRONG, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("kind", WRONG)
def test_one_of_a_kind_without_its_function_is_refused(refusals, kind):
    assert refusals[kind].startswith(WRONG[kind][2])


def test_a_number_without_a_place_or_a_function_is_refused():
    check_numbers("orders", {"a": 0, "b": 1}, {0, 1}, "KEYS", 2)
    with pytest.raises(ForgottenBranchError, match="orders: 'b' has the number 1, which has no function in KEYS"):
        check_numbers("orders", {"a": 0, "b": 1}, {0}, "KEYS")
    with pytest.raises(ForgottenBranchError, match="orders: 'b' has the number 1; there are places for 1"):
        check_numbers("orders", {"a": 0, "b": 1}, {0, 1}, "KEYS", 1)


def test_names_in_another_order_are_refused():
    check_names("features", ("a", "b"), ("a", "b"), "here")
    with pytest.raises(ForgottenBranchError, match="features: 'b' is only in here"):
        check_names("features", ("a",), ("a", "b"), "here")
    with pytest.raises(ForgottenBranchError, match="features: not in the order of here"):
        check_names("features", ("a", "b"), ("b", "a"), "here")


def test_the_function_of_a_number_is_called():
    @inlined
    def double(x: float) -> float:
        return 2.0 * x

    @inlined
    def square(x: float) -> float:
        return x * x

    one_of = by_number({3: double, 7: square}, otherwise=-1.0)

    @compiled
    def chosen(x: float, which: int) -> float:
        return one_of(which, x)

    assert chosen(5.0, 3) == 10.0
    assert chosen(5.0, 7) == 25.0
    assert chosen(5.0, 4) == -1.0
