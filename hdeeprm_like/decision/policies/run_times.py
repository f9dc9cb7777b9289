"""How long a policy takes jobs to run: as requested, as they really do, or as the past jobs of their users tell.

| name | meaning |
|---|---|
| ``requested`` | what the user has requested |
| ``actual`` | what only a simulator knows |
| ``tsafrir`` | the mean of the user's last two jobs to end, no more than requested; requested before there are two |
| ``ewma`` | requested, times what share of their requests the user's jobs ran; those of late weigh more |
| ``expected`` | the mean of the distribution that `estimates` makes of the past jobs |
| ``learned:FILE.json`` | what the trees of a learned predictor tell, see `decision.tree_files` |

``sjf@tsafrir+easy`` orders by predictions and reserves by requests, ``fcfs+easysjf@tsafrir`` the other way round.
A running job that has outlived its prediction is expected to run on for the next of some increments.

Source: Tsafrir et al., "Backfilling using system-generated predictions rather than user runtime estimates", 2007.
"""

import numpy as np

from hdeeprm_like.decision.policies.estimates import bring_estimate
from hdeeprm_like.decision.policies.history import History, read_history
from hdeeprm_like.decision.policies.learned_times import learned_time
from hdeeprm_like.engine.bundles import BundleType
from hdeeprm_like.engine.compiled import by_type, compiled, inlined
from hdeeprm_like.engine.job_keys import known_time
from hdeeprm_like.engine.numbers import EWMA, FIRST_PREDICTED, LAST_TWO, LEARNED
from hdeeprm_like.engine.tables import RUNNING, Tables

INCREMENTS = (60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 18000.0, 36000.0, 72000.0, 180000.0, 360000.0)  # s


@by_type
def follow(tables: BundleType, history: BundleType) -> object:
    """Let the history take in what has happened."""
    return no_follow if history.kind == "NoHistory" else read_history


@inlined
def no_follow(tables: Tables, history: object) -> None:
    """Do nothing."""


@by_type
def expected_time(tables: BundleType, history: BundleType, times: object, j: object) -> object:
    """Return for how many s a job is taken to run; *times* is a number of ``names.number_of_times``."""
    return known_only if history.kind == "NoHistory" else known_or_predicted


@inlined
def known_only(tables: Tables, history: object, times: int, j: int) -> float:
    """Return what is known without a history."""
    return known_time(tables, times, j)


@compiled
def known_or_predicted(tables: Tables, history: History, times: int, j: int) -> float:
    """Return what is known, or what the past tells."""
    if times < FIRST_PREDICTED:
        return float(known_time(tables, times, j))
    job = tables.jobs[j]
    time = history.planned[times - FIRST_PREDICTED, j]
    if job.status != RUNNING or time == 0.0:
        return predicted(tables, history, times, j)
    elapsed = tables.clock[0].now - job.start
    for increment in INCREMENTS:
        if time > elapsed:
            break
        time += increment
    return float(min(time, max(job.requested_time, elapsed)))


@compiled
def predicted(tables: Tables, history: History, times: int, j: int) -> float:
    """Return what the past tells of a waiting job, and note it for when it runs."""
    user, request = history.groups[history.jobs[j].user], tables.jobs[j].requested_time
    time = request
    if times == LAST_TWO:
        if user.ended >= 2:
            time = 0.5 * (user.last + user.before)
    elif times == EWMA:
        time = request * np.exp(user.log_ratio)
    elif times >= LEARNED:
        time = float(learned_time(tables, history, times, j))
    else:
        bring_estimate(tables, history, j)
        time = history.jobs[j].time
    time = max(1.0, min(time, request))
    history.planned[times - FIRST_PREDICTED, j] = time
    return float(time)
