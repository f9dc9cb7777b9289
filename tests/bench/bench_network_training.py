"""CPU seconds that an agent needs to train on one episode of jobs that send, embedded and with our server of Batsim.

The same training, run by run, is launched in process and over a socket, whose logs must be equal; `train` plays 64
simulations side by side. What starting and ending a process takes is measured by a short training and subtracted.
"""

import json
import resource
import subprocess
import sys

import pytest
from test_topology_study import DOCS, topology_study

from hdeeprm_like.formats.platform_json_writer import write_platform_json
from hdeeprm_like.formats.workload_json_writer import write_workload

pytestmark = pytest.mark.bench

PROGRAM = [sys.executable, "-m", "hdeeprm_like"]
SERVER = ["--simulator", "batsim", "--batsim-command", " ".join([*PROGRAM, "batsim"])]
JOBS, RUNS, EPISODES = 300, 6, 512


def inputs(folder, topology):
    """The options of PPO on the jobs of the topology study, for both kinds of training."""
    options = json.loads((DOCS.parent / "agents" / "ppo.json").read_text())
    del options["workload"]
    write_platform_json(topology_study.machine(topology), folder / "platform.json")
    write_workload(topology_study.jobs(1), folder / "jobs.json")
    options |= {"workload_file_path": "jobs.json", "platform_file_path": "platform.json", "nb_resources": 64}
    options |= {"network": True, "training": {"envs": 64, "fragment_jobs": JOBS}}
    for name, jobs in (("run_by_run", JOBS), ("train", 10 * JOBS)):
        (folder / f"{name}.json").write_text(json.dumps(options | {"nb_jobs": jobs}))


def cpu_seconds(*words):
    """The CPU seconds of a command and of the processes that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*PROGRAM, *map(str, words)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("network", topology_study.TOPOLOGIES)
def test_training_with_a_network(network, tmp_path, monkeypatch):
    monkeypatch.setattr(topology_study, "JOBS", 10 * JOBS)
    inputs(tmp_path, topology_study.TOPOLOGIES[network])

    def launched(folder, *more):
        def run(runs):
            given = ["-q", "-o", tmp_path / "run_by_run.json", "--agent", "ppo", "--overwrite", *more]
            return cpu_seconds("launch", *given, "--runs", runs, "--output", tmp_path / folder)

        return (-run(1) + run(1 + RUNS)) / RUNS

    def trained(episodes):
        given = ["-q", "-o", tmp_path / "train.json", "--agent", "ppo", "--episodes", episodes]
        return cpu_seconds("train", *given, "--output", tmp_path / f"train{episodes}")

    embedded, served = launched("embedded"), launched("server", *SERVER)
    for name in ("out_jobs.csv", "losses.log", "rewards.log"):
        assert (tmp_path / "embedded" / name).read_text() == (tmp_path / "server" / name).read_text()
    side_by_side = (trained(64 + EPISODES) - trained(64)) / EPISODES
    print(
        f"{network:10} server {served:.2f} s, run by run {embedded:.2f} s ({served / embedded:.1f} times less), "
        f"side by side {side_by_side:.4f} s ({served / side_by_side:.0f} times less)"
    )
