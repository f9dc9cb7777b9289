"""Assumed run times of jobs: as requested, actual, or predicted from the past jobs of their users.

| name | meaning |
|---|---|
| ``requested`` | the user's request |
| ``actual`` | the actual run time, known only to a simulator |
| ``tsafrir`` | mean of the user's last two jobs to end, at most the request; the request before there are two |
| ``ewma`` | the request times the share of their requests that the user's jobs ran; recent ones weigh more |
| ``expected`` | mean of the distribution of `estimates` from past jobs |
| ``survival`` | mean logarithm of the run time under the model of `survival`, from past and running jobs |
| ``survival90`` | the run time that nine of ten jobs do not exceed under that model |
| ``learned:FILE.json`` | prediction of the trees of a learned predictor, see `decision.tree_files` |

``sjf@tsafrir+easy`` orders by predictions and reserves by requests, ``fcfs+easy@tsafrir`` the other way round.
A running job that has outlived its prediction is expected to run longer by the next of some increments, or as long as
the survival model says.

Source: Tsafrir et al., "Backfilling using system-generated predictions rather than user runtime estimates", 2007.
"""

from collections.abc import Callable

import numpy as np

from hdeeprm_like.decision.policies.estimates import SHORT, bring_estimate
from hdeeprm_like.decision.policies.history import LEAST, NONE, OF_EXPECTED, History
from hdeeprm_like.decision.policies.learned_times import learned_time
from hdeeprm_like.decision.policies.survival import bring_survival, long_time, time_after, typical_time
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dispatch import by_number, check_numbers
from hdeeprm_like.engine.job_keys import known_time
from hdeeprm_like.engine.numbers import (
    ACTUAL,
    EWMA,
    EXPECTED,
    FIRST_PREDICTED,
    LAST_TWO,
    LEARNED,
    REQUESTED,
    RUN_TIMES,
    SURVIVAL,
    SURVIVAL_LONG,
)
from hdeeprm_like.engine.tables import RUNNING, Tables

INCREMENTS = (60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 18000.0, 36000.0, 72000.0, 180000.0, 360000.0)  # s


@compiled
def known_or_predicted(tables: Tables, history: History, times: int, j: int) -> float:
    """Return a known run time, or a prediction from the past."""
    if times < FIRST_PREDICTED:
        return float(known_time(tables, times, j))
    job = tables.jobs[j]
    time = history.planned[times - FIRST_PREDICTED, j]
    if job.status != RUNNING or time == 0.0:
        return predicted(tables, history, times, j)
    elapsed = tables.clock[0].now - job.start
    if time > elapsed:
        return float(min(time, max(job.requested_time, elapsed)))
    if times in (SURVIVAL, SURVIVAL_LONG):
        time = max(time_after(tables, history, times == SURVIVAL_LONG, j, elapsed), elapsed + INCREMENTS[0])
        history.planned[times - FIRST_PREDICTED, j] = time
    for increment in INCREMENTS:
        if time > elapsed:
            break
        time += increment
    return float(min(time, max(job.requested_time, elapsed)))


@inlined
def mean_of_last_two(tables: Tables, history: History, j: int) -> float:
    """Return the prediction of ``tsafrir``, from the user's last two jobs."""
    user = history.groups[history.jobs[j].user]
    return float(0.5 * (user.last + user.before) if user.ended >= 2 else tables.jobs[j].requested_time)


@inlined
def usual_share(tables: Tables, history: History, j: int) -> float:
    """Return the prediction of ``ewma``, by the share of their requests that the user's jobs ran."""
    return float(tables.jobs[j].requested_time * np.exp(history.groups[history.jobs[j].user].log_ratio))


@inlined
def mean_of_estimate(tables: Tables, history: History, j: int) -> float:
    """Return the prediction of ``expected``, the mean of the estimated distribution."""
    bring_estimate(tables, history, j)
    return float(history.outlooks[OF_EXPECTED, j].time)


PREDICTIONS: dict[int, Callable[[Tables, History, int], float]] = {
    LAST_TWO: mean_of_last_two,
    EWMA: usual_share,
    EXPECTED: mean_of_estimate,
    SURVIVAL: typical_time,
    SURVIVAL_LONG: long_time,
}
"""Predictions for a waiting job, by number."""

check_numbers(
    "run times", RUN_TIMES, {REQUESTED, ACTUAL, *PREDICTIONS}, "decision.policies.run_times.PREDICTIONS", LEARNED
)


prediction_of = by_number(PREDICTIONS)


@inlined
def prediction(tables: Tables, history: History, times: int, j: int) -> float:
    """Return the predicted run time of a waiting job in s; numbers from LEARNED on are learned predictors."""
    return learned_time(tables, history, times, j) if times >= LEARNED else prediction_of(times, tables, history, j)


@compiled
def predicted(tables: Tables, history: History, times: int, j: int) -> float:
    """Return the predicted run time of a waiting job in s, and store it for when the job runs."""
    time = max(1.0, min(prediction(tables, history, times, j), tables.jobs[j].requested_time))
    history.planned[times - FIRST_PREDICTED, j] = time
    return float(time)


@compiled
def bring_outlook(tables: Tables, history: History, view: int, j: int) -> None:
    """Renew the outlook of a waiting job by some run times; those without a distribution are certain of one.

    Args:
        view: row of the outlooks.
    """
    times, found = history.viewed[view], history.outlooks[view, j]
    if times == EXPECTED:
        bring_estimate(tables, history, j)
    elif times == SURVIVAL:
        bring_survival(tables, history, j)
    else:
        time = max(known_or_predicted(tables, history, times, j), 1.0)
        if found.seen != NONE and found.time == time:
            return
        bounded = max(time, LEAST)
        found.seen, found.time, found.rate, found.log_time = 0, time, 1.0 / bounded, np.log(bounded)
        found.short, found.work = 1.0 if time < SHORT else 0.0, bounded * tables.jobs[j].size
