"""Starting a job that a baseline has chosen."""

from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.engine.allocation import choose_cores
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.numbers import BEST_FIT
from hdeeprm_like.engine.packing import best_node, is_whole
from hdeeprm_like.engine.tables import CORES, NOTHING, Tables


@compiled
def start_if_fits(tables: Tables, plans: Plans, k: int, j: int) -> int:
    """Start a job on the cores that baseline *k* takes for it; return NOTHING, or what it lacks.

    Where nodes take jobs whole, the job goes to the node that it fits best, unless the placement scores nodes itself.
    """
    clock = tables.clock[0]
    clock.decisions += 1
    if tables.jobs[j].size > clock.free_cores:
        return CORES
    policy = plans.plans[k].core_policy
    if clock.whole:
        _, found = best_node(tables, BEST_FIT, j, tables.jobs[j].size)
        if not is_whole(found):
            return CORES
        policy = max(policy, BEST_FIT)
    lacks = choose_cores(tables, policy, j)
    if lacks == NOTHING:
        start_job(tables, j)
    return int(lacks)
