"""Sweeps and evolutions on Ray with two workers of this computer, one of which is killed."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from sweep_folders import lines_in, without_seconds

pytest.importorskip("ray", reason="no sweeps on Ray are tested: the extra ray is not installed")

ROOT = Path(__file__).parents[2]
COMPARE = {
    "compare": str(ROOT / "workloads" / "lublin_256.swf.gz"),
    "policies": ["fcfs", "sjf+easy"],
    "windows": "400x400",
}


def start(*words):
    return subprocess.Popen(
        [sys.executable, "-m", "hdeeprm_like", *map(str, words)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*words):
    process = start(*words)
    out, error = process.communicate(timeout=400)
    assert process.returncode == 0, error
    return out


def at_work():
    """The workers of Ray that run a chunk now."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::run_chunk"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_of_killed_workers_of_ray_nothing_is_lost_or_run_twice_and_all_is_as_here(tmp_path):
    (tmp_path / "grid.json").write_text(json.dumps(COMPARE))
    run("sweep", tmp_path / "grid.json", "-o", tmp_path / "local", "-q", "--workers", 1)
    output = tmp_path / "out"
    process = start("sweep", tmp_path / "grid.json", "-o", output, "-q", "--engine", "ray", "--workers", 2)
    kills = 0
    while process.poll() is None and kills < 10:
        time.sleep(0.2)
        if lines_in(output) and (workers := at_work()):
            os.kill(workers[0], signal.SIGKILL)
            kills += 1
            time.sleep(1.0)
    _, error = process.communicate(timeout=400)
    assert process.returncode in (0, 1), error
    assert kills > 2
    if process.returncode:  # a task that was killed twice is listed, and run by the next call
        assert "failed: " in error
        run("sweep", tmp_path / "grid.json", "-o", output, "-q", "--engine", "ray", "--workers", 2)
    told = Counter(line["key"] for line in lines_in(output) if "figures" in line)
    assert set(told.values()) == {1}
    for name in ("local", "out"):
        run("sweep", "collect", tmp_path / name, "-o", tmp_path / f"{name}.csv")
    assert without_seconds(tmp_path / "out.csv") == without_seconds(tmp_path / "local.csv")


def test_a_ray_that_does_not_start_is_one_line(tmp_path, monkeypatch):
    """Ray raises an `Exception` where it takes too long, as beside many other programs."""
    from hdeeprm_like.errors import OptionsError
    from hdeeprm_like.studies.sweep import on_ray
    from hdeeprm_like.studies.sweep.engine import Where

    def too_late(**how):
        raise Exception("The current node timed out\nduring startup.")

    monkeypatch.setattr(on_ray.ray, "init", too_late)
    with pytest.raises(OptionsError, match=r"^Ray: The current node timed out during startup\.$"):
        on_ray.ray_cluster(Where("ray", tmp_path)).__enter__()


def processes_of_ray():
    """The processes of Ray that a sweep here has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if b"HDEEPRM_LIKE_RAY=" in path.read_bytes() and "State:\tZ" not in (path.parent / "status").read_text():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_of_a_struck_sweep_no_process_of_ray_is_left_after_five_seconds(tmp_path, number):
    (tmp_path / "grid.json").write_text(json.dumps(COMPARE))
    process = start("sweep", tmp_path / "grid.json", "-o", tmp_path / "out", "-q", "--engine", "ray", "--workers", 2)
    while process.poll() is None and not at_work():
        time.sleep(0.05)
    assert processes_of_ray()
    process.send_signal(number)
    process.communicate(timeout=400)
    deadline = time.monotonic() + 5.0
    while processes_of_ray() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not processes_of_ray()


def test_an_evolution_on_ray_costs_to_the_last_bit_what_it_costs_here(tmp_path):
    pytest.importorskip("cmaes", reason="the extra learn is not installed")
    source = {"model": "lublin", "cores": 16}
    options = {
        "seed": 3,
        "policy": str(ROOT / "agents" / "zoo" / "slowdown.json"),
        "generations": 2,
        "population": 4,
        "windows": {"jobs": 40, "per_generation": 3, "validation": 2, "sources": [source]},
    }
    (tmp_path / "evolution.json").write_text(json.dumps(options))
    words = ("train", "--method", "evolution", "--options", tmp_path / "evolution.json", "-q")
    costs = []
    for engine, processes in (("local", 1), ("ray", 2)):
        output = tmp_path / engine
        run(*words, "--output", output, "--engine", engine, "--processes", processes)
        costs.append([json.loads(line)["costs"] for line in (output / "costs.jsonl").read_text().splitlines()])
    assert costs[0] == costs[1]
    assert len(costs[0]) == 2


def test_a_training_on_ray_learns_to_the_last_bit_what_it_learns_here(tmp_path):
    pytest.importorskip("torch", reason="the extra learn is not installed")
    from parts import AGENT, left_in, write_training

    words = ("train", "--options", write_training(tmp_path), "--agent", AGENT, "-q")
    run(*words, "--output", tmp_path / "here")
    run(*words, "--output", tmp_path / "ray", "--engine", "ray", "--processes", 2)
    assert left_in(tmp_path / "ray") == left_in(tmp_path / "here")


def test_ray_tune_ends_trainings_early_that_lag_behind(tmp_path):
    pytest.importorskip("ray.tune", reason="ray[tune] is not installed")
    pytest.importorskip("torch", reason="the extra learn is not installed")
    from parts import AGENT, write_training

    options = write_training(tmp_path, parts=1, fragment_jobs=12, evaluation_episodes=2)
    command = [sys.executable, ROOT / "docs" / "tune_asha.py", options, AGENT, "--output", tmp_path / "tune"]
    command += ["--trials", "6", "--episodes", "4", "8", "16"]
    done = subprocess.run(
        [*map(str, command)], env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr
    with (tmp_path / "tune" / "trials.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["config/lr"] for row in rows}) == len(rows) == 6
    reached = [int(row["episodes"]) for row in rows]
    assert set(reached) <= {4, 8, 16}
    assert min(reached) < max(reached) == 16
    best = min(float(row["bounded_slowdown"]) for row in rows)
    assert f"bounded_slowdown {best:.4g} after" in done.stdout
