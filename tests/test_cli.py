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
from robust_inputs import printed, refused

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


def refused_launch(folder, *arguments):
    """The one line that ``launch`` answers with; no directory is left."""
    line = refused("launch", "--options", folder / "exp.json", "--output", folder / "out", *arguments)
    assert not (folder / "out").exists()
    return line


def rewrite(path, **changes):
    path.write_text(json.dumps(merged(json.loads(path.read_text()), changes)))


# missing and malformed files


TEXTS = ("", "{", '{"a": 1,}', "[1]", "7", '"x"', "null", '{"seed": NaN}', "[" * 100_000, "\x00", '{"seed": 1}}')


@pytest.mark.parametrize("name", ["exp.json", "platform.json", "jobs.json"])
@pytest.mark.parametrize(
    ("content", "said"),
    [(None, ": no such file"), (b'{"seed": "\xff\xfe"}', "not UTF-8"), *((text, "") for text in TEXTS)],
)
def test_a_file_that_is_missing_or_no_json_is_named(files, name, content, said):
    (files / name).unlink()
    if content is not None:
        (files / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    line = refused_launch(files)
    assert str(files / name) in line
    assert said in line


@pytest.mark.parametrize(
    "text", ["", "; only a header\n", "1 2 3\n", "x " * 18 + "\n", "1 0 nan 10 1 -1 -1 1 10 -1 1 1 1 1 -1 -1 -1 -1\n"]
)
@pytest.mark.parametrize("name", ["trace.swf", "trace.swf.gz"])
def test_a_trace_without_jobs_or_that_is_no_gzip_is_refused(files, name, text):
    (files / name).write_text(text)
    assert name in refused_launch(files, "--trace", files / name, "--quiet")


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
def test_wrong_options_are_told_with_their_path_and_the_nearest_name(files, changes, said):
    rewrite(files / "exp.json", **changes)
    line = refused_launch(files)
    assert said in line
    assert len(line) < 400


def rewrite_jobs(files, change, old="", new=""):
    """Change the content of the jobs, and then a word of their text."""
    content = json.loads((files / "jobs.json").read_text())
    change(content)
    (files / "jobs.json").write_text(json.dumps(content).replace(old, new))


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
def test_wrong_jobs_are_told_with_their_place(files, changes, said):
    rewrite_jobs(files, lambda content: content["jobs"][1].update(changes))
    assert said in refused_launch(files)


@pytest.mark.parametrize("key", ["cpu", "req_time", "req_ops", "mem", "mem_bw"])
@pytest.mark.parametrize("value", ["-1", "NaN", "Infinity", "1e999", "true", '"3"', "[]"])
def test_wrong_numbers_in_a_profile_are_refused(files, key, value):
    rewrite_jobs(files, lambda content: content["profiles"]["Test0"].update({key: "HERE"}), '"HERE"', value)
    assert str(files / "jobs.json") in refused_launch(files)


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
def test_what_a_file_lacks_or_has_wrong_is_told(files, name, old, new, said):
    changed, count = re.subn(old, new, (files / name).read_text())
    assert count
    (files / name).write_text(changed)
    assert said in refused_launch(files)


def test_a_link_without_bandwidth_is_refused(files):
    printed("launch", "-q", "-o", files / "exp.json", "--output", files / "first")
    xml = re.sub(r'bandwidth="[^"]*"', 'bandwidth="0Gbps"', (files / "first" / "platform.xml").read_text())
    (files / "platform.xml").write_text(xml)
    line = refused_launch(files, "--platform", files / "platform.xml")
    assert "bandwidth: is '0Gbps'; one above 0 is needed" in line


@pytest.mark.parametrize(
    "flags",
    ["--seed -1", "--seed x", f"--seed {2**63}", "--runs 0", "--runs 1.5", "--sed 1", "--log-level LOUD"],
)
def test_wrong_flags_are_refused(files, flags):
    assert flags.split()[0] in refused_launch(files, *flags.split())


def test_a_trace_and_a_workload_exclude_one_another(files):
    line = refused_launch(files, "--trace", files / "a.swf", "--workload", files / "jobs.json")
    assert "exclude one another" in line


def test_a_job_without_the_memory_is_rejected_with_the_reason_and_the_run_goes_on(files, capsys):
    def change(content):
        content["profiles"]["Big"] = content["profiles"]["Test0"] | {"mem": 1e9}
        content["jobs"][0]["profile"] = "Big"

    rewrite_jobs(files, change)
    printed("launch", "-o", files / "exp.json", "--output", files / "out")
    run = json.loads((files / "out" / "run.json").read_text())
    assert run["rejected"] == {"w0!0": "more memory per core than the platform has for that many cores"}
    assert (run["metrics"]["nb_jobs_rejected"], run["metrics"]["nb_jobs_success"]) == (1, 1)
    assert "1 jobs were rejected, the first is w0!0" in capsys.readouterr().err


# writing


@pytest.mark.parametrize(
    ("output", "said"),
    [("jobs.json", "cannot be written"), ("jobs.json/deeper", "cannot be written"), (".", "options.json")],
    ids=["a file", "below a file", "with a file that no run wrote"],
)
def test_an_output_that_cannot_be_had_is_one_line_and_nothing_changes(files, output, said):
    shutil.copy(files / "exp.json", files / "options.json")
    before = {path: path.read_bytes() for path in files.rglob("*")}
    assert said in refused("launch", "-q", "-o", files / "options.json", "--output", files / output)
    assert {path: path.read_bytes() for path in files.rglob("*")} == before


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
    assert "no such file" in refused_launch(tmp_path)
    flags = ["--platform", ROOT / "platforms" / "gaia.json", "--trace", ROOT / "workloads" / "gaia.swf.gz"]
    assert printed("launch", "-q", "-o", tmp_path / "exp.json", *flags, "--output", tmp_path / "out") == ""
    assert capsys.readouterr().err == ""
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["metrics"]["nb_jobs_success"] == 100
    assert run["platform"]["cores"] == 2280


def test_the_original_learning_experiment_is_accepted_as_it_is():
    options = Options.model_validate(json.loads(LEARNING))
    chosen = options.pybatsim.env.actions.selection
    assert sum(len(cores) for entry in chosen for cores in entry.values()) == 5
    assert (options.pybatsim.agent.hidden, options.pybatsim.agent.lr, options.pybatsim.agent.gamma) == (16, 0.005, 0.99)


def test_the_schema_is_told_and_knows_every_key(tmp_path):
    told = json.loads(printed("schema"))
    assert told == schema()
    printed("schema", "--save", tmp_path / "schema.json")
    assert json.loads((tmp_path / "schema.json").read_text()) == told
    assert set(told["properties"]) >= {"seed", "nb_resources", "nb_jobs", "pybatsim", "platform_file_path"}
    assert told["additionalProperties"] is False
    assert told["required"] == ["seed"]


def test_a_reader_that_goes_away_is_no_error(files):
    command = f"{sys.executable} -m hdeeprm_like schema | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode in (0, 141)
    assert done.stderr == ""


def test_quiet_says_nothing_and_without_an_output_the_run_lies_beside_and_is_told(files, capsys, monkeypatch):
    assert printed("launch", "--quiet", "-o", files / "exp.json", "--output", files / "out") == ""
    assert capsys.readouterr().err == ""
    monkeypatch.chdir(files)
    assert "makespan" in printed("launch", "-o", "exp.json").lower()
    assert (files / "run-exp" / "run.json").exists()


COMPLETED = {
    "lau": "launch ",
    "launch --simul": "--simulator ",
    "doc": "doctor ",
    "visual gantt_": "gantt_no_label ",
    "visual comp": "compare ",
    "jobstat x.swf req_t": "req_time ",
    "jobstat x.swf size medi": "median ",
    "example ga": "gaia ",
    "launch --options gaia-": "gaia-shortest ",
    "launch --options x.json --trace lublin-1-": "lublin-1-500 ",
    "launch --options x.json --platform nin": "nine-machines ",
    "launch --options gaia --platform lumi": "lumi\nlumi-mine.json",
    "launch --options x.json --workload lea": "learning ",
    "train --options learning --agent reinf": "reinforce ",
    "compare --trace CTC": "CTC-SP2-1996-3.1-cln ",
    "compare --trace gaia --policies fcfs,sjf+conserv": "fcfs,sjf+conservative ",
    "compare --trace gaia --policies fcfs,zoo:bal": "fcfs,zoo:balanced ",
    "stream --policy shortest-high_gf": "shortest-high_gflops ",
    "explain zoo:bal": "zoo:balanced ",
    "fetch-trace KTH": "KTH-SP2-1996-2.1-cln ",
    "reproduce R03 R1": "R10\nR11\nR12\nR13\nR14\nR15\nR16\nR17\nR18",
}
"""What a line of a shell that `register-python-argcomplete` has set up is completed to."""

# One process, which has loaded what every command loads, and a child of it for each line.
COMPLETE = """
import json, os, sys
import argcomplete
from hdeeprm_like.cli.main import main, parser
parser()
for typed in json.load(sys.stdin):
    told = "told"
    os.environ |= {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": told, "_ARGCOMPLETE_IFS": "\\n"}
    os.environ |= {"COMP_LINE": "hdeeprm-like " + typed, "COMP_POINT": str(len("hdeeprm-like " + typed))}
    child = os.fork()
    if child == 0:
        main()
        os._exit(1)
    _, status = os.waitpid(child, 0)
    print(json.dumps([status, open(told).read()]))
"""


def test_a_shell_completes_commands_flags_names_and_files(tmp_path):
    (tmp_path / "lumi-mine.json").write_text("{}")
    done = subprocess.run(
        [sys.executable, "-c", COMPLETE], input=json.dumps(list(COMPLETED)), cwd=tmp_path, capture_output=True,
        text=True, timeout=300, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    told = map(json.loads, done.stdout.splitlines())
    assert dict(zip(COMPLETED, told, strict=True)) == {typed: [0, known] for typed, known in COMPLETED.items()}


# what a command says


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("launch -o gaja", "--options/-o: 'gaja' is no shipped options file, and no file; did"),
        ("launch -o gaia --trace gaja", "--trace: 'gaja' is no shipped trace, and no file; did"),
        ("launch -o gaia --workload gaia", "but no workload; known: learning, worked-one"),
        ("compare --trace lublin --policies fcfs --output x", "did you mean 'lublin-"),
        ("predict KTH-SP2-1996-2.1-cln", "download it once with: hdeeprm-like fetch-trace KTH-SP2-1996-2.1-cln"),
        ("convert gaja x.xml", "'gaja' is no shipped platform, and no file"),
        ("sweep gaja -o x", "'gaja' is no shipped sweep or options file, and no file"),
        ("example --names trce", "is no kind of shipped data; did you mean 'trace'?"),
        ("example --names trace x", "example --names: copies nothing; omit DIR"),
        ("exampel gaia x", "'exampel' is not known; did you mean 'example'?"),
        ("launch -o x.json --simulator embeded", "did you mean 'embedded'?"),
        ("convert a.json b.json --batsim 9", "9 is not known; known: 4, 5"),
        ("qqqq", "'qqqq' is not known; known: batsim, batsim5, benchmark, check"),
        *((words, "--help") for words in ("lanch", "launch", "visual", "metrics", "clean", "jobstat x")),
    ],
)
def test_a_name_or_a_command_that_is_not_known_is_refused_in_one_line(words, said, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert said in refused(*words.split(), longest=400)  # with the names that are known


def test_names_stand_for_paths_in_commands(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert printed("jobstat", "gaia", "size", "p95") == "size p95: 36 cores\n"
    assert printed("convert", "gaia", "gaia.xml") == "2280 cores in gaia.xml\n"
    assert printed("convert", "learning", "jobs.json") == "2 jobs in jobs.json\n"
    assert printed("example", "--names", "trace").split()[:2] == ["trace", "gaia"]
    printed("launch", "-q", "--options", "worked-three")
    assert (tmp_path / "run-worked-three" / "run.json").exists()


@pytest.fixture
def launched(files):
    """The folder of a run."""
    printed("launch", "-q", "-o", files / "exp.json", "--output", files / "out")
    return files / "out"


def test_a_run_ends_with_the_next_command(launched, tmp_path):
    folder = tmp_path / "with spaces"
    last = printed("launch", "-o", launched / "options.json", "--output", folder).splitlines()[-1]
    assert last == f"next: hdeeprm-like report '{folder}' --output '{folder}/report.html'"
    printed(*shlex.split(last)[2:])
    assert (folder / "report.html").exists()


def test_a_run_is_not_replaced_unless_asked(launched, files):
    again = ("launch", "-q", "-o", files / "exp.json", "--output", launched)
    before = {path: path.stat().st_mtime_ns for path in launched.iterdir()}
    line = refused(*again)
    assert line.endswith(f"{launched}: holds a run; name another --output, or replace it with --overwrite")
    assert {path: path.stat().st_mtime_ns for path in launched.iterdir()} == before
    printed(*again, "--overwrite")
    assert (launched / "run.json").stat().st_mtime_ns > before[launched / "run.json"]
    record = json.loads((launched / "run.json").read_text())
    (launched / "run.json").write_text(json.dumps(record | {"status": "training"}))
    assert "holds a training" in refused(*again)
    (launched / "run.json").write_text(json.dumps(record | {"status": "incomplete"}))
    printed(*again)  # what was cut short may be replaced


def test_visual_says_what_it_wrote(launched, tmp_path):
    line = ("visual", "gantt", "--run", launched, "--save", tmp_path / "g.png")
    assert printed(*line) == f"gantt of {launched} in {tmp_path / 'g.png'}\n"
    assert printed(*line, "--quiet") == ""


@pytest.mark.parametrize(
    ("field", "statistic", "said"), [("size", "p95", "cores"), ("size", "count", "jobs"), ("req_time", "max", "s")]
)
def test_a_statistic_has_its_name_and_its_unit(files, field, statistic, said):
    words, number = (printed("jobstat", *more, files / "jobs.json", field, statistic) for more in ([], ["-q"]))
    assert float(number) > 0.0
    assert words == f"{field} {statistic}: {number.strip()} {said}\n"


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ("jobstat gaia", {"summary", "left_out"}),
        ("jobstat gaia size p95", {"field", "statistic", "value", "unit"}),
        ("jobstat gaia all", {"req_time", "size", "mem", "submit"}),
        ("metrics RUN --short", set()),
        ("doctor", {"numpy", "machine code"}),
        ("explain zoo:balanced", {"formulas"}),
        ("explain zoo:balanced --trace lublin-1 --at 20000", {"formulas", "at", "free", "waiting"}),
    ],
)
def test_what_is_printed_is_printed_as_json_too(words, keys, launched):
    line = [str(launched) if word == "RUN" else word for word in words.split()]
    found = json.loads(printed(*line, "--json"), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert keys <= found.keys()
    shown = printed(*line)
    if words == "jobstat gaia size p95":
        assert f"{found['value']:.10g} {found['unit']}" in shown
    if words == "explain zoo:balanced":
        assert "\n".join(found["formulas"]) + "\n" == shown
    if "metrics" in words:
        assert list(found[launched.name]) == list(SHORT)


def test_metrics_explains_each_figure_that_it_prints(launched):
    lines = dict(line.split(": ", 1) for line in printed("metrics", "--explain").splitlines())
    assert list(lines) == [figure.title for figure in FIGURES.values()]
    assert "until the last job starts" in lines["RLScheduler's utilization"]
    assert "fills and drains" in lines["Steady utilization"]
    assert "largest mean bounded slowdown of a user" in lines["Worst user over mean"]
    told = printed("metrics", launched, "--short", "--explain")
    assert "Makespan: from the beginning" in told
    assert "Steady utilization" not in told
