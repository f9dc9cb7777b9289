"""The survival model: the hazard that a job ends after each time, from what is known of jobs like it.

Run times are divided into bins of ln(s). In each bin the hazard is the weight of the known jobs that ended there over
the weight of those that ran at least so long: of these either ended later, or they still run and have come further,
which is all that is known of them. The product of what survives each bin is the distribution of the run time (Kaplan
and Meier, "Nonparametric estimation from incomplete observations", 1958). The known jobs are

| jobs | weight |
|---|---|
| the last ended jobs of the user, and of the same program | less for older and less similar ones |
| running jobs of the user, such as tasks of one array | by similarity, as ended ones |
| jobs of all users with a request in that range, by the share of it that they ran, fading | that of `OF_ALL` jobs |

A program is the executable or the name of a job, where the trace or the scheduler knows it; a job of another one says
less. The model is online: it holds what has ended or runs now and nothing else, and recent jobs weigh more.

Its mean logarithm is the prediction ``survival``, its ninth decile ``survival90``; a running job that outlives either
gets that of the jobs that outlive it. Scores use the whole distribution (see `outlooks`).
"""

import math

import numpy as np

from hdeeprm_like.decision.policies.estimates import AGES, is_due, likeness, row_of_request
from hdeeprm_like.decision.policies.history import (
    BINS,
    BINS_OF_TIME,
    LEAST,
    LOG_LEAST,
    NONE,
    OF_SURVIVAL,
    REMEMBERED,
    History,
    range_of,
)
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_lists import jobs_of
from hdeeprm_like.engine.tables import Tables

SHORT_BINS = 20  # bins from LEAST to SHORT
SHORT = 600.0  # s
WIDTH = math.log(SHORT / LEAST) / SHORT_BINS  # of a bin in ln(s); the first one has all that is shorter than LEAST
OF_ALL = 3.0  # weight of the jobs of all users, in jobs of the user
OTHER_PROGRAM = 0.3  # factor for jobs known to be of another program
SAME_PROGRAM = 16  # last ended jobs of the same program
LONG = 0.9  # quantile of ``survival90``
NEGLIGIBLE = 1e-12  # weight
ENDED, OUTLIVED, LOG_SUM, MASS, LOG_TIME = range(5)  # columns of History.bins; MASS and LOG_TIME are the result


@inlined
def bin_of(log_time: float) -> int:
    """Return the bin of a run time, from ln of its s."""
    return max(0, min(BINS_OF_TIME - 1, 1 + int(np.floor((log_time - LOG_LEAST) / WIDTH))))


@inlined
def add_ended(history: History, weight: float, log_time: float) -> None:
    """Add an ended job to the model."""
    found = history.bins[bin_of(log_time)]
    found[ENDED] += weight
    found[LOG_SUM] += weight * log_time


@compiled
def build(tables: Tables, history: History, j: int) -> None:
    """Write the model of a job: the mass of each bin, and the mean ln(s) there."""
    for b in range(BINS_OF_TIME):
        for column in range(MASS):
            history.bins[b, column] = 0.0
    add_all(tables, history, j)
    if tables.jobs[j].user >= 0:
        add_own(tables, history, j)
        add_running(tables, history, j)
    survive(history)


@compiled
def survive(history: History) -> None:
    """Write the mass of each bin and the mean ln(s) there, from the weights of what ended and what came so far."""
    at_risk = 0.0
    for b in range(BINS_OF_TIME):
        at_risk += history.bins[b, ENDED] + history.bins[b, OUTLIVED]
    left = 1.0
    for b in range(BINS_OF_TIME):
        found = history.bins[b]
        at_risk -= found[OUTLIVED]  # what has come just so far may still end in this bin
        found[MASS] = 0.0
        if found[ENDED] > 0.0:
            found[LOG_TIME] = found[LOG_SUM] / found[ENDED]
            found[MASS] = left * min(1.0, found[ENDED] / max(at_risk, NEGLIGIBLE))
            left -= found[MASS]
        at_risk -= found[ENDED]


@compiled
def add_all(tables: Tables, history: History, j: int) -> None:
    """Add the jobs of all users."""
    request = max(tables.jobs[j].requested_time, 1.0)
    kind, row, total = range_of(request), row_of_request(history, request), 0.0
    for b in range(BINS):
        total += history.shares[kind, b]
    for b in range(BINS):
        add_ended(history, OF_ALL * history.shares[kind, b] / total, history.shared_times[row, BINS + b])


@compiled
def add_own(tables: Tables, history: History, j: int) -> None:
    """Add the user's ended jobs: the last ones, then those of the same program that were before these."""
    known = history.jobs[j]
    most = max(known.log_request, LOG_LEAST)
    ended, i, alike = history.groups[known.user].latest, 0, 0
    last = NONE  # the earliest job of the same program among the last ones
    while ended != NONE and i < REMEMBERED:
        other = history.jobs[ended]
        weight = likeness(tables, history, j, ended, AGES[i])
        if known.program != NONE and other.program == known.program:
            last, alike = ended, alike + 1
        elif known.program != NONE and other.program != NONE:
            weight *= OTHER_PROGRAM
        add_ended(history, weight, min(other.log_ran, most))
        ended, i = other.before, i + 1
    if known.program == NONE:
        return
    ended = history.groups[known.program].latest if last == NONE else history.jobs[last].same_before
    while ended != NONE and alike < SAME_PROGRAM:
        other = history.jobs[ended]
        add_ended(history, likeness(tables, history, j, ended, AGES[alike]), min(other.log_ran, most))
        ended, alike = other.same_before, alike + 1


@compiled
def add_running(tables: Tables, history: History, j: int) -> None:
    """Add the running jobs of the user: each has outlived the bins before that of its elapsed time."""
    known, now = history.jobs[j], tables.clock[0].now
    if history.groups[known.user].running == 0:
        return
    for other in jobs_of(tables.running, 0):
        if other == j or history.jobs[other].user != known.user:
            continue
        weight = likeness(tables, history, j, other, 1.0)
        if known.program != NONE and NONE != history.jobs[other].program != known.program:
            weight *= OTHER_PROGRAM
        elapsed = np.log(max(now - tables.jobs[other].start, LEAST))
        history.bins[bin_of(min(elapsed, known.log_request)), OUTLIVED] += weight


@compiled
def bring_survival(tables: Tables, history: History, j: int) -> None:
    """Renew the model's outlook of a waiting job if it is no longer valid."""
    if not is_due(tables, history, OF_SURVIVAL, j):
        return
    build(tables, history, j)
    found = history.outlooks[OF_SURVIVAL, j]
    found.time = found.rate = found.log_time = found.short = 0.0
    for b in range(BINS_OF_TIME):
        mass, log_time = history.bins[b, MASS], history.bins[b, LOG_TIME]
        if mass <= NEGLIGIBLE:
            continue
        time = np.exp(log_time)
        found.time += mass * time
        found.rate += mass / time
        found.log_time += mass * log_time
        if b <= SHORT_BINS:
            found.short += mass
    found.work = np.exp(found.log_time) * tables.jobs[j].size
    found.long = quantile(history, LONG, 0.0)


@compiled
def quantile(history: History, share: float, elapsed: float) -> float:
    """Return a quantile of the written model among run times of more than *elapsed* s, or *elapsed* if there is none.

    Args:
        share: from 0 to 1.
    """
    first, total = 0, 0.0
    if elapsed >= LEAST:
        first = bin_of(np.log(elapsed)) + 1
    for b in range(first, BINS_OF_TIME):
        total += history.bins[b, MASS]
    left, found = share * total, -1
    for b in range(first, BINS_OF_TIME):
        if history.bins[b, MASS] > NEGLIGIBLE and left >= 0.0:
            found, left = b, left - history.bins[b, MASS]
    return float(elapsed if found < 0 else max(elapsed, np.exp(history.bins[found, LOG_TIME])))


@compiled
def mean_after(history: History, elapsed: float) -> float:
    """Return exp of the mean ln(s) of the written model among run times of more than *elapsed* s, or *elapsed*."""
    first, total, logs = bin_of(np.log(max(elapsed, LEAST))) + 1, 0.0, 0.0
    for b in range(first, BINS_OF_TIME):
        total += history.bins[b, MASS]
        logs += history.bins[b, MASS] * history.bins[b, LOG_TIME]
    return float(np.exp(logs / total) if total > NEGLIGIBLE else elapsed)


@compiled
def typical_time(tables: Tables, history: History, j: int) -> float:
    """Return the prediction ``survival`` of a waiting job in s."""
    bring_survival(tables, history, j)
    return float(np.exp(history.outlooks[OF_SURVIVAL, j].log_time))


@compiled
def long_time(tables: Tables, history: History, j: int) -> float:
    """Return the prediction ``survival90`` of a waiting job in s."""
    bring_survival(tables, history, j)
    return float(history.outlooks[OF_SURVIVAL, j].long)


@compiled
def time_after(tables: Tables, history: History, long: bool, j: int, elapsed: float) -> float:
    """Return what either predicts for a job that has been running for *elapsed* s."""
    build(tables, history, j)
    return float(quantile(history, LONG, elapsed) if long else mean_after(history, elapsed))
