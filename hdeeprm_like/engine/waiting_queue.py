"""The waiting jobs: a set for random draws, and a sorted list for each requested order."""

import numpy as np

from hdeeprm_like.engine.compiled import inlined
from hdeeprm_like.engine.job_keys import known_time, usual_key
from hdeeprm_like.engine.job_lists import insert, job_at, remove
from hdeeprm_like.engine.numbers import FIRST_PREDICTED, RANDOM_JOB
from hdeeprm_like.engine.splitmix64 import STRIDE, uniform
from hdeeprm_like.engine.tables import WAITING, Tables


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
    for v in range(len(tables.waiting.lists)):
        row = tables.waiting.lists[v]
        key = np.inf  # for lists that are sorted again at each decision
        if row.times < FIRST_PREDICTED:
            key = usual_key(tables, row.order, known_time(tables, row.times, j), j)
        insert(tables.waiting, v, j, key, j, job.size)


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
    for v in range(len(tables.waiting.lists)):
        remove(tables.waiting, v, j)


@inlined
def draw(tables: Tables, n: int) -> int:
    """Return a uniform integer in [0, n) from the generator of these tables."""
    clock = tables.clock[0]
    clock.random += STRIDE
    return int(uniform(clock.random) * n)


@inlined
def select_job(tables: Tables, order: int) -> int:
    """Return the waiting job that an order serves next; needs a waiting job and a list for the order."""
    if order == RANDOM_JOB:
        return int(tables.members[draw(tables, tables.clock[0].waiting)])
    return int(job_at(tables.waiting, tables.list_of[order], 0, 0))
