"""Jobs that come in parts: the schedule is that of all jobs at once, and memory holds those that wait and run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.presets import policy_named
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.run.streamed import STREAMED_MODES, Stream, check_streams
from small import jobs


def cut(workload, size):
    """The jobs of a workload, some at a time."""
    columns = ("submit", "requested_time", "requested_ops", "ops", "delay", "memory", "bandwidth", "walltime")
    for first in range(0, len(workload), size):
        rows = slice(first, first + size)
        part = {name: getattr(workload, name)[rows] for name in (*columns, "size", "user")}
        yield Workload(ids=workload.ids[rows], profiles=workload.profiles[rows], capacity=8, **part)


def drawn(seed, count, cores, span):
    """Jobs for a pool, many of them at the same times."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, 15, count).astype(float)
    return jobs(
        submit=np.sort(rng.integers(0, span, count)) * rng.choice([1.0, 0.25]),
        seconds=seconds,
        estimate=np.maximum(seconds * rng.integers(1, 4, count) + rng.integers(-3, 3, count), 1.0),
        walltime=np.where(rng.random(count) < 0.7, np.inf, rng.integers(1, 15, count)),
        size=rng.integers(1, cores + 1, count),
    )


def check_same(workload, cores, policy, clock, size):
    """Check that the schedule of jobs that come in parts is that of all at once; return the stream."""
    machine, actions = pool(cores), PolicyActions([policy_named(policy)])
    whole = run_to_end(machine, workload, actions, clock, named=False, seed=3, epoch=100.0)
    stream = Stream(machine, cut(workload, size), policy_named(policy), clock, seed=3, epoch=100.0)
    found = np.concatenate(list(stream.ended()))
    tasks = whole.simulation.tasks
    assert sorted(found["number"].tolist()) == list(range(len(workload)))
    for name in ("start", "finish", "outcome"):
        assert found[name].tolist() == tasks[name][found["number"]].tolist()
    for name in ("submit", "size", "requested_time", "user"):
        assert found[name].tolist() == getattr(workload, name)[found["number"]].tolist()
    ends = whole.state.tables.changes[: whole.state.tables.clock["changes"][0]]
    assert found["number"].tolist() == (ends[(ends & 3) == 2] >> 2).tolist()
    assert stream.simulator.state.joules == whole.state.joules
    return stream


ORDERS = ("fcfs", "lcfs", "sjf", "saf", "f1", "wfp3", "xfactor")
SOME = ("fcfs+strict", "fcfs+easy", "wfp3+easy", "first-high_gflops")


@pytest.mark.parametrize("policy", ["fcfs+strict", "fcfs+easy"])
@settings(max_examples=100)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 60),
    cores=st.integers(1, 9),
    span=st.integers(1, 300),
    size=st.sampled_from([1, 2, 7, 1000]),
)
def test_the_schedule_is_that_of_all_jobs_at_once(policy, seed, count, cores, span, size):
    check_same(drawn(seed, count, cores, span), cores, policy, "textbook", size)
