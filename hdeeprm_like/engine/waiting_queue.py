"""The waiting jobs: a set for random draws, and a sorted list for each requested order.

Some lists only serve readers that can as well search the set. While few jobs wait such lists stay empty, as to insert
a job and remove it takes longer than a search: until more than `FEW` wait, from then on until none does.
"""

import numpy as np

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_keys import known_time, usual_key
from hdeeprm_like.engine.job_lists import BLOCK, comes_before, insert, job_at, remove
from hdeeprm_like.engine.numbers import FIRST_PREDICTED, RANDOM_JOB
from hdeeprm_like.engine.splitmix64 import STRIDE, uniform
from hdeeprm_like.engine.tables import WAITING, Tables

FEW = 8  # waiting jobs up to which they are searched


@inlined
def requests_more(tables: Tables, j: int) -> bool:
    """Return whether a job requests more than cores anywhere: memory, GPUs or, with partitions, certain nodes."""
    job = tables.jobs[j]
    return bool(tables.clock[0].partitioned or job.memory > 0.0 or job.gpus > 0.0)


@inlined
def enqueue(tables: Tables, j: int) -> None:
    """Add a job to the queue."""
    clock, job = tables.clock[0], tables.jobs[j]
    job.status, job.place = WAITING, clock.waiting
    tables.members[clock.waiting] = j
    clock.waiting += 1
    if requests_more(tables, j):
        clock.demanding += 1
    for v in range(clock.sorted):
        insert(tables.waiting, v, j, key_in(tables, v, j), j, job.size)
    if clock.waiting > FEW and clock.sorted < len(tables.waiting.lists):
        fill_lists(tables)


@inlined
def key_in(tables: Tables, v: int, j: int) -> float:
    """Return the key of a job in a list, infinite in lists that are sorted again at each decision."""
    row = tables.waiting.lists[v]
    if row.times >= FIRST_PREDICTED:
        return np.inf
    return usual_key(tables, row.order, known_time(tables, row.times, j), j)


@compiled
def fill_lists(tables: Tables) -> None:
    """Insert the waiting jobs into the lists that are empty while few wait."""
    clock = tables.clock[0]
    for v in range(clock.sorted, len(tables.waiting.lists)):
        order = tables.waiting.lists[v].order
        for place in range(clock.waiting):
            j = tables.members[place]
            insert(tables.waiting, v, j, searched_key(tables, order, j), j, tables.jobs[j].size)
    clock.sorted = len(tables.waiting.lists)


@inlined
def dequeue(tables: Tables, j: int) -> None:
    """Remove a job from the set and all lists."""
    clock, job = tables.clock[0], tables.jobs[j]
    clock.waiting -= 1
    last = tables.members[clock.waiting]
    tables.members[job.place] = last
    tables.jobs[last].place = job.place
    if requests_more(tables, j):
        clock.demanding -= 1
    for v in range(clock.sorted):
        remove(tables.waiting, v, j)
    if clock.waiting == 0:
        clock.sorted = clock.always


@inlined
def draw(tables: Tables, n: int) -> int:
    """Return a uniform integer in [0, n) from the generator of these tables."""
    clock = tables.clock[0]
    clock.random += STRIDE
    return int(uniform(clock.random) * n)


@inlined
def select_job(tables: Tables, order: int) -> int:
    """Return the waiting job that an order serves next; needs a waiting job and a list for the order."""
    waiting, v = tables.clock[0].waiting, tables.list_of[order]
    if order == RANDOM_JOB:
        return int(tables.members[draw(tables, waiting)])
    if v < tables.clock[0].sorted:
        return int(job_at(tables.waiting, v, 0, 0))
    return int(tables.members[0] if waiting == 1 else search_first(tables, order))


@inlined
def searched_key(tables: Tables, order: int, j: int) -> float:
    """Return the key of a job under an order by requested times that does not change with time."""
    return usual_key(tables, order, float(tables.jobs[j].requested_time), j)


@compiled
def search_first(tables: Tables, order: int) -> int:
    """Return the waiting job that is first under an order, whose list is empty while few jobs wait."""
    first = tables.members[0]
    least = searched_key(tables, order, first)
    for place in range(1, tables.clock[0].waiting):
        j = tables.members[place]
        key = searched_key(tables, order, j)
        if comes_before(key, j, least, first):
            first, least = j, key
    return int(first)


@inlined
def sort_keys(tables: Tables, v: int, order: int) -> int:
    """Write the keys of the waiting jobs under an order, ascending, where its empty list *v* would hold them.

    Returns:
        The entry of the first.
    """
    keys, begin = tables.waiting.keys, v * BLOCK
    for place in range(tables.clock[0].waiting):
        key, at = searched_key(tables, order, tables.members[place]), begin + place
        while at > begin and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = key
    return begin
