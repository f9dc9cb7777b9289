"""Imports inside the server go one way, the way that its docstring draws, and it starts without heavy packages."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hdeeprm_like.batsim_server
import hdeeprm_like.batsim_server.batsim5

NAME = "hdeeprm_like.batsim_server"
FOLDER = Path(hdeeprm_like.batsim_server.__file__).parent
ORDER = re.findall(r"^    (\w+)  ", hdeeprm_like.batsim_server.__doc__, re.MULTILINE)  # the lowest first
MODULES = {path.relative_to(FOLDER).parts[0].removesuffix(".py") for path in FOLDER.rglob("*.py")} - {"__init__"}
FILES = sorted(path for path in FOLDER.rglob("*.py") if path != FOLDER / "__init__.py")


def imported_modules(source):
    """Modules of the server that a source imports anywhere: in functions and for type checkers too."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found |= {name.split(".")[2] for name in names if name.startswith(f"{NAME}.")}
    return found


def test_the_docstring_lists_every_module_once():
    assert len(ORDER) == len(set(ORDER)) > 10
    assert set(ORDER) == MODULES


def test_the_parser_sees_imports_in_functions_and_for_type_checkers():
    source = f"if TYPE_CHECKING:\n    from {NAME}.server import Ask\ndef f():\n    import {NAME}.cli\n"
    assert imported_modules(source) == {"server", "cli"}
    assert imported_modules(f"from {NAME} import jobs") == {"jobs"}


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(FOLDER).as_posix() for path in FILES])
def test_a_module_imports_only_modules_above_it_in_the_docstring(path):
    own = path.relative_to(FOLDER).parts[0].removesuffix(".py")
    above = set(ORDER[: ORDER.index(own)])
    assert imported_modules(path.read_text()) - {own if path.parent != FOLDER else ""} <= above


def test_the_modules_for_batsim_5_import_only_those_above_them_in_their_docstring():
    order = re.findall(r"^    (\w+)  ", hdeeprm_like.batsim_server.batsim5.__doc__, re.MULTILINE)
    files = {path.stem: path for path in (FOLDER / "batsim5").glob("*.py") if path.stem != "__init__"}
    assert set(order) == set(files)
    for own, path in files.items():
        imported = set(re.findall(rf"{NAME}\.batsim5\.(\w+)", path.read_text()))
        imported |= set(re.findall(rf"from {NAME}\.batsim5 import (\w+)", path.read_text()))
        assert imported <= set(order[: order.index(own)]), own


def test_profile_types_do_not_know_each_other():
    for path in (FOLDER / "profile_types").glob("*.py"):
        if path.name != "__init__.py":
            assert "profile_types" not in imported_modules(path.read_text()), path.name


def modules_loaded_by(code):
    """Names of the modules that a fresh interpreter has loaded after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


HELLO = (  # of a scheduler to Batsim 5
    '\2\0\0\0{"now": 0, "events": [{"timestamp": 0, "event_type": "EDCHelloEvent", "event": {'
    '"decision_component_name": "", "decision_component_version": "", "decision_component_commit": "", '
    '"requested_simulation_features": {}}}]}'
)
NOTHING = '{"now": 0, "events": []}'


@pytest.mark.parametrize(
    ("version", "words", "first"), [("", [], NOTHING), (".batsim5", ["-s", "tcp://127.0.0.1:1", ""], HELLO)]
)
def test_a_whole_simulation_loads_nothing_heavy(version, words, first, tmp_path):
    (tmp_path / "p.xml").write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'
        '<zone id="main" routing="Full"><host id="master_host" speed="1Gf"/></zone></platform>\n'
    )
    (tmp_path / "w.json").write_text('{"nb_res": 1, "jobs": [], "profiles": {}}')
    words = ["-p", f"{tmp_path}/p.xml", "-w", f"{tmp_path}/w.json", "-e", f"{tmp_path}/out", *words]
    code = (
        f"from {NAME}{version} import cli\n"
        f"replies = [{NOTHING.encode()}, {first.encode()}]\n"
        f"options, _ = cli.read_command_line({words})\n"
        "assert cli.play(options, lambda message: replies.pop() if replies[1:] else replies[0])\n"
    )
    loaded = modules_loaded_by(code)
    assert len(list(tmp_path.glob("out*schedule.*"))) == 1
    ours = {name.split(".")[1] for name in loaded if name.startswith("hdeeprm_like.")}
    assert f"{NAME}.server" in loaded
    of_cluster = {f"hdeeprm_like.cluster.{name}" for name in ("topologies", "speed_profiles", "units")}
    assert {name for name in loaded if name.startswith("hdeeprm_like.cluster.")} <= of_cluster
    assert ours <= {
        "batsim_server",
        "cluster",
        "errors",
        "formats",
        "inputs",
        "limits",
        "signals",
        "results",
        "types",
        "records",
        "values",
        "version",
    }
    heavy = {
        "numpy",
        "numba",
        "torch",
        "matplotlib",
        "pandas",
        "scipy",
        "pydantic",
        "pydantic_core",
        "gymnasium",
        "zmq",
    }
    assert loaded & heavy == set()


@pytest.mark.parametrize(("module", "words"), [("cli", []), ("batsim5.cli", ["-s", "tcp://127.0.0.1:1", ""])])
def test_the_command_line_is_read_without_numpy(module, words):
    words = ["-p", "p.xml", *words]
    loaded = modules_loaded_by(f"from {NAME}.{module} import read_command_line\nread_command_line({words})")
    assert f"{NAME}.{module}" in loaded
    assert loaded & {"numpy", "zmq", "defusedxml"} == set()
