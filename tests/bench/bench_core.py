"""Seconds, decisions per second and memory of the embedded simulator, each measured in a process of its own."""

import json
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.engine.state import State
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy

pytestmark = pytest.mark.bench

ROOT = Path(__file__).parent.parent.parent
GAIA_JOBS = 51_983
ORIGINAL = 12.3  # CPU s of the original and Batsim together for the first 1000 jobs of Gaia
SIZES = (1_000, 5_000, 10_000, 25_000, GAIA_JOBS)


def options(folder, pair, jobs, platform="gaia"):
    """An experiment on the Gaia trace."""
    content = {
        "seed": 20091995,
        "nb_jobs": jobs,
        "workload_file_path": str(ROOT / "workloads" / "gaia.swf.gz"),
        "platform_file_path": str(ROOT / "platforms" / f"{platform}.json"),
        "workload": {"skip": 4, "missing_memory": 0},
        "pybatsim": {"agent": {"type": "CLASSIC", "policy_pair": pair}},
    }
    path = Path(folder) / f"{platform}-{pair}-{jobs}.json"
    path.write_text(json.dumps(content))
    return path


def simulated(path, faster=1.0, repeat=1):
    """Simulate an experiment with its arrivals so many times *faster*; what it took, without reading and compiling."""
    experiment = load_experiment(path)
    workload = replace(experiment.workload, submit=experiment.workload.submit / faster)
    policies = PolicyActions([policy_named(experiment.options.classic_policy)])
    few = replace(workload, **{name: getattr(workload, name)[:5] for name in COLUMNS})
    list(run_policy(Simulator(State(experiment.platform, few, needs=policies.needs), few), policies))  # loads the code
    seconds = []
    for _ in range(repeat):
        begin = time.process_time()
        state = State(experiment.platform, workload, seed=experiment.policy_seed, needs=policies.needs)
        simulator = Simulator(state, workload)
        list(run_policy(simulator, policies))
        seconds.append(time.process_time() - begin)
    assert simulator.unfinished == 0
    return {
        "jobs": len(workload),
        "seconds": min(seconds),
        "decisions": int(state.tables.clock["decisions"][0]),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


COLUMNS = [
    "ids",
    "profiles",
    "submit",
    "size",
    "requested_time",
    "requested_ops",
    "ops",
    "delay",
    "memory",
    "bandwidth",
    "walltime",
    "gpus",
    "user",
]  # of a workload


def measured(*arguments, **more):
    """The same in a fresh process, so that its peak of memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(simulated, arguments, more)


def tell(what, found):
    rate = found["decisions"] / found["seconds"]
    print(
        f"{what:44} {found['jobs']:6} jobs {found['seconds']:8.3f} CPU s {rate:10,.0f} decisions/s "
        f"{found['megabytes']:6.0f} MB"
    )


def test_a_thousand_jobs_of_gaia_against_the_original(tmp_path):
    print()
    for pair in ("first-high_gflops", "shortest-high_gflops", "shortest-high_mem_bw", "random-random"):
        found = measured(options(tmp_path, pair, 1000), repeat=5)
        tell(f"gaia {pair}", found)
        print(f"{'':44} {ORIGINAL / found['seconds']:.0f} times less than the {ORIGINAL} CPU s of the original")


@pytest.mark.parametrize("jobs", [1000, GAIA_JOBS])
def test_the_whole_command(tmp_path, jobs):
    path = options(tmp_path, "first-high_gflops", jobs)
    command = [sys.executable, "-m", "hdeeprm_like", "launch", "-q", "-o", str(path), "--output", str(tmp_path / "out")]
    print()
    for _ in range(3 if jobs == 1000 else 1):
        before, begin = os.times(), time.perf_counter()
        subprocess.run(command, check=True, cwd=ROOT, timeout=300)
        wall, after = time.perf_counter() - begin, os.times()
        cpu = after.children_user - before.children_user + after.children_system - before.children_system
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024  # of the largest process so far
        print(f"launch, gaia, {jobs} jobs: {wall:.2f} s, {cpu:.2f} CPU s, {peak:.0f} MB")
    if jobs == 1000:
        print(f"the original takes 13.6 to 14.0 s and {ORIGINAL} CPU s")


@pytest.mark.parametrize("pair", ["first-high_gflops", "shortest-high_mem_bw"])
def test_all_of_gaia(tmp_path, pair):
    print()
    for jobs in SIZES:
        found = measured(options(tmp_path, pair, jobs))
        tell(f"gaia {pair}", found)
        print(f"{'':44} {1e6 * found['seconds'] / found['jobs']:.0f} us a job")


@pytest.mark.parametrize("pair", ["first-high_gflops", "shortest-high_mem_bw"])
@pytest.mark.parametrize("faster", [5.0, 1000.0])  # as busy as Gaia is; all of them wait at once
def test_ten_thousand_cores(tmp_path, pair, faster):
    print()
    found = measured(options(tmp_path, pair, 20_000, platform="mc2"), faster=faster)
    tell(f"mc2 {pair}, gaia {faster:g} times as fast", found)
