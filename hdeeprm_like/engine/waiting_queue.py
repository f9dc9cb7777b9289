"""The waiting jobs: a set to draw from, and a sorted list for each order that somebody asked for."""

import numpy as np

from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.job_keys import known_time, lasting_key
from hdeeprm_like.engine.job_lists import insert, job_at, remove
from hdeeprm_like.engine.numbers import FIRST_PREDICTED, RANDOM_JOB
from hdeeprm_like.engine.splitmix64 import STRIDE, uniform
from hdeeprm_like.engine.tables import WAITING, Tables


@compiled
def enqueue(tables: Tables, j: int) -> None:
    """Let a job wait."""
    clock, job = tables.clock[0], tables.jobs[j]
    job.status, job.place = WAITING, clock.waiting
    tables.members[clock.waiting] = j
    clock.waiting += 1
    if job.memory > 0.0 or job.gpus > 0.0:
        clock.demanding += 1
    for v in range(len(tables.waiting.lists)):
        row = tables.waiting.lists[v]
        key = np.inf  # for those that are sorted again at each decision
        if row.times < FIRST_PREDICTED:
            key = lasting_key(tables, row.order, known_time(tables, row.times, j), j)
        insert(tables.waiting, v, j, key, j, job.size)


@compiled
def dequeue(tables: Tables, j: int) -> None:
    """Take a job out of the set and out of all lists."""
    clock, job = tables.clock[0], tables.jobs[j]
    clock.waiting -= 1
    last = tables.members[clock.waiting]
    tables.members[job.place] = last
    tables.jobs[last].place = job.place
    if job.memory > 0.0 or job.gpus > 0.0:
        clock.demanding -= 1
    for v in range(len(tables.waiting.lists)):
        remove(tables.waiting, v, j)


@compiled
def draw(tables: Tables, n: int) -> int:
    """Return a uniform integer below *n* from the generator of these tables."""
    clock = tables.clock[0]
    clock.random += STRIDE
    return int(uniform(clock.random) * n)


@compiled
def select_job(tables: Tables, order: int) -> int:
    """Return the waiting job that an order serves next; there must be one, and a list for the order."""
    if order == RANDOM_JOB:
        return int(tables.members[draw(tables, tables.clock[0].waiting)])
    return int(job_at(tables.waiting, tables.list_of[order], 0, 0))
