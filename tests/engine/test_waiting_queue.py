"""The waiting jobs: their lists stay sorted, whatever comes and leaves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from slow import JOB_KEYS
from small import jobs, platform

from hdeeprm_like.decision.names import JOB_POLICIES
from hdeeprm_like.engine.numbers import FIRST, REQUESTED, SHORTEST
from hdeeprm_like.engine.state import THESIS, Needs, State
from hdeeprm_like.engine.tables import RUNNING
from hdeeprm_like.engine.waiting_queue import FEW, dequeue, draw, enqueue, select_job

few = st.sampled_from([0.0, 1.0, 2.0, 3.5])


@given(st.lists(st.tuples(few, st.integers(1, 3), few, few), min_size=1, max_size=30), st.data())
def test_every_order_serves_like_a_list_that_is_sorted_anew_whatever_leaves_in_between(asked, data):
    estimate, size, memory, bandwidth = zip(*asked, strict=True)
    workload = jobs(estimate=np.array(estimate), size=size, memory=memory, bandwidth=bandwidth)
    orders = THESIS.orders
    always = data.draw(st.integers(0, len(orders)), label="lists kept while few jobs wait")
    t = State(platform(), workload, needs=Needs(orders[:always], searched=orders[always:])).tables
    waiting, coming = set(), list(range(len(workload)))
    while coming or waiting:
        if coming and (not waiting or data.draw(st.booleans())):
            enqueue(t, coming[0])
            waiting.add(coming.pop(0))
        else:
            policy = data.draw(st.sampled_from(sorted(JOB_POLICIES)))
            j = select_job(t, JOB_POLICIES[policy])
            if policy != "random":
                assert j == min(waiting, key=lambda j: (JOB_KEYS[policy](workload, j), j))
            dequeue(t, j)
            t.jobs["status"][j] = RUNNING
            waiting.remove(j)
        count = t.clock["waiting"][0]
        assert set(t.members[:count].tolist()) == waiting
        assert t.clock["demanding"][0] == sum(memory[j] > 0.0 for j in waiting)
        assert t.jobs["place"][t.members[:count]].tolist() == list(range(count))
        held = [always if count == 0 else len(orders)] if count in (0, *range(FEW + 1, 31)) else [always, len(orders)]
        assert t.clock["sorted"][0] in held


def test_lists_that_readers_can_do_without_are_filled_when_many_jobs_wait_and_emptied_when_none_does():
    count = FEW + 2
    needs = Needs(((FIRST, REQUESTED),), searched=((SHORTEST, REQUESTED),))
    t = State(platform(), jobs(estimate=np.arange(count, 0.0, -1.0)), needs=needs).tables
    for j in range(FEW):
        enqueue(t, j)
    assert t.waiting.lists["jobs"].tolist() == [FEW, 0]
    assert select_job(t, SHORTEST) == FEW - 1
    enqueue(t, FEW)
    enqueue(t, FEW + 1)
    assert t.waiting.lists["jobs"].tolist() == [FEW + 2, FEW + 2]
    for left in range(count - 1, -1, -1):
        assert select_job(t, SHORTEST) == left
        dequeue(t, left)
        assert t.waiting.lists["jobs"].tolist() == [left, left]
    enqueue(t, 0)
    assert t.waiting.lists["jobs"].tolist() == [1, 0]


def test_only_the_lists_of_policies_in_use_are_kept():
    t = State(platform(), jobs(estimate=[3.0, 1.0]), needs=Needs(((SHORTEST, REQUESTED),))).tables
    for j in range(2):
        enqueue(t, j)
    assert t.waiting.lists["order"].tolist() == [JOB_POLICIES["shortest"]]
    assert select_job(t, JOB_POLICIES["shortest"]) == 1


def test_of_jobs_with_equal_keys_the_one_submitted_first_is_found_wherever_it_is_in_the_set():
    needs = Needs(searched=((SHORTEST, REQUESTED),))
    t = State(platform(), jobs(estimate=[5.0, 1.0, 1.0]), needs=needs).tables
    for j in range(3):
        enqueue(t, j)
    dequeue(t, 0)
    assert t.members[:2].tolist() == [2, 1]
    assert select_job(t, SHORTEST) == 1


@given(st.integers(0, 2**63 - 1), st.integers(1, 1000))
def test_a_drawn_number_is_below_its_bound(seed, bound):
    t = State(platform(), jobs(), seed=seed).tables
    assert all(0 <= draw(t, bound) < bound for _ in range(5))


def test_the_generator_is_splitmix64():
    t = State(platform(), jobs(), seed=1234567).tables  # first output of the reference: 6457827717110365317
    assert draw(t, 2**53) == 6457827717110365317 >> 11
