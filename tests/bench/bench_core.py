"""Seconds, decisions per second and memory of the embedded simulator on Gaia's trace, beside the original."""

import json
import os
import resource
import subprocess
import sys
import time

import pytest
from measuring import GAIA_ORIGINAL, ROOT, in_a_process, peak, timed

from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.engine.state import State
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy

pytestmark = pytest.mark.bench

SIZES = (1_000, 10_000, 51_983)  # jobs; the last one is all of them
PAIRS = ("first-high_gflops", "shortest-high_gflops", "shortest-high_mem_bw", "random-random")


def options(folder, pair, jobs):
    """An experiment on the Gaia trace."""
    content = {
        "seed": 20091995,
        "nb_jobs": jobs,
        "workload_file_path": str(ROOT / "workloads" / "gaia.swf.gz"),
        "platform_file_path": str(ROOT / "platforms" / "gaia.json"),
        "workload": {"skip": 4, "missing_memory": 0},
        "pybatsim": {"agent": {"type": "CLASSIC", "policy_pair": pair}},
    }
    path = folder / f"{pair}-{jobs}.json"
    path.write_text(json.dumps(content))
    return path


def simulated(path, repeat):
    """The least CPU s of some simulations, decisions and megabytes, without reading and loading the code."""
    experiment = load_experiment(path)
    policies, seconds = PolicyActions([policy_named(experiment.options.classic_policy)]), []
    for jobs in (experiment.workload.take(slice(5)), *[experiment.workload] * repeat):
        state = State(experiment.platform, jobs, seed=experiment.policy_seed, needs=policies.needs)
        simulator = Simulator(state, jobs)
        seconds.append(timed(lambda one=simulator: list(run_policy(one, policies)))[0])
    assert simulator.unfinished == 0
    return min(seconds[1:]), int(state.tables.clock["decisions"][0]), peak()


@pytest.mark.parametrize("pair", PAIRS)
def test_gaia(tmp_path, pair):
    print()
    for jobs in SIZES if pair in PAIRS[::2] else SIZES[:1]:
        seconds, decisions, megabytes = in_a_process(simulated, options(tmp_path, pair, jobs), 5 if jobs == 1000 else 1)
        told = f"; {GAIA_ORIGINAL / seconds:.0f} times less than the original" if jobs == 1000 else ""
        print(f"gaia {pair:22} {jobs:6} jobs {seconds:8.3f} CPU s, {1e6 * seconds / jobs:3.0f} us a job, "
              f"{decisions / seconds:10,.0f} decisions/s {megabytes:6.0f} MB{told}")  # fmt: skip


@pytest.mark.parametrize("jobs", [SIZES[0], SIZES[-1]])
def test_the_whole_command(tmp_path, jobs):
    path = options(tmp_path, "first-high_gflops", jobs)
    command = [sys.executable, "-m", "hdeeprm_like", "launch", "-q", "-o", str(path), "--output", str(tmp_path / "out")]
    print(f"\nthe original takes 13.6 to 14.0 s and {GAIA_ORIGINAL} CPU s for 1000 jobs")
    for _ in range(3 if jobs == 1000 else 1):
        before, begin = os.times(), time.perf_counter()
        subprocess.run([*command, "--overwrite"], check=True, cwd=ROOT, timeout=300)
        wall, after = time.perf_counter() - begin, os.times()
        cpu = after.children_user - before.children_user + after.children_system - before.children_system
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024  # of the largest process so far
        print(f"launch, gaia, {jobs} jobs: {wall:.2f} s, {cpu:.2f} CPU s, {most:.0f} MB")
