"""Nothing heavy is loaded before a command needs it; asked in a fresh interpreter, for here everything is loaded."""

import json
import subprocess
import sys

import pytest

HEAVY = {
    "numpy",
    "numba",
    "llvmlite",
    "torch",
    "pandas",
    "matplotlib",
    "scipy",
    "evalys",
    "pydantic",
    "gymnasium",
    "zmq",
}
PARSER = "from hdeeprm_like.cli.main import parser; parser().parse_args(['metrics', 'a-run'])"
COMMANDS = (
    "launch",
    "train",
    "visual",
    "metrics",
    "compare",
    "stream",
    "sweep",
    "whatif",
    "reproduce",
    "report",
    "export",
    "example",
    "jobstat",
    "predict",
    "explain",
    "slurm",
    "generate",
    "cut",
    "fetch-trace",
    "import",
    "convert",
    "clean",
    "schema",
    "doctor",
    "example",
)


def loaded_after(statement):
    """Names of the packages that are loaded once a fresh interpreter has run a statement."""
    report = "import json, sys; sys.stderr.write(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    code = f"try:\n    {statement}\nexcept SystemExit:\n    pass\n{report}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(ended.stderr))


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_after("import hdeeprm_like; dir(hdeeprm_like)") & HEAVY == set()


def test_an_error_of_the_package_is_at_hand_without_loading_anything_heavy():
    assert loaded_after("from hdeeprm_like import HDeepRMError") & HEAVY == set()


def test_building_the_whole_parser_loads_nothing_heavy():
    found = loaded_after(PARSER)
    assert "argparse" in found
    assert found & HEAVY == set()


@pytest.mark.parametrize("arguments", [["--help"], *([command, "--help"] for command in COMMANDS)], ids=" ".join)
def test_help_loads_nothing_heavy(arguments):
    found = loaded_after(f"from hdeeprm_like.cli.main import main; main({arguments})")
    assert "argparse" in found
    assert found & HEAVY == set()


def test_a_heavy_package_would_be_seen():
    assert "numpy" in loaded_after("import hdeeprm_like.cluster.platform")


def test_every_command_is_asked_for_its_help():
    from hdeeprm_like.cli.main import parser

    (commands,) = (action for action in parser()._actions if action.dest == "command")
    assert set(commands.choices) - {"batsim", "batsim5"} == set(COMMANDS)


def test_what_hands_a_sweep_to_its_workers_does_not_load_what_they_simulate_with():
    names = ("run", "comparisons")
    loaded = loaded_after("import " + ", ".join(f"hdeeprm_like.studies.sweep.{name}" for name in names))
    assert "numpy" in loaded
    assert not loaded & {"numba", "torch", "pandas", "matplotlib", "scipy"}
