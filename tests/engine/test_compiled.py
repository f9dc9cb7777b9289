"""Compiled functions: how they are written, and what numba and LLVM are given of them."""

import ast
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numba
import numpy as np
import pytest

from hdeeprm_like.compiler import frontend
from hdeeprm_like.engine.compiled import by_type, compiled, inlined
from hdeeprm_like.engine.library import PACKAGE

MARKS = {"compiled", "inlined", "entry", "released", "callback"}
ROOT = Path(__file__).parents[2]


@cache
def marked_functions(path: Path):
    """Return the compiled functions of a file."""
    found, text = [], path.read_text()
    for node in ast.walk(ast.parse(text)) if any(f"@{mark}\n" in text for mark in MARKS) else ():
        if isinstance(node, ast.FunctionDef):
            names = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
            if names & MARKS:
                found.append(node)
    return found


def counts_from_the_end(index: ast.expr) -> bool:
    """Return whether an index, or one of several, is a negative number."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub) for part in parts)


@pytest.mark.compiled
def test_no_compiled_function_has_a_negative_number_for_an_index():
    found, functions = [], 0
    for path in PACKAGE.rglob("*.py"):
        for function in marked_functions(path):
            functions += 1
            for node in ast.walk(function):
                if isinstance(node, ast.Subscript) and counts_from_the_end(node.slice):
                    found.append(f"{path}:{node.lineno}")
    assert functions > 100
    assert not found


def test_there_is_one_loop_from_instant_to_instant():
    """Only `run.loop.advance` calls for the next instant; whoever else runs a simulation calls it."""
    callers = [
        f"{path.relative_to(PACKAGE)}:{function.name}"
        for path in PACKAGE.rglob("*.py")
        for function in marked_functions(path)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "next_instant"
    ]
    assert callers == ["run/loop.py:advance"]


UNTOUCHED = """
import json, numba, llvmlite.binding, numba.np.arrayobj as arrays, numba.core.codegen as codegen
settings = {k: repr(v) for k, v in vars(numba.config).items() if k.isupper()}
functions = {(m.__name__, k): v for m in (arrays, codegen, numba) for k, v in vars(m).items()}
asked = []
llvmlite.binding.set_option = lambda *options: asked.append(options)
import hdeeprm_like.compiler.one_kind
from hdeeprm_like.engine.compiled import compiled
print(compiled(lambda number: 2 * number)(21))  # compiled here, which may change nothing of numba's
now = {k: repr(v) for k, v in vars(numba.config).items() if k.isupper()}
print(json.dumps([settings == now, all(vars(__import__("sys").modules[m])[k] is v for (m, k), v in functions.items()),
                  asked]))
"""


# starts numba once more
@pytest.mark.more
def test_numba_its_settings_and_the_options_of_llvm_are_what_they_were(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HDEEPRM_LIKE_CACHE": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", UNTOUCHED]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    assert done.stdout.splitlines()[0] == "42"
    assert len(list(tmp_path.rglob("*.so"))) == 1
    assert json.loads(done.stdout.splitlines()[-1]) == [True, True, []]


@pytest.mark.compiled
def test_a_function_that_others_call_is_compiled_once():
    @compiled
    def called(number):
        return number + 1

    @inlined
    def between(number):
        return called(number)

    @compiled
    def calls(number):
        return between(number) + between(2 * number) + called(3)

    before = len(frontend.parts)
    part = frontend.part_of(calls, (numba.intp,))
    assert len(frontend.parts) - before == 3
    inner = frontend.part_of(between, (numba.intp,))
    assert "alwaysinline" in inner.text
    assert "alwaysinline" not in frontend.part_of(called, (numba.intp,)).text.split("declare")[0]
    assert part.text.count("define i32") == 1  # what it calls is a symbol
    assert calls(5) == 6 + 11 + 4


@pytest.mark.compiled
def test_the_types_of_the_arguments_choose_a_function():
    @compiled
    def half(number):
        return number / 2

    @compiled
    def twice(number):
        return number * 2

    @by_type
    def either(number):
        return half if isinstance(number, numba.types.Float) else twice

    @compiled
    def both(whole, real):
        return either(whole) + either(real)

    assert both(3, 3.0) == 7.5


def test_python_hands_over_arrays_numbers_and_tuples_of_arrays():
    @compiled
    def add_up(values, pair, factor, negative):
        total = 0.0
        for i in range(len(values)):
            total += values[i] * pair[1][i, 0] * factor
        return -total if negative else total

    values, table = np.arange(4.0)[::2], np.array([[1, 7], [10, 7]], np.int32)
    assert add_up(values, (values, table), 0.5, True) == -10.0
    assert add_up(np.arange(2.0), (values, table), np.float64(0.5), np.bool_(False)) == 5.0
