"""Every verb that writes, struck by a signal at any moment: it goes on to the same results and leaves no process.

The same verbs on a full disk, on one that nobody may write, and two at once.

`VERBS` is the one table: the words of a command, the words that go on where it was left, and what is compared then.
A sweep on Slurm is struck in ``studies/test_sweep_on_slurm.py``, which starts one, and a watch in
``slurm/test_commands.py``, beside the programs that stand in for Slurm's.
`make test-more` tries one moment of each verb, `make test-all` twenty of each signal.
"""

import csv
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from robust_inputs import ROOT, refused, told, trace, write_inputs

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MOMENTS = 20
ORPHANS = 60.0  # s that processes may take to see that they are alone; on an idle machine they take less than five
MARK = "HDEEPRM_LIKE_TEST_MARK"  # an environment variable by which the processes of a command are found
AGENT = ROOT / "agents" / "reinforce.py"


def text_of(*names):
    """Return what compares files as they are."""
    return lambda folder: {name: (folder / name).read_text() for name in names}


def columns_of(path):
    """Return a table of a training without the seconds that its iterations have taken."""
    rows = csv.DictReader(path.read_text().splitlines())
    return [{name: row[name] for name in row if name != "seconds"} for row in rows]


def lines_of_sweep(folder):
    """Return the figures of all tasks of a sweep, which must have been played once; keys are of paths, too."""
    files = sorted((folder / "results").glob("*.jsonl"))
    lines = [json.loads(line) for path in files for line in path.read_text().split("\n")[:-1]]
    assert len({line["key"] for line in lines}) == len(lines)
    return sorted(json.dumps(line["figures"], sort_keys=True) for line in lines)


def numbers_of_reproduction(folder):
    """Return what a reproduction has found."""
    found = json.loads((folder / "results.json").read_text())["results"]
    return {result["id"]: (result["numbers"], result["tables"]) for result in found}


@dataclass(frozen=True)
class Verb:
    """A command that writes into the folder ``out``, in a folder with the `inputs`.

    Attributes:
        words: of the command. resume: what goes on once the file ``needs`` is there; the same words if empty.
        left: what is the same however often the command was struck. module: that it needs; empty for none.
    """

    words: str
    left: Callable[[Path], object]
    resume: str = ""
    needs: str = "run.json"
    module: str = ""


SWEEP = "sweep -q grid.json --output out"
VERBS = {
    "launch": Verb("launch -q --runs 200 --options options.json --output out --overwrite", text_of("out_jobs.csv")),
    "train": Verb(
        f"train -q --episodes 16 --options learning.json --agent {AGENT} --output out",
        text_of("rewards.log", "losses.log", "evaluations.csv", "probs.json"),
        resume="train -q --resume out",
        module="torch",
    ),
    "train, policy iteration": Verb(
        "train -q --method policy_iteration --options iteration.json --agent ppo --output out",
        lambda folder: {name: columns_of(folder / name) for name in ("progress.csv", "evaluations.csv")},
        resume="train -q --resume out",
        module="torch",
    ),
    "train, evolution": Verb(
        "train -q --method evolution --processes 2 --options evolution.json --output out",
        text_of("costs.jsonl", "best.json"),
        resume="train -q --processes 2 --resume out",
        module="cmaes",
    ),
    "compare with processes": Verb(
        "compare -q --processes 2 --windows 20x100 --policies fcfs,sjf+easy --trace trace.swf --output out",
        text_of("results.csv", "summary.csv", "tests.csv"),
    ),
    "sweep, local": Verb(f"{SWEEP} --workers 2", lines_of_sweep),
    "reproduce": Verb("reproduce -q --resume --seeds 2 R01 R07 --output out", numbers_of_reproduction),
    "stream": Verb(
        "stream -q --policy sjf+easy --trace long.swf --output out", text_of("out_jobs.csv", "figures.json")
    ),
    "whatif": Verb(
        "whatif -q --jobs trace.swf --cores 4 --now fcfs+easy --policies sjf+easy --change load=1.2 --output out",
        lambda folder: sorted((path.name, path.read_text()) for path in folder.glob("*.csv")),
    ),
}
EVOLUTION = {
    "seed": 1,
    "policy": str(ROOT / "agents" / "zoo" / "balanced.json"),
    "reference": "saf+easy",
    "objective": {"bounded_slowdown": 1.0},
    "generations": 6,
    "population": 4,
    "validate_every": 2,
    "windows": {"jobs": 64, "per_generation": 2, "validation": 2, "sources": [{"model": "lublin", "cores": 64}]},
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = write_inputs(tmp_path_factory.mktemp("inputs"))
    learning = json.loads((folder / "learning.json").read_text())
    learning["training"] = {"checkpoint_every": 2, "evaluate_every": 4, "evaluation_episodes": 1}
    grid = {"compare": "trace.swf", "policies": ["fcfs", "sjf+easy"], "windows": "60x100"}
    iteration = json.loads((ROOT / "agents" / "two-kinds.json").read_text())
    iteration |= {"platform_file_path": str(ROOT / "platforms" / "two_kinds.json"), "nb_jobs": 60}
    iteration["training"]["evaluation_episodes"] = 2
    iteration["training"]["policy_iteration"] |= {"windows": 2, "iterations": 3, "branches": 16, "epochs": 2}
    more = {"learning.json": learning, "iteration.json": iteration, "evolution.json": EVOLUTION, "grid.json": grid}
    return write_inputs(folder, **more, **{"trace.swf": trace(1000), "long.swf": trace(100_000)})


def start(words, folder, mark="none"):
    """Start a command in a folder; all its processes have the mark in their environment."""
    return subprocess.Popen(
        [sys.executable, "-m", "hdeeprm_like", *words.split()], cwd=folder, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), MARK: mark},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def wait_until_at_work(process):
    """Wait until a command has read its command line and loads what it works with, or has ended."""
    while process.poll() is None:
        try:
            if "numpy" in Path(f"/proc/{process.pid}/maps").read_text():
                return
        except OSError:
            return
        time.sleep(0.005)


def processes_with(mark):
    """Return the processes that have a mark in their environment and have not ended."""
    found, told = [], f"{MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if told in path.read_bytes() and "State:\tZ" not in (path.parent / "status").read_text():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def assert_no_orphans(mark):
    deadline = time.monotonic() + ORPHANS
    while (left := processes_with(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left, [Path(f"/proc/{number}/cmdline").read_bytes() for number in left]


@pytest.fixture(scope="module")
def whole(inputs, tmp_path_factory):
    """Return what gives the results of a verb that nobody strikes, and the s that it works; each is found once."""
    found = {}

    def of(name):
        verb = VERBS[name]
        if name not in found:
            for last in (False, True):  # the first one compiles
                folder = tmp_path_factory.mktemp("whole")
                copy(inputs, folder)
                with start(verb.words, folder) as process:
                    wait_until_at_work(process)
                    begun = time.monotonic()
                    error = process.stderr.read()
                assert process.returncode == 0, error
                seconds = time.monotonic() - begun
                if last or seconds < 5.0:
                    break
            found[name] = verb.left(folder / "out"), seconds
        return found[name]

    return of


def copy(source, target):
    for path in source.iterdir():
        if path.is_file():
            shutil.copy(path, target)


def needs(module):
    if module and importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed, so nothing is tried of it here")


def moments():
    """Yield all moments of all signals for all verbs; the first of one signal for each verb is not slow."""
    for place, name in enumerate(VERBS):
        for moment in range(MOMENTS):
            for number in SIGNALS:
                short = moment == 0 and number == SIGNALS[place % len(SIGNALS)]
                yield pytest.param(name, number, moment, marks=pytest.mark.more if short else pytest.mark.slow)


@pytest.mark.parametrize(("name", "number", "moment"), [*moments()])
def test_a_struck_command_goes_on_to_the_same_and_leaves_no_process(inputs, whole, tmp_path, name, number, moment):
    verb = VERBS[name]
    needs(verb.module)
    reference, seconds = whole(name)
    copy(inputs, tmp_path)
    mark = uuid.uuid4().hex
    process = start(verb.words, tmp_path, mark)
    wait_until_at_work(process)
    time.sleep(random.Random(f"{name} {number} {moment}").random() * seconds)
    process.send_signal(number)
    _, error = process.communicate(timeout=600)
    assert process.returncode in (0, 130, -number), error
    assert error.count("hdeeprm-like: interrupted; ") == (process.returncode == 130)
    assert "Traceback" not in error
    assert_no_orphans(mark)
    out = tmp_path / "out"
    record = json.loads((out / "run.json").read_text()) if (out / "run.json").exists() else {}
    if name == "launch" and record.get("status") == "complete":
        assert sorted(path.name for path in out.iterdir() if path.name[0] != ".") == sorted(record["files"])
    words = verb.resume if verb.resume and (out / verb.needs).exists() else verb.words
    with start(words, tmp_path) as again:
        error = again.stderr.read()
    assert again.returncode == 0, error
    assert verb.left(out) == reference
    if name in ("launch", "stream"):  # the others write small files, which are whole or not there
        assert not [path.name for path in out.iterdir() if path.name.startswith(".")]


@pytest.mark.more
def test_what_a_killed_stream_was_writing_is_tidied_up_and_nothing_else(inputs, tmp_path):
    copy(inputs, tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    mine = {".out_jobs.csv.mine", ".out_jobs.csv.ABCDEF012345", ".other.csv.abcd12345678", "out_jobs.csv.abcd12345678"}
    for name in (".out_jobs.csv.abcd12345678", ".figures.json.0123456789ef", *mine):
        (out / name).write_text("half")
    (out / ".out_jobs.csv.f01de7012345").mkdir()
    with start("stream -q --policy sjf+easy --trace trace.swf --cores 4 --output out", tmp_path) as process:
        error = process.stderr.read()
    assert process.returncode == 0, error
    assert {path.name for path in out.iterdir()} == {
        *mine,
        ".out_jobs.csv.f01de7012345",
        "out_jobs.csv",
        "figures.json",
    }


@pytest.fixture
def small_disk(tmp_path):
    """A folder in memory that holds 100 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", place]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk may be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def refused_on(disk, inputs, name, monkeypatch):
    """Return the one line with which a verb is refused whose results go onto a disk."""
    needs(VERBS[name].module)
    monkeypatch.chdir(inputs)
    return refused(*(disk / "out" if word == "out" else word for word in VERBS[name].words.split()))


@pytest.mark.lane(more="4-launch", slow="(?!4-launch$).*")
@pytest.mark.parametrize("name", VERBS)
@pytest.mark.parametrize("free", [0, 4, 12])
def test_a_full_disk_is_told_in_one_line_and_what_was_there_stays(inputs, small_disk, name, free, monkeypatch):
    before = small_disk / "mine.txt"
    before.write_text("precious")
    (small_disk / "fill").write_bytes(bytes(4096 * (24 - free // 4 - 1)))
    assert "No space left on device" in refused_on(small_disk, inputs, name, monkeypatch)
    assert before.read_text() == "precious"


@pytest.mark.lane(more="launch", slow="(?!launch$).*")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs to mount")
@pytest.mark.parametrize("name", VERBS)
def test_a_file_system_that_may_only_be_read_is_told_in_one_line(inputs, small_disk, name, monkeypatch):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert "Read-only file system" in refused_on(small_disk, inputs, name, monkeypatch)


@pytest.mark.slow
def test_of_two_launches_into_one_folder_one_is_refused_and_the_other_whole(inputs, whole, tmp_path):
    copy(inputs, tmp_path)
    both = [start(VERBS["launch"].words, tmp_path) for _ in range(2)]
    errors = [process.communicate(timeout=600)[1] for process in both]
    statuses = [process.returncode for process in both]
    assert sorted(statuses) in ([0, 0], [0, 2]), errors
    assert sum("another command is writing there" in error for error in errors) == statuses.count(2)
    assert VERBS["launch"].left(tmp_path / "out") == whole("launch")[0]


@pytest.mark.more
def test_a_clock_that_jumps_changes_no_result(inputs, whole, tmp_path, monkeypatch):
    copy(inputs, tmp_path)
    monkeypatch.chdir(tmp_path)
    clock = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    assert told(*VERBS["launch"].words.split()) == (0, "")
    assert VERBS["launch"].left(tmp_path / "out") == whole("launch")[0]
