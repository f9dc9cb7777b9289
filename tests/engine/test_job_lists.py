"""Sorted lists of jobs in blocks: they hold to a list that is sorted anew."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.job_lists import (
    BLOCK,
    JobLists,
    copy_jobs,
    insert,
    job_at,
    jobs_of,
    make_room,
    new_job_lists,
    next_fitting,
    remove,
)
from hdeeprm_like.engine.job_sorting import sort_by_keys
from hdeeprm_like.engine.plain import ENABLED


class Out(Bundle):
    jobs: np.ndarray


@compiled
def copied(q: JobLists, v: int, out: Out) -> int:
    return copy_jobs(q, v, out.jobs)


@compiled
def walked(q: JobLists, v: int, out: Out) -> int:
    count = 0
    for j in jobs_of(q, v):
        out.jobs[count] = j
        count += 1
    return count


def content(q, v=0, written=copied):
    out = Out(np.zeros(5000, np.int32))
    return out.jobs[: written(q, v, out)].tolist()


@compiled
def write_next(q: JobLists, place: int, i: int, free: int, out: np.ndarray) -> None:
    out[0], out[1] = next_fitting(q, 0, place, i, free)


def fitting(q, free):
    """The jobs that next_fitting finds one after the other."""
    found, place, i, out = [], 0, 0, np.zeros(2, np.int64)
    while True:
        write_next(q, place, i, free, out)
        place, i = out.tolist()
        if place >= q.lists["blocks"][0]:
            return found
        found.append(job_at(q, 0, place, i))
        i += 1


@settings(max_examples=15 if ENABLED else 50)  # each has 20 blocks of jobs, which take long in plain Python
@given(st.integers(0, 2**32 - 1), st.sampled_from([3, BLOCK, 10 * BLOCK]), st.integers(1, 5))
def test_a_list_is_sorted_by_key_and_rank_whatever_comes_and_leaves(seed, most, kinds):
    rng = np.random.default_rng(seed)
    count = 20 * BLOCK
    keys, cores = rng.integers(0, kinds * 10, count).astype(float), rng.integers(1, 9, count)
    q, there = new_job_lists(((1, False), (2, False)), count, count), []
    for j in range(count):
        insert(q, 0, j, keys[j], j, cores[j])
        insert(q, 1, j, -keys[j], j, cores[j])
        there.append(j)
        while len(there) > most or (there and rng.random() < 0.3):
            i = int(rng.integers(len(there)))
            there[i], there[-1] = there[-1], there[i]
            remove(q, 0, there[-1])
            remove(q, 1, there.pop())
    expected = sorted(there, key=lambda j: (keys[j], j))
    assert content(q) == expected
    assert content(q, 1) == sorted(there, key=lambda j: (-keys[j], j))
    assert q.lists["jobs"][0] == len(expected)
    assert content(q, written=walked) == expected
    for free in (0, 1, 4, 8):
        assert fitting(q, free) == [j for j in expected if cores[j] <= free]


@pytest.mark.parametrize("order", [range(3000), range(2999, -1, -1)])
def test_blocks_never_run_out(order):
    q = new_job_lists(((0, False),), 3000, 3000)
    for j in order:
        insert(q, 0, j, float(j), j, 1)
    assert content(q) == list(range(3000))
    assert q.lists["made"][0] <= q.blocks.shape[1]


def test_a_block_that_empties_is_used_again():
    q = new_job_lists(((0, False),), 3000, 3000)
    for j in range(BLOCK):
        insert(q, 0, j, float(j), j, 1)
    for j in range(BLOCK, 3000):  # Behind a full block jobs come and leave at once, as where they are backfilled.
        insert(q, 0, j, float(j), j, 1)
        remove(q, 0, j)
        assert q.lists["made"][0] == 2
    assert content(q) == list(range(BLOCK))


@given(st.integers(0, 2**32 - 1))
def test_a_list_is_sorted_by_new_keys(seed):
    rng = np.random.default_rng(seed)
    q = new_job_lists(((20, False),), 300, 300)
    for j in range(300):
        insert(q, 0, j, np.inf, j, 1 + j % 7)
    for j in rng.choice(300, 100, replace=False).tolist():
        remove(q, 0, j)
    there = content(q)
    new = rng.integers(0, 30, 300).astype(float)
    for place in range(int(q.lists["blocks"][0])):
        begin = q.blocks["begin"][0, place]
        for i in range(begin, begin + q.blocks["size"][0, place]):
            q.keys[i] = new[q.jobs[i]]
    sort_by_keys(q, 0)
    expected = sorted(there, key=lambda j: (new[j], j))
    assert content(q) == expected
    assert fitting(q, 3) == [j for j in expected if 1 + j % 7 <= 3]
    for j in expected[::2]:
        remove(q, 0, j)
    assert content(q) == expected[1::2]


def test_lists_grow_where_jobs_become_known_on_the_way():
    q = new_job_lists(((0, False), (1, False)), 1, 1)
    for j in range(200):
        make_room(q, j + 1)
        insert(q, 0, j, float(-j), j, 1)
        insert(q, 1, j, float(j), j, 1)
    assert content(q) == list(range(199, -1, -1))
    assert content(q, 1) == list(range(200))
