"""What baselines cost: s of CPU, warm, on tables made before; prints figures and fails nothing."""

import os
from pathlib import Path

import numpy as np
import pytest
from measuring import ROOT, timed

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.engine.state import State
from hdeeprm_like.formats.job_reading import Reading, read_jobs
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.windows import window
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy

pytestmark = pytest.mark.bench

# the whole CTC-SP2 trace (77,222 jobs) is not shipped; fetch-trace gets it
CTC = Path(os.environ.get("CTC_SP2", "CTC-SP2-1996-3.1-cln.swf.gz"))
NAMES = ("fcfs+strict", "fcfs+easy", "sjf+easy", "wfp3+easy", "f1+easysjf", "sjf+commitbackfill", "fcfs+conservative",
         "sjf+conservative", "wfp3+conservative")  # fmt: skip
CLOCKS = ("counting", "naming", "batsim")  # the textbook's with cores that are counted or have names, and Batsim's


def cpu_seconds(machine, jobs, name, clock, times=3):
    """The least of some runs; other work on the machine makes the others longer."""
    found = []
    for _ in range(times):
        actions = PolicyActions([baseline(name)])
        how = {"log": False, "named": clock != "counting", "needs": actions.needs, "epoch": jobs.epoch}
        state = State(machine, jobs.workload, **how)
        simulator = Simulator(state, jobs.workload, "batsim" if clock == "batsim" else "textbook")
        found.append(timed(lambda: list(run_policy(simulator, actions)))[0])  # noqa: B023 - called at once
        assert simulator.unfinished == 0
    return min(found)


def lublin(trace, first, jobs):
    """Jobs of a trace of Lublin's model."""
    whole = read_jobs(ROOT / "workloads" / f"{trace}.swf.gz", Reading(memory=False))
    return window(take(whole, np.arange(first, first + jobs)), 256)


@pytest.mark.parametrize("name", NAMES)
def test_whole_traces(name):
    traces = [("10,000 jobs of Lublin-1", lublin("lublin_256", 0, 10_000), 256)]
    if CTC.exists():
        traces.append(("CTC-SP2", window(read_jobs(CTC, Reading(338, memory=False)), 338), 338))
    print()
    for title, jobs, cores in traces:
        for clock in CLOCKS[:2]:
            seconds = cpu_seconds(pool(cores), jobs, name, clock, 3 if cores == 256 else 1)
            print(f"{title}, {name}, {clock} cores: {1e3 * seconds:.2f} ms, {len(jobs.workload) / seconds:,.0f} jobs/s")


@pytest.mark.parametrize("trace", ["lublin_256", "lublin_256_2"])
def test_a_window_of_1024_jobs(trace):
    windows = [lublin(trace, begin, 1024) for begin in range(0, 8000, 1500)]
    print()
    for name in NAMES:
        each = [np.mean([cpu_seconds(pool(256), jobs, name, clock) for jobs in windows]) for clock in CLOCKS]
        told = ", ".join(f"{1e3 * seconds:.2f} ms {clock}" for clock, seconds in zip(CLOCKS, each, strict=True))
        print(f"{trace}, {name}: {told}")
