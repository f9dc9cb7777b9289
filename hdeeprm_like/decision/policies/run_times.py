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
The same function writes the features of a job for trees in training and in prediction. Their prediction is renewed when
a job of the user has ended, and after a quarter of an hour, like `estimates`. A running job that has outlived its
prediction is expected to run longer by the next of some increments, or as long as the survival model says.

Source: Tsafrir et al., "Backfilling using system-generated predictions rather than user runtime estimates", 2007.
"""

from collections.abc import Callable

import numpy as np

from hdeeprm_like.decision.policies.estimates import FRESH, MOST_REFRESHED, SHORT, bring_estimate
from hdeeprm_like.decision.policies.history import LEAST, NONE, OF_EXPECTED, History, find_siblings
from hdeeprm_like.decision.policies.job_features import ALL, describe_job
from hdeeprm_like.decision.policies.survival import bring_survival, long_time, time_after, typical_time
from hdeeprm_like.decision.policies.trees import sum_of_trees
from hdeeprm_like.decision.score_files import OF_JOB
from hdeeprm_like.decision.tree_files import FEATURES
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dispatch import by_number, check_names, check_numbers, numbered
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
from hdeeprm_like.types import Floats

INCREMENTS = (60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 18000.0, 36000.0, 72000.0, 180000.0, 360000.0)  # s
OWN = range(OF_JOB, 25)  # behind those of `job_features`
(
    T_EXPECTED_LOG_RATIO,
    T_LOG_ALL_CORES,
    T_LOG_LAST,
    T_LOG_BEFORE_LAST,
    T_CLASS_RATIO,
    T_CLASS_BEFORE_LAST,
    T_USER_ENDED,
    T_CLASS_ENDED,
    T_CLASS_RUNNING,
    T_CLASS_WAITING,
    T_SINCE_END,
) = OWN
check_names("features of trees", FEATURES, (*tuple(FEATURES)[:OF_JOB], *numbered(globals(), "T_", OWN)), __name__)
MOST = 700.0  # larger numbers overflow the exponential


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


@compiled
def learned_time(tables: Tables, history: History, times: int, j: int) -> float:
    """Return the predicted run time of a waiting job in s: the previous prediction while that is fresh."""
    trees, m, now, request = history.trees, times - LEARNED, tables.clock[0].now, tables.jobs[j].requested_time
    before, ended = history.planned[times - FIRST_PREDICTED, j], history.groups[history.jobs[j].user].ended
    if trees.models[m].own == 1:
        return float(before if before > 0.0 else request)
    fresh = trees.seen[m, j] == ended and now - trees.made[m, j] <= FRESH
    if before > 0.0 and (fresh or history.past[0].refreshed >= MOST_REFRESHED):
        return float(before)
    trees.seen[m, j], trees.made[m, j] = ended, now
    describe_for_trees(tables, history, trees.features, j)
    return float(max(request, 1.0) * np.exp(min(sum_of_trees(trees, m), MOST)))


@compiled
def describe_for_trees(tables: Tables, history: History, f: Floats, j: int) -> None:
    """Write the features of a waiting job, in the order of ``tree_files.FEATURES``; nan if unknown."""
    find_siblings(tables, history)
    bring_estimate(tables, history, j)
    describe_job(tables, history, f, j, OF_EXPECTED, ALL)
    known, now = history.jobs[j], tables.clock[0].now
    user, group = history.groups[known.user], history.groups[known.group]
    for i in range(OF_JOB, len(f)):
        f[i] = np.nan
    outlook = history.outlooks[OF_EXPECTED, j]
    f[T_EXPECTED_LOG_RATIO], f[T_LOG_ALL_CORES] = outlook.log_time - known.log_request, known.log_cores
    if user.ended >= 1:
        f[T_LOG_LAST] = np.log(max(user.last, 1.0)) - known.log_request
        f[T_SINCE_END] = np.log1p((now - tables.jobs[user.latest].finish) / 60.0)
    if user.ended >= 2:
        f[T_LOG_BEFORE_LAST] = np.log(max(user.before, 1.0)) - known.log_request
    if group.ended >= 1:
        f[T_CLASS_RATIO] = group.log_ratio
    if group.ended >= 2:
        f[T_CLASS_BEFORE_LAST] = np.log(max(group.before, 1.0)) - known.log_request
    f[T_USER_ENDED], f[T_CLASS_ENDED] = np.log1p(float(user.ended)), np.log1p(float(group.ended))
    f[T_CLASS_RUNNING], f[T_CLASS_WAITING] = np.log1p(float(group.running)), np.log1p(float(group.waiting))


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
