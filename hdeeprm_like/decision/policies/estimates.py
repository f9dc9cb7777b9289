"""Run-time estimates: a distribution from the past jobs of a job's user and of all users.

The distribution has three parts, each weighted by how informative it is for this job:

| part | weight |
|---|---|
| the user's last ended jobs, capped at the request | less for older and less similar jobs, more within one burst |
| a running job of the user with that request | it lasts at least its elapsed time, at most the request |
| jobs of all users with a request in that range | that of `JOBS_OF_ALL` jobs |

The constants were found by evolution on synthetic jobs, on Gaia's and NASA's logs, and on the first half of CTC's. An
estimate is renewed when a job of the user has ended, and after a quarter of an hour. The idea is that the chance of
a short run is what matters; the request says little about it.

Source of the first part: Tsafrir et al., "Backfilling using system-generated predictions rather than user runtime
estimates", 2007.
"""

import math

import numpy as np

from hdeeprm_like.decision.policies.history import (
    BIN,
    BINS,
    LADDERS,
    LEAST,
    LOG,
    NONE,
    OF_EXPECTED,
    REMEMBERED,
    STEPS,
    TIME,
    WEIGHT,
    History,
    find_siblings,
    range_of,
)
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.tables import Tables

FRESH = 900.0  # s that an estimate is valid for
MOST_REFRESHED = 1000  # estimates renewed per decision; the others wait for the next one
SHORT = 600.0  # s

JOBS_OF_ALL = 1.4594  # weight of the distribution of all users, in jobs of the user
FORGETTING = 12.859  # number of later jobs after which one of the user weighs e times less
ALIKE_TIME, ALIKE_CORES = 0.2815, 1.6369  # difference of logarithms at which one weighs e times less,
LEAST_ALIKE = 0.0823  # smallest such weight
BURST, BURST_TIME = 2.266, 8632.7  # factor for jobs submitted at about the same time, and the width of that in s
OUTLIVED = 0.5761  # factor for jobs shorter than the elapsed time of a running sibling
AGES = tuple(math.exp(-i / FORGETTING) for i in range(REMEMBERED))
TOO_UNLIKE = -math.log(LEAST_ALIKE) + 1e-6  # dissimilarity at which the weight is smallest
NO_BURST = 40.0  # from here on exp(-x) is negligible beside 1
SIBLING = 0.7844  # weight of a running sibling, in jobs of the user


@inlined
def add(history: History, weight: float, time: float, log_time: float) -> None:
    """Add a point to the current distribution: a run time in s with a weight."""
    past = history.past[0]
    point = history.points[past.points]
    point[TIME], point[WEIGHT], point[LOG] = time, weight, log_time
    past.points += 1


@compiled
def is_due(tables: Tables, history: History, view: int, j: int) -> bool:
    """Return whether an outlook of a waiting job must be made now; it is then marked as made."""
    found, now = history.outlooks[view, j], tables.clock[0].now
    ended = history.groups[history.jobs[j].user].ended
    if found.seen == ended and now - found.made <= FRESH:
        return False
    if found.seen != NONE:
        if history.past[0].refreshed >= MOST_REFRESHED:
            return False
        history.past[0].refreshed += 1
    found.seen, found.made = ended, now
    return True


@compiled
def bring_estimate(tables: Tables, history: History, j: int) -> None:
    """Renew the estimate of a waiting job if it is no longer valid."""
    if not is_due(tables, history, OF_EXPECTED, j):
        return
    found = history.outlooks[OF_EXPECTED, j]
    history.past[0].points = 0
    find_siblings(tables, history)
    weight = add_everybody(tables, history, j) + add_user(tables, history, j) + add_sibling(tables, history, j)
    found.time = found.rate = found.log_time = found.short = 0.0
    for i in range(history.past[0].points):
        time, share = history.points[i, TIME], history.points[i, WEIGHT]
        bounded = max(time, LEAST)
        found.time += share * time
        found.rate += share / bounded
        found.log_time += share * history.points[i, LOG]
        if time < SHORT:
            found.short += share
    found.time /= weight
    found.rate /= weight
    found.log_time /= weight
    found.short /= weight
    found.work = np.exp(found.log_time) * tables.jobs[j].size


@compiled
def add_everybody(tables: Tables, history: History, j: int) -> float:
    """Add the jobs of all users to the distribution; return their weight."""
    request = max(tables.jobs[j].requested_time, 1.0)
    kind, row, total = range_of(request), row_of_request(history, request), 0.0
    for b in range(BINS):
        total += history.shares[kind, b]
    for b in range(BINS):
        time, log_time = history.shared_times[row, b], history.shared_times[row, BINS + b]
        add(history, JOBS_OF_ALL * history.shares[kind, b] / total, time, log_time)
    return JOBS_OF_ALL


@compiled
def row_of_request(history: History, request: float) -> int:
    """Return the row of ``History.shared_times`` for a requested time in s; rewrite it if it holds another one."""
    row, share = int(request) % LADDERS, request
    if history.requests[row] != request:
        history.requests[row] = request
        for b in range(BINS):
            history.shared_times[row, b] = max(share, 1.0)
            history.shared_times[row, BINS + b] = np.log(max(share, LEAST))
            share *= np.exp(-BIN)
    return row


@compiled
def add_user(tables: Tables, history: History, j: int) -> float:
    """Add the last jobs of the user to the distribution; return their weight."""
    known, request = history.jobs[j], max(tables.jobs[j].requested_time, 1.0)
    elapsed = longest_elapsed(tables, history, j)
    ended, i, total = history.groups[known.user].latest, 0, 0.0
    while ended != NONE and i < REMEMBERED:
        past, other = tables.jobs[ended], history.jobs[ended]
        weight = likeness(tables, history, j, ended, AGES[i])
        time = max(past.finish - past.start, 1.0)
        log_time = other.log_ran
        if time > request:
            time, log_time = request, np.log(max(request, LEAST))
        if time < elapsed:
            weight *= OUTLIVED
        add(history, weight, time, log_time)
        total += weight
        ended, i = other.before, i + 1
    return total


@compiled
def likeness(tables: Tables, history: History, j: int, other: int, age: float) -> float:
    """Return how much another job of the same user says about a job, by request, cores and submission.

    Args:
        age: weight of the other job by its age.
    """
    known, like = history.jobs[j], history.jobs[other]
    unlike = abs(like.log_request - known.log_request) / ALIKE_TIME
    unlike += abs(like.log_cores - known.log_cores) / ALIKE_CORES
    weight = age * (max(LEAST_ALIKE, np.exp(-unlike)) if unlike < TOO_UNLIKE else LEAST_ALIKE)
    apart = abs(tables.jobs[j].submit - tables.jobs[other].submit) / BURST_TIME
    return float(weight * (1.0 + BURST * np.exp(-apart)) if apart < NO_BURST else weight)


@compiled
def add_sibling(tables: Tables, history: History, j: int) -> float:
    """Add the longest running job of the job's group to the distribution; return its weight."""
    elapsed = longest_elapsed(tables, history, j)
    if elapsed <= 0.0:
        return 0.0
    request = max(tables.jobs[j].requested_time, 1.0)
    begin = min(elapsed, request)
    for step in range(STEPS):
        time = begin * (request / begin) ** ((step + 0.5) / STEPS)
        add(history, SIBLING / STEPS, time, np.log(max(time, LEAST)))
    return SIBLING


@compiled
def longest_elapsed(tables: Tables, history: History, j: int) -> float:
    """Return how many s a job of the user with the same request has been running, 0 if none is."""
    siblings, now = history.groups[history.jobs[j].group], tables.clock[0].now
    return float(now - siblings.oldest) if siblings.oldest_at == now else 0.0
