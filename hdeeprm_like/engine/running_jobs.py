"""The running jobs: one sorted list for each requested kind of expected end."""

from hdeeprm_like.engine.compiled import inlined
from hdeeprm_like.engine.job_keys import known_time
from hdeeprm_like.engine.job_lists import insert, remove
from hdeeprm_like.engine.tables import Tables

BY_START, BY_SIZE = 0, 1  # orders of these lists: of jobs that end together the first started or the smallest is first
ANY_START = 1 << 40  # larger than any place in Tables.allocation


@inlined
def add_running(tables: Tables, j: int) -> None:
    """Insert a starting job into the lists."""
    job = tables.jobs[j]
    for v in range(len(tables.running.lists)):
        row = tables.running.lists[v]
        rank = job.first + (job.size * ANY_START if row.order == BY_SIZE else 0)
        insert(tables.running, v, j, job.start + known_time(tables, row.times, j), rank, job.size)


@inlined
def remove_running(tables: Tables, j: int) -> None:
    """Remove an ending job from the lists."""
    for v in range(len(tables.running.lists)):
        remove(tables.running, v, j)
