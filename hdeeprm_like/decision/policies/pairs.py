"""The policy pairs of the thesis: a job policy and a core policy (section 3.2.3.2, table 3.2).

A policy pair serves the queue head of line: jobs start until the selected job does not fit.
"""

from hdeeprm_like.engine.allocation import choose_cores
from hdeeprm_like.engine.compiled import callback, entry
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.tables import NOTHING, Tables
from hdeeprm_like.engine.waiting_queue import select_job


@callback
@entry
def apply_pair(tables: Tables, job_policy: int, core_policy: int) -> int:
    """Start jobs by a policy pair until the selected one does not fit; return how many started (thesis 3.2.3.2)."""
    clock = tables.clock[0]
    clock.blocked = NOTHING
    started = 0
    while clock.waiting > 0:
        j = select_job(tables, job_policy)
        clock.decisions += 1
        lacks = choose_cores(tables, core_policy, j)
        if lacks != NOTHING:
            clock.blocked, clock.blocked_job = lacks, j
            break
        start_job(tables, j)
        started += 1
    return started
