"""Re-sorting of a list of jobs whose keys have changed."""

import numpy as np

from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.job_lists import JobLists, comes_before, find_least, move, put


@compiled
def sort_by_keys(lists: JobLists, v: int) -> None:
    """Sort a list whose ``keys`` have been rewritten; few jobs move if the keys change together."""
    row, moved = lists.lists[v], False
    last_key, last_rank = -np.inf, -1
    for place in range(row.blocks):
        begin = lists.blocks[v, place].begin
        for i in range(lists.blocks[v, place].size):
            key, rank = lists.keys[begin + i], lists.ranks[begin + i]
            lists.key_of[v, lists.jobs[begin + i]] = key
            if comes_before(key, rank, last_key, last_rank):
                sink(lists, v, place, i)
                moved = True
            else:
                last_key, last_rank = key, rank
    if moved:
        for place in range(row.blocks):
            find_least(lists, v, place)


@compiled
def sink(lists: JobLists, v: int, place: int, i: int) -> None:
    """Move the job at a place towards the front of its list, to its sorted place among the jobs before it."""
    at = lists.blocks[v, place].begin + i
    j, cores, key, rank = lists.jobs[at], lists.cores[at], lists.keys[at], lists.ranks[at]
    while True:
        if i == 0 and place == 0:
            break
        before = at - 1
        if i == 0:
            block = lists.blocks[v, place - 1]
            before = block.begin + block.size - 1
        if not comes_before(key, rank, lists.keys[before], lists.ranks[before]):
            break
        move(lists, before, at)
        at = before
        if i == 0:
            place -= 1
            i = lists.blocks[v, place].size
        i -= 1
    put(lists, at, j, key, rank, cores)
