"""Job starts by another scheduler, in a state that only follows it.

Cores are counted here, not named (`State.named`), so there is capacity for whatever the other scheduler does; it may
give a job more cores than requested. Windows of the queue do not support withdrawn jobs.
"""

from hdeeprm_like.engine.compiled import entry
from hdeeprm_like.engine.lifecycle import note_change, start_job
from hdeeprm_like.engine.processor_keys import outdate
from hdeeprm_like.engine.tables import RUNNING, UNKNOWN, WAITING, WITHDRAWN, Tables
from hdeeprm_like.engine.waiting_queue import dequeue


@entry
def start_outside(tables: Tables, j: int, cores: int) -> None:
    """Start a waiting job now on *cores* cores; do nothing if it is not waiting."""
    job = tables.jobs[j]
    if job.status != WAITING:
        return
    job.size = cores
    tables.loads[0].free -= cores
    outdate(tables, 0)
    start_job(tables, j)


@entry
def withdraw(tables: Tables, j: int) -> None:
    """Remove a waiting job that its user has cancelled or that may not start now, as if it had never been submitted."""
    if tables.jobs[j].status != WAITING:
        return
    dequeue(tables, j)
    tables.jobs[j].status = UNKNOWN
    note_change(tables, WITHDRAWN, j)


@entry
def runs(tables: Tables, j: int) -> bool:
    """Return whether a job runs; one that the machine could never hold does not, whatever the other scheduler says."""
    return bool(tables.jobs[j].status == RUNNING)
