"""Orders that change with time: what they minimize now, and their list of waiting jobs sorted by it.

Those that do not change are kept sorted as jobs come and leave, see ``engine.job_keys``.
"""

from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.job_keys import planned_time, unicep, wfp3
from hdeeprm_like.engine.job_lists import BLOCK, sort_by_keys
from hdeeprm_like.engine.numbers import MULTIFACTOR, UNICEP, WFP3
from hdeeprm_like.engine.tables import Tables

DAY = 86400.0  # s
HALF_LIFE = 7 * DAY  # of what a user has used, as Slurm's PriorityDecayHalfLife
MAX_AGE = 7 * DAY  # from there on a job gets no older, as Slurm's PriorityMaxAge


@compiled
def changing_key(tables: Tables, plans: Plans, k: int, j: int, used: float) -> float:
    """Return what an order that changes with time minimizes now; *used* is the sum of the usage of all users.

    Multifactor weighs age, size and fair share alike, each from 0 to 1, as Slurm's priority plugin defines them with
    equal shares for all users: 2^-(share of the usage times number of users).
    """
    job, order = tables.jobs[j], plans.plans[k].order
    time, size = float(planned_time(tables, plans.plans[k].actual, j)), float(job.size)
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
def sort_again(tables: Tables, plans: Plans, k: int) -> None:
    """Find the keys of all waiting jobs again and sort them; little moves from one decision to the next."""
    usage, used, v = plans.usage[k], 0.0, plans.plans[k].list
    for user in range(len(usage)):
        used += usage[user]
    for place in range(tables.waiting.lists[v].blocks):
        b = tables.waiting.directory[v, place]
        for i in range(b * BLOCK, b * BLOCK + tables.waiting.sizes[v, b]):
            tables.waiting.keys[v, i] = changing_key(tables, plans, k, tables.waiting.jobs[v, i], used)
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
