"""What the orders of the queue minimize; ties go to the job submitted first.

An order is a number of ``numbers``. Those from FIRST_CHANGING on change with time: their lists are sorted anew at each
decision that looks at them, see ``decision.policies.priorities``.
"""

import numpy as np

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.numbers import (
    ACTUAL,
    F1,
    F2,
    F3,
    F4,
    FIRST,
    FIRST_CHANGING,
    LAF,
    LCFS,
    LJF,
    LOW_MEM,
    LOW_MEM_BW,
    ORACLE,
    SAF,
    SHORTEST,
    SMALLEST,
    WFP3_PUBLISHED,
)
from hdeeprm_like.engine.tables import Tables


@inlined
def known_time(tables: Tables, times: int, j: int) -> float:
    """Return the s that a job is taken to run: ACTUAL where the policy knows the future, else what was requested."""
    return float(tables.jobs[j].run_time if times == ACTUAL else tables.jobs[j].requested_time)


@compiled
def lasting_key(tables: Tables, order: int, time: float, j: int) -> float:
    """Return what an order minimizes that does not change with time; infinite for the others.

    Args:
        time: s that the job is taken to run.

    Sources: thesis table 3.2; F1 to F4: Carastan-Santos and de Camargo, "Obtaining dynamic scheduling policies with
    simulation and machine learning", 2017. The published WFP3 and UNICEP are those of RLScheduler's code.
    """
    job = tables.jobs[j]
    if order == FIRST:
        return float(j)
    if order == SHORTEST:
        return time
    if order == SMALLEST:
        return float(job.size)
    if order == LOW_MEM:
        return float(job.memory)
    if order == LOW_MEM_BW:
        return float(job.bandwidth)
    if order >= FIRST_CHANGING:
        return np.inf
    return published_key(tables, order, time, j)


@compiled
def published_key(tables: Tables, order: int, time: float, j: int) -> float:
    """Return what the remaining orders minimize that do not change with time."""
    job = tables.jobs[j]
    size = float(job.size)
    submit = tables.clock[0].epoch + job.submit
    if order == LCFS:
        return float(-j)
    if order == LJF:
        return -time
    if order == SAF:
        return time * size
    if order == LAF:
        return -time * size
    if order == ORACLE:
        return float(job.run_time)
    logarithm = np.log10(submit if submit > 0.0 else 0.1)
    if order == F1:
        return float(np.log10(time if time > 0.0 else 0.1) * size + 870.0 * logarithm)
    if order == F2:
        return float(np.sqrt(time) * size + 25600.0 * logarithm)
    if order == F3:
        return float(time * size + 6860000.0 * logarithm)
    if order == F4:
        return float(time * np.sqrt(size) + 530000.0 * logarithm)
    if order == WFP3_PUBLISHED:
        return wfp3(-1.0 - submit, time, size)
    return unicep(-1.0 - submit, time, size)


@compiled
def wfp3(wait: float, time: float, size: float) -> float:
    """Return the key of WFP3 (Tang et al., "Fault-aware, utility-based job scheduling on Blue Gene/P", 2009)."""
    return float(-((wait / max(time, 1.0)) ** 3.0) * size)


@compiled
def unicep(wait: float, time: float, size: float) -> float:
    """Return the key of UNICEP (same source), with a small number for the logarithm of one core."""
    logarithm = np.log2(size + 1e-15) if size > 1.0 else 1e-12
    return float(-(wait + 1e-15) / (logarithm * max(time, 1.0)))
