"""The door to numba: nothing of it is changed, stale machine code never runs, and the plain way gives the same."""

import ast
import gc
import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from numba.core.compiler import DefaultPassBuilder, Flags

from hdeeprm_like.engine import inner, lifecycle
from hdeeprm_like.engine.compiled import PACKAGE, _Progress, by_type, compiled, inlined

MARKS = {"compiled", "inlined", "released"}
ROOT = Path(__file__).parents[2]


def marked_functions(path: Path):
    """Yield the compiled functions of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            names = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
            if names & MARKS:
                yield node


def counts_from_the_end(index: ast.expr) -> bool:
    """Tell whether an index, or one of several, is a negative number."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub) for part in parts)


def test_every_step_that_inner_functions_go_without_is_one_of_numbas():
    whole = DefaultPassBuilder.define_nopython_pipeline(SimpleNamespace(flags=Flags(), func_ir=None))
    assert set(inner.NEEDLESS) <= {step[0].__name__ for step in whole.passes}


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


def run(code, folder=ROOT, **environment):
    """What a program in a process of its own prints."""
    environment = {**os.environ, "PYTHONPATH": str(folder), **environment}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=folder)
    return done.stdout.strip()


UNTOUCHED = """
import json, numba, llvmlite.binding, numba.np.arrayobj as arrays, numba.core.codegen as codegen
settings = {k: repr(v) for k, v in vars(numba.config).items() if k.isupper()}
functions = {(m.__name__, k): v for m in (arrays, codegen, numba) for k, v in vars(m).items()}
asked = []
llvmlite.binding.set_option = lambda *options: asked.append(options)
import hdeeprm_like, hdeeprm_like.run.runs, hdeeprm_like.run.python_loop
now = {k: repr(v) for k, v in vars(numba.config).items() if k.isupper()}
print(json.dumps([settings == now, all(vars(__import__("sys").modules[m])[k] is v for (m, k), v in functions.items()),
                  asked]))
"""


def test_numba_its_settings_and_the_options_of_llvm_are_what_they_were():
    assert json.loads(run(UNTOUCHED)) == [True, True, []]


DRAW = """
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.splitmix64 import draw_below
import numpy as np
print(draw_below(np.array([1], np.uint64), 0, 1000))
"""


def test_machine_code_of_older_sources_never_runs(tmp_path):
    """A change of `splitmix64.uniform` reaches a function of another file, though numba has that one on disk."""
    shutil.copytree(PACKAGE, tmp_path / "hdeeprm_like", ignore=shutil.ignore_patterns("__pycache__"))
    changed = tmp_path / "hdeeprm_like" / "engine" / "splitmix64.py"
    (tmp_path / "caller.py").write_text(
        "from hdeeprm_like.engine.compiled import compiled\n"
        "from hdeeprm_like.engine.splitmix64 import uniform\n"
        "@compiled\ndef thousandth(z):\n    return int(uniform(z) * 1000)\n"
    )
    code = "import numpy as np\nfrom caller import thousandth\nprint(thousandth(np.uint64(1)))"
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "machine-code")}
    before = run(code, tmp_path, **cache)
    assert before != "500"
    assert run(code, tmp_path, **cache) == before
    source = changed.read_text()
    changed.write_text(source.replace("return float((z >> np.uint64(11)) * (1.0 / SEEDS))", "return 0.5"))
    assert changed.read_text() != source
    assert run(code, tmp_path, **cache) == "500"


SCHEDULE = """
from hdeeprm_like.engine import inner
from small import jobs, platform, run
import numpy as np
workload = jobs(submit=np.arange(20.0), seconds=np.linspace(30, 5, 20), size=2)
print(inner.WAY, run(platform((1e3, [(3, 1.0, 1.0, 1.0)])), workload, ("shortest", "high_gflops")).finish_time.sum())
"""


def test_the_way_that_numba_documents_gives_the_same_schedules(tmp_path):
    where = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    short = run(SCHEDULE, PYTHONPATH=where).split()
    plain = run(SCHEDULE, PYTHONPATH=where, HDEEPRM_LIKE_PLAIN_NUMBA="1", NUMBA_CACHE_DIR=str(tmp_path)).split()
    assert (short[0], plain[0]) == ("short", "plain")
    assert short[1] == plain[1]


def test_what_numba_reads_of_a_function_is_its_own_source():
    """Python 3.13 refuses to cut a function out of a file where none begins."""
    source = inspect.getsource(lifecycle.has_room.entry.py_func)
    assert source.startswith("@compiled\ndef has_room(")


def test_what_an_inlined_function_calls_is_not_inlined_too():
    """numba hands the option on from the caller, and all policies became copies in each place that calls them."""

    @compiled
    def called(number):
        return number + 1

    @inlined
    def between(number):
        return called(number)

    @compiled
    def calls(number):
        return between(number) + between(2 * number)

    calls.inner.compile((numba.intp,))
    assert [made.fndesc.inline for made in called.inner.overloads.values()] == [False]
    assert [made.fndesc.inline for made in between.inner.overloads.values()] == [True]


@pytest.mark.parametrize("was_on", [True, False])
def test_python_looks_for_no_garbage_while_something_is_compiled_and_then_as_before(was_on):
    seen = []

    @compiled
    def twice(number):
        return 2 * number

    def choose(number):
        seen.append(gc.isenabled())
        return twice

    chosen = by_type(choose)

    def calls(number):
        return chosen(number)

    calls.__module__ = "hdeeprm_like.engine"  # of others' functions nothing is told, and nothing changed
    (gc.enable if was_on else gc.disable)()
    try:
        compiled(calls).inner.compile((numba.intp,))
        assert gc.isenabled() is was_on
    finally:
        gc.enable()
    assert seen
    assert not any(seen)


def test_python_looks_for_garbage_again_where_nobody_can_be_told(monkeypatch):
    class Closed:
        def write(self, text):
            raise BrokenPipeError

    progress, happening = _Progress(), SimpleNamespace(data={"dispatcher": lifecycle.has_room.inner})
    monkeypatch.setattr(sys, "stderr", Closed())
    monkeypatch.setenv("HDEEPRM_LIKE_QUIET", "0")
    with pytest.raises(BrokenPipeError):
        progress.on_start(happening)
    progress.on_end(happening)
    assert gc.isenabled()
