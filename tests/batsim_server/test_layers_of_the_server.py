"""Imports inside the server go one way, the way that its docstring draws, and it starts without heavy packages."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from server_inputs import HEAD
from test_layers import imports

import hdeeprm_like.batsim_server
import hdeeprm_like.batsim_server.batsim5

NAME = "hdeeprm_like.batsim_server"
FOLDER = Path(hdeeprm_like.batsim_server.__file__).parent
FILES = sorted(path for path in FOLDER.rglob("*.py") if path != FOLDER / "__init__.py")


def order_of(package):
    """The modules in the docstring of a package, the lowest first."""
    return re.findall(r"^    (\w+)  ", package.__doc__, re.MULTILINE)


ORDER = order_of(hdeeprm_like.batsim_server)


def imported_modules(path, package=NAME):
    """Modules of a package that a module imports anywhere: in functions and for type checkers too."""
    names = [name.removeprefix(f"{package}.") for name in imports(path, types=True) if name.startswith(f"{package}.")]
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("package", [hdeeprm_like.batsim_server, hdeeprm_like.batsim_server.batsim5])
def test_the_docstring_lists_every_module_once(package):
    order, folder = order_of(package), Path(package.__file__).parent
    assert len(order) == len(set(order)) > 5
    assert set(order) == {path.relative_to(folder).parts[0].removesuffix(".py") for path in folder.rglob("*.py")} - {
        "__init__"
    }


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(FOLDER).as_posix() for path in FILES])
def test_a_module_imports_only_modules_above_it_in_the_docstring(path):
    own = path.relative_to(FOLDER).parts[0].removesuffix(".py")
    above = set(ORDER[: ORDER.index(own)])
    assert imported_modules(path) - {own if path.parent != FOLDER else ""} <= above


def test_the_modules_for_batsim_5_import_only_those_above_them_in_their_docstring():
    order = order_of(hdeeprm_like.batsim_server.batsim5)
    for place, own in enumerate(order):
        imported = imported_modules(FOLDER / "batsim5" / f"{own}.py", f"{NAME}.batsim5")
        assert imported <= set(order[:place]), own


def test_profile_types_do_not_know_each_other():
    for path in (FOLDER / "profile_types").glob("*.py"):
        if path.name != "__init__.py":
            assert "profile_types" not in imported_modules(path), path.name


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
USED = {  # folders and modules of the package
    *("batsim_server", "cluster", "errors", "formats", "inputs", "limits", "signals", "results", "types", "records"),
    *("values", "version"),
}
OF_CLUSTER = {f"hdeeprm_like.cluster.{name}" for name in ("topologies", "speed_profiles", "units")}
HEAVY = {*("numpy", "numba", "torch", "matplotlib", "pandas", "scipy", "pydantic", "pydantic_core", "gymnasium", "zmq")}


@pytest.mark.parametrize(
    ("version", "words", "first"), [("", [], NOTHING), (".batsim5", ["-s", "tcp://127.0.0.1:1", ""], HELLO)]
)
def test_a_whole_simulation_loads_nothing_heavy(version, words, first, tmp_path):
    hosts = '<zone id="main" routing="Full"><host id="master_host" speed="1Gf"/></zone>'
    (tmp_path / "p.xml").write_text(f"{HEAD}{hosts}</platform>\n")
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
    assert f"{NAME}.server" in loaded
    assert {name.split(".")[1] for name in loaded if name.startswith("hdeeprm_like.")} <= USED
    assert {name for name in loaded if name.startswith("hdeeprm_like.cluster.")} <= OF_CLUSTER
    assert loaded & HEAVY == set()


@pytest.mark.parametrize(("module", "words"), [("cli", []), ("batsim5.cli", ["-s", "tcp://127.0.0.1:1", ""])])
def test_the_command_line_is_read_without_numpy(module, words):
    words = ["-p", "p.xml", *words]
    loaded = modules_loaded_by(f"from {NAME}.{module} import read_command_line\nread_command_line({words})")
    assert f"{NAME}.{module}" in loaded
    assert loaded & {"numpy", "zmq", "defusedxml"} == set()
