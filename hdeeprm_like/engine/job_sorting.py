"""Re-sorting of a list of jobs whose keys have changed."""

import numpy as np

from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.job_lists import JobLists, comes_before, find_least, move


@compiled
def sort_by_keys(lists: JobLists, v: int) -> None:
    """Sort a list whose ``keys`` have been rewritten; few jobs move if the keys change together."""
    row, moved = lists.lists[v], False
    last_key, last_rank = -np.inf, -1
    for place in range(row.blocks):
        b = lists.directory[v, place]
        begin = lists.begins[v, b]
        for i in range(lists.sizes[v, b]):
            key, rank = lists.keys[v, begin + i], lists.ranks[v, begin + i]
            lists.key_of[v, lists.jobs[v, begin + i]] = key
            if comes_before(key, rank, last_key, last_rank):
                sink(lists, v, place, i)
                moved = True
            else:
                last_key, last_rank = key, rank
    if moved:
        for place in range(row.blocks):
            find_least(lists, v, lists.directory[v, place])


@compiled
def sink(lists: JobLists, v: int, place: int, i: int) -> None:
    """Move the job at a place towards the front of its list, to its sorted place among the jobs before it."""
    at = lists.begins[v, lists.directory[v, place]] + i
    j, cores, key, rank = lists.jobs[v, at], lists.cores[v, at], lists.keys[v, at], lists.ranks[v, at]
    while True:
        if i == 0 and place == 0:
            break
        before = at - 1
        if i == 0:
            b = lists.directory[v, place - 1]
            before = lists.begins[v, b] + lists.sizes[v, b] - 1
        if not comes_before(key, rank, lists.keys[v, before], lists.ranks[v, before]):
            break
        move(lists, v, before, at)
        at = before
        if i == 0:
            place -= 1
            i = lists.sizes[v, lists.directory[v, place]]
        i -= 1
    lists.jobs[v, at], lists.cores[v, at], lists.keys[v, at], lists.ranks[v, at] = j, cores, key, rank
