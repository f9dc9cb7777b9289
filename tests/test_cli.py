"""The command line: what it answers, and that whatever a user gives wrong is one line and exit status 2."""

import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hdeeprm_like.cli.main import heeding_termination, main
from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.options import Options, schema
from hdeeprm_like.results.report import SHORT

ROOT = Path(__file__).parent.parent
PLATFORM = ROOT / "platforms" / "learning.json"
WORKLOAD = ROOT / "workloads" / "learning.json"
PROGRAM = [sys.executable, "-m", "hdeeprm_like"]
OPTIONS = {"seed": 1, "pybatsim": {"agent": {"type": "CLASSIC", "policy_pair": "first-high_gflops"}}}

# the two forms of HDeepRM's schema, as in its own repository; the paths are of the authors' container
POLICY_PAIR = """{"seed": 20091995, "nb_resources": 2280, "nb_jobs": 100,
  "workload_file_path": "/workspace/workloads/gaia.swf", "platform_file_path": "/workspace/platforms/gaia.json",
  "pybatsim": {"log_level": "DEBUG", "env": {"objective": "avg_job_slowdown", "queue_sensitivity": 0.05},
    "agent": {"type": "CLASSIC", "policy_pair": "shortest-high_mem_bw"}}}"""
SELECTION = """{"seed": 20091995, "nb_resources": 2280, "nb_jobs": 100,
  "workload_file_path": "/workspace/workloads/gaia.swf", "platform_file_path": "/workspace/platforms/gaia.json",
  "pybatsim": {"log_level": "ERROR", "env": {"objective": "avg_job_slowdown",
    "actions": {"selection": [{"shortest": ["high_mem_bw"]}], "void": false}, "queue_sensitivity": 0.05},
    "agent": {"type": "CLASSIC"}}}"""
LEARNING = """{"seed": 19021285, "nb_resources": 4, "nb_jobs": 2, "workload_file_path": "",
  "platform_file_path": "../../platform_examples/learning.json",
  "pybatsim": {"log_level": "WARNING", "env": {"objective": "makespan", "actions": {"selection": [
      {"shortest": ["high_gflops", "high_mem_bw", "low_power"]}, {"first": ["high_gflops", "high_mem_bw"]}],
      "void": false}, "observation": "minimal", "queue_sensitivity": 0.05},
    "agent": {"type": "LEARNING", "run": "train", "hidden": 16, "lr": 0.005, "gamma": 0.99}}}"""


def merged(base, changes):
    """A dictionary with changes deep inside."""
    result = dict(base)
    for key, value in changes.items():
        result[key] = merged(result.get(key, {}), value) if isinstance(value, dict) else value
    return result


@pytest.fixture
def files(tmp_path):
    """A folder with an experiment on the learning platform."""
    shutil.copy(PLATFORM, tmp_path / "platform.json")
    shutil.copy(WORKLOAD, tmp_path / "jobs.json")
    options = OPTIONS | {"platform_file_path": "platform.json", "workload_file_path": "jobs.json"}
    (tmp_path / "exp.json").write_text(json.dumps(options))
    return tmp_path


def refused(capsys, *arguments):
    """The one line that a command answers with, having written nothing else."""
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as end:
        status = end.code
    said = capsys.readouterr()
    assert status == 2
    assert said.out == ""
    assert said.err.startswith("hdeeprm-like: ")
    assert said.err.endswith("\n")
    assert said.err.count("\n") == 1, said.err
    return said.err


def refused_launch(capsys, folder, *arguments):
    """The one line that ``launch`` answers with; no directory is left."""
    line = refused(capsys, "launch", "--options", folder / "exp.json", "--output", folder / "out", *arguments)
    assert not (folder / "out").exists()
    return line


def rewrite(path, **changes):
    path.write_text(json.dumps(merged(json.loads(path.read_text()), changes)))


# missing and malformed files


@pytest.mark.parametrize("name", ["exp.json", "platform.json", "jobs.json"])
def test_a_missing_file_is_named(files, capsys, name):
    (files / name).unlink()
    assert f"{files / name}: no such file" in refused_launch(capsys, files)


@pytest.mark.parametrize("name", ["exp.json", "platform.json", "jobs.json"])
def test_a_folder_in_the_place_of_a_file_is_named(files, capsys, name):
    (files / name).unlink()
    (files / name).mkdir()
    assert f"{files / name}: is a folder" in refused_launch(capsys, files)


@pytest.mark.parametrize("name", ["exp.json", "platform.json", "jobs.json"])
@pytest.mark.parametrize(
    "text", ["", "{", '{"a": 1,}', "[1]", "7", '"x"', "null", '{"seed": NaN}', "[" * 100_000, "\x00", '{"seed": 1}}']
)
def test_malformed_json_is_named(files, capsys, name, text):
    (files / name).write_text(text)
    assert str(files / name) in refused_launch(capsys, files)


@pytest.mark.parametrize("name", ["exp.json", "platform.json", "jobs.json"])
def test_what_is_no_text_is_named(files, capsys, name):
    (files / name).write_bytes(b'{"seed": "\xff\xfe"}')
    assert "not UTF-8" in refused_launch(capsys, files)


@pytest.mark.parametrize(
    "text", ["", "; only a header\n", "1 2 3\n", "x " * 18 + "\n", "1 0 nan 10 1 -1 -1 1 10 -1 1 1 1 1 -1 -1 -1 -1\n"]
)
def test_a_trace_without_jobs_is_refused(files, capsys, text):
    (files / "trace.swf").write_text(text)
    assert "trace.swf" in refused_launch(capsys, files, "--trace", files / "trace.swf", "--quiet")


def test_a_trace_that_is_no_gzip_is_refused(files, capsys):
    (files / "trace.swf.gz").write_bytes(b"1 2 3")
    assert "trace.swf.gz" in refused_launch(capsys, files, "--trace", files / "trace.swf.gz")


# wrong values


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": -1}, "seed: -1"),
        ({"seed": 1.5}, "seed: 1.5"),
        ({"seed": "1"}, "seed: '1'"),
        ({"seed": True}, "seed: True"),
        ({"seed": None}, "seed: None"),
        ({"seed": 2**63}, "seed: 9223372036854775808"),
        ({"nb_jobs": 0}, "nb_jobs: 0"),
        ({"nb_jobs": -3}, "nb_jobs: -3"),
        ({"nb_resources": 5}, "nb_resources: 5, but"),
        ({"sed": 1}, "sed: is not known; did you mean 'seed'?"),
        ({"pybatsim": {"env": {"objektive": "edp"}}}, "env.objektive: is not known; did you mean 'objective'?"),
        ({"pybatsim": {"env": {"objective": "makspan"}}}, "did you mean 'makespan'?"),
        ({"pybatsim": {"env": {"queue_sensitivity": 0}}}, "pybatsim.env.queue_sensitivity: 0"),
        ({"pybatsim": {"env": {"queue_sensitivity": -0.5}}}, "pybatsim.env.queue_sensitivity: -0.5"),
        ({"pybatsim": {"agent": {"policy_pair": "shortst-high_gflops"}}}, "did you mean 'shortest'?"),
        ({"pybatsim": {"agent": {"policy_pair": "shortest-high_gflop"}}}, "did you mean 'high_gflops'?"),
        ({"pybatsim": {"agent": {"policy_pair": "shortest"}}}, "is no order, but a job policy of pairs"),
        ({"pybatsim": {"agent": {"policy_pair": ""}}}, "order '' is not known"),
        ({"pybatsim": {"agent": {"policy_pair": None}}}, "follows one policy pair, 36 are given"),
        ({"pybatsim": {"agent": {"hiden": 3}}}, "did you mean 'hidden'?"),
        ({"pybatsim": {"agent": {"type": "CLASSICAL"}}}, "did you mean 'CLASSIC'?"),
        ({"pybatsim": {"env": {"actions": {"selection": [{"first": ["low_pover"]}]}}}}, "did you mean 'low_power'?"),
        ({"pybatsim": {"env": {"actions": {"selection": [{"frst": ["low_power"]}]}}}}, "did you mean 'first'?"),
        ({"pybatsim": {"env": {"actions": {"selection": {"first": "low_power"}}}}}, "pybatsim.env.actions.selection"),
        ({"pybatsim": {"env": {"observation": "big"}}}, "'big' is not known"),
        ({"pybatsim": {"log_level": "LOUD"}}, "'LOUD' is not known"),
        ({"workload": {"max_time": -1}}, "workload.max_time: -1"),
        ({"workload_file_path": ""}, "workload_file_path: is missing"),
        ({"platform_file_path": ""}, "platform_file_path: is missing"),
        ({"workload_file_path": 5}, "workload_file_path: 5"),
        ({"type_file_paths": ["none.json"]}, "none.json"),
    ],
)  # fmt: skip
def test_wrong_options_are_told_with_their_path_and_the_nearest_name(files, capsys, changes, said):
    rewrite(files / "exp.json", **changes)
    line = refused_launch(capsys, files)
    assert said in line
    assert len(line) < 400


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"subtime": -1}, "subtime: is -1"),
        ({"subtime": 1e999}, "Infinity"),
        ({"subtime": "0"}, "subtime: is '0'"),
        ({"res": 0}, "res: is 0"),
        ({"res": 1.5}, "res: is 1.5"),
        ({"res": 5}, "requests 5 cores"),
        ({"walltime": -2}, "walltime: is -2"),
        ({"profile": "Tst0"}, "did you mean 'Test0'?"),
    ],
)
def test_wrong_jobs_are_told_with_their_place(files, capsys, changes, said):
    content = json.loads((files / "jobs.json").read_text())
    content["jobs"][1].update(changes)
    (files / "jobs.json").write_text(json.dumps(content))
    assert said in refused_launch(capsys, files)


@pytest.mark.parametrize("key", ["cpu", "req_time", "req_ops", "mem", "mem_bw"])
@pytest.mark.parametrize("value", ["-1", "NaN", "Infinity", "1e999", "true", '"3"', "[]"])
def test_wrong_numbers_in_a_profile_are_refused(files, capsys, key, value):
    content = json.loads((files / "jobs.json").read_text())
    content["profiles"]["Test0"][key] = "HERE"
    (files / "jobs.json").write_text(json.dumps(content).replace('"HERE"', value))
    assert str(files / "jobs.json") in refused_launch(capsys, files)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("exp.json", '"seed": 1, ', "", "seed: is missing"),
        ("jobs.json", r"(?s)\A.+\Z", '{"nb_res": 4, "jobs": [], "profiles": {}}', "at least one job is needed"),
        ("platform.json", "Test0", "Tst0", "did you mean 'Test0'?"),
        ("platform.json", '"number": 1', '"number": -1', "platform.json"),
        ("platform.json", '"number": 1', '"number": NaN', "platform.json"),
        ("platform.json", '"0us"', '"-5us"', "platform.json"),
        ("platform.json", '"0us"', '"1e999us"', "platform.json"),
    ],
)
def test_what_a_file_lacks_or_has_wrong_is_told(files, capsys, name, old, new, said):
    changed, count = re.subn(old, new, (files / name).read_text())
    assert count
    (files / name).write_text(changed)
    assert said in refused_launch(capsys, files)


def test_a_link_without_bandwidth_is_refused(files, capsys):
    main(["launch", "-q", "-o", str(files / "exp.json"), "--output", str(files / "first")])
    xml = re.sub(r'bandwidth="[^"]*"', 'bandwidth="0Gbps"', (files / "first" / "platform.xml").read_text())
    (files / "platform.xml").write_text(xml)
    assert "bandwidth: is '0Gbps'; one above 0 is needed" in refused_launch(
        capsys, files, "--platform", files / "platform.xml"
    )


@pytest.mark.parametrize(
    "flags",
    ["--seed -1", "--seed x", f"--seed {2**63}", "--runs 0", "--runs 1.5", "--sed 1", "--log-level LOUD"],
)
def test_wrong_flags_are_refused(files, capsys, flags):
    assert flags.split()[0] in refused_launch(capsys, files, *flags.split())


def test_a_trace_and_a_workload_exclude_one_another(files, capsys):
    line = refused_launch(capsys, files, "--trace", files / "a.swf", "--workload", files / "jobs.json")
    assert "exclude one another" in line


@pytest.mark.parametrize("arguments", [["lanch"], ["launch"], ["visual"], ["metrics"], ["clean"], ["jobstat", "x"]])
def test_an_unknown_or_incomplete_command_is_refused(capsys, arguments):
    assert "--help" in refused(capsys, *arguments)


def test_a_job_without_the_memory_is_rejected_with_the_reason_and_the_run_goes_on(files, capsys):
    content = json.loads((files / "jobs.json").read_text())
    content["profiles"]["Big"] = content["profiles"]["Test0"] | {"mem": 1e9}
    content["jobs"][0]["profile"] = "Big"
    (files / "jobs.json").write_text(json.dumps(content))
    assert main(["launch", "-o", str(files / "exp.json"), "--output", str(files / "out")]) == 0
    said = capsys.readouterr()
    run = json.loads((files / "out" / "run.json").read_text())
    assert run["rejected"] == {"w0!0": "more memory per core than the platform has for that many cores"}
    assert (run["metrics"]["nb_jobs_rejected"], run["metrics"]["nb_jobs_success"]) == (1, 1)
    assert "1 jobs were rejected, the first is w0!0" in said.err


# writing


@pytest.mark.parametrize("below", ["jobs.json", "jobs.json/deeper"])
def test_a_directory_that_cannot_be_made_is_one_line(files, capsys, below):
    before = sorted(files.rglob("*"))
    line = refused(capsys, "launch", "-q", "-o", files / "exp.json", "--output", files / below)
    assert "cannot be written" in line
    assert sorted(files.rglob("*")) == before


def test_a_file_that_no_run_wrote_is_not_overwritten(files, capsys):
    shutil.copy(files / "exp.json", files / "options.json")
    before = {path: path.read_bytes() for path in files.iterdir()}
    line = refused(capsys, "launch", "-q", "-o", files / "options.json", "--output", files)
    assert "options.json" in line
    assert {path: path.read_bytes() for path in files.iterdir()} == before


FULL_DISK = """
import resource, signal, sys
from hdeeprm_like.cli.main import main
from hdeeprm_like.launch import in_process as launch
def full(simulator, workload, record=launch.Record):
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
    return record(simulator, workload)
launch.Record = full
sys.exit(main(sys.argv[1:]))
"""


def test_a_full_disk_is_one_line_and_leaves_nothing(files):
    arguments = ["launch", "-q", "-o", files / "exp.json", "--output", files / "out"]
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=ROOT
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("hdeeprm-like: ")
    assert done.stderr.count("\n") == 1
    assert not (files / "out").exists()


def test_ctrl_c_in_the_middle_of_a_simulation_leaves_nothing(tmp_path):
    jobs = [{"id": i, "subtime": i, "res": 1, "profile": "p"} for i in range(60_000)]
    profile = {"type": "parallel_homogeneous", "com": 0, "cpu": 2e9, "req_time": 1, "mem": 1, "mem_bw": 4}
    (tmp_path / "jobs.json").write_text(json.dumps({"nb_res": 4, "jobs": jobs, "profiles": {"p": profile}}))
    (tmp_path / "exp.json").write_text(json.dumps(OPTIONS))
    out = tmp_path / "out"
    command = [*PROGRAM, "launch", "-q", "-o", tmp_path / "exp.json", "--output", out, "--runs", "100000"]
    command += ["--platform", PLATFORM, "--workload", tmp_path / "jobs.json"]
    running = subprocess.Popen(
        [str(word) for word in command],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        # A shell lets what it runs in the background ignore Ctrl+C, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        while not out.exists() and running.poll() is None:
            time.sleep(0.05)
        time.sleep(0.5)  # to any moment of the simulations, which take minutes
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=600)[1]
    finally:
        running.kill()
    assert said == "hdeeprm-like: interrupted; nothing half-written is left\n"
    assert running.returncode == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exp.json", "jobs.json"]


CTRL_C_IN_A_TEXT = """
from hdeeprm_like.cli import main

def interrupted():
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return 130

main.main = interrupted
"""


def test_the_status_after_ctrl_c_is_told_wherever_it_came(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(CTRL_C_IN_A_TEXT)
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    assert subprocess.run(PROGRAM, env={**os.environ, "PYTHONPATH": path}, check=False).returncode == 130


@pytest.fixture
def heeded_ctrl_c():
    """Heed Ctrl+C also where these tests run in the background of a shell, which lets what it starts ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded_ctrl_c")
def test_ctrl_c_where_nothing_can_be_raised_comes_again():
    class Dying:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)

    def dies_and_waits():
        Dying()
        time.sleep(30)

    with heeding_termination(), pytest.raises(KeyboardInterrupt):
        dies_and_waits()


def test_ctrl_c_while_a_class_is_made_is_told_as_everywhere(monkeypatch, capsys):
    def interrupted(*_):
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr("hdeeprm_like.cli.results.run_schema", interrupted)
    assert main(["schema"]) == 130
    assert capsys.readouterr().err == "hdeeprm-like: interrupted; nothing half-written is left\n"


@pytest.mark.usefixtures("heeded_ctrl_c")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_of_which_code_in_c_makes_another_error_is_told_as_everywhere(monkeypatch, capsys, number):
    monkeypatch.setattr("hdeeprm_like.signals.SOON", math.inf)

    def drawing(*_):
        try:
            os.kill(os.getpid(), number)
            time.sleep(30)
        except KeyboardInterrupt:  # as matplotlib, of an interrupt while it converts a box
            raise ValueError("Invalid bounding box") from None

    monkeypatch.setattr("hdeeprm_like.cli.results.run_schema", drawing)
    assert main(["schema"]) == 130
    assert capsys.readouterr().err == "hdeeprm-like: interrupted; nothing half-written is left\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_that_nobody_interrupted_is_no_ctrl_c(monkeypatch):
    def broken(*_):
        raise ValueError("Invalid bounding box")

    monkeypatch.setattr("hdeeprm_like.cli.results.run_schema", broken)
    with pytest.raises(ValueError, match="bounding box"):
        main(["schema"])


# answers


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 2
    assert "launch" in capsys.readouterr().out


@pytest.mark.parametrize("text", [POLICY_PAIR, SELECTION])
def test_both_forms_of_the_original_schema_run_with_their_paths_overridden(tmp_path, capsys, text):
    (tmp_path / "exp.json").write_text(text)
    assert "no such file" in refused_launch(capsys, tmp_path)
    flags = ["--platform", ROOT / "platforms" / "gaia.json", "--trace", ROOT / "workloads" / "gaia.swf.gz"]
    arguments = ["launch", "-q", "-o", tmp_path / "exp.json", *flags, "--output", tmp_path / "out"]
    assert main([str(argument) for argument in arguments]) == 0
    assert capsys.readouterr() == ("", "")
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["metrics"]["nb_jobs_success"] == 100
    assert run["platform"]["cores"] == 2280


def test_the_original_learning_experiment_is_accepted_as_it_is():
    options = Options.model_validate(json.loads(LEARNING))
    chosen = options.pybatsim.env.actions.selection
    assert sum(len(cores) for entry in chosen for cores in entry.values()) == 5
    assert (options.pybatsim.agent.hidden, options.pybatsim.agent.lr, options.pybatsim.agent.gamma) == (16, 0.005, 0.99)


def test_the_schema_is_told_and_knows_every_key(tmp_path, capsys):
    assert main(["schema"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == schema()
    assert main(["schema", "--save", str(tmp_path / "schema.json")]) == 0
    assert json.loads((tmp_path / "schema.json").read_text()) == told
    assert set(told["properties"]) >= {"seed", "nb_resources", "nb_jobs", "pybatsim", "platform_file_path"}
    assert told["additionalProperties"] is False
    assert told["required"] == ["seed"]


EXPERIMENTS = [path for path in sorted((ROOT / "agents").glob("*.json")) if path.name != "sweep.json"]  # lists of such


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.name)
def test_the_shipped_experiments_are_valid(path):
    Options.model_validate(json.loads(path.read_text()))


def test_a_reader_that_goes_away_is_no_error(files):
    command = f"{sys.executable} -m hdeeprm_like schema | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode in (0, 141)
    assert done.stderr == ""


def test_quiet_says_nothing(files, capsys):
    assert main(["launch", "--quiet", "-o", str(files / "exp.json"), "--output", str(files / "out")]) == 0
    assert capsys.readouterr() == ("", "")


def test_without_an_output_the_run_lies_beside_and_is_told(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    assert main(["launch", "-o", "exp.json"]) == 0
    assert (files / "run-exp" / "run.json").exists()
    assert "makespan" in capsys.readouterr().out.lower()
    assert os.listdir(files / "run-exp")


# a process each; one of each kind stays
@pytest.mark.lane(more=r"(doc|visual comp|jobstat x.swf req_t|example ga)-.*")
@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("lau", "launch "),
        ("launch --simul", "--simulator "),
        ("doc", "doctor "),
        ("visual gantt_", "gantt_no_label "),
        ("visual comp", "compare "),
        ("jobstat x.swf req_t", "req_time "),
        ("jobstat x.swf size medi", "median "),
        ("example ga", "gaia "),
        ("launch --options gaia-", "gaia-shortest "),
        ("launch --options x.json --trace lublin-1-", "lublin-1-500 "),
        ("launch --options x.json --platform nin", "nine-machines "),
        ("launch --options x.json --workload lea", "learning "),
        ("train --options learning --agent reinf", "reinforce "),
        ("compare --trace CTC", "CTC-SP2-1996-3.1-cln "),
        ("compare --trace gaia --policies fcfs,sjf+conserv", "fcfs,sjf+conservative "),
        ("compare --trace gaia --policies fcfs,zoo:bal", "fcfs,zoo:balanced "),
        ("stream --policy shortest-high_gf", "shortest-high_gflops "),
        ("explain zoo:bal", "zoo:balanced "),
        ("fetch-trace KTH", "KTH-SP2-1996-2.1-cln "),
        ("reproduce R03 R1", "R10\nR11\nR12\nR13\nR14\nR15\nR16\nR17\nR18"),
    ],
)
def test_a_shell_completes_commands_flags_and_names(typed, known, tmp_path):
    """What the line of a shell is completed to that `register-python-argcomplete` has set up."""
    told, typed = tmp_path / "told", f"hdeeprm-like {typed}"
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(told), "_ARGCOMPLETE_IFS": "\n"}
    asked |= {"COMP_LINE": typed, "COMP_POINT": str(len(typed))}
    command = "import sys; from hdeeprm_like.cli.main import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", command], env=os.environ | asked, capture_output=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, b"")
    assert told.read_text() == known


def test_a_shell_completes_names_and_files(tmp_path):
    (tmp_path / "lumi-mine.json").write_text("{}")
    told = tmp_path / "told"
    typed = "hdeeprm-like launch --options gaia --platform lumi"
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(told), "_ARGCOMPLETE_IFS": "\n"}
    asked |= {"COMP_LINE": typed, "COMP_POINT": str(len(typed)), "PYTHONPATH": str(ROOT)}
    command = "import sys; from hdeeprm_like.cli.main import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", command], env=os.environ | asked, timeout=300, cwd=tmp_path, check=True)
    assert told.read_text().splitlines() == ["lumi", "lumi-mine.json"]


# what a command says


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["launch", "-o", "gaja"],
            "--options/-o: 'gaja' is no shipped options file, and no file; did",
        ),
        (["launch", "-o", "gaia", "--trace", "gaja"], "--trace: 'gaja' is no shipped trace, and no file; did"),
        (["launch", "-o", "gaia", "--workload", "gaia"], "but no workload; known: learning, worked-one"),
        (["compare", "--trace", "lublin", "--policies", "fcfs", "--output", "x"], "did you mean 'lublin-"),
        (["predict", "KTH-SP2-1996-2.1-cln"], "download it once with: hdeeprm-like fetch-trace KTH-SP2-1996-2.1-cln"),
        (["convert", "gaja", "x.xml"], "'gaja' is no shipped platform, and no file"),
        (["sweep", "gaja", "-o", "x"], "'gaja' is no shipped sweep or options file, and no file"),
        (["example", "--names", "trce"], "is no kind of shipped data; did you mean 'trace'?"),
        (["example", "--names", "trace", "x"], "example --names: copies nothing; omit DIR"),
    ],
)
def test_an_unknown_name_is_refused_in_one_line(words, said, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert said in refused(capsys, *words)


def test_names_stand_for_paths_in_commands(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["jobstat", "gaia", "size", "p95"]) == 0
    assert capsys.readouterr().out == "size p95: 36 cores\n"
    assert main(["convert", "gaia", "gaia.xml"]) == 0
    assert capsys.readouterr().out == "2280 cores in gaia.xml\n"
    assert main(["convert", "learning", "jobs.json"]) == 0
    assert capsys.readouterr().out == "2 jobs in jobs.json\n"
    assert main(["example", "--names", "trace"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split()[:2] == ["trace", "gaia"]
    assert main(["launch", "-q", "--options", "worked-three"]) == 0
    assert (tmp_path / "run-worked-three" / "run.json").exists()


def test_the_nearest_command_is_named(capsys):
    assert "'exampel' is not known; did you mean 'example'?" in refused(capsys, "exampel", "gaia", "x")
    assert "did you mean 'embedded'?" in refused(capsys, "launch", "-o", "x.json", "--simulator", "embeded")
    assert "9 is not known; known: 4, 5" in refused(capsys, "convert", "a.json", "b.json", "--batsim", "9")
    assert "'qqqq' is not known; known: batsim, batsim5, benchmark, check" in refused(capsys, "qqqq")


@pytest.fixture
def launched(files):
    """The folder of a run."""
    assert main(["launch", "-q", "-o", str(files / "exp.json"), "--output", str(files / "out")]) == 0
    return files / "out"


def test_a_run_ends_with_the_next_command(launched, capsys, tmp_path):
    folder = tmp_path / "with spaces"
    assert main(["launch", "-o", str(launched / "options.json"), "--output", str(folder)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"next: hdeeprm-like report '{folder}' --output '{folder}/report.html'"
    assert main(shlex.split(last)[2:]) == 0
    assert (folder / "report.html").exists()


def test_a_run_is_not_replaced_unless_asked(launched, files, capsys):
    again = ["launch", "-q", "-o", files / "exp.json", "--output", launched]
    before = {path: path.stat().st_mtime_ns for path in launched.iterdir()}
    line = refused(capsys, *again)
    assert line.endswith(f"{launched}: holds a run; name another --output, or replace it with --overwrite\n")
    assert {path: path.stat().st_mtime_ns for path in launched.iterdir()} == before
    assert main([*map(str, again), "--overwrite"]) == 0
    assert (launched / "run.json").stat().st_mtime_ns > before[launched / "run.json"]
    record = json.loads((launched / "run.json").read_text())
    (launched / "run.json").write_text(json.dumps(record | {"status": "training"}))
    assert "holds a training" in refused(capsys, *again)
    (launched / "run.json").write_text(json.dumps(record | {"status": "incomplete"}))
    assert main(list(map(str, again))) == 0  # what was cut short may be replaced


def test_visual_says_what_it_wrote(launched, capsys, tmp_path):
    capsys.readouterr()
    line = ["visual", "gantt", "--run", str(launched), "--save", str(tmp_path / "g.png")]
    assert main(line) == 0
    assert capsys.readouterr().out == f"gantt of {launched} in {tmp_path / 'g.png'}\n"
    assert main([*line, "--quiet"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("field", "statistic", "said"), [("size", "p95", "cores"), ("size", "count", "jobs"), ("req_time", "max", "s")]
)
def test_a_statistic_has_its_name_and_its_unit(files, capsys, field, statistic, said):
    assert main(["jobstat", str(files / "jobs.json"), field, statistic]) == 0
    words = capsys.readouterr().out.removesuffix("\n")
    assert main(["jobstat", "-q", str(files / "jobs.json"), field, statistic]) == 0
    number = capsys.readouterr().out.removesuffix("\n")
    assert float(number) > 0.0
    assert words == f"{field} {statistic}: {number} {said}"


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ("jobstat gaia", {"summary", "left_out"}),
        ("jobstat gaia size p95", {"field", "statistic", "value", "unit"}),
        ("jobstat gaia all", {"req_time", "size", "mem", "submit"}),
        ("metrics RUN --short", {"launched"}),
        ("doctor", {"numpy", "machine code"}),
        ("explain zoo:balanced", {"formulas"}),
        ("explain zoo:balanced --trace lublin-1 --at 20000", {"formulas", "at", "free", "waiting"}),
    ],
)
def test_what_is_printed_is_printed_as_json_too(words, keys, launched, capsys):
    line = [str(launched) if word == "RUN" else word for word in words.split()]
    assert main([*line, "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert keys - {"launched"} <= found.keys()
    assert main(line) == 0
    shown = capsys.readouterr().out
    if words == "jobstat gaia size p95":
        assert f"{found['value']:.10g} {found['unit']}" in shown
    if words == "explain zoo:balanced":
        assert "\n".join(found["formulas"]) + "\n" == shown
    if "metrics" in words:
        assert list(found[launched.name]) == list(SHORT)


def test_metrics_explains_each_figure_that_it_prints(launched, capsys):
    capsys.readouterr()
    assert main(["metrics", "--explain"]) == 0
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert list(lines) == [figure.title for figure in FIGURES.values()]
    assert "until the last job starts" in lines["RLScheduler's utilization"]
    assert "fills and drains" in lines["Steady utilization"]
    assert "largest mean bounded slowdown of a user" in lines["Worst user over mean"]
    assert main(["metrics", str(launched), "--short", "--explain"]) == 0
    told = capsys.readouterr().out
    assert "Makespan: from the beginning" in told
    assert "Steady utilization" not in told


# draws once more
@pytest.mark.more
def test_a_report_explains_its_figures(launched, files):
    assert main(["report", str(launched), "--output", str(files / "r.html"), "-q"]) == 0
    assert '<abbr title="utilization without the times when the machine fills' in (files / "r.html").read_text()
