"""The examples: a copy is whole and can be loaded, nothing of the user's is overwritten, a wheel holds them all."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from robust_inputs import printed, refused

import hdeeprm_like.example_files
import hdeeprm_like.formats.shipped
from hdeeprm_like.cli.main import parser
from hdeeprm_like.decision.score_files import zoo
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.example_files import EXAMPLES, commands_for, copy_example
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.formats.files import replacing_bytes
from hdeeprm_like.formats.shipped import examples_folder

ROOT = Path(__file__).parent.parent
FOLDERS = ("agents", "platforms", "workloads")
METADATA = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "constraints.txt")
NAMES = list(EXAMPLES)


def names_below(folder):
    """The paths of all files in a folder, without what Python compiled."""
    paths = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix() for path in paths}


# the table


def test_every_agent_and_experiment_of_the_repository_is_in_an_example():
    shown = {source for example in EXAMPLES.values() for source in example.files.values()}
    there = names_below(ROOT / "agents")
    learned = {name for name in there if name.startswith("zoo/")}  # these go by name, as zoo:balanced
    assert {f"agents/{name}" for name in there - learned} <= shown
    assert {f"zoo/{name}.json" for name in zoo()} == {name for name in learned if name.count("/") == 1}


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_holds_its_files_and_its_experiments_find_theirs_in_it(name, tmp_path):
    folder = tmp_path / "copy"
    assert {path.name for path in copy_example(name, folder)} == names_below(folder) == set(EXAMPLES[name].files)
    for target, source in EXAMPLES[name].files.items():
        if source == "agents/sweep.json":
            assert json.loads((folder / target).read_text())["compare"] == "lublin_256.swf.gz"
        elif source.startswith("agents/") and source.endswith(".json"):
            experiment = load_experiment(folder / target)
            assert experiment.platform_path.parent == folder
            assert experiment.options.workload.model or experiment.workload_path.parent == folder
        else:
            assert (folder / target).read_bytes() == (ROOT / source).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_to_run_next_are_commands_of_ours_on_files_of_the_copy(name, tmp_path):
    folder = tmp_path / "a folder's copy"
    copy_example(name, folder)
    for line in commands_for(EXAMPLES[name], folder):
        program, *arguments = shlex.split(line)
        if program == "hdeeprm-like":
            parser().parse_args(arguments)
        named = [Path(word) for word in arguments if word.startswith(str(tmp_path))]
        assert all(path.is_file() for path in named)
        assert named or "--run" in arguments or "metrics" in arguments  # these read what the commands before them wrote


def test_the_examples_are_found_in_the_package_where_it_is_installed_and_else_in_the_clone(monkeypatch, tmp_path):
    assert examples_folder() == ROOT
    package = tmp_path / "hdeeprm_like"
    monkeypatch.setattr(hdeeprm_like.formats.shipped, "__file__", str(package / "formats" / "shipped.py"))
    assert examples_folder() == tmp_path
    (package / "examples" / "agents").mkdir(parents=True)
    assert examples_folder() == package / "examples"


# the command


def test_without_a_name_all_are_listed():
    lines = printed("example").splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert all(line.endswith(EXAMPLES[line.split()[0]].shows) and len(line) <= 120 for line in lines)


def test_a_copy_says_what_to_run_next(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "\n  hdeeprm-like launch --options x/first.json\n" in printed("example", "gaia", "x")
    assert "pip install 'hdeeprm_like[learn]'" in printed("example", "learning", "y")
    assert printed("example", "learning", "z", "--quiet") == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("gaja x", "'gaja' is not known; did you mean 'gaia'?"),
        ("q x", "known: compare, "),
        ("gaia", "the folder for the copy is missing; try: hdeeprm-like example gaia DIR"),
        ("gaia gaia.json", "gaia.json: is not a folder"),
        ("gaia .", "gaia.json: is there already"),
    ],
)
def test_what_cannot_be_copied_is_one_line_and_nothing_of_the_users_is_overwritten(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gaia.json").write_text("mine")
    assert said in refused("example", *words.split())
    assert names_below(tmp_path) == {"gaia.json"}
    assert (tmp_path / "gaia.json").read_text() == "mine"


def test_a_folder_with_other_files_takes_a_copy(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    copy_example("gaia", tmp_path)
    assert names_below(tmp_path) == {"notes.txt", *EXAMPLES["gaia"].files}


@pytest.mark.parametrize("is_new", [True, False])
def test_a_copy_that_fails_half_way_leaves_nothing(monkeypatch, tmp_path, is_new):
    folder = tmp_path / "x"
    if not is_new:
        folder.mkdir()
        (folder / "notes.txt").write_text("mine")
    last = list(EXAMPLES["gaia"].files)[-1]

    def full_disk(path):
        if path.name == last:
            assert len(names_below(folder)) >= 3
            raise ResultsError(f"{path}: cannot be written: no space left")
        return replacing_bytes(path)

    monkeypatch.setattr(hdeeprm_like.example_files, "replacing_bytes", full_disk)
    with pytest.raises(ResultsError, match="no space left"):
        copy_example("gaia", folder)
    assert folder.exists() is not is_new
    assert names_below(tmp_path) == (set() if is_new else {"x/notes.txt"})


def test_an_unknown_name_is_an_error_of_ours_in_python_too(tmp_path):
    with pytest.raises(OptionsError, match="did you mean 'two-kinds'"):
        copy_example("two-kind", tmp_path)


def test_an_example_that_learns_names_the_extra_where_pytorch_is_missing(tmp_path):
    copy_example("learning", tmp_path)
    script = (
        "import sys; sys.modules['torch'] = None\nfrom hdeeprm_like.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    learn = ["train", "--options", "reinforce.json", "--agent", "reinforce.py"]
    command = [sys.executable, "-c", script, *learn]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("pip install 'hdeeprm_like[learn]'\n")
    assert done.stderr.count("\n") == 1


# the wheel


@pytest.mark.slow
def test_a_wheel_made_of_the_source_distribution_holds_all_and_runs_an_example_without_a_clone(tmp_path):
    tree, unpacked = tmp_path / "tree", tmp_path / "unpacked"
    tree.mkdir()
    for name in METADATA:
        shutil.copy(ROOT / name, tree)
    for name in ("hdeeprm_like", *FOLDERS):
        shutil.copytree(ROOT / name, tree / name)  # with the __pycache__ that may be there
    build = "from setuptools import build_meta; build_meta.build_sdist('.')"
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "-c", build], cwd=tree, env=outside, check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--no-build-isolation"]
    (source,) = tree.glob("*.tar.gz")
    subprocess.run([*pip, "--no-index", "--wheel-dir", tmp_path, source], cwd=tmp_path, env=outside, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(unpacked)
    expected = {f"hdeeprm_like/{name}" for name in names_below(ROOT / "hdeeprm_like")}
    expected |= {f"hdeeprm_like/examples/{folder}/{name}" for folder in FOLDERS for name in names_below(ROOT / folder)}
    assert {name for name in names_below(unpacked) if not name.startswith("hdeeprm_like-")} == expected
    for words in (["example", "gaia", "x"], ["launch", "--options", "x/first.json", "--quiet"]):
        command = [sys.executable, "-m", "hdeeprm_like", *words]
        subprocess.run(command, cwd=tmp_path, env=outside | {"PYTHONPATH": str(unpacked)}, check=True)
    assert (tmp_path / "run-first" / "out_schedule.csv").is_file()
