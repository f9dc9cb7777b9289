"""Where compiled code calls by address, one reads what may stand there."""

import ast
import re
from pathlib import Path

import pytest

from hdeeprm_like.decision.modes import MODES, mode_named

PACKAGE = Path(__file__).parents[2] / "hdeeprm_like"
CALLS = {"call_at", "number_at", "float_at"}


def functions():
    """Each function of the compiled folders with its module."""
    for folder in ("engine", "decision", "run"):
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            if path.name != "calls.py":
                for node in ast.walk(ast.parse(path.read_text())):
                    if isinstance(node, ast.FunctionDef):
                        yield path.stem, node


def called(node):
    """The names of the functions that a function calls."""
    calls = (one for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name))
    return {one.func.id for one in calls}


@pytest.mark.compiled
def test_the_docstring_of_each_call_by_address_names_all_callbacks_that_may_stand_there():
    callers = {node.name: ast.get_docstring(node) for _, node in functions() if called(node) & CALLS}
    named = {name for text in callers.values() for name in re.findall(r"`(\w+)`", text)}
    of_modes = set()
    for mode in map(mode_named, MODES):
        of_modes |= {mode().starting(on_nodes).__name__ for on_nodes in (False, True)}
    of_modes.add(mode_named("scored")(bound=1.0).starting(True).__name__)
    callbacks = {node.name for _, node in functions() if "callback" in map(ast.unparse, node.decorator_list)}
    assert named | of_modes == callbacks
    assert not named & of_modes, "a mode's own functions are named by the mode"


@pytest.mark.compiled
def test_a_call_by_address_stands_in_a_function_of_its_own():
    for module, node in functions():
        if called(node) & CALLS:
            others = called(node) - CALLS - {"bundle_in", "float", "int"}
            assert not others, f"{module}.{node.name} calls {others}, too"
