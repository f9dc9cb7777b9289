"""Sweeps: a grid becomes tasks, each of which has its result once, whoever is killed and whatever fails."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from robust_inputs import printed, refused, told
from sweep_folders import lines_in, without_seconds

from hdeeprm_like.api import simulate
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.studies.sweep import tasks as reading
from hdeeprm_like.studies.sweep.engine import engine_named
from hdeeprm_like.studies.sweep.ledger import Ledger, appending, file_of
from hdeeprm_like.studies.sweep.run import packed, sampled
from hdeeprm_like.studies.sweep.tasks import REPRODUCE, TRAIN, Task, columns_of, read_sweep

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "workloads" / "lublin_256.swf.gz"
PROGRAM = [sys.executable, "-m", "hdeeprm_like"]
LAUNCH = {
    "seed": [1, 2],
    "platform_file_path": str(ROOT / "platforms" / "learning.json"),
    "workload_file_path": str(ROOT / "workloads" / "learning.json"),
    "pybatsim": {"agent": {"policy_pair": ["first-high_gflops", "shortest-high_gflops"]}},
}
COMPARE = {"compare": str(TRACE), "policies": ["fcfs", "sjf+easy"], "windows": "40x100"}
KILLER = """
import os, signal, pathlib

class Predictor:
    def __init__(self, state):
        with open(pathlib.Path(__file__).with_suffix(".log"), "a") as file:
            file.write(f"{os.getpid()}\\n")
        os.kill(os.getpid(), signal.SIGKILL)
"""


def write(folder, content, name="grid.json"):
    (folder / name).write_text(json.dumps(content))
    return folder / name


def sweep(*words):
    """What a sweep or a command of it prints that does its work."""
    return printed("sweep", *words)


def read_anew(file):
    """The tasks of a file whose inputs may have changed."""
    reading.digest_of.cache_clear()
    return read_sweep(file)


def tasks_in(file):
    """How many simulations a file asks for; of random windows some may be the same."""
    return len({task.key for task in read_sweep(file)})


def assert_once(folder, count):
    """Check that each of so many tasks has one result."""
    told = Counter(line["key"] for line in lines_in(folder) if "figures" in line)
    assert len(told) == count
    assert set(told.values()) == {1}


def table(folder, output):
    sweep("collect", folder, "-o", output, "-q")
    with output.open(newline="") as file:
        return list(csv.DictReader(file))


def collected(folder, output):
    sweep("collect", folder, "-o", output, "-q")
    return without_seconds(output)


# reproduces on workers; a grid stays
@pytest.mark.more
def test_experiments_of_the_documents_are_swept_and_their_page_is_written(tmp_path):
    file, folder = write(tmp_path, {"reproduce": ["r07", "R01"], "seeds": [1, 2]}), tmp_path / "sweep"
    assert [task.values["experiment"] for task in read_sweep(file)] == ["R07", "R07", "R01", "R01"]
    sweep(file, "-o", folder, "--workers", 1, "-q")
    rows = {row["experiment"]: row for row in table(folder, tmp_path / "t.csv")}
    assert float(rows["R07"]["equal"]) > 0.0
    before = {path: path.stat().st_mtime_ns for path in folder.glob("reproduction-seeds-*/R*/result.json")}
    assert len(before) == 4
    found = folder / "reproduction-seeds-2"
    printed("reproduce", "R07", "R01", "--resume", "--seeds", "2", "--output", found, "-q")
    assert {path: path.stat().st_mtime_ns for path in before} == before  # nothing was measured again
    assert "R01" in (found / "report.html").read_text()


# files


def test_all_combinations_of_lists_are_tasks_and_policies_of_one_experiment_stand_in_a_row(tmp_path):
    file = write(tmp_path, {"policy": ["fcfs", "saf"], "workload": {"skip": [0, 5]}} | {**LAUNCH, "pybatsim": {}})
    tasks = read_sweep(file)
    assert len({task.key for task in tasks}) == 8
    assert columns_of(tasks) == ["policy", "workload.skip", "seed"]
    values = [(task.values["workload.skip"], task.values["seed"], task.values["policy"]) for task in tasks]
    assert values == [(k, s, p) for k in (0, 5) for s in (1, 2) for p in ("fcfs", "saf")]


def test_what_is_a_list_in_an_options_file_varies_as_a_list_of_lists(tmp_path):
    agent = {"type": "LEARNING", "hidden": [16, 16]}
    entry = {**LAUNCH, "train": str(ROOT / "agents" / "ppo.py"), "pybatsim": {"agent": agent}}
    pytest.importorskip("torch", reason="the extra learn is not installed")
    assert len(read_sweep(write(tmp_path, entry))) == 2
    agent["hidden"] = [[16], [16, 16]]
    assert [task.values["pybatsim.agent.hidden"] for task in read_sweep(write(tmp_path, entry))] == [[16], [16, 16]] * 2
    for name in ("ppo", "kernel"):  # with factors, and with a range of loads
        alone = {"options": str(ROOT / "agents" / f"{name}.json"), "train": str(ROOT / "agents" / f"{name}.py")}
        assert len(read_sweep(write(tmp_path, alone))) == 1


def test_a_list_of_experiments_shares_options_of_a_file_and_doubles_are_one(tmp_path):
    base = write(tmp_path, LAUNCH | {"seed": 5, "pybatsim": {"agent": {"policy_pair": "random-high_mem"}}}, "base.json")
    tasks = read_sweep(write(tmp_path, [{"options": base.name, "seed": [5, 6]}, {"options": base.name}]))
    assert [task.values["seed"] for task in tasks] == [5, 6]


def test_the_key_of_a_task_changes_with_the_content_of_its_files(tmp_path):
    (tmp_path / "jobs.json").write_bytes((ROOT / "workloads" / "learning.json").read_bytes())
    file = write(tmp_path, LAUNCH | {"workload_file_path": "jobs.json"})
    before = [task.key for task in read_sweep(file)]
    assert [task.key for task in read_sweep(file)] == before
    content = json.loads((tmp_path / "jobs.json").read_text())
    (tmp_path / "jobs.json").write_text(json.dumps(content | {"description": "other"}))
    assert not {task.key for task in read_anew(file)} & set(before)


def test_a_tariff_decides_the_result_too_beside_other_objectives(tmp_path):
    pytest.importorskip("torch", reason="the extra learn is not installed")
    (tmp_path / "a-b").mkdir()
    env = {"objective": {"cost:a-b/tariff.csv": 1.0, "edp": 1.0}}
    training = {"train": str(ROOT / "agents" / "ppo.py"), "pybatsim": {"env": env, "agent": {"type": "LEARNING"}}}
    keys = set()
    for price in ("1", "2", "2"):
        (tmp_path / "a-b" / "tariff.csv").write_text(f"time,value\n0,{price}\n")
        keys.add(read_anew(write(tmp_path, LAUNCH | training))[0].key)
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "is needed"),
        ({**LAUNCH, "seed": []}, "seed: is an empty list"),
        ({**LAUNCH, "seed": ["one"]}, "seed"),
        ({**LAUNCH, "sed": [1]}, "did you mean 'seed'"),
        ({**LAUNCH, "seed": list(range(1000)), "nb_jobs": list(range(1, 1001))}, "at most 100,000"),
        ({**LAUNCH, "network": True}, "network"),
        ({**LAUNCH, "pybatsim": {"agent": {"type": "LEARNING"}}}, '"train"'),
        ({**COMPARE, "policies": ["fcfs", "nonsense"]}, "nonsense"),
        ({**COMPARE, "polices": ["fcfs"]}, "did you mean 'policies'"),
        ({**COMPARE, "windows": 3}, "windows"),
        ({"options": 3}, "options"),
        ({"reproduce": "R99"}, "R99"),
        ({"reproduce": "R01", "scale": "big"}, "scale"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_and_begins_nothing(tmp_path, content, message):
    assert message in refused("sweep", write(tmp_path, content), "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_words_that_mean_nothing_are_one_line(tmp_path):
    file = write(tmp_path, COMPARE)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("precious")
    for words, message in (
        (["status"], "folder of one sweep"),
        (["status", tmp_path], "has no sweep.json"),
        (["cancel", tmp_path], "has no sweep.json"),
        ([file], "sweep: needs --output DIR"),
        ([file, "x", "-o", tmp_path / "out"], "give one file, or one of"),
        ([file, "-o", tmp_path / "other"], "holds something that is no sweep"),
        ([file, "-o", tmp_path / "out", "--slurm", "partition"], "KEY=VALUE"),
    ):
        assert message in refused("sweep", *words)
    assert (tmp_path / "other" / "mine.txt").read_text() == "precious"
    with pytest.raises(OptionsError, match="did you mean 'local'"):
        engine_named("locale")


# chunks and lines


def some_tasks(count, do="compare"):
    return [Task(f"{do}{n}", do, {}, {}) for n in range(count)]


def test_milliseconds_are_packed_into_minutes_and_trainings_stand_alone():
    tasks = some_tasks(100_000) + some_tasks(2, TRAIN) + some_tasks(1, REPRODUCE)
    chunks = packed(tasks, each=0.005, chunk=180.0, workers=None)
    assert sorted(len(chunk) for chunk in chunks) == [1, 1, 1, 28_000, 36_000, 36_000]
    assert sum(len(chunk) for chunk in packed(tasks, 0.005, 180.0, workers=2)) == len(tasks)
    few = packed(some_tasks(1000), each=0.005, chunk=180.0, workers=2)
    assert 8 * 2 <= len(few) <= 8 * 2 + 1  # each of two workers has eight, so both end at about the same time
    assert all(len(chunk) == 1 for chunk in packed(some_tasks(5), each=1000.0, chunk=180.0, workers=None))
    assert sum(map(len, sampled(tasks, 2))) == 16


def test_a_line_that_was_not_finished_counts_for_nothing_and_is_overwritten(tmp_path):
    with appending(file_of(tmp_path, "a")) as lines:
        lines.add({"key": "x", "seconds": 1.0, "figures": {"wait": 0.1}})
    path = file_of(tmp_path, "a")
    for cut in range(1, 30):
        path.write_bytes(path.read_bytes() + b'{"key": "y", "seconds": 2.0, "figures"'[:cut])
        ledger = Ledger(tmp_path)
        ledger.read(wait=True)
        assert list(ledger.done) == ["x"]
        with appending(path) as lines:
            assert lines.keys == {"x"}
        assert path.read_bytes().count(b"\n") == 1
        assert path.read_bytes().endswith(b"\n")


def test_a_grid_gives_what_launch_gives_and_is_not_run_again(tmp_path):
    file, output = write(tmp_path, LAUNCH), tmp_path / "out"
    assert "4 of 4 tasks done, 0 failed" in sweep(file, "-o", output, "--workers", 1)
    assert_once(output, 4)
    rows = table(output, tmp_path / "table.csv")
    assert [(row["seed"], row["pybatsim.agent.policy_pair"]) for row in rows] == [
        (seed, pair) for seed in ("1", "2") for pair in LAUNCH["pybatsim"]["agent"]["policy_pair"]
    ]
    pair = {"agent": {"policy_pair": "shortest-high_gflops"}}
    experiment = load_experiment(write(tmp_path, LAUNCH | {"seed": 2, "pybatsim": pair}, "o.json"))
    figures = simulate(experiment.platform, experiment.workload, "shortest-high_gflops", seed=2).figures
    known = {name: value for name, value in figures.items() if value == value}
    assert {name: float(value) for name, value in rows[3].items() if name in known and value} == known
    before = lines_in(output)
    sweep(file, "-o", output, "-q", "--workers", 1)
    assert lines_in(output) == before
    write(tmp_path, LAUNCH | {"seed": [1, 2, 3]})
    sweep(file, "-o", output, "-q", "--workers", 1)
    assert_once(output, 6)
    assert len(lines_in(output)) == 6
    assert sweep("status", output) == "6 of 6 tasks done, 0 failed; complete\n"
    file_of(output, "0001-x").write_text("precious\n")
    assert "no sweep has written" in refused("sweep", "status", output)


# on two workers, which load everything anew
@pytest.mark.more
def test_policies_on_windows_give_the_rows_of_compare_bit_for_bit(tmp_path):
    file, output = write(tmp_path, COMPARE), tmp_path / "out"
    sweep(file, "-o", output, "-q", "--workers", 2)
    assert_once(output, tasks_in(file))
    rows = {(row["policy"], row["window"]): row for row in table(output, tmp_path / "table.csv")}
    flags = ["--trace", TRACE, "--policies", "fcfs,sjf+easy", "--windows", "40x100"]
    printed("compare", *flags, "--output", tmp_path / "compare", "-q")
    with (tmp_path / "compare" / "results.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            own = rows.pop((row["policy"], row["window"]))
            known = {name: value for name, value in row.items() if name not in ("policy", "window") and value != "nan"}
            assert {name: float(own[name]) for name in known} == {name: float(known[name]) for name in known}
    assert not rows


# four launches, of which the table as CSV stays
@pytest.mark.more
def test_a_parquet_holds_the_same_table(tmp_path):
    sweep(write(tmp_path, LAUNCH), "-o", tmp_path / "out", "-q", "--workers", 1)
    to_table = ("collect", tmp_path / "out", "-o")
    assert "ends in .csv or .parquet" in refused("sweep", *to_table, tmp_path / "table.txt")
    if find_spec("pyarrow") is None:
        assert "pip install pyarrow" in refused("sweep", *to_table, tmp_path / "table.parquet")
        return
    import pandas as pd

    sweep(*to_table, tmp_path / "table.parquet")
    assert len(pd.read_parquet(tmp_path / "table.parquet")) == 4


# starts six workers, one after the other
@pytest.mark.more
def test_failures_are_tried_twice_by_two_workers_and_listed_and_the_others_have_their_results(tmp_path):
    (tmp_path / "killer.py").write_text(KILLER)
    jobs = json.loads((ROOT / "workloads" / "learning.json").read_text())
    jobs["profiles"]["Test0"]["mem"] = 10**9
    (tmp_path / "huge.json").write_text(json.dumps(jobs))
    kills = {**COMPARE, "policies": ["fcfs", "sjf@learned:killer.py"], "windows": "3x100"}
    fails = LAUNCH | {"workload_file_path": "huge.json", "seed": 1}
    file, output = write(tmp_path, [kills, fails]), tmp_path / "out"
    status, error = told("sweep", file, "-o", output, "--workers", 1, "-q")
    assert status == 1
    assert error.count("failed: ") == 5
    assert error.count("the worker has ended without a message: it was killed") == 3
    assert error.count("none of") == 2
    assert_once(output, 3)
    tries = Counter(line["key"] for line in lines_in(output) if "error" in line)
    assert sorted(tries.values()) == [2] * 5
    pids = (tmp_path / "killer.log").read_text().split()
    assert len(pids) == len(set(pids)) == 6
    assert "3 of 8 tasks done, 5 failed; not running" in sweep("status", output)


# whoever is killed


def start(file, output, *words):
    return subprocess.Popen(
        [*PROGRAM, "sweep", str(file), "-o", str(output), "-q", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_lines(output, count, process):
    while process.poll() is None:
        if sum(path.read_bytes().count(b"\n") for path in (output / "results").glob("*.jsonl")) >= count:
            return
        time.sleep(0.005)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The sweep of 800 tasks that the killed ones are compared with; some of their windows are the same."""
    folder = tmp_path_factory.mktemp("whole")
    file = write(folder, COMPARE | {"windows": "400x400"})
    sweep(file, "-o", folder / "out", "-q", "--workers", 2)
    return file, tasks_in(file), collected(folder / "out", folder / "table.csv")


def workers_of(pid):
    """The workers of a sweep."""
    told = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(one) for one in told.split() if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


# the same at another moment
@pytest.mark.lane(more="1", slow="(?!1$).*")
@pytest.mark.parametrize("moment", range(10))
def test_a_sweep_whose_workers_are_killed_ends_by_itself_with_all_results(whole, tmp_path, moment):
    file, count, expected = whole
    output, draw = tmp_path / "out", random.Random(moment)
    process = start(file, output, "--workers", 2)
    wait_for_lines(output, draw.randrange(1, 700), process)
    for worker in draw.sample(workers_of(process.pid), 1 + moment % 2):
        os.kill(worker, signal.SIGKILL)
    _, error = process.communicate()
    assert process.returncode == 0, error
    assert_once(output, count)
    assert collected(output, tmp_path / "table.csv") == expected


# starts workers, which load everything
@pytest.mark.more
def test_a_sweep_that_is_cancelled_ends_with_its_workers_and_another_on_its_folder_is_refused(tmp_path):
    file, output = write(tmp_path, COMPARE | {"windows": "2000x1024"}), tmp_path / "out"
    process = start(file, output, "--workers", 2)
    wait_for_lines(output, 20, process)
    assert "of 4000 tasks done, 0 failed; running; ends at about 2" in sweep("status", output)
    assert "another command is writing there" in refused("sweep", file, "-o", output)
    began = workers_of(process.pid)
    assert began
    sweep("cancel", output)
    process.communicate()
    assert process.returncode == 130
    assert not [pid for pid in began if Path(f"/proc/{pid}").exists()]
    assert "not running" in sweep("status", output)


# the seeds of a training


# trains three times
@pytest.mark.more
def test_the_seeds_of_a_training_end_as_train_ends(tmp_path):
    pytest.importorskip("torch", reason="the extra learn is not installed")
    options = LAUNCH | {
        "pybatsim": {"agent": {"type": "LEARNING", "run": "train", "hidden": 8, "lr": 0.01, "gamma": 0.9}},
        "training": {"episodes": 4, "checkpoint_every": 2, "evaluate_every": 2, "evaluation_episodes": 1},
    }
    agent = ROOT / "agents" / "reinforce.py"
    file, output = write(tmp_path, options | {"train": str(agent)}), tmp_path / "out"
    sweep(file, "-o", output, "-q", "--workers", 1, "--trust")
    rows = table(output, tmp_path / "table.csv")
    assert [(row["seed"], row["episodes"]) for row in rows] == [("1", "4.0"), ("2", "4.0")]
    one = write(tmp_path, options | {"seed": 2}, "one.json")
    printed("train", "-o", one, "--agent", agent, "--output", tmp_path / "one", "-q")
    rewards = [float(line) for line in (tmp_path / "one" / "rewards.log").read_text().splitlines()]
    assert float(rows[1]["reward"]) == rewards[-1]
    with (tmp_path / "one" / "evaluations.csv").open(newline="") as lines:
        last = list(csv.DictReader(lines))[-1]
    assert float(rows[1]["evaluation_reward"]) == float(last["reward"])


def test_an_agent_outside_the_folder_of_the_sweep_file_is_run_only_with_trust(tmp_path):
    for name in ("elsewhere", "here"):
        (tmp_path / name).mkdir()
    (tmp_path / "elsewhere" / "killer.py").write_text(KILLER)
    file = write(tmp_path / "here", COMPARE | {"policies": ["sjf@learned:../elsewhere/killer.py"], "windows": "1x100"})
    assert "--trust lets it run" in refused("sweep", file, "-o", tmp_path / "out", "-q", "--workers", 1)
    assert not (tmp_path / "elsewhere" / "killer.log").exists()


def test_an_engine_that_is_not_there_is_one_line(tmp_path, monkeypatch):
    pytest.importorskip("submitit", reason="the extra slurm is not installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    grid = write(tmp_path, LAUNCH)
    assert "login node" in refused("sweep", grid, "-o", tmp_path / "out", "--engine", "slurm", "-q")
