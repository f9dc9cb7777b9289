"""Jobs that come in parts: the schedule is that of all jobs at once, and memory holds those that wait and run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import jobs, scheduled

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.run.streamed import Stream, check_streams, parts_of


def drawn(seed, count, cores, span):
    """Jobs for a pool, many of them at the same times."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, 15, count).astype(float)
    return jobs(
        submit=np.sort(rng.integers(0, span, count)) * rng.choice([1.0, 0.25]),
        seconds=seconds,
        estimate=np.maximum(seconds * rng.integers(1, 4, count) + rng.integers(-3, 3, count), 1.0),
        walltime=np.where(rng.random(count) < 0.7, np.inf, rng.integers(1, 15, count)),
        size=rng.integers(1, rng.integers(1, cores + 1) + 1, count),
    )


def check_same(workload, cores, policy, clock, size):
    """Check that the schedule of jobs that come in parts is that of all at once; return the stream."""
    machine, actions = pool(cores), PolicyActions([policy_named(policy)])
    whole = scheduled(machine, workload, actions, clock, named=False, seed=3, epoch=100.0)
    stream = Stream(machine, parts_of(workload, size), policy_named(policy), clock, seed=3, epoch=100.0)
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


ANY = {
    "seed": st.integers(0, 2**32),
    "count": st.integers(1, 60),
    "cores": st.integers(1, 20),
    "span": st.integers(1, 300),
    "size": st.sampled_from([1, 2, 7, 1000]),
}


# another policy
@pytest.mark.lane(more=r"fcfs\+strict")
@pytest.mark.parametrize("policy", ["fcfs+strict", "fcfs+easy"])
@settings(max_examples=100)
@given(**ANY)
def test_the_schedule_is_that_of_all_jobs_at_once(policy, seed, count, cores, span, size):
    check_same(drawn(seed, count, cores, span), cores, policy, "textbook", size)


# takes 38 s
@pytest.mark.more
@pytest.mark.parametrize("clock", ["textbook", "one-by-one"])
@pytest.mark.parametrize(
    "policy",
    [
        *("lcfs+easy", "sjf+easy", "f1+easy", "wfp3+easy", "xfactor+greedy", "saf+reserve:2:9", "sjf+easyP"),
        *("saf+easyfcfs", "fcfs+easysjf", "first-high_gflops", "shortest-high_gflops", "random-high_gflops"),
        *("fcfs+conservative", "f1+conservative", "wfp3+conservative", "sjf+conservativeP"),
    ],
)
@given(**ANY)
def test_every_order_and_mode_goes_on_as_if_no_row_had_moved(policy, clock, seed, count, cores, span, size):
    check_same(drawn(seed, count, cores, span), cores, policy, clock, size)


def test_the_queue_may_be_longer_than_a_part():
    workload = jobs(submit=np.arange(3000) * 0.5, seconds=np.where(np.arange(3000) % 7 == 0, 20.0, 1.0), size=1)
    stream = check_same(workload, 3, "sjf+easy", "textbook", 100)
    assert len(stream.numbers) < len(workload)


def test_jobs_of_one_time_are_never_distinguished_by_the_end_of_a_part():
    workload = jobs(submit=[0.0] * 5 + [1.0] * 6, seconds=[5.0] * 10 + [1.0], size=[1] * 10 + [2])
    check_same(workload, 2, "sjf+strict", "textbook", 4)


def test_who_tried_jobs_in_vain_does_not_take_later_ones_for_those():
    """After forty jobs: one that runs long, a head that waits for it, one that must wait, too, and one that fits."""
    workload = jobs(
        submit=[*np.arange(40.0), 100.0, 101.0, 102.0, 110.0, 5000.0],
        seconds=[0.5] * 40 + [1000.0, 10.0, 10.0, 5.0, 1.0],
        size=[1] * 40 + [2, 4, 3, 1, 1],
    )
    check_same(workload, 4, "fcfs+easy", "textbook", 44)


@pytest.mark.parametrize("policy", ["random-random", "random-high_cores", "first-random"])
def test_random_policies_draw_the_same_where_cores_are_counted(policy):
    workload, actions = drawn(5, 60, 12, 60), PolicyActions([policy_named(policy)])
    named = scheduled(pool(12), workload, actions, "textbook", seed=3, epoch=100.0).simulation.tasks["start"]
    counted = check_same(workload, 12, policy, "textbook", 7)
    assert counted.simulator.state.named is False
    whole = scheduled(pool(12), workload, actions, "textbook", named=False, seed=3, epoch=100.0)
    assert whole.simulation.tasks["start"].tolist() == named.tolist()


def test_rows_are_as_many_as_jobs_that_wait_and_run_and_come():
    workload = jobs(submit=np.arange(20_000) * 10.0, seconds=9.0)
    stream = check_same(workload, 1, "fcfs+easy", "textbook", 100)
    assert len(stream.numbers) <= 256
    assert len(stream.simulator.state.tables.jobs) <= 256


@pytest.mark.parametrize(
    ("policy", "clock", "message"),
    [
        ("fcfs+easy", "batsim", "clock 'batsim': jobs are streamed on textbook and one-by-one only"),
        ("fcfs+commit", "textbook", "fcfs+commit: keeps a plan of all jobs, so no jobs are streamed"),
        ("multifactor+easy", "textbook", "multifactor+easy: uses what it knows of ended jobs"),
        ("sjf@ewma+easy", "textbook", "sjf@ewma+easy: uses what it knows of ended jobs"),
    ],
)
def test_what_keeps_more_of_jobs_than_their_rows_is_refused(policy, clock, message):
    with pytest.raises(OptionsError) as error:
        check_streams(policy_named(policy), clock)
    assert str(error.value).startswith(message)


def test_jobs_that_request_memory_are_refused_in_every_part():
    parts = iter([jobs(submit=[0.0, 5.0]), jobs(submit=[6.0], memory=3.0)])
    with pytest.raises(ValueError, match="all jobs request only cores"):
        list(Stream(pool(4), parts, policy_named("fcfs")).ended())
