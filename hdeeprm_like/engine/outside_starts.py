"""What another scheduler does with the jobs of a state that only follows it: it starts them where it likes.

Cores are counted here, not named (`State.named`), so there is room for whatever the other one does; it may give a job
more cores than it asked for. No window of the queue follows a job that is withdrawn.
"""

from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.lifecycle import note_change, start_job
from hdeeprm_like.engine.processor_index import rank
from hdeeprm_like.engine.tables import RUNNING, UNKNOWN, WAITING, WITHDRAWN, Tables
from hdeeprm_like.engine.waiting_queue import dequeue


@compiled
def start_outside(tables: Tables, j: int, cores: int) -> None:
    """Let a waiting job run from now on with so many cores; nothing happens to one that does not wait."""
    job = tables.jobs[j]
    if job.status != WAITING:
        return
    job.size = cores
    tables.loads[0].free -= cores
    rank(tables, 0)
    start_job(tables, j)


@compiled
def withdraw(tables: Tables, j: int) -> None:
    """Take back a waiting job that its user has cancelled or that may not start now; it is as if it had never come."""
    if tables.jobs[j].status != WAITING:
        return
    dequeue(tables, j)
    tables.jobs[j].status = UNKNOWN
    note_change(tables, WITHDRAWN, j)


@compiled
def runs(tables: Tables, j: int) -> bool:
    """Tell whether a job runs; one that the machine could never hold does not, whatever the other scheduler says."""
    return bool(tables.jobs[j].status == RUNNING)
