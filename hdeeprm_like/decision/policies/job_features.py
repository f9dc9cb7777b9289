"""Features of a waiting job and its user, which scores and learned predictors share: the first of `FEATURES`."""

import numpy as np

from hdeeprm_like.decision.policies.estimates import longest_elapsed
from hdeeprm_like.decision.policies.history import NONE, History
from hdeeprm_like.decision.score_files import FEATURES, OF_JOB
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.dispatch import check_names, numbered
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats

(
    F_ONE,
    F_LOG_TIME,
    F_LOG_CORES,
    F_LOG_EXPECTED_TIME,
    F_LOG_EXPECTED_RATE,
    F_EXPECTED_LOG_TIME,
    F_SHORT,
    F_LOG_LAST_TWO,
    F_LOG_RATIO,
    F_LOG_CLASS_LAST,
    F_SIBLING,
    F_USER_RUNNING,
    F_USER_WAITING,
    F_USER_SHARE,
) = range(OF_JOB)
check_names("features of jobs", tuple(FEATURES)[:OF_JOB], numbered(globals(), "F_", range(OF_JOB)), __name__)
HOUR = 3600.0  # s
ALL = (1 << len(FEATURES)) - 1  # bits of features
OF_ESTIMATES = 1 << F_LOG_EXPECTED_TIME | 1 << F_LOG_EXPECTED_RATE
OF_USERS = sum(1 << number for number in range(F_LOG_LAST_TWO, OF_JOB))


@compiled
def describe_job(tables: Tables, history: History, f: Floats, j: int, view: int, looks: int) -> None:
    """Write the first features of a waiting job, those of the job and its user: ``score_files.OF_JOB``.

    Args:
        view: row of the outlooks to write, which must be made; NONE for zeros. looks: bits of the features to write
            among those that are costly; the other costly ones stay unchanged.
    """
    job, found = tables.jobs[j], history.jobs[j]
    user, cores, request = history.groups[found.user], float(tables.clock[0].most_cores), max(job.requested_time, 1.0)
    f[F_ONE], f[F_LOG_TIME] = 1.0, found.log_request - np.log(HOUR)
    f[F_LOG_CORES] = found.log_cores - np.log(cores)
    f[F_LOG_EXPECTED_TIME] = f[F_LOG_EXPECTED_RATE] = f[F_EXPECTED_LOG_TIME] = f[F_SHORT] = 0.0
    if view != NONE:
        outlook = history.outlooks[view, j]
        if looks & OF_ESTIMATES:
            f[F_LOG_EXPECTED_TIME], f[F_LOG_EXPECTED_RATE] = np.log(outlook.time / HOUR), np.log(outlook.rate * HOUR)
        f[F_EXPECTED_LOG_TIME], f[F_SHORT] = outlook.log_time - np.log(HOUR), outlook.short
    if looks & OF_USERS:
        f[F_LOG_LAST_TWO] = (
            min(np.log(max(0.5 * (user.last + user.before), 1.0) / request), 0.0) if user.ended >= 2 else 0.0
        )
        f[F_LOG_RATIO] = user.log_ratio
        last = history.groups[found.group].last
        f[F_LOG_CLASS_LAST] = np.log(max(last, 1.0) / request) if last > 0.0 else 0.0
        f[F_SIBLING] = np.log1p(longest_elapsed(tables, history, j) / 60.0)
        f[F_USER_RUNNING], f[F_USER_WAITING], f[F_USER_SHARE] = (
            np.log1p(float(user.running)),
            np.log1p(float(user.waiting)),
            user.cores / cores,
        )
