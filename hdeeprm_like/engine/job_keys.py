"""Sort keys of the queue orders (the smallest key first); ties go to the job submitted first.

An order is a number of ``numbers``. From FIRST_CHANGING on keys change with time: their lists are sorted again at each
decision that reads them, see ``decision.policies.priorities``.
"""

from collections.abc import Callable

import numpy as np

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dispatch import by_number, check_numbers
from hdeeprm_like.engine.numbers import (
    ACTUAL,
    BY_SCORE,
    F1,
    F2,
    F3,
    F4,
    FIRST,
    FIRST_CHANGING,
    JOB_POLICIES,
    LAF,
    LCFS,
    LJF,
    LOW_MEM,
    LOW_MEM_BW,
    ORACLE,
    ORDERS,
    RANDOM_JOB,
    SAF,
    SHORTEST,
    SMALLEST,
    UNICEP_PUBLISHED,
    WFP3_PUBLISHED,
)
from hdeeprm_like.engine.tables import Tables


@inlined
def known_time(tables: Tables, times: int, j: int) -> float:
    """Return the assumed run time of a job in s: ACTUAL if the policy knows the future, else what was requested."""
    return float(tables.jobs[j].run_time if times == ACTUAL else tables.jobs[j].requested_time)


@compiled
def wfp3(wait: float, time: float, size: float) -> float:
    """Return the key of WFP3 (Tang et al., "Fault-aware, utility-based job scheduling on Blue Gene/P", 2009)."""
    return float(-((wait / max(time, 1.0)) ** 3.0) * size)


@compiled
def unicep(wait: float, time: float, size: float) -> float:
    """Return the key of UNICEP (same source); a small number replaces the logarithm of one core."""
    logarithm = np.log2(size + 1e-15) if size > 1.0 else 1e-12
    return float(-(wait + 1e-15) / (logarithm * max(time, 1.0)))


# --- keys that do not change with time; *time* is the assumed run time in s


@inlined
def row(tables: Tables, time: float, j: int) -> float:
    """Return the row of a job, which is its place in the order of submission."""
    return float(j)


@inlined
def latest(tables: Tables, time: float, j: int) -> float:
    """Return minus the row."""
    return float(-j)


@inlined
def run_time(tables: Tables, time: float, j: int) -> float:
    """Return the assumed run time."""
    return time


@inlined
def longest(tables: Tables, time: float, j: int) -> float:
    """Return minus the assumed run time."""
    return -time


@inlined
def cores(tables: Tables, time: float, j: int) -> float:
    """Return how many cores the job requests."""
    return float(tables.jobs[j].size)


@inlined
def memory(tables: Tables, time: float, j: int) -> float:
    """Return how many MB it requests on each core."""
    return float(tables.jobs[j].memory)


@inlined
def bandwidth(tables: Tables, time: float, j: int) -> float:
    """Return how many GB/s it requests on each core."""
    return float(tables.jobs[j].bandwidth)


@inlined
def area(tables: Tables, time: float, j: int) -> float:
    """Return assumed run time times cores."""
    return time * float(tables.jobs[j].size)


@inlined
def largest_area(tables: Tables, time: float, j: int) -> float:
    """Return minus assumed run time times cores."""
    return -time * float(tables.jobs[j].size)


@inlined
def actual_run_time(tables: Tables, time: float, j: int) -> float:
    """Return the actual run time in s."""
    return float(tables.jobs[j].run_time)


@inlined
def submission(tables: Tables, j: int) -> float:
    """Return the submit time of a job, in s on the clock of the trace."""
    return float(tables.clock[0].epoch + tables.jobs[j].submit)


@inlined
def log_submission(tables: Tables, j: int) -> float:
    """Return the logarithm of the submit time."""
    submit = submission(tables, j)
    return float(np.log10(submit if submit > 0.0 else 0.1))


@inlined
def f1(tables: Tables, time: float, j: int) -> float:
    """Return F1's key."""
    size = float(tables.jobs[j].size)
    return float(np.log10(time if time > 0.0 else 0.1) * size + 870.0 * log_submission(tables, j))


@inlined
def f2(tables: Tables, time: float, j: int) -> float:
    """Return F2's key."""
    return float(np.sqrt(time) * float(tables.jobs[j].size) + 25600.0 * log_submission(tables, j))


@inlined
def f3(tables: Tables, time: float, j: int) -> float:
    """Return F3's key."""
    return float(time * float(tables.jobs[j].size) + 6860000.0 * log_submission(tables, j))


@inlined
def f4(tables: Tables, time: float, j: int) -> float:
    """Return F4's key."""
    return float(time * np.sqrt(float(tables.jobs[j].size)) + 530000.0 * log_submission(tables, j))


@inlined
def published_wfp3(tables: Tables, time: float, j: int) -> float:
    """Return WFP3's key as in RLScheduler's code."""
    return wfp3(-1.0 - submission(tables, j), time, float(tables.jobs[j].size))


@inlined
def published_unicep(tables: Tables, time: float, j: int) -> float:
    """Return UNICEP's key as in RLScheduler's code."""
    return unicep(-1.0 - submission(tables, j), time, float(tables.jobs[j].size))


KEYS: dict[int, Callable[[Tables, float, int], float]] = {
    FIRST: row,
    SHORTEST: run_time,
    SMALLEST: cores,
    LOW_MEM: memory,
    LOW_MEM_BW: bandwidth,
    LCFS: latest,
    LJF: longest,
    SAF: area,
    LAF: largest_area,
    F1: f1,
    F2: f2,
    F3: f3,
    F4: f4,
    ORACLE: actual_run_time,
    WFP3_PUBLISHED: published_wfp3,
    UNICEP_PUBLISHED: published_unicep,
}
"""Functions of the keys that do not change with time, by order number."""

LASTING = JOB_POLICIES | {name: number for name, number in ORDERS.items() if number < FIRST_CHANGING}
check_numbers("orders", LASTING, {RANDOM_JOB, *KEYS}, "engine.job_keys.KEYS", BY_SCORE)


key_of_order = by_number(KEYS, otherwise=np.inf)
key_of_pairs_order = by_number({order: KEYS[order] for order in range(RANDOM_JOB)})


@compiled
def lasting_key(tables: Tables, order: int, time: float, j: int) -> float:
    """Return the key of a job under an order whose keys do not change with time; infinite for other orders.

    Args:
        time: s, assumed run time.

    Sources: thesis table 3.2; F1 to F4: Carastan-Santos and de Camargo, "Obtaining dynamic scheduling policies with
    simulation and machine learning", 2017. The published WFP3 and UNICEP are those of RLScheduler's code.
    """
    return key_of_order(order, tables, time, j)


@inlined
def usual_key(tables: Tables, order: int, time: float, j: int) -> float:
    """Return the same, without a call for the job policies of the thesis, whose lists are many."""
    return key_of_pairs_order(order, tables, time, j) if order < RANDOM_JOB else lasting_key(tables, order, time, j)
