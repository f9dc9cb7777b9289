"""Machine code that is built once: what has it, what happens where it is missing, and that every way gives the same."""

import dis
import importlib
import inspect
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType

import pytest

import hdeeprm_like
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.compiler.exemplars import PLAIN, SPACES, some_jobs, with_partitions
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.engine import library
from hdeeprm_like.engine.compiled import Compiled, compiled
from hdeeprm_like.engine.fingerprints import fingerprint, identity
from hdeeprm_like.engine.sources import digest_of_compiler, version_of_numba
from hdeeprm_like.engine.splitmix64 import draw_below
from hdeeprm_like.engine.state import State

ROOT = Path(__file__).parents[2]
PLAYS = Path(__file__).with_name("plays.py")
SUM = re.compile(r"~([-+.\de]+|nan|inf)")  # of an observation
PLAY = f"import runpy; runpy.run_path({str(PLAYS)!r}, run_name='__main__')"
WITHOUT_NUMBA = "import sys\nsys.modules['numba'] = sys.modules['llvmlite'] = None\n"


def run(code, folder=ROOT, check=True, **environment):
    """A program in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "tests")]), **environment}
    command = [sys.executable, "-W", "ignore", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=check, env=environment, cwd=folder)


@pytest.fixture(scope="module")
def built():
    """The library of all kinds of runs, built now if it is not there."""
    subprocess.run([sys.executable, "-m", "hdeeprm_like.compiler"], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def schedules(built):
    """What happens in small worlds of every kind of run, in a process that cannot import numba."""
    lines = run(WITHOUT_NUMBA + PLAY).stdout.splitlines()
    assert lines[-1] == "loaded: []"
    return lines


def test_every_policy_mode_placement_preset_and_clock_runs_without_numba(schedules):
    assert len(schedules) > 200


@pytest.mark.more
def test_plain_python_gives_the_same_as_machine_code(schedules):
    done = run(PLAY, HDEEPRM_LIKE_PYTHON="1").stdout.splitlines()
    assert [SUM.sub("", line) for line in done] == [SUM.sub("", line) for line in schedules]
    sums = [[float(number) for line in lines for number in SUM.findall(line)] for lines in (done, schedules)]
    assert sums[0] == pytest.approx(sums[1], rel=1e-6)


@pytest.mark.slow
def test_code_for_older_processors_gives_the_same(schedules, tmp_path):
    """The kinds of this processor and those of x86-64-v2 differ in instructions, not in what they compute."""
    into = tmp_path / "machine_code"
    command = [sys.executable, "-m", "hdeeprm_like.compiler", "--into", str(into), "--processors", "x86-64-v2"]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    older = (
        f"{WITHOUT_NUMBA}from pathlib import Path\nfrom hdeeprm_like.engine import library\n"
        f"library.SHIPPED = Path({str(into)!r})\nlibrary.target = lambda: 'x86-64-v2'\n{PLAY}"
    )
    done = run(older, HDEEPRM_LIKE_CACHE=str(tmp_path / "empty")).stdout.splitlines()
    assert [line for line, other in zip(done, schedules, strict=True) if line != other] == []


PAIR = "import hdeeprm_like as hl\nhl.simulate(256, 'lublin-1', 'fcfs+strict')\n"


def test_without_numba_a_missing_kind_is_one_line_that_says_what_to_install(tmp_path):
    done = run(WITHOUT_NUMBA + PAIR, check=False, HDEEPRM_LIKE_CACHE=str(tmp_path))
    assert done.returncode == 1
    assert 'pip install "hdeeprm_like[compile]"' in done.stderr.splitlines()[-1]
    assert "there is no machine code for" in done.stderr.splitlines()[-1]


OWN = """
import sys
from hdeeprm_like.engine.compiled import compiled
from own import Numbers, total
import numpy as np
print(total(Numbers(np.arange(5.0)), 2), "numba" in sys.modules)
"""
PART = """
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.splitmix64 import SEEDS
import numpy as np

class Numbers(Bundle):
    values: np.ndarray

@compiled
def total(numbers: Numbers, times: int) -> float:
    found = 0.0
    for i in range(len(numbers.values)):
        found += numbers.values[i] * times
    return found
"""


def test_a_compiled_part_of_the_users_own_is_compiled_once_and_again_where_it_has_changed(tmp_path):
    where = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]), "HDEEPRM_LIKE_CACHE": str(tmp_path / "cache")}
    changed = PART.replace("* times", "* times * 10")
    for body, result, compiles in ((PART, "20.0", "True"), (PART, "20.0", "False"), (changed, "200.0", "True")):
        (tmp_path / "own.py").write_text(body)
        assert run(OWN, **where).stdout.split() == [result, compiles]


def test_functions_that_are_made_with_other_numbers_are_distinguished():
    def scaled(factor):
        @compiled
        def scale(number):
            return number * factor

        return scale

    assert (scaled(2)(21), scaled(3)(21)) == (42, 63)


def test_a_part_of_the_users_own_may_contain_what_this_package_does_not():
    @compiled
    def next_but_one(number):
        def following(other):
            return other + 1

        return following(following(number))

    assert next_but_one(40) == 42


def test_partitions_do_not_change_the_types_of_a_run():
    """So a run is compiled once for platforms with and without them."""
    names = set()
    for partitions in (False, True):
        jobs = some_jobs(partitions)
        for space in SPACES.values():
            names.add(
                (
                    space.actions,
                    library.name_of(space.state(with_partitions() if partitions else pool(2), jobs, log=False).tables),
                )
            )
        actions = PolicyActions([policy_named(PLAIN)])
        state = State(with_partitions() if partitions else pool(2), jobs, needs=actions.needs)
        names.add(("simulate", library.name_of(state.tables)))
        names.add(("plans", library.name_of(actions.choices(state).plans)))
    assert len(names) == len({name for name, _ in names})


def test_machine_code_of_older_sources_never_runs(tmp_path):
    """A change of `splitmix64.uniform` reaches a function of another file that was kept before."""
    shutil.copytree(ROOT / "hdeeprm_like", tmp_path / "hdeeprm_like", ignore=shutil.ignore_patterns("__pycache__"))
    changed = tmp_path / "hdeeprm_like" / "engine" / "splitmix64.py"
    (tmp_path / "caller.py").write_text(
        "from hdeeprm_like.engine.compiled import compiled\n"
        "from hdeeprm_like.engine.splitmix64 import uniform\n"
        "@compiled\ndef thousandth(z):\n    return int(uniform(z[0]) * 1000)\n"
    )
    code = "import numpy as np\nfrom caller import thousandth\nprint(thousandth(np.ones(1, np.uint64)))"
    cache = {"HDEEPRM_LIKE_CACHE": str(tmp_path / "cache")}
    before = run(code, tmp_path, **cache).stdout
    assert before.strip() != "500"
    assert run(code, tmp_path, **cache).stdout == before
    source = changed.read_text()
    changed.write_text(source.replace("return float((z >> np.uint64(11)) * (1.0 / SEEDS))", "return 0.5"))
    assert changed.read_text() != source
    assert run(code, tmp_path, **cache).stdout.strip() == "500"


def test_a_table_of_other_sources_is_read_only_if_what_it_is_made_of_has_not_changed(tmp_path, monkeypatch):
    folder = tmp_path / library.target()
    folder.mkdir()
    entries = {"same": ["hl_0", "i"], "changed": ["hl_1", "i"], "gone": ["hl_2", "i"]}
    name = identity(draw_below)
    functions = [[name, fingerprint(draw_below)], [name, "another"], ["hdeeprm_like.engine.splitmix64:none", ""]]
    made = {"compiler": digest_of_compiler(), "numba": version_of_numba(), "functions": functions}
    (folder / "all.json").write_text(json.dumps({"sources": "another", "entries": entries}))
    (folder / "all.parts").write_text(json.dumps(made | {"entries": {"same": [0], "changed": [0, 1], "gone": [2]}}))
    monkeypatch.setattr(library, "SHIPPED", tmp_path)
    monkeypatch.setenv("HDEEPRM_LIKE_CACHE", str(tmp_path / "empty"))
    tables = library.Tables()
    assert [kind for kind in entries if tables.find(kind)] == ["same"]
    assert not tables.whole


DEFINED = """
from hdeeprm_like.engine.compiled import compiled

STEP = 2.0
@compiled
def grown(x: float) -> float:
    \"""Return it.\"""
    return x * STEP + other(x)

@compiled
def other(x: float) -> float:
    return x + 1.0
"""


def made_of(source):
    """The fingerprint of `grown` in a module of some source."""
    place = {"__name__": "own"}
    exec(source, place)
    return fingerprint(place["grown"])


@pytest.mark.parametrize(
    "change", [('"""Return', '"""Give'), ("return x * STEP", "# why\n    return x * STEP"), ("-> float", "-> object")]
)
def test_a_fingerprint_does_not_see_docstrings_comments_annotations_and_lines(change):
    assert DEFINED.replace(*change) != DEFINED
    assert made_of("\n" + DEFINED.replace(*change)) == made_of(DEFINED)


@pytest.mark.parametrize(
    "change",
    [
        ("* STEP", "/ STEP"),
        ("STEP = 2.0", "STEP = 3.0"),
        ("x + 1.0", "x + 2.0"),
        ("@compiled\ndef other", "@inlined\ndef other"),
    ],
)
def test_a_fingerprint_sees_code_numbers_and_what_is_called(change):
    changed = DEFINED.replace(*change).replace("import compiled", "import compiled, inlined")
    assert made_of(changed) != made_of(DEFINED.replace("import compiled", "import compiled, inlined"))


def test_the_library_has_every_kind_that_functions_declare(built):
    """And each is derived: a list that is kept by hand, or recorded from what is played, would lack some."""
    done = subprocess.run(
        [sys.executable, "-m", "hdeeprm_like.compiler", "--list"], check=True, cwd=ROOT, capture_output=True, text=True
    )
    kinds = done.stdout.splitlines()
    assert len(kinds) > 100
    assert [kind for kind in kinds if library.tables().find(kind) is None] == []


def plain_functions(holder, module):
    """The functions of a module, or of a class in it, that are not compiled."""
    for one in list(vars(holder).values()):
        if isinstance(one, type) and one.__module__ == module.__name__:
            yield from plain_functions(one, module)
        for attribute in ("__func__", "fget", "func"):
            one = getattr(one, attribute, one) if not isinstance(one, FunctionType | Compiled) else one
        one = inspect.unwrap(one) if isinstance(one, FunctionType) else one
        if isinstance(one, FunctionType) and one.__module__ == module.__name__:
            yield one


def compiled_in(code, names):
    """The compiled functions that some code mentions."""
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL" and isinstance(names.get(step.argval), Compiled):
            yield names[step.argval]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from compiled_in(constant, names)


CHOOSES = {  # functions that make or choose compiled functions, and call none of those that they mention
    "hdeeprm_like.decision.observations.appended:writer",
}


ON_SLURM = "hdeeprm_like.studies.sweep.on_slurm"  # needs a package of an extra, and calls nothing compiled


def test_plain_functions_call_only_compiled_ones_that_declare_it():
    """So the library has all that Python calls; what tests call beside it is compiled for them."""
    found, count = [], 0
    for info in pkgutil.walk_packages(hdeeprm_like.__path__, "hdeeprm_like."):
        if info.name.endswith("__main__") or (info.name == ON_SLURM and not find_spec("submitit")):
            continue
        module = importlib.import_module(info.name)
        for function in plain_functions(module, module):
            where = f"{info.name}:{function.__qualname__}"
            for one in compiled_in(function.__code__, function.__globals__) if where not in CHOOSES else ():
                count += 1
                if not one.is_entry and not one.is_callback:
                    found.append(f"{where} mentions {one.__name__}")
    assert count > 50
    assert found == []
