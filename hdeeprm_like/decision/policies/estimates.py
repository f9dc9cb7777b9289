"""How long a job will run: a distribution from the past jobs of its user and of everybody.

The distribution is made of three parts, each weighted by how much it says of this job:

| part | weight |
|---|---|
| the user's last ended jobs, capped at the request | less the longer ago, the less alike, more if of one burst |
| a running job of the user with that request | it lasts at least as long as until now, at most the request |
| jobs of everybody with a request of that range | so many jobs |

Its constants were found by evolution on made jobs, on Gaia's, on NASA's and on the first half of CTC's log. An estimate
is made anew when a job of the user has ended, and when it is a quarter of an hour old. The idea is that what matters is
the chance to run briefly; the request says little of it.

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

FRESH = 900.0  # s that an estimate is good for
MOST_REFRESHED = 1000  # estimates that a decision makes anew; the others stay as they are until the next one
SHORT = 600.0  # s

JOBS_OF_ALL = 1.4594  # jobs of the user that the distribution of everybody is worth
FORGETTING = 12.859  # jobs after which one of the user weighs e times less
ALIKE_TIME, ALIKE_CORES = 0.2815, 1.6369  # difference of logarithms at which one weighs e times less,
LEAST_ALIKE = 0.0823  # but no less than that
BURST, BURST_TIME = 2.266, 8632.7  # how much more one weighs that was submitted at that time, and s around it
OUTLIVED = 0.5761  # how much less one weighs that ran more briefly than a sibling has run already
AGES = tuple(math.exp(-i / FORGETTING) for i in range(REMEMBERED))
TOO_UNLIKE = -math.log(LEAST_ALIKE) + 1e-6  # from there on jobs are as unlike as can be
NO_BURST = 40.0  # from there on exp(-x) beside 1 is lost
SIBLING = 0.7844  # jobs of the user that a running sibling is worth


@inlined
def add(history: History, weight: float, time: float, log_time: float) -> None:
    """Add a point to the distribution that is being made: a job runs so many s."""
    past = history.past[0]
    point = history.points[past.points]
    point[TIME], point[WEIGHT], point[LOG] = time, weight, log_time
    past.points += 1


@compiled
def spread(tables: Tables, history: History, j: int) -> float:
    """Make the distribution of a job's run time, in ``History.points``; return the sum of its weights."""
    history.past[0].points = 0
    find_siblings(tables, history)
    return add_everybody(tables, history, j) + add_user(tables, history, j) + add_sibling(tables, history, j)


@compiled
def bring_estimate(tables: Tables, history: History, j: int) -> None:
    """Make the estimate of a waiting job anew if it is no longer good."""
    found, now = history.jobs[j], tables.clock[0].now
    ended = history.groups[found.user].ended
    if found.seen == ended and now - found.made <= FRESH:
        return
    if found.seen != NONE:
        if history.past[0].refreshed >= MOST_REFRESHED:
            return
        history.past[0].refreshed += 1
    weight = spread(tables, history, j)
    found.seen, found.made = ended, now
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
    found.typical_work = np.exp(found.log_time) * tables.jobs[j].size


@compiled
def add_everybody(tables: Tables, history: History, j: int) -> float:
    """Add what jobs of everybody tell; return the weight."""
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
    """Return the row of ``History.shared_times`` of a requested time in s; it is written if it holds another one."""
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
    """Add what the last jobs of the user tell; return the weight."""
    job, known = tables.jobs[j], history.jobs[j]
    request = max(job.requested_time, 1.0)
    elapsed = longest_elapsed(tables, history, j)
    ended, i, total = history.groups[known.user].latest, 0, 0.0
    while ended != NONE and i < REMEMBERED:
        past, other = tables.jobs[ended], history.jobs[ended]
        unlike = abs(other.log_request - known.log_request) / ALIKE_TIME
        unlike += abs(other.log_cores - known.log_cores) / ALIKE_CORES
        weight = AGES[i] * (max(LEAST_ALIKE, np.exp(-unlike)) if unlike < TOO_UNLIKE else LEAST_ALIKE)
        apart = abs(job.submit - past.submit) / BURST_TIME
        if apart < NO_BURST:
            weight *= 1.0 + BURST * np.exp(-apart)
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
def add_sibling(tables: Tables, history: History, j: int) -> float:
    """Add what the running job of its group tells that has run longest; return the weight."""
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
def draw_time(history: History, share: float, least: float) -> float:
    """Return a run time of the distribution that was made last, in s.

    Args:
        share: of those of more than *least* s, which part comes before it, from 0 to 1; nothing is longer: *least*.
    """
    total = 0.0
    for i in range(history.past[0].points):
        if history.points[i, TIME] > least:
            total += history.points[i, WEIGHT]
    left = share * total
    drawn = least
    for i in range(history.past[0].points):
        if history.points[i, TIME] > least and left >= 0.0:
            drawn = history.points[i, TIME]
            left -= history.points[i, WEIGHT]
    return float(drawn)


@compiled
def longest_elapsed(tables: Tables, history: History, j: int) -> float:
    """Return for how many s a job of the user with the same request has been running, 0 if none is."""
    siblings, now = history.groups[history.jobs[j].group], tables.clock[0].now
    return float(now - siblings.oldest) if siblings.oldest_at == now else 0.0
