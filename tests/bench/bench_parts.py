"""What it saves to play the episodes of a training's updates in parts, by two processes in place of one.

``HDEEPRM_LIKE_BENCH_PARTS=kernel`` takes that agent in place of PPO over policies. Wall seconds are of an idle machine
only; the CPU s of all processes tell what shipping weights and episodes costs, wherever else the machine is busy.
"""

import csv
import json
import os
import statistics
from pathlib import Path

import pytest
from bench_sweep import begun, spent

from hdeeprm_like.inputs import read_json
from hdeeprm_like.studies.sweep.experiments import whole

pytestmark = pytest.mark.bench

AGENTS = Path(__file__).parents[2] / "agents"
NAME = os.environ.get("HDEEPRM_LIKE_BENCH_PARTS", "ppo")
UPDATES, FIRST = 8, 3  # updates of a training, and the first one that counts: those before load and compile
WAYS = {"whole, here": (1,), "2 parts, here": (2,), "2 parts, 2 processes": (2, "--processes", 2)}


def updates(folder, parts, *how):
    """Wall s of an update, and CPU s of the whole training in all processes."""
    content = whole(read_json(AGENTS / f"{NAME}.json", OSError), AGENTS)
    training = content["training"]
    plain = {"prior": 0, "evaluate_every": 0, "held_out": 0, "parts": parts, "imitate": None}
    content["training"] = training | plain | {"episodes": UPDATES * training["envs"]}
    folder.mkdir()
    (folder / "options.json").write_text(json.dumps(content))
    words = (
        "train",
        "--options",
        folder / "options.json",
        "--agent",
        AGENTS / f"{NAME}.py",
        "--output",
        folder / "out",
    )
    (cpu,) = spent(begun("-m", "hdeeprm_like", *words, "-q", *how))
    with (folder / "out" / "progress.csv").open(newline="") as file:
        seconds = [float(row["seconds"]) * training["envs"] for row in csv.DictReader(file)]
    return statistics.median(seconds[(FIRST - 1) * training["envs"] :]), cpu, training["envs"]


@pytest.mark.parametrize("turn", range(int(os.environ.get("HDEEPRM_LIKE_BENCH_TURNS", "3"))))
def test_updates_played_in_parts(tmp_path, turn):
    print()
    for number, (way, (parts, *how)) in enumerate(WAYS.items()):
        seconds, cpu, envs = updates(tmp_path / str(number), parts, *how)
        load = os.getloadavg()[0]
        print(
            f"{NAME}, {way:21}: {envs / seconds:6.1f} episodes/s, {seconds:5.2f} s an update, "
            f"{cpu:5.1f} CPU s for {UPDATES} updates and the start; load {load:.1f}"
        )
