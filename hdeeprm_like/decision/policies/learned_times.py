"""Features and predictions of learned run-time predictors.

The same function writes the features of a job for training and for prediction. A prediction is renewed when a job of
the user has ended, and after a quarter of an hour, like `estimates`.
"""

import numpy as np

from hdeeprm_like.decision.policies.estimates import FRESH, MOST_REFRESHED, bring_estimate
from hdeeprm_like.decision.policies.history import OF_EXPECTED, History, find_siblings
from hdeeprm_like.decision.policies.job_features import ALL, describe_job
from hdeeprm_like.decision.policies.trees import sum_of_trees
from hdeeprm_like.decision.score_files import OF_JOB
from hdeeprm_like.decision.tree_files import FEATURES
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.dispatch import check_names, numbered
from hdeeprm_like.engine.numbers import FIRST_PREDICTED, LEARNED
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats

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
