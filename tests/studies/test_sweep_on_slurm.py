"""Sweeps on a real Slurm of imagined nodes on this computer."""

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sweep_folders import lines_in, without_seconds

sys.path.append(str(Path(__file__).parents[1] / "slurm"))
from real_slurm import RealSlurm, missing, wait_until

from hdeeprm_like.studies.sweep.tasks import read_sweep

pytest.importorskip("submitit", reason="no sweeps on Slurm are tested: the extra slurm is not installed")
pytestmark = pytest.mark.skipif(bool(missing()), reason=f"no sweeps on Slurm are tested: {missing()}")

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "workloads" / "lublin_256.swf.gz"
COMPARE = {"compare": str(TRACE), "policies": ["fcfs", "sjf+easy"], "windows": "40x400"}
LARGEST = 4  # elements of an array of jobs


@pytest.fixture(scope="module")
def slurm():
    """A cluster of two nodes with one core each, which takes small arrays only."""
    cluster = RealSlurm(nodes=2, cpus=1)
    with cluster.configuration.open("a") as file:
        file.write(f"MaxArraySize={LARGEST}\n")
    with cluster:
        yield cluster


def start(slurm, *words, command="sweep"):
    return subprocess.Popen(
        [sys.executable, "-m", "hdeeprm_like", command, *map(str, words)],
        env=slurm.environment | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def sweep(slurm, *words, status=0, command="sweep"):
    process = start(slurm, *words, command=command)
    out, error = process.communicate(timeout=3000)
    assert process.returncode == status, error
    return out, error


def queued(slurm):
    """The jobs in the queue, as squeue shows their numbers."""
    return slurm.run("squeue", "-h", "-r", "-o", "%i").split()


# starts a real Slurm, whose workers take seconds each to begin
@pytest.mark.slow
def test_jobs_of_slurm_give_what_local_processes_give_in_arrays_that_slurm_takes(slurm, tmp_path):
    (tmp_path / "grid.json").write_text(json.dumps(COMPARE))
    sweep(slurm, tmp_path / "grid.json", "-o", tmp_path / "local", "-q", "--workers", 1)
    sweep(slurm, tmp_path / "grid.json", "-o", tmp_path / "out", "-q", "--engine", "slurm", "--chunk", "0.02")
    for name in ("local", "out"):
        sweep(slurm, "collect", tmp_path / name, "-o", tmp_path / f"{name}.csv")
    assert without_seconds(tmp_path / "out.csv") == without_seconds(tmp_path / "local.csv")
    assert len(without_seconds(tmp_path / "out.csv")) == 81
    arrays = Counter(path.name.partition("_")[0] for path in (tmp_path / "out" / "slurm").glob("*_result.pkl"))
    assert max(arrays.values()) == LARGEST
    assert sum(arrays.values()) > LARGEST


# starts a real Slurm, whose workers take seconds each to begin
@pytest.mark.slow
def test_of_killed_jobs_and_a_killed_sweep_nothing_is_lost_or_run_twice(slurm, tmp_path):
    """Half of the moments kill jobs of Slurm, half the sweep itself, whose jobs go on."""
    (tmp_path / "grid.json").write_text(json.dumps(COMPARE | {"windows": "1200x400"}))
    output = tmp_path / "out"
    words = (tmp_path / "grid.json", "-o", output, "-q", "--engine", "slurm", "--chunk", "0.5")
    process = start(slurm, *words)
    for moment in range(10):
        before = len(lines_in(output))
        wait_until(lambda n=before, p=process: len(lines_in(output)) > n or p.poll() is not None, "results", 1000.0)
        assert process.poll() is None, f"over before moment {moment}: {process.communicate()[1]}"
        if moment % 2:
            jobs = slurm.run("squeue", "-h", "-r", "-t", "RUNNING", "-o", "%i").split()
            if jobs:
                slurm.run("scancel", "--signal=KILL", "--full", jobs[0], check=False)
        else:
            process.send_signal(signal.SIGKILL if moment % 4 else signal.SIGTERM)
            process.communicate()
            process = start(slurm, *words)
    _, error = process.communicate(timeout=3000)
    assert process.returncode == 0, error
    told = Counter(line["key"] for line in lines_in(output) if "figures" in line)
    assert set(told) == {task.key for task in read_sweep(tmp_path / "grid.json")}  # some random windows are the same
    assert set(told.values()) == {1}


# starts a real Slurm, whose workers take seconds each to begin
@pytest.mark.slow
def test_a_sweep_that_is_cancelled_leaves_no_jobs_in_the_queue(slurm, tmp_path):
    (tmp_path / "grid.json").write_text(json.dumps(COMPARE | {"windows": "4000x400"}))
    output = tmp_path / "out"
    process = start(slurm, tmp_path / "grid.json", "-o", output, "-q", "--engine", "slurm", "--chunk", "2.0")
    wait_until(lambda: len(lines_in(output)) > 20, "results", 1000.0)
    out, _ = sweep(slurm, "status", output)
    assert "jobs in the queue of Slurm" in out
    out, _ = sweep(slurm, "cancel", output)
    assert "cancelled, " in out
    process.communicate(timeout=3000)
    wait_until(lambda: not queued(slurm), "an empty queue")


# starts a real Slurm, whose workers take seconds each to begin
@pytest.mark.slow
def test_what_slurm_does_not_know_is_one_line(slurm, tmp_path):
    (tmp_path / "grid.json").write_text(json.dumps(COMPARE | {"windows": "2x100"}))
    words = (tmp_path / "grid.json", "-o", tmp_path / "out", "--engine", "slurm", "-q")
    for parameter, told in (("nonsense=3", "nonsense"), ("partition=none", "partition")):
        _, error = sweep(slurm, *words, "--slurm", parameter, status=2)
        assert told in error
        assert "Traceback" not in error


# starts a real Slurm, whose workers take seconds each to begin
@pytest.mark.slow
def test_a_training_on_slurm_learns_to_the_last_bit_what_it_learns_here(slurm, tmp_path):
    pytest.importorskip("torch", reason="the extra learn is not installed")
    from parts import AGENT, left_in, write_training

    words = ("--options", write_training(tmp_path), "--agent", AGENT, "-q")
    sweep(slurm, *words, "--output", tmp_path / "here", command="train")
    sweep(slurm, *words, "--output", tmp_path / "out", "--engine", "slurm", command="train")
    assert left_in(tmp_path / "out") == left_in(tmp_path / "here")
    assert len(list((tmp_path / "out" / "slurm").glob("*_result.pkl"))) == 6  # three parts in each of two updates
