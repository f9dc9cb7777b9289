"""The cores that a core policy chooses are those of its definition, taken one after the other by a look at all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import jobs, platform

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.decision.names import CORE_POLICIES
from hdeeprm_like.engine.allocation import choose_cores
from hdeeprm_like.engine.cores import set_available
from hdeeprm_like.engine.lifecycle import receive, start_job
from hdeeprm_like.engine.numbers import FIRST_FIT, HIGH_CORES, HIGH_GFLOPS, HIGH_MEM, HIGH_MEM_BW, RANDOM_CORE
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import NOTHING, RUNNING, WAITING
from hdeeprm_like.engine.waiting_queue import draw
from hdeeprm_like.engine.words import of_cores

POLICIES = (*CORE_POLICIES.values(), FIRST_FIT)

processors = st.tuples(
    st.integers(1, 3), st.sampled_from([1.0, 2.0]), st.sampled_from([10.0, 80.0]), st.sampled_from([10.0, 20.0])
)
nodes = st.tuples(st.sampled_from([100.0, 200.0, 500.3]), st.lists(processors, min_size=1, max_size=4))
clusters = st.tuples(st.lists(nodes, min_size=1, max_size=8), st.sampled_from([0, 2])).map(
    lambda drawn: platform(*drawn[0], gpus=[drawn[1]] * len(drawn[0]))
)
requests = st.tuples(
    st.integers(1, 8), st.sampled_from([0.0, 10.0, 64.0, 100.1]), st.sampled_from([0.0, 3.0, 7.7]), st.integers(0, 2)
)


def keys(t, policy, room):
    """What a policy maximizes, of each processor."""
    node, rows = t.processors["node"], t.processors
    if policy == HIGH_GFLOPS:
        return rows["flops"][:, 0]
    if policy == HIGH_CORES:
        return room["free"]
    if policy == HIGH_MEM:
        return room["memory"][node]
    if policy == HIGH_MEM_BW:
        return rows["bandwidth"] - room["bandwidth"]
    return np.zeros(len(rows)) if policy == FIRST_FIT else -rows["watts"][:, 0]


def chosen(t, policy, j):
    """The processor of each core of a job in the order in which they are taken; fewer if there is no room for all."""
    job, node, taken = t.jobs[j], t.processors["node"], []
    room = {"free": t.loads["free"].copy(), "bandwidth": t.loads["used_bandwidth"].copy()}
    room |= {"memory": t.node_loads["free_memory"].copy(), "gpus": t.node_loads["free_gpus"].copy()}
    while len(taken) < job["size"]:
        fits = room["memory"] >= job["memory"] - t.nodes["memory"] * ROUNDING
        fits &= (job["gpus"] <= 0.0) | (room["gpus"] >= job["gpus"] - t.nodes["gpus"] * ROUNDING)
        found = [p for p in range(len(node)) if room["free"][p] > 0 and fits[node[p]]]
        if not found:
            break
        if policy == RANDOM_CORE:
            cores = [p for p in found for _ in range(room["free"][p])]
            p = cores[draw(t, len(cores))]
        else:
            key = keys(t, policy, room)
            p = max(found, key=lambda p: (key[p], -p))
        room["free"][p] -= 1
        room["bandwidth"][p] += job["bandwidth"]
        room["memory"][node[p]] -= job["memory"]
        room["gpus"][node[p]] -= job["gpus"]
        taken.append(p)
    return taken


def cores_on(t, policy, taken):
    """The cores of a job, given those of each processor by number: the lowest ones or random ones."""
    free = of_cores(t.words, "available") & ~of_cores(t.words, "serving")
    found = []
    for p in dict.fromkeys(taken):
        cores = np.flatnonzero(free & (t.core_processor == p)).tolist()
        needed, left = taken.count(p), len(cores)
        for core in cores:
            if needed > 0 and (policy != RANDOM_CORE or draw(t, left) < needed):
                found.append(core)
                needed -= 1
            left -= 1
    return found


def check_choice(t, policy, j):
    """Compare the cores of a waiting job with those of the definition, and start it if it fits."""
    before, loads, rooms = t.clock["random"].copy(), np.array(t.loads), np.array(t.node_loads)
    taken = chosen(t, policy, j)
    fits = len(taken) == t.jobs["size"][j]
    wanted = cores_on(t, policy, taken) if fits else []
    drawn = t.clock["random"].copy()
    t.clock["random"] = before
    assert (choose_cores(t, policy, j) == NOTHING) == fits
    if not fits:
        assert loads.tolist() == np.asarray(t.loads).tolist()
        assert rooms.tolist() == np.asarray(t.node_loads).tolist()
        return
    assert t.clock["random"] == drawn
    placed, stretches = t.clock["placed"][0], t.jobs["stretches"][j]
    found = t.allocation[placed : placed + stretches]
    assert [core for first, cores in found.tolist() for core in range(first, first + cores)] == wanted
    start_job(t, j)


@settings(max_examples=60)
@given(clusters, st.lists(requests, min_size=1, max_size=12), st.data())
def test_every_choice_is_that_of_the_definition_whatever_jobs_come_and_go(cluster, asked, data):
    size, memory, bandwidth, gpus = (np.array(column) for column in zip(*asked, strict=True))
    state = State(cluster, jobs(size=size, memory=memory, bandwidth=bandwidth, gpus=gpus), seed=3)
    t, none = state.tables, np.zeros(0, np.int32)
    receive(t, 0.0, none, 0, len(asked), True)
    for now in range(1, 6):
        policy = data.draw(st.sampled_from(POLICIES))
        for j in np.flatnonzero(t.jobs["status"] == WAITING).tolist():
            if t.jobs["size"][j] <= t.clock["free_cores"][0]:
                check_choice(t, policy, j)
        withdrawn = data.draw(st.integers(0, cluster.cores - 1))
        set_available(t, withdrawn, not of_cores(t.words, "available")[withdrawn])
        running = np.flatnonzero(t.jobs["status"] == RUNNING).tolist()
        ended = data.draw(st.lists(st.sampled_from(running), unique=True)) if running else []
        receive(t, float(now), np.array(ended, np.int32), len(ended), 0, True)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("count", [1, 2, 63, 65, 1000])
def test_the_last_of_many_equal_processors_is_found_when_it_alone_has_room(count, policy):
    cluster = platform(*[(100.0, [(1, 1.0, 10.0, 10.0)])] * (count - 1), (200.0, [(1, 1.0, 10.0, 10.0)]))
    t = State(cluster, jobs(memory=[150.0, 250.0])).tables
    receive(t, 0.0, np.zeros(0, np.int32), 0, 1, False)
    check_choice(t, policy, 0)
    assert t.jobs["status"][0] == RUNNING
    assert t.allocation["first"][0] == count - 1
