"""What is installed, and whose Python files are run."""

import json
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from robust_inputs import LEARNER, ROOT, learning, options, printed, refused, refused_launch, told, write_inputs

from hdeeprm_like.cli import results
from hdeeprm_like.cli.arguments import EXTRAS
from hdeeprm_like.cli.main import main, parser
from hdeeprm_like.cli.trust import our_agents, trusted_by
from hdeeprm_like.decision.named_parts import objective_named
from hdeeprm_like.decision.rates import file_of_rates
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.learning.loading import load_agent_class
from hdeeprm_like.options import read_options
from hdeeprm_like.plugins import PLUGINS, import_file, import_module, python_files, trusting
from hdeeprm_like.run.workers import workers

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


# starts all commands that need an extra
@pytest.mark.more
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
    ):
        status, lines = without(module, *arguments)
        extra = EXTRAS[module][1]
        assert status == 2, lines
        assert len(lines) == 1, lines
        assert f"pip install 'hdeeprm_like[{extra}]'" in lines[0]
        assert not (folder / "out").exists(), arguments


def test_a_module_that_is_missing_for_another_reason_is_a_bug(monkeypatch):

    def broken(options):
        import no_such_module_of_ours  # noqa: F401

    monkeypatch.setattr(results, "run_metrics", broken)
    with pytest.raises(ModuleNotFoundError):
        told("metrics", "x")


def test_the_doctor_and_the_version_tell_what_results_depend_on(capsys):
    said = printed("doctor")
    for word in ("python", "numba", "numpy", "torch", "cmaes", "gymnasium", "machine code", "batsim", "sacct"):
        assert re.search(rf"^{word} +\S", said, re.MULTILINE), said
    assert without("torch,cmaes", "doctor") == (0, [])
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert re.fullmatch(r"hdeeprm-like \S+ \(numpy \d\S+, Python 3\S+\)\n", capsys.readouterr().out)


CODE = "from pathlib import Path\nPath(__file__).with_name('was-run').touch()\ndef mine(state):\n    return 0.0\n"


@pytest.fixture
def own(tmp_path):
    """A file of Python beside the experiment's folder, which leaves a mark when it is run."""
    path = tmp_path / "elsewhere" / "own.py"
    path.parent.mkdir()
    path.write_text(CODE)
    return path


def test_a_file_that_options_name_outside_their_folder_is_run_only_with_trust(tmp_path, own):
    content, folder = learning(), tmp_path / "experiment"
    content["pybatsim"]["env"] = {"objective": "../elsewhere/own.py:mine"}
    line = refused_launch(folder, agent=LEARNER, **{"learning.json": content})
    assert "own.py: is Python code outside the folders that the command names; --trust lets it run" in line
    assert not (own.parent / "was-run").exists()
    content["pybatsim"]["env"] = {"objective": "own.py:mine", "horizon": 10**9}  # is refused afterwards
    refused_launch(folder, agent=LEARNER, **{"learning.json": content, "own.py": CODE})


def test_predictors_that_options_name_are_asked_about_too(tmp_path, own):
    files = {"options.json": options(policy=f"sjf@learned:{own}+easy")}
    assert "--trust" in refused_launch(tmp_path / "experiment", **files)
    assert not (own.parent / "was-run").exists()
    assert "has no 'Predictor'" in refused_launch(tmp_path / "experiment", "--trust", **files)
    assert (own.parent / "was-run").exists()


@pytest.mark.parametrize(
    "words",
    [
        "explain POLICY",
        "whatif --jobs trace.swf --cores 4 --now fcfs+easy --policies POLICY --output out",
        "whatif --jobs trace.swf --cores 4 --now POLICY --change load=1.2 --output out",
        "compare --trace trace.swf --windows 1x5 --policies POLICY --output out",
        "benchmark POLICY --output out",
        "check policy POLICY",
        "slurm watch --dry-run --policy POLICY",
    ],
)
def test_a_predictor_that_the_file_of_a_policy_names_is_run_only_with_trust(tmp_path, own, words):
    policy = {"queue": {"log_time": 1.0}, "times": f"learned:{own}"}
    folder = write_inputs(tmp_path / "experiment", **{"policy.json": policy})
    known = {"POLICY": f"scored:{folder / 'policy.json'}", "trace.swf": folder / "trace.swf", "out": folder / "out"}
    command = [str(known.get(word, word)) for word in words.split()]
    assert "is Python code outside the folders that the command names; --trust lets it run" in refused(*command)
    assert not (own.parent / "was-run").exists()
    assert "has no 'Predictor'" in refused(*command, "--trust")
    assert (own.parent / "was-run").exists()


@pytest.mark.parametrize("trust", [[], ["--trust"]])
def test_a_predictor_that_the_file_of_a_policy_names_is_never_run_by_stream(tmp_path, own, trust):
    policy = {"queue": {"log_time": 1.0}, "times": f"learned:{own}"}
    folder = write_inputs(tmp_path / "experiment", **{"policy.json": policy})
    named = f"scored:{folder / 'policy.json'}"
    found = refused("stream", "--trace", folder / "trace.swf", "--policy", named, "--output", folder / "out", *trust)
    assert "so no jobs are streamed through them" in found
    assert not (own.parent / "was-run").exists()


def test_what_a_command_names_is_trusted_and_what_it_goes_on_with_is_not():
    def trusted(*words):
        ours, *others = trusted_by(parser(words[0]).parse_args(words))
        assert ours == our_agents()
        return others

    assert trusted("reproduce", "--resume", "--output", "old") == []
    assert trusted("report", "old") == trusted("metrics", "old") == trusted("sweep", "status", "old") == []
    assert trusted("train", "--resume", "old") == [Path("old")]
    assert trusted("predict", "x.swf", "--predictors", "ewma,learned:a.py") == [Path("learned:a.py"), Path("a.py")]
    both = trusted(
        "stream", "--trace", "x.swf", "--policy", "sjf@learned:a.py+easy@learned:b.py-first_fit", "--output", "o"
    )
    assert both == [Path("a.py"), Path("b.py")]


def record_of_training(folder, agent, options_path):
    """Write a training's folder into that of an experiment, as its record would be if it came from elsewhere."""

    trained = folder / "trained"
    trained.mkdir()
    record = {"agent": str(agent), "options": str(options_path), "platform": str(folder / "machine.json"),
              "workload": str(folder / "jobs.json"), "device": "cpu", "episodes": 2, "envs": 1}  # fmt: skip
    plain = read_options(folder / "learning.json").model_dump(mode="json")
    (trained / "run.json").write_text(json.dumps({"resumable": record, "options": plain, "seed": 1}))
    (trained / "options.json").write_text((folder / "learning.json").read_text())
    for name in ("machine.json", "jobs.json"):
        (trained / name).write_text((folder / name).read_text())
    return trained


@pytest.mark.parametrize("beside", [False, True])
def test_a_record_does_not_say_which_folders_are_trusted(tmp_path, own, beside):
    folder = write_inputs(tmp_path / "experiment")
    options_path = own.parent / "learning.json" if beside else folder / "learning.json"
    options_path.write_text((folder / "learning.json").read_text())
    trained = record_of_training(folder, own, options_path)
    assert "--trust" in refused("train", "--resume", trained)
    compare = ["compare", "--trace", folder / "trace.swf", "--windows", "1x5", "--output", folder / "compared"]
    assert "--trust" in refused(*compare, "--policies", f"agent:{trained}")
    assert not (own.parent / "was-run").exists()
    assert "has no class on" in refused(*compare, "--policies", f"agent:{trained}", "--trust")
    assert (own.parent / "was-run").exists()


def test_a_module_in_a_record_is_imported_only_with_trust(tmp_path):
    folder = write_inputs(tmp_path / "experiment")
    trained = record_of_training(folder, "colorsys:Agent", folder / "learning.json")
    sys.modules.pop("colorsys", None)
    line = refused("train", "--resume", trained)
    assert "colorsys: is an installed module, neither of this package nor of a registered plugin; --trust" in line
    assert "colorsys" not in sys.modules
    assert "colorsys has no 'Agent'" in refused("train", "--resume", trained, "--trust")


def test_options_that_are_a_link_are_trusted_where_the_link_is(tmp_path):
    content = learning()
    content["pybatsim"]["env"] = {"objective": str(tmp_path / "elsewhere" / "own.py") + ":mine"}
    folder = write_inputs(tmp_path / "elsewhere", **{"learning.json": content, "own.py": CODE})
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "learning.json").symlink_to(folder / "learning.json")
    files = ("--platform", folder / "machine.json", "--workload", folder / "jobs.json", "--output", tmp_path / "out")
    line = refused("launch", "--options", tmp_path / "here" / "learning.json", *LEARNER, *files)
    assert "--trust lets it run" in line
    assert not (folder / "was-run").exists()


INSTALLED = "is an installed module, neither of this package nor of a registered plugin; --trust lets it run"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("objective", "os:abort", INSTALLED),
        ("objective", {"os:abort": 1.0, "avg_wait": 1.0}, INSTALLED),
        ("observation", "subprocess:Popen", INSTALLED),
        ("actions", {"kind": "subprocess:Popen"}, INSTALLED),
        ("actions", {"selection": [{"os:abort": ["high_gflops"]}]}, INSTALLED),
        ("actions", {"policies": ["fcfs", "os:abort-high_gflops"]}, INSTALLED),
        ("observation", "hdeeprm_like.api:simulate", "cannot be called with (state, window)"),
        ("objective", "hdeeprm_like.api:simulate", "cannot be called with (state)"),
        ("objective", {"hdeeprm_like.api:simulate": 1.0}, "cannot be called with (state)"),
        ("actions", {"kind": "hdeeprm_like.values:shown"}, "cannot be called with (state, window)"),
        ("observation", "hdeeprm_like.errors:HDeepRMError", "which is not an observer; it has no 'shape'"),
        ("observation", "hdeeprm_like.launch.drivers:Driver", "observation Driver: TypeError: Protocols"),
        ("objective", "hdeeprm_like.errors:HDeepRMError", "HDeepRMError: a number is needed, not HDeepRMError("),
        (
            "actions",
            {"policies": ["fcfs", "hdeeprm_like.errors:one_line-high_gflops"]},
            "'State' object is not iterable",
        ),
        ("actions", {"kind": "hdeeprm_like.inputs:reading"}, "which is not an action space; it has no 'size'"),
        ("objective", "own.py:mine", "own.py:2: ZeroDivisionError: division by zero"),
    ],
)
def test_a_function_that_options_name_and_that_is_no_part_is_one_line(tmp_path, key, value, words):
    content = learning()
    content["pybatsim"]["env"] = {key: value}
    files = {"learning.json": content, "own.py": "def mine(state):\n    return 1 / 0\n"}
    assert words in refused_launch(tmp_path, agent=LEARNER, **files)


@pytest.mark.parametrize("name", ["a\0.py:mine", "around/own.py:mine", "around.py:mine"])
def test_code_at_a_path_that_leads_nowhere_is_one_line(tmp_path, name):
    for link in ("around", "around.py", "around.json"):
        (tmp_path / link).symlink_to(link)
    content = learning()
    content["pybatsim"]["env"] = {"objective": name}
    assert refused_launch(tmp_path, agent=LEARNER, **{"learning.json": content}).endswith("no such file")
    told = refused("check", "platform", tmp_path / "around.json")
    assert told.endswith("cannot be read: Too many levels of symbolic links")


def test_what_this_package_only_imports_is_not_of_this_package():
    with trusting("elsewhere"):
        assert objective_named("hdeeprm_like.decision.rates:file_of_rates") is file_of_rates
        with pytest.raises(OptionsError, match="is not of this package, which only imports it; --trust lets it run"):
            objective_named("hdeeprm_like.batsim.process:contextmanager")
        with pytest.raises(OptionsError, match="is an installed module"):
            objective_named("hdeeprm_like.__main__:main")


def test_the_module_of_an_agent_on_the_command_line_is_imported(monkeypatch):

    monkeypatch.syspath_prepend(ROOT / "agents")
    asked = Namespace(trust=False, agent="reinforce:Reinforce", options=ROOT / "agents" / "reinforce.json")
    with trusting(*trusted_by(asked)):
        assert load_agent_class("reinforce:Reinforce").__name__ == "Reinforce"


def test_a_registered_plugin_is_imported(tmp_path, monkeypatch):
    (tmp_path / "our_site").mkdir()
    (tmp_path / "our_site" / "__init__.py").write_text("")
    (tmp_path / "our_site" / "goals.py").write_text("def fairness(state):\n    return 0.0\n")
    told = tmp_path / "our_site-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: our_site\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with trusting("elsewhere"):
        with pytest.raises(OptionsError, match="registered plugin"):
            objective_named("our_site.goals:fairness")
        (told / "entry_points.txt").write_text(f"[{PLUGINS}]\nours = our_site\n")
        assert objective_named("our_site.goals:fairness")(None) == 0.0


def test_processes_run_no_more_than_who_has_begun_them(tmp_path):
    (tmp_path / "own.py").write_text(CODE)
    with trusting(tmp_path / "other"), workers(1) as pool:
        for work in (pool.submit(import_file, tmp_path / "own.py"), pool.submit(import_module, "colorsys")):
            with pytest.raises(OptionsError, match="--trust lets it run"):
                work.result()
    assert not (tmp_path / "was-run").exists()


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
