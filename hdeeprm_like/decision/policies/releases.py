"""Expected ends of the running jobs and the release of their cores."""

import numpy as np

from hdeeprm_like.decision.policies.plans import Plans, planned_time
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dates import REPORTED_LATE
from hdeeprm_like.engine.job_lists import copy_column, copy_jobs, job_at
from hdeeprm_like.engine.numbers import FIRST_PREDICTED
from hdeeprm_like.engine.tables import Tables

OVERDUE = 1.0  # s, expected remaining time of a job that has outrun its request


@inlined
def expected_finish(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return the expected end of a running job in s; it may be past."""
    return float(tables.jobs[j].start + planned_time(tables, plans, k, j))


@compiled
def expected_end(tables: Tables, plans: Plans, k: int, j: int) -> float:
    """Return the expected end of a running job in s, later than now."""
    return float(later_than_now(expected_finish(tables, plans, k, j), tables.clock[0].now))


@inlined
def later_than_now(end: float, now: float) -> float:
    """Return the end of a job that still runs: at once if it should have ended just now, an overdue one in a second.

    Otherwise a job of less than a second could start on cores that the head of the queue is about to get, and delay it.
    """
    if end > now:
        return end
    return float(np.nextafter(now, np.inf) if end > now - REPORTED_LATE else now + OVERDUE)


@compiled
def is_overdue(tables: Tables, plans: Plans, k: int) -> bool:
    """Return whether a running job has reached its expected end."""
    v = plans.plans[k].ends
    if tables.running.lists[v].jobs == 0:
        return False
    return bool(expected_finish(tables, plans, k, job_at(tables.running, v, 0, 0)) <= tables.clock[0].now)


@inlined
def are_sorted(tables: Tables, plans: Plans, k: int, moved: bool) -> bool:
    """Return whether the list of running jobs is sorted by expected end; *moved* overdue jobs are out of place."""
    return plans.plans[k].times < FIRST_PREDICTED and not (moved and is_overdue(tables, plans, k))


@compiled
def sort_releases(tables: Tables, plans: Plans, k: int, moved: bool) -> int:
    """Write the running jobs by expected end, and these ends; return their number.

    Of jobs that end together the one with the fewest cores comes first.

    Args:
        moved: whether an overdue job is expected to end in a second; else its end is past.
    """
    plan = plans.plans[k]
    count = copy_jobs(tables.running, plan.ends, plans.releases)
    if are_sorted(tables, plans, k, moved):
        copy_column(tables.running, plan.ends, tables.running.keys, plans.release_ends)
        return count
    for i in range(count):
        j, place = plans.releases[i], i
        end = expected_end(tables, plans, k, j) if moved else expected_finish(tables, plans, k, j)
        while place > 0:
            other = plans.releases[place - 1]
            other_end = plans.release_ends[place - 1]
            if other_end < end or (other_end == end and tables.jobs[other].size <= tables.jobs[j].size):
                break
            plans.releases[place], plans.release_ends[place] = other, other_end
            place -= 1
        plans.releases[place], plans.release_ends[place] = j, end
    return count
