"""What is installed, and whose Python files are run."""

import json
import re
import subprocess
import sys

import pytest
from robust_inputs import ROOT, learning, options, refused, told, write_inputs

from hdeeprm_like.cli.arguments import EXTRAS
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.plugins import import_file, python_files, trusting
from hdeeprm_like.results.plots import KINDS

WITHOUT = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None  # as where the package is not installed
from hdeeprm_like.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


def without(module, *arguments):
    """Run a command where a package is not installed; return its status and its lines of stderr."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, module, *map(str, arguments)],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    return done.returncode, done.stderr.splitlines()


def test_every_command_that_needs_an_extra_names_it(tmp_path):
    folder = write_inputs(tmp_path)
    (folder / "trained").mkdir()
    (folder / "trained" / "run.json").write_text("{}")
    agent = ["--options", folder / "learning.json", "--agent", "agents/reinforce.py", "--output", folder / "out"]
    evolution = ROOT / "agents" / "zoo" / "evolution" / "small.json"
    trace = ["--trace", folder / "trace.swf", "--output", folder / "out"]
    (folder / "grid.json").write_text(json.dumps({"compare": "trace.swf", "policies": ["fcfs"], "windows": "1x10"}))
    grid = [folder / "grid.json", "--output", folder / "out"]
    for module, arguments in (
        ("torch", ["launch", *agent]),
        ("torch", ["train", *agent]),
        ("torch", ["train", "--resume", folder / "trained"]),
        ("torch", ["compare", "--policies", f"agent:{folder / 'trained'}", "--windows", "1x10", *trace]),
        ("cmaes", ["train", "--method", "evolution", "--options", evolution, "--output", folder / "out"]),
        ("sklearn", ["predict", folder / "trace.swf", "--train", folder / "trees.json"]),
        ("submitit", ["sweep", "--engine", "slurm", *grid]),
        ("ray", ["sweep", "--engine", "ray", *grid]),
    ):
        status, lines = without(module, *arguments)
        extra = EXTRAS[module][1]
        assert status == 2, lines
        assert len(lines) == 1, lines
        assert f"pip install 'hdeeprm_like[{extra}]'" in lines[0]
        assert not (folder / "out").exists(), arguments


def test_a_module_that_is_missing_for_another_reason_is_a_bug(monkeypatch):
    from hdeeprm_like.cli import results

    def broken(options):
        import no_such_module_of_ours  # noqa: F401

    monkeypatch.setattr(results, "run_metrics", broken)
    with pytest.raises(ModuleNotFoundError):
        told("metrics", "x")


def test_the_doctor_tells_versions_extras_machine_code_and_programs(capsys):
    from hdeeprm_like.cli.main import main

    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    for word in ("python", "numba", "numpy", "torch", "cmaes", "gymnasium", "machine code", "batsim", "sacct"):
        assert re.search(rf"^{word} +\S", said, re.MULTILINE), said
    status, lines = without("torch,cmaes", "doctor")
    assert (status, lines) == (0, [])


def test_the_version_tells_what_results_depend_on(capsys):
    from hdeeprm_like.cli.main import main

    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert re.fullmatch(r"hdeeprm-like \S+ \(numpy \d\S+, Python 3\S+\)\n", capsys.readouterr().out)


def test_the_help_of_visual_names_all_kinds(capsys):
    from hdeeprm_like.cli.main import main

    with pytest.raises(SystemExit):
        main(["visual", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert all(kind in said for kind in KINDS)


CODE = "from pathlib import Path\nPath(__file__).with_name('was-run').touch()\ndef mine(state):\n    return 0.0\n"


def test_a_file_that_options_name_outside_their_folder_is_run_only_with_trust(tmp_path):
    own = tmp_path / "elsewhere" / "own.py"
    own.parent.mkdir()
    own.write_text(CODE)
    content = learning()
    content["pybatsim"]["env"] = {"objective": "../elsewhere/own.py:mine"}
    folder = write_inputs(tmp_path / "experiment", **{"learning.json": content})
    command = ["launch", "--options", folder / "learning.json", "--agent", "agents/reinforce.py", "--output"]
    line = refused(*command, folder / "out")
    assert "own.py: is Python code outside the folder of the options file; --trust lets it run" in line
    assert not (own.parent / "was-run").exists()
    (folder / "own.py").write_text(CODE)
    content["pybatsim"]["env"] = {"objective": "own.py:mine", "horizon": 10**9}  # is refused afterwards
    (folder / "learning.json").write_text(json.dumps(content))
    refused(*command, folder / "out")


def test_predictors_and_agents_in_records_are_asked_about_too(tmp_path):
    own = tmp_path / "elsewhere" / "own.py"
    own.parent.mkdir()
    own.write_text(CODE)
    named = f"sjf@learned:{own}+easy"
    folder = write_inputs(tmp_path / "experiment", **{"options.json": options(policy=named)})
    launch = ["launch", "--options", folder / "options.json", "--output", folder / "out"]
    assert "--trust" in refused(*launch)
    assert not (own.parent / "was-run").exists()
    assert "has no 'Predictor'" in refused(*launch, "--trust")
    assert (own.parent / "was-run").exists()
    (own.parent / "was-run").unlink()
    trained = folder / "trained"
    trained.mkdir()
    record = {"agent": str(own), "options": str(folder / "learning.json"), "platform": str(folder / "machine.json"),
              "workload": str(folder / "jobs.json"), "device": "cpu", "episodes": 2, "envs": 1}  # fmt: skip
    from hdeeprm_like.options import read_options

    plain = read_options(folder / "learning.json").model_dump(mode="json")
    (trained / "run.json").write_text(json.dumps({"resumable": record, "options": plain, "seed": 1}))
    (trained / "options.json").write_text((folder / "learning.json").read_text())
    for name in ("machine.json", "jobs.json"):
        (trained / name).write_text((folder / name).read_text())
    assert "--trust" in refused("train", "--resume", trained)
    compare = ["compare", "--trace", folder / "trace.swf", "--windows", "1x5", "--output", folder / "compared"]
    assert "--trust" in refused(*compare, "--policies", f"agent:{trained}")
    assert not (own.parent / "was-run").exists()


def test_what_is_typed_or_lies_beside_is_run(tmp_path):
    (tmp_path / "own.py").write_text("value = 1\n")
    with trusting(tmp_path):
        assert import_file(tmp_path / "own.py").value == 1
    with trusting(tmp_path / "own.py"):
        assert import_file(tmp_path / "own.py").value == 1
    with trusting(tmp_path / "other"), pytest.raises(OptionsError, match="--trust lets it run"):
        import_file(tmp_path / "own.py")
    assert import_file(tmp_path / "own.py").value == 1


def test_a_neighbour_does_not_stand_in_for_an_installed_package(tmp_path):
    (tmp_path / "colorsys.py").write_text("raise RuntimeError('the neighbour was imported')\n")
    (tmp_path / "helper.py").write_text("value = 5\n")
    (tmp_path / "own.py").write_text("import colorsys\nimport helper\nvalue = helper.value\n")
    before = list(sys.path)
    sys.modules.pop("colorsys", None)
    assert import_file(tmp_path / "own.py").value == 5
    assert sys.path == before
    sys.modules.pop("helper")


def test_the_python_files_of_options_are_found_wherever_they_are_named():
    content = {"a": ["x.py:y", {"sub/z.py:w": 1}], "b": "plain", "c": "agent.py", "d": 3}
    assert [str(path) for path in python_files(content)] == ["x.py", "sub/z.py", "agent.py"]
