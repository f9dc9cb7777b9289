"""Imports point one way, and heavy packages stay where they belong (the layout in DESIGN: one folder per question)."""

import ast
import graphlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "hdeeprm_like"
# for every layer
BASE = {"refusals", "types", "errors", "inputs", "csv_rows", "limits", "plugins", "signals", "progress", "records",
        "values", "version"}  # fmt: skip
DECIDES = {"cluster", "engine", "decision"}

MAY_IMPORT = {  # layer: the other layers that it may import besides those that all may
    "__init__": set(),
    "__main__": {"cli"},
    **{name: set() for name in BASE},
    "cluster": set(),
    "formats": {"cluster"},
    "engine": {"cluster"},
    "decision": {"cluster", "engine", "formats"},
    "run": DECIDES,
    "batsim": DECIDES | {"formats", "results"},
    "batsim_server": {"engine", "formats", "results"},
    "results": DECIDES | {"formats", "run"},
    "learning": DECIDES | {"formats", "option_sections", "run"},
    "options": {"decision", "formats", "option_sections"},
    "option_sections": {"formats"},
    "job_checks": {"cluster", "engine"},
    "experiment": DECIDES | {"formats", "job_checks", "options", "run"},
    "jobs_in_files": DECIDES | {"experiment", "formats", "options"},
    "example_files": {"formats"},
    "importers": {"cluster", "formats"},
    "slurm": DECIDES | {"formats", "importers"},
    "envs": DECIDES | {"experiment", "formats", "jobs_in_files", "options", "results", "run"},
    "gym": {"envs"},
    "launch": DECIDES | {"batsim", "batsim_server", "experiment", "formats", "learning", "results", "run"},
    "studies": DECIDES
    | {"experiment", "formats", "job_checks", "jobs_in_files", "launch", "learning", "option_sections", "options"}
    | {"results", "run"},
    "api": DECIDES | {"experiment", "formats", "jobs_in_files", "launch", "run", "simulated", "studies"},
    "simulated": {"cluster", "experiment", "formats", "results", "run", "studies"},
    "compiler": DECIDES | {"results", "run"},
    "entry": DECIDES | {"batsim", "experiment", "formats", "launch", "options", "results"},
    "cli": DECIDES
    | {"batsim", "batsim_server", "example_files", "experiment", "formats", "importers", "launch", "options", "results"}
    | {"run", "slurm", "studies"},
}
ON_THE_CORE = {  # part that only the command line and a module or two import: its folders
    "server": ("batsim_server/",),
    "sites": ("importers/", "slurm/", "studies/whatif/"),
    "reproduction": ("studies/reproduction/",),
}
ONLY_IN = {  # package: where it may be imported
    "torch": ("learning/", "agents/"),
    "gymnasium": ("envs/", "gym.py", "agents/"),
    "batsim": ("batsim/pybatsim_scheduler.py", "entry/"),
    "zmq": ("batsim/", "batsim_server/"),
    "matplotlib": ("results/", "studies/"),
    "jinja2": ("results/html/",),
    "markupsafe": ("results/html/",),
    "numba": ("compiler/",),
    "llvmlite": ("compiler/",),
    "hostlist": ("importers/machine.py", "formats/partitions_json.py"),
    "sklearn": ("studies/prediction/training.py",),
}


def modules():
    """Path of each module from the package or, for the agents, from the root."""
    yield from ((path, path.relative_to(ROOT / PACKAGE).as_posix()) for path in (ROOT / PACKAGE).rglob("*.py"))
    yield from ((path, path.relative_to(ROOT).as_posix()) for path in (ROOT / "agents").rglob("*.py"))


def statements(body, typed=False):
    """Yield all statements within some, at any depth, each with whether it stands under ``if TYPE_CHECKING``."""
    for node in body:
        yield node, typed
        yield from statements(getattr(node, "body", ()), typed or is_for_types(node))
        for name in ("orelse", "handlers", "finalbody", "cases"):
            yield from statements(getattr(node, name, ()), typed)


def is_for_types(node):
    """Whether a statement is ``if TYPE_CHECKING`` or ``if typing.TYPE_CHECKING``."""
    test = getattr(node, "test", None) if isinstance(node, ast.If) else None
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


@cache
def imported_by(path):
    """All that a module imports, wherever it does so: full names, each with whether it is for a type checker only.

    The names alone are kept, for a parsed package is so many objects that it slows everything down.
    """
    names = []
    for node, typed in statements(ast.parse(path.read_text()).body):
        if isinstance(node, ast.Import):
            names += [(alias.name, typed) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            names += [(f"{node.module}.{alias.name}", typed) for alias in node.names]
    return names


def imports(path, types=False):
    """Full names of all that a module imports; for the eyes of a type checker if *types*."""
    return [name for name, typed in imported_by(path) if types or not typed]


def layer(name):
    """Layer of a module of ours: its folder or its name; None for anybody else's."""
    parts = name.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else None


MODULES = list(modules())


def test_the_parser_sees_the_imports_of_the_package():
    assert len(MODULES) > 40
    assert f"{PACKAGE}.cluster.platform.Platform" in imports(ROOT / PACKAGE / "engine" / "state.py")


def test_a_module_imports_only_what_lies_below_it():
    wrong = {}
    for path, name in MODULES:
        if name.startswith("agents/"):  # of users, who may import all
            continue
        own = name.split("/")[0].removesuffix(".py")
        found = {layer(imported) for imported in imports(path)} - {None, own} - BASE
        wrong[name] = sorted(found - MAY_IMPORT[own])
    assert len(wrong) > 300
    assert {name: layers for name, layers in wrong.items() if layers} == {}


def part_of(name):
    """Part on top of the core that a module, ``folder/module.py``, belongs to; None for the core itself."""
    return next((part for part, folders in ON_THE_CORE.items() if name.startswith(folders)), None)


def test_three_parts_stand_on_the_core_and_not_on_one_another():
    names = {f"{PACKAGE}.{name.removesuffix('.py').replace('/', '.')}": name for _, name in MODULES}
    found = set()
    for path, name in MODULES:
        for imported in imports(path):
            part = part_of(names.get(owner(imported, names), ""))
            if part and part != part_of(name) and not name.startswith(("cli/", "agents/")):
                found.add((name, part))
    assert found == {("launch/peers.py", "server"), ("studies/sweep/reproductions.py", "reproduction")}


def test_heavy_packages_are_imported_only_where_they_belong():
    wrong = [
        f"{name} imports {imported}"
        for path, name in MODULES
        for imported in imports(path)
        if not name.startswith(ONLY_IN.get(imported.split(".")[0], ("",)))
    ]
    assert wrong == []


def test_learning_knows_neither_the_server_nor_the_command_line():
    forbidden = (f"{PACKAGE}.batsim_server", f"{PACKAGE}.cli")
    learners = [path for path, name in MODULES if name.startswith(("learning/", "agents/"))]
    assert len(learners) > 20
    assert [path for path in learners if any(imported.startswith(forbidden) for imported in imports(path))] == []


def test_no_module_is_longer_than_four_hundred_lines():
    lines = {name: len(path.read_text().splitlines()) for path, name in MODULES}
    assert {name: count for name, count in lines.items() if count > 430} == {}, "about 400"


def test_no_modules_import_each_other_even_in_a_function_or_for_a_type():
    dotted = {f"{PACKAGE}.{name.removesuffix('.py').replace('/', '.')}": path for path, name in MODULES}
    of = {name: {module for full in imports(path, types=True) if (module := owner(full, dotted))} - {name}
          for name, path in dotted.items()}  # fmt: skip
    assert len(list(graphlib.TopologicalSorter(of).static_order())) == len(dotted)  # raises CycleError, with the circle


def owner(full, dotted):
    """Module of ours that an imported name is of, or is; None for anybody else's."""
    return full if full in dotted else full.rpartition(".")[0] if full.rpartition(".")[0] in dotted else None
