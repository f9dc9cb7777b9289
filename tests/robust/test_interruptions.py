"""Commands that are interrupted at any moment, two at once, a full disk, a folder that nobody may write.

What is left is whole or can be gone on with: a run that ``run.json`` calls complete has all its files, a training
resumes, a comparison, a sweep or a reproduction ends as one that was never interrupted.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from robust_inputs import ROOT, told, trace, write_inputs

RUN = [sys.executable, "-m", "hdeeprm_like"]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
MOMENTS = 100  # for each command, spread evenly from its first write to a little after its end
COMMANDS = ("launch", "train", "compare", "sweep", "reproduce")


def start(arguments, cwd):
    return subprocess.Popen(
        [*RUN, *map(str, arguments)], cwd=cwd, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        # A shell lets what it runs in the background ignore Ctrl+C, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def commands(folder):
    output, agent = folder / "out", ROOT / "agents" / "reinforce.py"
    launch = f"launch -q --overwrite --runs 400 --options {folder}/options.json"
    train = f"train -q --episodes 16 --options {folder}/learning.json --agent {agent}"
    compare = f"compare -q --processes 1 --windows 40x100 --policies fcfs,sjf+easy --trace {folder}/trace.swf"
    sweep = f"sweep -q --workers 2 {folder}/grid.json"
    found = {"launch": launch, "train": train, "compare": compare, "sweep": sweep}
    found["reproduce"] = "reproduce -q --resume --seeds 3 R01 R05 R07"
    return {name: [*text.split(), "--output", output] for name, text in found.items()}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    learning = json.loads((write_inputs(folder) / "learning.json").read_text())
    learning["training"] = {"checkpoint_every": 2, "evaluate_every": 4, "evaluation_episodes": 1}
    grid = {"compare": f"{folder}/trace.swf", "policies": ["fcfs", "sjf+easy"], "windows": "200x100"}
    write_inputs(folder, **{"learning.json": learning, "trace.swf": trace(3000), "grid.json": grid})
    return folder


def copy_files(source, folder):
    for path in source.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())


@pytest.fixture(scope="module")
def whole(inputs):
    """What each command leaves that nobody interrupts, and how many seconds it takes after it has made its folder."""
    found = {}
    for name, arguments in commands(inputs).items():
        output = inputs / f"whole-{name}"
        arguments[arguments.index(inputs / "out")] = output
        for _ in range(2):  # the first compiles
            subprocess.run(["rm", "-rf", output], check=True)
            with start(arguments, inputs) as process:
                wait_for(output, process)
                begun = time.monotonic()
                error = process.stderr.read()
            assert process.returncode == 0, error
            found[name] = (output, time.monotonic() - begun)
    return found


def wait_for(folder, process):
    """Wait until a command has made its folder, or has ended."""
    while not folder.exists() and process.poll() is None:
        time.sleep(0.003)


@pytest.fixture(scope="module")
def struck():
    """Of each moment whether the command was still running then, by the name of the command."""
    return {name: [] for name in COMMANDS}


def check(name, folder, reference):
    """Check what an interrupted command has left, and go on with it or do it again."""
    output = folder / "out"
    arguments = commands(folder)[name]
    record = json.loads((output / "run.json").read_text()) if (output / "run.json").exists() else None
    if name == "launch":
        if record is not None and record["status"] == "complete":
            assert sorted(path.name for path in output.iterdir() if path.name[0] != ".") == sorted(record["files"])
    elif name == "train" and record is not None:
        arguments = ["train", "--resume", output, "-q", "--trust"]
    status, error = told(*arguments)
    assert status == 0, error
    assert_same(name, output, reference)


def assert_same(name, output, reference):
    if name == "compare":
        ours, theirs = (pd.read_csv(place / "results.csv") for place in (output, reference))
        pd.testing.assert_frame_equal(ours, theirs)
    elif name == "sweep":
        assert results_of_sweep(output) == results_of_sweep(reference)
    elif name == "reproduce":
        ours, theirs = (pd.read_csv(place / "results.csv").drop(columns="cpu_seconds") for place in (output, reference))
        pd.testing.assert_frame_equal(ours, theirs)
        assert (output / "report.html").stat().st_size > 10_000
    else:
        files = ("out_jobs.csv",) if name == "launch" else ("rewards.log", "losses.log", "evaluations.csv")
        for file in files:
            assert (output / file).read_text() == (reference / file).read_text()
    left = [path.name for path in output.iterdir() if path.name.startswith(".run-")]
    assert not left


def results_of_sweep(output):
    """The figures of each task, which must have been played once."""
    files = (output / "results").glob("*.jsonl")
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines() if line.endswith("}")]
    found = {line["key"]: line["figures"] for line in lines}
    assert len(found) == len(lines)
    return found


# kills and resumes processes, some 15 s each
@pytest.mark.slow
@pytest.mark.parametrize("moment", range(MOMENTS))
@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_signal_leaves_at_any_moment_is_whole_or_goes_on(inputs, whole, struck, tmp_path, name, moment):
    rng, number = random.Random(f"{name} {moment}"), SIGNALS[moment % 3]
    reference, seconds = whole[name]
    copy_files(inputs, tmp_path)
    process = start(commands(tmp_path)[name], tmp_path)
    wait_for(tmp_path / "out", process)
    time.sleep((moment + rng.random()) / MOMENTS * seconds * 1.05)
    struck[name].append(process.poll() is None)
    process.send_signal(number)
    _, error = process.communicate(timeout=600)
    assert process.returncode in (0, 130, -number), error
    assert "Traceback" not in error
    if process.returncode == 130:
        assert error.count("hdeeprm-like: interrupted; ") == 1
    check(name, tmp_path, reference)


# kills and resumes processes, some 15 s each
@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_most_of_the_moments_were_before_the_end(struck, name):
    if len(struck[name]) < MOMENTS:
        pytest.skip("only some of the moments were tried")
    assert sum(struck[name]) > 0.6 * MOMENTS


@pytest.fixture
def small_disk(tmp_path):
    """A folder in memory that holds 100 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", place], capture_output=True, check=False
    ).returncode:
        pytest.skip("no disk may be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


# kills and resumes processes, some 15 s each
@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("free", [0, 4, 12])
def test_a_full_disk_is_told_in_one_line_and_what_was_there_stays(inputs, small_disk, name, free):
    before = small_disk / "mine.txt"
    before.write_text("precious")
    (small_disk / "fill").write_bytes(bytes(4096 * (24 - free // 4 - 1)))
    arguments = commands(inputs)[name]
    arguments[arguments.index(inputs / "out")] = small_disk / "out"
    status, error = told(*arguments)
    lines = [line for line in error.splitlines() if line]
    assert status == 2, error
    assert "No space left on device" in lines[-1]
    assert len(lines) == 1
    assert before.read_text() == "precious"


# kills and resumes processes, some 15 s each
@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs to mount")
def test_a_file_system_that_may_only_be_read_is_told_in_one_line(inputs, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for name, arguments in commands(inputs).items():
        arguments[arguments.index(inputs / "out")] = small_disk / "out"
        status, error = told(*arguments)
        assert (status, error.count("\n")) == (2, 1), (name, error)
        assert "Read-only file system" in error


# kills and resumes processes, some 15 s each
@pytest.mark.slow
def test_of_two_commands_on_one_folder_one_is_refused_and_the_other_whole(inputs, whole, tmp_path):
    copy_files(inputs, tmp_path)
    arguments = commands(tmp_path)["launch"]
    both = [start(arguments, tmp_path) for _ in range(2)]
    errors = [process.communicate(timeout=600)[1] for process in both]
    statuses = [process.returncode for process in both]
    assert 0 in statuses, errors
    for status, error in zip(statuses, errors, strict=True):
        if status:
            assert status == 2
            assert "another command is writing there" in error
    assert_same("launch", tmp_path / "out", whole["launch"][0])


# kills and resumes processes, some 15 s each
@pytest.mark.slow
def test_a_clock_that_jumps_changes_no_result(inputs, whole, monkeypatch):
    clock = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    arguments = commands(inputs)["launch"]
    arguments[arguments.index(inputs / "out")] = inputs / "jumping"
    assert told(*arguments)[0] == 0
    assert_same("launch", inputs / "jumping", whole["launch"][0])
