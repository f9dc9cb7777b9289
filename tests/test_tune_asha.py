"""The search of ``docs/tune_asha.py`` with Ray Tune."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


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
