"""Nothing is lost: after every instant and every decision the state adds up, recomputed from scratch."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_worlds import platforms, workloads
from slow import JOB_KEYS
from small import Stepper, begun, jobs, jobs_in_words, platform

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES
from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine.core_pstates import pstate_of
from hdeeprm_like.engine.cores import set_available
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.engine.tables import COMPLETED, IDLE_CORE, REJECTED, RUNNING, UNKNOWN, WAITING
from hdeeprm_like.engine.waiting_queue import select_job
from hdeeprm_like.run.to_end import run_policy

policy_pairs = st.tuples(st.sampled_from(sorted(JOB_POLICIES)), st.sampled_from(sorted(CORE_POLICIES)))


def check(state, workload):
    """Recompute everything that the state keeps up to date."""
    t, clock, platform = state.tables, state.tables.clock[0], state.platform
    status = t.jobs["status"]
    running = np.flatnonzero(status == RUNNING)
    counts = [np.sum(status == kind) for kind in (WAITING, RUNNING, COMPLETED, REJECTED)]
    assert counts == [clock["waiting"], clock["running"], clock["completed"], clock["rejected"]]
    assert sum(counts) == clock["submitted"] == np.sum(status != UNKNOWN)
    # cores: each serves one running job or none, and that job knows
    served = jobs_in_words(t)
    assert {int(j) for j in served if j != IDLE_CORE} == set(running.tolist())
    assert state.core_job.tolist() == served.tolist()
    for j in running:
        assert state.cores_of(j).tolist() == np.flatnonzero(served == j).tolist()
        assert np.sum(served == j) == workload.size[j]
    busy = served != IDLE_CORE
    node_of = platform.processor_node[platform.core_processor]
    per_processor = np.bincount(platform.core_processor, busy, platform.processors)
    assert t.loads["busy"].tolist() == per_processor.tolist()
    assert t.loads["free"].tolist() == (platform.processor_cores - per_processor).tolist()
    assert t.node_loads["busy"].tolist() == np.bincount(node_of, busy, platform.nodes).tolist()
    assert clock["free_cores"] == np.sum(~busy)
    assert not t.loads["picked"].any()
    # memory, GPUs and bandwidth
    memory = np.where(busy, workload.memory[served], 0.0)
    used = np.bincount(node_of, memory, platform.nodes)
    assert t.node_loads["free_memory"] == pytest.approx(platform.node_memory - used, rel=1e-9, abs=1e-9)
    assert np.all(used <= platform.node_memory * (1 + 1e-9))
    gpus = np.bincount(node_of, np.where(busy, workload.gpus[served], 0.0), platform.nodes)
    assert t.node_loads["free_gpus"] == pytest.approx(platform.node_gpus - gpus, rel=1e-9, abs=1e-9)
    assert np.all(gpus <= platform.node_gpus * (1 + 1e-9))
    bandwidth = np.bincount(platform.core_processor, np.where(busy, workload.bandwidth[served], 0.0))
    assert t.loads["used_bandwidth"] == pytest.approx(bandwidth, rel=1e-9, abs=1e-9)
    over = bandwidth > platform.processor_bandwidth * (1 + 1e-9)
    assert t.loads["oversubscribed"].tolist() == over.tolist()
    # power, and the speed of each job
    pstates = [pstate_of(t, core) for core in range(platform.cores)]
    watts = [float(platform.processor_watts[p, s]) for p, s in zip(platform.core_processor, pstates, strict=True)]
    assert state.watts == pytest.approx(math.fsum(watts), rel=1e-9)
    for j in running:
        speeds = [platform.processor_flops[platform.core_processor[core], pstates[core]] for core in state.cores_of(j)]
        assert t.jobs["speed"][j] == min(speeds)
    # the queue
    waiting = np.flatnonzero(status == WAITING).tolist()
    assert sorted(t.members[: clock["waiting"]].tolist()) == waiting == state.waiting.tolist()
    for policy, key in JOB_KEYS.items():
        if waiting:
            assert select_job(t, JOB_POLICIES[policy]) == min(waiting, key=lambda j: (key(workload, j), j))


@settings(max_examples=60)
@given(platforms, workloads(), st.lists(policy_pairs, min_size=1, max_size=4), st.integers(0, 2**63 - 1))
def test_nothing_is_lost_at_any_instant(cluster, workload, pairs, seed):
    state = State(cluster, workload, seed=seed)
    simulator, step, joules, completed = Stepper(state, workload), 0, 0.0, []
    while (instant := simulator.next_instant()) is not None:
        watts, before = state.watts, state.now
        state.receive(instant)
        joules += watts * (state.now - before)
        completed += instant.completed
        check(state, workload)
        job, core = pairs[step % len(pairs)]  # any pair may be chosen at any instant
        step += 1
        apply_pair(state.tables, JOB_POLICIES[job], CORE_POLICIES[core])
        check(state, workload)
        simulator.apply(state.drain())
    assert simulator.unfinished == 0
    assert sorted(completed) == np.flatnonzero(state.tables.jobs["status"] == COMPLETED).tolist()
    assert state.joules == pytest.approx(joules, rel=1e-9)
    assert state.watts == pytest.approx(
        float(np.sum(cluster.processor_watts[:, 3] * cluster.processor_cores)), rel=1e-9
    )
    assert state.node_free_memory.tolist() == cluster.node_memory.tolist()
    assert not state.tables.loads["used_bandwidth"].any()


def test_draining_returns_starts_in_order_rejections_and_the_pstates_that_change():
    cluster = platform((100.0, [(2, 1.0, 10.0, 10.0), (2, 1.0, 10.0, 10.0)]))
    state = State(cluster, jobs(size=[9, 1, 2], bandwidth=[0.0, 6.0, 6.0], memory=[0.0, 0.0, 101.0]))
    state.receive(Instant(0.0, [], 3, True))
    apply_pair(state.tables, JOB_POLICIES["first"], CORE_POLICIES["high_gflops"])
    assert state.drain().pstates == {0: 0, 1: 2}  # not requested yet
    commands = state.drain(requested=True)
    assert [(job, cores.tolist()) for job, cores in commands.starts] == [(1, [0])]
    assert commands.rejects == [0, 2]
    assert commands.pstates == {0: 0, 1: 2}
    assert (commands.kills, commands.wake_at) == ([], np.inf)
    assert state.drain().pstates == {}


def test_a_new_instant_forgets_what_was_decided_in_the_last_one():
    state = State(platform(), jobs(seconds=5.0, size=[1, 2]))
    state.receive(Instant(1.0, [], 2, True))
    apply_pair(state.tables, JOB_POLICIES["first"], CORE_POLICIES["high_gflops"])
    state.wake_at, state.kills = 3.0, [0]
    commands = state.drain()
    assert (commands.wake_at, commands.kills, commands.rejects) == (3.0, [0], [1])
    state.receive(Instant(2.0, [], 0, True))
    commands = state.drain()
    assert (commands.starts, commands.rejects, commands.kills, commands.wake_at) == ([], [], [], np.inf)


def test_a_withdrawn_core_serves_no_job_but_goes_on_with_its_job():
    state = State(platform((100.0, [(2, 1.0, 10.0, 10.0)])), jobs(size=[1, 1]))
    state.receive(Instant(0.0, [], 1, False))
    apply_pair(state.tables, JOB_POLICIES["first"], CORE_POLICIES["high_gflops"])
    for core in (0, 1, 1):
        set_available(state.tables, core, False)
    assert state.tables.clock["free_cores"][0] == 0
    state.receive(Instant(1.0, [0], 1, True))
    assert apply_pair(state.tables, JOB_POLICIES["first"], CORE_POLICIES["high_gflops"]) == 0
    assert state.tables.clock["free_cores"][0] == 0
    for core in (0, 0):
        set_available(state.tables, core, True)
    assert apply_pair(state.tables, JOB_POLICIES["first"], CORE_POLICIES["high_gflops"]) == 1
    assert state.cores_of(1).tolist() == [0]


def test_the_log_has_room_for_more_rejections_in_an_instant_than_there_are_cores():
    simulator, _ = begun(platform(), jobs(size=2, seconds=np.ones(3000)))
    list(run_policy(simulator, PolicyActions([("first", "high_gflops")])))
    assert simulator.state.tables.clock["rejected"][0] == 3000
    assert simulator.state.tables.clock["logged"][0] <= len(simulator.state.tables.log)


def test_a_log_that_grows_keeps_its_entries_and_copies_nothing_behind_them():
    state = State(platform((1000.0, [(4, 1.0, 100.0, 1e6)])), jobs(size=[1], submit=0.0))
    rows = len(state.tables.log)
    state.tables.log["row"] = 7
    state.tables.clock["logged"] = rows - 1
    state.make_room()
    grown = state.tables.log["row"]
    assert len(grown) > rows
    assert (grown[: rows - 1] == 7).all()
    assert not grown[rows - 1 :].any()
