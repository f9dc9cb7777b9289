"""Folders of comparisons, trainings and sweeps whose files are empty, damaged, of another kind or devices: one line."""

import json
import os

import pytest
from robust_inputs import LEARNER, learning, printed, refused, told, write_inputs

DAMAGES = ("empty", "garbage", "half", "half a line", "device", "folder", "list", "deep", "pipe", "words")


def damage(path, how):
    """Put something else into the place of a file; return whether that can be."""
    data = path.read_bytes()
    path.unlink()
    if how == "empty":
        path.write_bytes(b"")
    elif how == "garbage":
        path.write_bytes(b"\x00\xff\x13garbage\n" * 9)
    elif how == "half":
        path.write_bytes(data[: len(data) // 2])
    elif how == "half a line":
        path.write_bytes(data[: data.find(b"\n", len(data) // 3) - 3])
    elif how == "device":
        os.symlink("/dev/zero", path)
    elif how == "folder":
        path.mkdir()
    elif how == "deep":
        path.write_text("[" * 100_000 + "\n")
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "list":
        path.write_text("[1, 2]\n")
    else:
        lines = data.decode(errors="replace").splitlines()
        path.write_text("\n".join(lines[:1] + [",".join("x" for _ in line.split(",")) for line in lines[1:]]) + "\n")


def fine_or_one_line(*arguments):
    """Run a command, which may do its work or refuse in one line; return whether it has refused."""
    status, _ = told(*arguments)
    if status:
        refused(*arguments)
    return status != 0


def compare(folder, inputs):
    """The words of a comparison into a folder."""
    return ("compare", "--trace", inputs / "trace.swf", "--policies", "fcfs,sjf+easy", "--windows", "3x10",
            "--output", folder, "--processes", "1")  # fmt: skip


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The folder of a comparison."""
    folder = write_inputs(tmp_path_factory.mktemp("inputs"))
    printed(*compare(folder / "out", folder))
    return folder / "out"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a training."""
    content = learning()
    content["training"] = {"checkpoint_every": 2, "evaluate_every": 2, "evaluation_episodes": 1}
    folder = write_inputs(tmp_path_factory.mktemp("inputs"), **{"learning.json": content})
    line = ("train", "-q", "--options", folder / "learning.json", *LEARNER, "--episodes", "4")
    printed(*line, "--output", folder / "out")
    return folder / "out"


def copy(source, target):
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_file():
            (target / path.name).write_bytes(path.read_bytes())
    return target


OF_COMPARISON = ("results.csv", "summary.csv", "tests.csv", "compare.json")


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", OF_COMPARISON)
def test_the_page_of_a_damaged_comparison_is_one_line(compared, tmp_path, name, how):
    folder = copy(compared, tmp_path / "out")
    damage(folder / name, how)
    assert fine_or_one_line("report", folder, "--output", tmp_path / "page.html")


@pytest.mark.parametrize(
    ("change", "told_then"),
    [
        (lambda lines: lines[:-1], "does not have each policy once on each window"),
        (lambda lines: [*lines, lines[-1]], "does not have each policy once on each window"),
        (lambda lines: lines[:1], "does not have each policy once on each window"),
        (lambda lines: [*lines[:-1], lines[-1].rpartition(",")[0] + ",inf"], "has a figure that no schedule has"),
    ],
    ids=["a row is missing", "a row twice", "no rows", "no number"],
)
def test_the_page_of_a_comparison_with_other_results_than_it_had_is_one_line(compared, tmp_path, change, told_then):
    folder = copy(compared, tmp_path / "out")
    path = folder / "results.csv"
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    assert told_then in refused("report", folder, "--output", tmp_path / "page.html")


@pytest.mark.parametrize("how", DAMAGES)
def test_a_comparison_with_damaged_results_does_not_go_on(compared, tmp_path, how):
    inputs = write_inputs(tmp_path)
    folder = copy(compared, tmp_path / "out")
    damage(folder / "results.csv", how)
    fine_or_one_line(*compare(folder, inputs))


LEFT = ("options.json", "progress.csv", "evaluations.csv", "rewards.log", "losses.log", "probs.json", "run.json")
RESUMED = ("options.json", "run.json", "workload.json", "platform.xml", "checkpoint.pt", "progress.csv")


@pytest.mark.more
@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize(
    ("verb", "name"),
    [*(("report", name) for name in LEFT), *(("train", name) for name in (*RESUMED, "evaluations.csv"))],
)
def test_a_damaged_training_has_a_page_and_goes_on_or_is_refused_in_one_line(trained, tmp_path, verb, name, how):
    folder = copy(trained, tmp_path / "out")
    damage(folder / name, how)
    page, resumed = ("report", folder, "-o", tmp_path / "page.html"), ("train", "-q", "--resume", folder)
    fine_or_one_line(*(page if verb == "report" else (*resumed, "--episodes", "4")))


VALUES = ([], {}, None, True, 1.5, -1, 10**30, "", "\0", ["a.json"])
RESUMABLE = ("options", "platform", "workload", "agent", "device", "episodes", "envs", "code", "input_model",
             "output_model")  # fmt: skip


# needs a training, as the tests of other entries do
@pytest.mark.more
@pytest.mark.parametrize("key", ["options", "seed", "resumable", *(f"resumable.{name}" for name in RESUMABLE)])
def test_something_else_in_the_record_of_a_training_is_one_line(trained, tmp_path, key):
    folder, record = copy(trained, tmp_path / "out"), json.loads((trained / "run.json").read_text())
    for value in VALUES:
        outer, _, inner = key.partition(".")
        changed = record | {outer: record["resumable"] | {inner: value} if inner else value}
        (folder / "run.json").write_text(json.dumps(changed))
        was_refused = fine_or_one_line("train", "-q", "--resume", folder, "--episodes", "4")
        assert was_refused or (value in (None, "") and inner in ("input_model", "output_model")), value


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", ["sweep.json", "tasks.jsonl", "results/0001.jsonl"])
def test_a_damaged_sweep_is_one_line(tmp_path, name, how):
    folder = tmp_path / "out"
    (folder / "results").mkdir(parents=True)
    task = {"key": "a" * 16, "do": "launch", "content": {}, "values": {"seed": 1}}
    (folder / "sweep.json").write_text(json.dumps({"engine": "local", "begun": 1.0, "done": 0}, indent=1))
    (folder / "tasks.jsonl").write_text(json.dumps(task) + "\n" + json.dumps(task) + "\n")
    line = {"key": "a" * 16, "seconds": 1.0, "figures": {"wait": 2.0}}
    (folder / "results" / "0001.jsonl").write_text(json.dumps(line) + "\n" + json.dumps(line) + "\n")
    assert told("sweep", "status", folder)[0] == 0
    damage(folder / name, how)
    fine_or_one_line("sweep", "status", folder)
    fine_or_one_line("sweep", "collect", folder, "--output", tmp_path / "table.csv")
