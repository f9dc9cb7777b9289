"""Orders that change with time: what they minimize now, and their list of waiting jobs sorted by it.

Those that do not change are kept sorted as jobs come and leave, see ``engine.job_keys``.
"""

from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.decision.policies.run_times import expected_time
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.job_keys import lasting_key, unicep, wfp3
from hdeeprm_like.engine.job_lists import BLOCK, sort_by_keys
from hdeeprm_like.engine.numbers import FIRST_CHANGING, MULTIFACTOR, UNICEP, WFP3
from hdeeprm_like.engine.tables import Tables

DAY = 86400.0  # s
HALF_LIFE = 7 * DAY  # of what a user has used, as Slurm's PriorityDecayHalfLife
MAX_AGE = 7 * DAY  # from there on a job gets no older, as Slurm's PriorityMaxAge


@compiled
def changing_key(tables: Tables, plans: Plans, k: int, order: int, time: float, j: int, used: float) -> float:
    """Return what an order minimizes now.

    Args:
        time: s that the job is taken to run. used: the sum of the usage of all users.

    Multifactor weighs age, size and fair share alike, each from 0 to 1, as Slurm's priority plugin defines them with
    equal shares for all users: 2^-(share of the usage times number of users).
    """
    if order < FIRST_CHANGING:
        return lasting_key(tables, order, time, j)
    job, size = tables.jobs[j], float(tables.jobs[j].size)
    wait = tables.clock[0].now - job.submit
    if order == WFP3:
        return wfp3(wait, time, size)
    if order == UNICEP:
        return unicep(wait, time, size)
    if order == MULTIFACTOR:
        usage = plans.usage[k]
        share = usage[job.user] / used * len(usage) if used > 0.0 else 0.0
        return float(-(min(wait / MAX_AGE, 1.0) + size / len(tables.core_job) + 2.0 ** (-share)))
    return float(-(wait + time) / max(time, 10.0))  # XFACTOR


@compiled
def sort_again(tables: Tables, plans: Plans, k: int, v: int, order: int, times: int) -> None:
    """Find the keys of all waiting jobs in a list again and sort them; little moves from one decision to the next.

    Args:
        v: the list. order, times: what it is sorted by, and the run times that this looks at.
    """
    usage, used = plans.usage[k], 0.0
    for user in range(len(usage)):
        used += usage[user]
    for place in range(tables.waiting.lists[v].blocks):
        b = tables.waiting.directory[v, place]
        for i in range(b * BLOCK, b * BLOCK + tables.waiting.sizes[v, b]):
            j = tables.waiting.jobs[v, i]
            time = float(expected_time(tables, plans.history, times, j))
            tables.waiting.keys[v, i] = changing_key(tables, plans, k, order, time, j, used)
    sort_by_keys(tables.waiting, v)


@compiled
def share_out(tables: Tables, plans: Plans, k: int) -> None:
    """Book what the users have used since the last decision, and let what they used before fade.

    Exact where a decision is made at every instant, as a constant policy does; of jobs that have come and gone between
    two decisions of this policy nothing is booked.
    """
    plan, now = plans.plans[k], tables.clock[0].now
    elapsed = now - plan.fair_as_of
    plan.fair_as_of = now
    fade = 0.5 ** (elapsed / HALF_LIFE)
    for user in range(len(plans.usage[k])):
        plans.usage[k, user] = plans.usage[k, user] * fade + plans.user_cores[k, user] * elapsed
