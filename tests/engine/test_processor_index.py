"""The search for a processor finds what a look at one after the other finds, in a tree and without one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import jobs, platform

from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES, PLACEMENTS
from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine.cores import set_available
from hdeeprm_like.engine.lifecycle import receive
from hdeeprm_like.engine.numbers import HIGH_MEM
from hdeeprm_like.engine.plain import ENABLED
from hdeeprm_like.engine.processor_index import rank, rank_all
from hdeeprm_like.engine.processor_keys import node_fits, processor_key
from hdeeprm_like.engine.processor_search import best_processor, lowest_processor, random_processor, rival_of
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import RUNNING
from hdeeprm_like.engine.waiting_queue import draw
from hdeeprm_like.engine.words import of_cores

KEYS = [number for name, number in CORE_POLICIES.items() if name != "random"]

processors = st.tuples(
    st.integers(1, 3), st.sampled_from([1.0, 2.0]), st.sampled_from([10.0, 80.0]), st.sampled_from([10.0, 20.0])
)
nodes = st.tuples(st.sampled_from([100.0, 200.0, 500.3]), st.lists(processors, min_size=1, max_size=4))
clusters = st.tuples(st.lists(nodes, min_size=1, max_size=8), st.sampled_from([0, 2])).map(
    lambda drawn: platform(*drawn[0], gpus=[drawn[1]] * len(drawn[0]))
)
placements = st.sampled_from(sorted(PLACEMENTS.values()))
requests = st.tuples(
    st.integers(1, 8), st.sampled_from([0.0, 10.0, 64.0, 100.1]), st.sampled_from([0.0, 3.0, 7.7]), st.integers(0, 2)
)


def fitting(t, memory, gpus):
    """The processors that have a free core and room for it."""
    rows = range(len(t.processors))
    return [p for p in rows if t.loads["free"][p] > 0 and node_fits(t, t.processors["node"][p], memory, gpus)]


def scanned(t, policy, memory, gpus, beside):
    """What `best_processor` is to find without *beside*."""
    node = t.processors["node"]
    left_out = [p for p in range(len(node)) if p == beside or (policy == HIGH_MEM and node[p] == node[beside])]
    found = [p for p in fitting(t, memory, gpus) if beside < 0 or p not in left_out]
    return max(found, key=lambda p: (processor_key(t, policy, p), -p), default=-1)


def drawn(t, memory, gpus):
    """What `random_processor` is to find."""
    cores = [p for p in fitting(t, memory, gpus) for _ in range(t.loads["free"][p])]
    return cores[draw(t, len(cores))] if cores else -1


def check_choices(t, memory, gpus, beside):
    """Compare what all policies would take now."""
    tree = t.tree.copy()
    for policy in KEYS:
        assert best_processor(t, policy, memory, gpus) == scanned(t, policy, memory, gpus, -1)
        assert rival_of(t, policy, memory, gpus, beside) == scanned(t, policy, memory, gpus, beside)
        rank(t, beside)
        assert tree.tobytes() == t.tree.tobytes()
    assert lowest_processor(t, memory, gpus) == min(fitting(t, memory, gpus), default=-1)
    before = t.clock["random"].copy()
    found, after = random_processor(t, memory, gpus), t.clock["random"].copy()
    t.clock["random"] = before
    assert drawn(t, memory, gpus) == found
    assert t.clock["random"] == after


@settings(max_examples=15 if ENABLED else 60)  # a look at every processor takes long in plain Python
@given(clusters, st.lists(requests, min_size=1, max_size=12), st.data())
def test_every_choice_is_that_of_a_scan_whatever_jobs_come_and_go(cluster, asked, data):
    size, memory, bandwidth, gpus = (np.array(column) for column in zip(*asked, strict=True))
    state = State(cluster, jobs(size=size, memory=memory, bandwidth=bandwidth, gpus=gpus), seed=3)
    t, none = state.tables, np.zeros(0, np.int32)
    receive(t, 0.0, none, 0, len(asked), True)
    for now in range(1, 6):
        apply_pair(t, data.draw(st.sampled_from(sorted(JOB_POLICIES.values()))), data.draw(placements))
        withdrawn = data.draw(st.integers(0, cluster.cores - 1))
        set_available(t, withdrawn, not of_cores(t.words, "available")[withdrawn])
        for wanted in (0.0, 64.0, 100.1, 450.0):
            check_choices(t, wanted, float(data.draw(st.integers(0, 1))), data.draw(st.integers(0, len(t.picks) - 1)))
        tree = t.tree.copy()
        rank_all(t)
        assert tree.tobytes() == t.tree.tobytes()
        running = np.flatnonzero(t.jobs["status"] == RUNNING).tolist()
        ended = data.draw(st.lists(st.sampled_from(running), unique=True)) if running else []
        receive(t, float(now), np.array(ended, np.int32), len(ended), 0, True)


@pytest.mark.parametrize("count", [1, 2, 8, 9, 64, 1000])
def test_the_last_of_many_equal_processors_is_found_when_it_alone_has_room(count):
    cluster = platform(*[(100.0, [(1, 1.0, 10.0, 10.0)])] * (count - 1), (200.0, [(1, 1.0, 10.0, 10.0)]))
    t = State(cluster, jobs()).tables
    for policy in KEYS:
        assert best_processor(t, policy, 150.0, 0.0) == count - 1
        assert best_processor(t, policy, 250.0, 0.0) == -1
        assert rival_of(t, policy, 150.0, 0.0, count - 1) == -1
        rank(t, count - 1)
    assert lowest_processor(t, 150.0, 0.0) == random_processor(t, 150.0, 0.0) == count - 1
    assert random_processor(t, 250.0, 0.0) == -1
