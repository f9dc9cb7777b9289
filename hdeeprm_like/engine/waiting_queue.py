"""The waiting jobs: a set to draw from, and a sorted list for each order that somebody asked for."""

from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.job_keys import waiting_key
from hdeeprm_like.engine.job_lists import insert, job_at, remove
from hdeeprm_like.engine.numbers import RANDOM_JOB
from hdeeprm_like.engine.splitmix64 import STRIDE, uniform
from hdeeprm_like.engine.tables import WAITING, Tables


@compiled
def enqueue(t: Tables, j: int) -> None:
    """Let a job wait."""
    clock, job = t.clock[0], t.jobs[j]
    job.status, job.place = WAITING, clock.waiting
    t.members[clock.waiting] = j
    clock.waiting += 1
    if job.memory > 0.0 or job.gpus > 0.0:
        clock.demanding += 1
    for v in range(len(t.waiting.lists)):
        row = t.waiting.lists[v]
        insert(t.waiting, v, j, waiting_key(t, row.order, row.actual, j), j, job.size)


@compiled
def dequeue(t: Tables, j: int) -> None:
    """Take a job out of the set and out of all lists."""
    clock, job = t.clock[0], t.jobs[j]
    clock.waiting -= 1
    last = t.members[clock.waiting]
    t.members[job.place] = last
    t.jobs[last].place = job.place
    if job.memory > 0.0 or job.gpus > 0.0:
        clock.demanding -= 1
    for v in range(len(t.waiting.lists)):
        remove(t.waiting, v, j)


@compiled
def draw(t: Tables, n: int) -> int:
    """Return a uniform integer below *n* from the generator of these tables."""
    clock = t.clock[0]
    clock.random += STRIDE
    return int(uniform(clock.random) * n)


@compiled
def select_job(t: Tables, order: int) -> int:
    """Return the waiting job that an order serves next; there must be one, and a list for the order."""
    if order == RANDOM_JOB:
        return int(t.members[draw(t, t.clock[0].waiting)])
    return int(job_at(t.waiting, t.list_of[2 * order], 0, 0))
